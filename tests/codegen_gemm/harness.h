// Schedules a tcc.kernel given as text, compiles it, runs it on random inputs and compares it with the oracle. Inputs
// and outputs lie before a page that cannot be touched, so that an access beyond their end ends the test.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/cpu/gemm/Schedule.h"
#include "gtest/gtest.h"
#include "tests/codegen_gemm/kernel_text.h"
#include "tests/codegen_gemm/oracle.h"

namespace tcc::codegen::testing {

struct Case {
  std::string text;                   // a module with one function that holds one tcc.kernel
  std::vector<int64_t> symbols = {};  // values of the function's symbols
  std::vector<int> constants = {};    // inputs that are constants (of static types)
  std::string cpu = {};               // "": this machine
  std::optional<gemm::GemmTiles> tiles = {};
  double tolerance = 2e-5;           // relative to the largest magnitude of the result
  bool in_place = false;             // give results the memory of the inputs they may overwrite
  std::vector<int64_t> choice = {};  // of CUDA kernels: what setChoice notes (codegen/cuda/Tuning.h)
};

// Fails the test on any difference.
void Check(const Case& test);

// Whether the backend compiles math.exp on vectors.
bool CanCompileExp();

// A compiled kernel with memory for everything, for benchmarks.
class Runner {
 public:
  explicit Runner(const Case& test);
  ~Runner();
  void Run(int64_t pieces = 1);
  ir::KernelOp kernel() const;
  const KernelCode& code() const;
  std::vector<Array> inputs;
  std::vector<Array> Results() const;
  bool ok() const;

 private:
  struct State;
  void Compile(const Case& test);
  std::unique_ptr<State> state_;
};

}  // namespace tcc::codegen::testing
