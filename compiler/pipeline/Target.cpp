//===- Target.cpp - the code generator a request asks for ------------------===//
#include "compiler/pipeline/Target.h"

#include "absl/strings/str_cat.h"
#include "codegen/cpu/CpuTarget.h"
#include "codegen/cpu/gemm/Schedule.h"
#include "runtime/cpu_features.h"
#include "runtime/status.h"

namespace tcc::compiler {

absl::StatusOr<TargetInstance> MakeTarget(const Options &options, codegen::BackendOptions backend,
                                          mlir::MLIRContext *context) {
  TCC_ASSIGN_OR_RETURN(const TargetSpec spec, ParseTarget(options.target));
  if (spec.kind != TargetSpec::Kind::kCpu) {
    return absl::UnimplementedError(
        absl::StrCat("target '", options.target, "' is not built into this tcc; there are: cpu, cpu:NAME"));
  }
  llvm::Expected<codegen::CpuDescription> cpu = codegen::describeCpu(spec.name);
  if (!cpu)
    return absl::InvalidArgumentError(absl::StrCat("target '", options.target, "': ", llvm::toString(cpu.takeError())));
  codegen::Backend::loadDialects(context);
  codegen::CpuTargetOptions target;
  target.cpu = *cpu;
  target.backend = std::move(backend);
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

} // namespace tcc::compiler
