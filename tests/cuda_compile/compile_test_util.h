// Kernels, and where their compilers are.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "codegen/cuda/compile/CudaFiles.h"
#include "codegen/cuda/compile/KernelCompiler.h"
#include "runtime/cache.h"
#include "tests/runtime/temp_folder.h"

namespace tcc::codegen {

template <typename T>
std::string errorOf(llvm::Expected<T> result) {
  return result ? "no error" : llvm::toString(result.takeError());
}

/// The NVRTC that is there, or that of the build's Python environment. Empty: none.
inline std::string nvrtcPlace() {
  for (const char* place : {"", TCC_TEST_PYTHON_PREFIX}) {
    llvm::Expected<std::string> found = findNvrtc(place);
    if (found) return *found;
    llvm::consumeError(found.takeError());
  }
  return "";
}

#define REQUIRE_NVRTC() \
  if (nvrtcPlace().empty()) GTEST_SKIP() << "no NVRTC: scripts/requirements.txt has the wheel"

inline CompileOptions nvrtcOptions() {
  CompileOptions options;
  options.nvrtc = nvrtcPlace();
  options.warningsAreErrors = true;
  return options;
}

/// y = x * factor, of n elements.
inline KernelSource scaleKernel(const std::string& symbol, const std::string& factor = "2.0f") {
  KernelSource kernel;
  kernel.symbol = symbol;
  kernel.text =
      "#include \"tcc/device.cuh\"\n"
      "extern \"C\" __global__ void __launch_bounds__(256)\n" +
      symbol +
      "(float* __restrict__ y, const float* __restrict__ x, long long n) {\n"
      "  const long long i = blockIdx.x * 256ll + threadIdx.x;\n"
      "  if (i < n) y[i] = x[i] * " +
      factor +
      ";\n"
      "}\n";
  kernel.sources = {"Mul 'scale'"};
  return kernel;
}

inline std::vector<KernelSource> scaleKernels(int count) {
  std::vector<KernelSource> kernels;
  for (int i = 0; i < count; ++i)
    kernels.push_back(scaleKernel("scale_" + std::to_string(i), std::to_string(i) + ".5f"));
  return kernels;
}

/// More values alive than there are registers for them: each thread may have 64.
inline KernelSource spillingKernel() {
  std::string text =
      "extern \"C\" __global__ void __launch_bounds__(1024) spills(float* y) {\n  float v[96];\n"
      "#pragma unroll\n  for (int i = 0; i < 96; ++i) v[i] = y[i * 1024 + threadIdx.x];\n"
      "  __syncthreads();\n#pragma unroll\n  for (int i = 0; i < 96; ++i) y[i * 1024 + threadIdx.x] = "
      "v[95 - i] * v[(i * 7) % 96];\n}\n";
  return {"spills", text, {}};
}

}  // namespace tcc::codegen
