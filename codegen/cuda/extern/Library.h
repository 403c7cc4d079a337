//===- Library.h - calls of libraries in place of kernels ---------*- C++ -*-===//
//
// A call of cuBLASLt or cuDNN stands beside a kernel of the same launch, as another of its binaries: a device on which
// the library is found, and knows a way, takes the call, others the kernel. So a package runs anywhere, and everything
// that knows launches knows calls. Which kernels have one: CublasLt.h, Cudnn.h. Who takes one: max-autotune, where it
// was measured to be faster; the default mode, where Rules.h says so.
//
// A call gets a workspace, a temporary of the launch that its kernel has no use for: 32 MiB for GPUs of compute
// capability 9.0 and up, 4 MiB for others, as NVIDIA advises for cuBLAS.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <string_view>
#include <variant>

#include "runtime/devices/extern/conv_descriptor.h"
#include "runtime/devices/extern/gemm_descriptor.h"
#include "llvm/ADT/ArrayRef.h"

namespace tcc::codegen::cuda {

class KernelBuilder;
struct ScheduleOptions;

/// Of ChoiceKind::Library.
inline constexpr int64_t kLibraryCublasLt = 1, kLibraryCudnn = 2;

using LibraryCall = std::variant<std::monostate, devices::GemmDescriptor, devices::ConvDescriptor>;

inline bool isCall(const LibraryCall &call) { return call.index() != 0; }
/// "cublaslt", "cudnn"; empty for none. The same for people, and as a number.
std::string_view libraryName(const LibraryCall &call);
std::string_view libraryTitle(const LibraryCall &call);
int64_t libraryNumber(const LibraryCall &call);
/// The name of the library that a choice is; empty for other choices.
std::string_view libraryOf(llvm::ArrayRef<int64_t> choice);

/// Notes in the builder that the kernel could be this call; gives it back, with a workspace, if it is to be.
LibraryCall chooseLibrary(KernelBuilder &builder, LibraryCall call, const ScheduleOptions &options);

} // namespace tcc::codegen::cuda
