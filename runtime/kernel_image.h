// Generated device kernels as they are packaged: one source, and what it was compiled to.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tcc {

// A kernel of a device target.
struct KernelImage {
  std::string symbol;  // the entry point, unique in a specialisation
  std::string source;  // CUDA C++ text; includes "tcc/device.cuh" and nothing else
  // What it was compiled for -> the bytes: "sm_90a" (cubin), "compute_90" (PTX), "sim" (shared object of cuda-sim).
  std::map<std::string, std::string> binaries;
};

// The same, in memory of someone else.
struct KernelImageView {
  KernelImageView() = default;
  explicit KernelImageView(const KernelImage& image)
      : symbol(image.symbol), source(image.source), binaries(image.binaries.begin(), image.binaries.end()) {}

  std::string symbol;
  std::string_view source;
  std::map<std::string, std::string_view> binaries;
  std::vector<std::string> uses;  // for people: names of launches ("node 'conv1' (Conv)"); where they are known
};

}  // namespace tcc
