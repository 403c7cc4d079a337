// What this machine has for GPUs: compilers and devices.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "compiler/options.h"

namespace tcc {

// Changes whenever NVRTC (for cuda), or the compiler of cuda-sim and the host, may be another: the variables that
// choose them, and size and time of the files in the usual places. Nothing is loaded or run. For cache keys.
std::string ToolchainIdentity(TargetSpec::Kind kind);

// Makes "cuda" the architecture of the GPU there is, or that was chosen ("cuda:sm_90a"). FailedPrecondition where there
// is none.
absl::Status ResolveTarget(Options* options);

// FailedPrecondition where code for the target can be compiled but not run, for want of a GPU.
absl::Status CheckRunsHere(const Options& options);

// InvalidArgument for a device that the target has no use for.
absl::Status CheckDevice(const Options& options);

}  // namespace tcc
