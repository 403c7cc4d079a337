//===- Optimizer.cpp - LLVM IR to object files ----------------------------===//
#include "codegen/cpu/Optimizer.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

namespace tcc::codegen {
namespace {

// Minima and maxima of float32 values that come from 16 bits become ones of 16 bits while optimising. LLVM 19 expands
// those of vectors to compares of which one takes NaN for a zero (expandFMINIMUM_FMAXIMUM compares by SETEQ, not
// SETOEQ): max(0, NaN) would be 0. In float32, as they were, they are exact as well.
void widenHalfExtrema(llvm::Function &function) {
  llvm::SmallVector<llvm::IntrinsicInst *> found;
  for (llvm::Instruction &instruction : llvm::instructions(function))
    if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
        call && llvm::is_contained({llvm::Intrinsic::minimum, llvm::Intrinsic::maximum}, call->getIntrinsicID()) &&
        call->getType()->getScalarType()->is16bitFPTy())
      found.push_back(call);
  llvm::DenseMap<llvm::Value *, llvm::Value *> wideOf;
  for (llvm::IntrinsicInst *call : found) {
    llvm::IRBuilder<> b(call);
    llvm::Type *narrow = call->getType(), *wide = narrow->getWithNewType(b.getFloatTy());
    auto widen = [&](llvm::Value *value) {
      llvm::Value *known = wideOf.lookup(value);
      return known ? known : b.CreateFPExt(value, wide);
    };
    llvm::Value *lhs = widen(call->getArgOperand(0)), *rhs = widen(call->getArgOperand(1));
    llvm::Value *result = b.CreateBinaryIntrinsic(call->getIntrinsicID(), lhs, rhs, call);
    for (llvm::User *user : llvm::make_early_inc_range(call->users()))
      if (auto *ext = llvm::dyn_cast<llvm::FPExtInst>(user); ext && ext->getType() == wide) {
        ext->replaceAllUsesWith(result);
        ext->eraseFromParent();
      }
    llvm::Value *back;
    if (narrow->getScalarType()->isBFloatTy()) {
      // The instruction that rounds to bfloat16 flushes denormals; nothing is rounded here.
      llvm::Value *bits = b.CreateBitCast(result, narrow->getWithNewType(b.getInt32Ty()));
      back = b.CreateBitCast(b.CreateTrunc(b.CreateLShr(bits, 16), narrow->getWithNewType(b.getInt16Ty())), narrow);
    } else {
      back = b.CreateFPTrunc(result, narrow);
    }
    wideOf[back] = result;
    call->replaceAllUsesWith(back);
    call->eraseFromParent();
  }
}

} // namespace

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
  for (llvm::Function &function : module)
    widenHalfExtrema(function);
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
