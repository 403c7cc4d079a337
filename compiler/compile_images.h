// Compiles kernels of packages for a device that the packages have no code for. Links LLVM; loads NVRTC, or starts
// clang.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/image_request.h"

namespace tcc {

// Binaries, in order: for the architecture that is asked for, or, where this NVRTC does not know so new a one, PTX that
// the device's driver compiles. FailedPrecondition: what there is no compiler for, and what does not compile, with
// kernel, source ops and line. Thread-safe.
absl::StatusOr<std::vector<std::string>> CompileKernelImages(const ImageRequest& request);

}  // namespace tcc
