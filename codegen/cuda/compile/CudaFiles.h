//===- CudaFiles.h - where NVRTC and the CUDA headers lie --------*- C++ -*-===//
#pragma once

#include <string>
#include <vector>

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tcc::codegen {

/// The file of NVRTC (libnvrtc.so.13, libnvrtc.so.12), the newest version of the first of these places that has one:
///   1. `place`, else $TCC_NVRTC: the library, its folder, a CUDA toolkit, a Python environment or its site-packages.
///      Where it is given and holds none, that is the error: nothing else is looked at.
///   2. the folders of $LD_LIBRARY_PATH;
///   3. $CUDA_HOME, $CUDA_PATH, /usr/local/cuda, /usr/local/cuda-*;
///   4. the system's library folders;
///   5. the active Python or conda environment, $VIRTUAL_ENV or $CONDA_PREFIX (PyPI nvidia-cuda-nvrtc);
///   6. where else the loader finds it: only for that it is loaded.
/// The error lists the places that were looked at.
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
