// Where NVRTC and CUDA's headers and tools lie. Both halves ask: the compiler to load them, the warm half to know
// whether they are what they were.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tcc {

// The file of NVRTC (libnvrtc.so.13, libnvrtc.so.12), the newest version of the first of these places that has one:
//   1. `place`, else $TCC_NVRTC: the library, its folder, a CUDA toolkit, a Python environment or its site-packages.
//      Where it is given and holds none, that is the error: nothing else is looked at.
//   2. the folders of $LD_LIBRARY_PATH;
//   3. $CUDA_HOME, $CUDA_PATH, /usr/local/cuda, /usr/local/cuda-*;
//   4. the system's library folders;
//   5. the active Python or conda environment, $VIRTUAL_ENV or $CONDA_PREFIX (PyPI nvidia-cuda-nvrtc);
//   6. where else the loader finds it, unless `ask_loader` is false: it has to be loaded for that.
// NotFound lists the places that were looked at.
absl::StatusOr<std::string> FindNvrtc(std::string_view place = {}, bool ask_loader = true);

// The folder of cuda_fp16.h: `place`, else $TCC_CUDA_INCLUDE (an error where it has none), else beside `nvrtc` (empty:
// not known), in a toolkit, or in /usr/include.
absl::StatusOr<std::string> FindCudaInclude(std::string_view place, std::string_view nvrtc);

// A tool of the toolkit ("nvdisasm"): in $TCC_CUDA_TOOLS, beside NVRTC (../bin; `nvrtc` empty: the one that FindNvrtc
// finds), in a toolkit, in the active environment, in $PATH.
absl::StatusOr<std::string> FindCudaTool(std::string_view name, std::string_view nvrtc);

}  // namespace tcc
