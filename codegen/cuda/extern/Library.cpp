//===- Library.cpp - calls of libraries in place of kernels ---------------===//
#include "codegen/cuda/extern/Library.h"

#include "codegen/cuda/Tuning.h"
#include "codegen/cuda/extern/Rules.h"
#include "codegen/cuda/gemm/Schedule.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

int64_t workspaceBytes(const CudaDescription &device) {
  if (device.isSim())
    return 1 << 20;
  return (device.computeCapability >= 90 ? int64_t{32} : int64_t{4}) << 20;
}

bool isChosen(const KernelBuilder &builder, const LibraryCall &call, const ScheduleOptions &options) {
  ir::KernelOp kernel = builder.kernel.kernel;
  if (hasChoice(kernel))
    return getChoice(kernel, ChoiceKind::Library, 1) == std::vector<int64_t>{libraryNumber(call)};
  return options.findsLibrary && prefersLibrary(call, builder.backend.device(), options.wgmma) &&
         options.findsLibrary(libraryName(call));
}

} // namespace

std::string_view libraryName(const LibraryCall &call) {
  return std::holds_alternative<devices::GemmDescriptor>(call)   ? devices::kCublasLt
         : std::holds_alternative<devices::ConvDescriptor>(call) ? devices::kCudnn
                                                                 : std::string_view();
}
std::string_view libraryTitle(const LibraryCall &call) {
  return std::holds_alternative<devices::GemmDescriptor>(call) ? "cuBLASLt" : isCall(call) ? "cuDNN" : "";
}
int64_t libraryNumber(const LibraryCall &call) {
  return std::holds_alternative<devices::GemmDescriptor>(call) ? kLibraryCublasLt : kLibraryCudnn;
}

std::string_view libraryOf(llvm::ArrayRef<int64_t> choice) {
  if (choice.size() != 2 || choice[0] != static_cast<int64_t>(ChoiceKind::Library))
    return {};
  return choice[1] == kLibraryCudnn ? devices::kCudnn : devices::kCublasLt;
}

LibraryCall chooseLibrary(KernelBuilder &builder, LibraryCall call, const ScheduleOptions &options) {
  if (!options.libraries || !isCall(call))
    return {};
  builder.possibleCall = call;
  if (!isChosen(builder, call, options))
    return {};
  builder.hasCall = true;
  const int64_t bytes = workspaceBytes(builder.backend.device());
  const int workspace =
      builder.addTemporary(getAffineConstantExpr(bytes, builder.context), IntegerType::get(builder.context, 8));
  auto give = [&](auto &descriptor) {
    descriptor.workspace = workspace;
    descriptor.workspace_bytes = bytes;
    // Nobody says that a result may lie where the addend does.
    builder.keepsInputs |= descriptor.addend.parameter >= 0;
  };
  if (auto *gemm = std::get_if<devices::GemmDescriptor>(&call))
    give(*gemm);
  else
    give(std::get<devices::ConvDescriptor>(call));
  return call;
}

} // namespace tcc::codegen::cuda
