//===- Target.cpp - the code generator a request asks for ------------------===//
#include "compiler/pipeline/Target.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/cpu/CpuTarget.h"
#include "codegen/cpu/gemm/Schedule.h"
#include "codegen/cuda/CudaTarget.h"
#include "codegen/cuda/gemm/Schedule.h"
#include "runtime/cache.h"
#include "runtime/cpu_features.h"
#include "runtime/devices/extern/library_call.h"
#include "runtime/devices/images.h"
#include "runtime/devices/registry.h"
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

/// Whether the GPU of this machine is of the architecture, and the library is there to be called on it.
bool isHere(const std::string &arch, std::string_view library) {
  const absl::StatusOr<std::string> version = devices::LibraryVersion(library, devices::Kind::kCuda);
  if (!version.ok())
    return false;
  const auto device = devices::DefaultDevice("cuda");
  return device.ok() && (*device)->kind() == devices::Kind::kCuda && devices::ArchOf(**device) == arch;
}

absl::StatusOr<TargetInstance> makeCuda(const Options &options, const TargetSpec &spec, const TargetHooks &hooks,
                                        mlir::MLIRContext *context) {
  bool sim = spec.kind == TargetSpec::Kind::kCudaSim;
  if (!sim && spec.archs.empty())
    return absl::InvalidArgumentError("target 'cuda': say for which GPU, as in cuda:sm_90a");
  codegen::CudaTargetOptions target;
  // Schedules fit the least of them; each kernel is compiled for all.
  for (const std::string &arch : sim ? std::vector<std::string>{"sim"} : spec.archs) {
    llvm::Expected<codegen::CudaDescription> device = codegen::describeCuda(arch);
    if (!device)
      return absl::InvalidArgumentError(
          absl::StrCat("target '", options.target, "': ", llvm::toString(device.takeError())));
    if (target.device.arch.empty() || device->computeCapability < target.device.computeCapability)
      target.device = *device;
    target.backend.archs.push_back(arch);
  }
  codegen::CudaBackend::loadDialects(context);
  target.backend.emitScheduled = wants(hooks, "scheduled");
  target.backend.emitSource = wants(hooks, "cuda");
  if (hooks.emit) {
    target.backend.emit = [emit = hooks.emit](codegen::CudaText kind, llvm::StringRef name, llvm::StringRef text) {
      emit(kind == codegen::CudaText::Scheduled ? "scheduled" : "cuda", name, text);
    };
  }
  if (hooks.progress)
    target.backend.compile.progress = [progress = hooks.progress](size_t done, size_t total) {
      progress(static_cast<int>(done), static_cast<int>(total));
    };
  if (!hooks.kernelCache.empty()) {
    ArtifactCache::Options cache;
    cache.folder = hooks.kernelCache;
    target.backend.compile.cache = ArtifactCache::Open(cache);
  }
  target.strict = options.numerics == Numerics::kStrict;
  codegen::cuda::ScheduleOptions templates;
  templates.tf32 = options.precision == Precision::kTF32;
  templates.libraries = !target.strict;
  // (For several architectures the code is not made for this machine alone.)
  if (!sim && spec.archs.size() == 1)
    templates.findsLibrary = [arch = spec.archs.front()](std::string_view name) { return isHere(arch, name); };
  target.templates.push_back(codegen::cuda::templateSchedule(std::move(templates)));
  TargetInstance instance;
  instance.code.kind = sim ? "cuda-sim" : "cuda";
  instance.code.arch = absl::StrJoin(target.backend.archs, ",");
  instance.code.name = options.target;
  instance.target = std::make_unique<codegen::CudaTarget>(context, std::move(target));
  return instance;
}

} // namespace

absl::StatusOr<TargetInstance> MakeTarget(const Options &options, const TargetHooks &hooks,
                                          mlir::MLIRContext *context) {
  TCC_ASSIGN_OR_RETURN(const TargetSpec spec, ParseTarget(options.target));
  return spec.kind == TargetSpec::Kind::kCpu ? makeCpu(options, spec, hooks, context)
                                             : makeCuda(options, spec, hooks, context);
}

} // namespace tcc::compiler
