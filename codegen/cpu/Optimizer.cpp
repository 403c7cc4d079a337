//===- Optimizer.cpp - LLVM IR to object files ----------------------------===//
#include "codegen/cpu/Optimizer.h"

#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

namespace tcc::codegen {

llvm::Expected<std::unique_ptr<llvm::TargetMachine>> makeTargetMachine(const CpuDescription &cpu) {
  constexpr llvm::StringLiteral triple = "x86_64-unknown-linux-gnu";
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple.str(), error);
  if (!target)
    return llvm::createStringError(error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  options.FunctionSections = true;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, cpu.name, cpu.features, options, llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
  if (!machine)
    return llvm::createStringError("LLVM has no target machine for the CPU '" + cpu.name + "'");
  return machine;
}

void optimizeModule(llvm::Module &module, llvm::TargetMachine &machine, const CpuDescription &cpu) {
  module.setDataLayout(machine.createDataLayout());
  module.setTargetTriple(machine.getTargetTriple().str());
  std::string width = std::to_string(cpu.vectorBits);
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", cpu.name);
    if (!cpu.features.empty())
      function.addFnAttr("target-features", cpu.features);
    // Schedules have chosen the width already: without these LLVM would split 512-bit vectors on some processors.
    function.addFnAttr("prefer-vector-width", width);
    function.addFnAttr("min-legal-vector-width", width);
    // There is no C library: loops must not become calls of memset.
    function.addFnAttr("no-builtins");
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }

  // Schedules vectorise and unroll by themselves.
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  tuning.LoopInterleaving = false;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

llvm::Expected<llvm::SmallVector<char, 0>> emitObject(llvm::Module &module, llvm::TargetMachine &machine,
                                                      bool assembly) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  auto type = assembly ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type, /*DisableVerify=*/true))
    return llvm::createStringError("LLVM cannot emit code for this target");
  passes.run(module);
  return bytes;
}

} // namespace tcc::codegen
