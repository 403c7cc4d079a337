// Schedules a tcc.kernel given as text for the simulated CUDA device, compiles it, runs it on random inputs and
// compares it with the oracle. Every access is checked: bounds, alignment, races, uninitialised shared memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/cuda/gemm/Schedule.h"
#include "tests/codegen_gemm/harness.h"

namespace tcc::codegen::testing {

// Fails the test on any difference. Of the case: text, symbols, constants, tolerance, in_place.
void CheckCuda(const Case& test);

// The texts of a kernel for an architecture, in the order of its launches; empty where there is no schedule.
std::vector<KernelSource> CudaTexts(const Case& test, const std::string& arch, KernelCode* code = nullptr);

// Runs a text's kernel on the simulated device, whose checks find anything wrong; its error, or "". `buffers` are
// registered as the only memory it may touch.
struct Buffer {
  void* data;
  size_t bytes;
};
std::string RunOnSim(const KernelSource& source, const std::vector<Buffer>& buffers,
                     const std::vector<int64_t>& scalars, int64_t blocks, int threads, int64_t shared);

}  // namespace tcc::codegen::testing
