//===- Target.cpp - the code generator a request asks for ------------------===//
#include "compiler/pipeline/Target.h"

#include "absl/strings/str_cat.h"
#include "codegen/cpu/CpuTarget.h"
#include "codegen/cpu/gemm/Schedule.h"
#include "runtime/cpu_features.h"
#include "runtime/status.h"

namespace tcc::compiler {
namespace {

bool wants(const TargetHooks &hooks, const char *name) { return hooks.wants && hooks.wants(name); }

absl::StatusOr<TargetInstance> makeCpu(const Options &options, const TargetSpec &spec, const TargetHooks &hooks,
                                       mlir::MLIRContext *context) {
  llvm::Expected<codegen::CpuDescription> cpu = codegen::describeCpu(spec.name);
  if (!cpu)
    return absl::InvalidArgumentError(absl::StrCat("target '", options.target, "': ", llvm::toString(cpu.takeError())));
  codegen::Backend::loadDialects(context);
  codegen::CpuTargetOptions target;
  target.cpu = *cpu;
  target.backend.emitScheduled = wants(hooks, "scheduled");
  target.backend.emitLlvm = wants(hooks, "llvm");
  target.backend.emitAssembly = wants(hooks, "asm");
  target.backend.progress = hooks.progress;
  if (hooks.emit) {
    target.backend.emit = [emit = hooks.emit](codegen::CodeText kind, llvm::StringRef name, llvm::StringRef text) {
      emit(kind == codegen::CodeText::Scheduled ? "scheduled"
           : kind == codegen::CodeText::Llvm    ? "llvm"
                                                : "asm",
           name, text);
    };
  }
  target.strict = options.numerics == Numerics::kStrict;
  target.templates.push_back(codegen::gemm::templateSchedule());
  TargetInstance instance;
  instance.code.arch = std::string(HostArch());
  if (!spec.name.empty())
    instance.code.name = options.target;
  instance.code.features = cpu->required;
  instance.target = std::make_unique<codegen::CpuTarget>(context, std::move(target));
  return instance;
}

} // namespace

absl::StatusOr<TargetInstance> MakeTarget(const Options &options, const TargetHooks &hooks,
                                          mlir::MLIRContext *context) {
  TCC_ASSIGN_OR_RETURN(const TargetSpec spec, ParseTarget(options.target));
  if (spec.kind != TargetSpec::Kind::kCpu)
    return absl::UnimplementedError(absl::StrCat("target '", options.target, "' generates no code yet"));
  return makeCpu(options, spec, hooks, context);
}

} // namespace tcc::compiler
