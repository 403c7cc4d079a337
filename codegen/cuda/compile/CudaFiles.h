//===- CudaFiles.h - where NVRTC and the CUDA headers lie --------*- C++ -*-===//
//
// runtime/cuda_files.h with the errors and strings of this half.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <string>
#include <vector>

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tcc::codegen {

/// The file of NVRTC: `place`, else $TCC_NVRTC, else the usual places, else where the loader finds it (only for that it
/// is loaded). The error lists the places that were looked at.
llvm::Expected<std::string> findNvrtc(llvm::StringRef place);

/// The folder of cuda_fp16.h: `place`, else $TCC_CUDA_INCLUDE (an error where it has none), else beside the NVRTC that
/// was found, in a toolkit, or in /usr/include. Kernels need it only where they include CUDA's own headers.
llvm::Expected<std::string> findCudaInclude(llvm::StringRef place, llvm::StringRef nvrtc);

/// A tool of the toolkit ("nvdisasm"): in $TCC_CUDA_TOOLS, beside NVRTC (../bin; `nvrtc` empty: the one that findNvrtc
/// finds), in a toolkit, in the active environment, in $PATH.
llvm::Expected<std::string> findCudaTool(llvm::StringRef name, llvm::StringRef nvrtc);

/// The header of CUDA that a text includes, "cuda_fp16.h", or empty. (Headers in quotes are the device library's; those
/// of the host are for the simulated device.)
std::string cudaHeaderIn(llvm::StringRef text);

} // namespace tcc::codegen
