// Generated device kernels as they are packaged: one source, and what it was compiled to.
#pragma once

#include <map>
#include <string>

namespace tcc {

// A kernel of a device target.
struct KernelImage {
  std::string symbol;  // the entry point, unique in a package
  std::string source;  // CUDA C++ text; includes "tcc/device.cuh" and nothing else
  // What it was compiled for -> the bytes: "sm_90a" (cubin), "compute_90" (PTX), "sim" (shared object of cuda-sim).
  std::map<std::string, std::string> binaries;
};

}  // namespace tcc
