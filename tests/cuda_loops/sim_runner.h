// Compiles functions for the simulated CUDA device, all of a test at once, runs them there with its checks on, and
// compares with the interpreter on level 1 (the reference kernels).
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "codegen/cuda/CudaTarget.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/tensor.h"

namespace tcc::codegen {

Tensor RandomTensor(DType dtype, const std::vector<int64_t>& dims, unsigned seed, double low = -2, double high = 2);

class SimRunner {
 public:
  SimRunner();

  struct Run {
    std::vector<Tensor> inputs;
    std::vector<int64_t> symbols = {};
    double tolerance = 1e-5;  // of floats, relative to max(1, |expected|)
    // Elements by which inputs lie off the alignment of memory.
    int offset = 0;
    int64_t error = 0;  // the code that the kernels report
  };
  // A function of level-1 ops, which must all become kernels or launches of the device library, and what it is to be
  // run on. An extent that an op finds out is the symbol after those of the run.
  void Add(const std::string& text, std::vector<Run> runs);
  // Compiles and runs all of them.
  void Check();

  // Bytes of a thread that kernels may keep in memory: what divides float64 in several places calls a function for
  // that.
  void AllowStack(int64_t bytes) { most_stack_ = bytes; }

  const std::vector<KernelCode>& codes() const { return codes_; }

 private:
  struct Program {
    std::string text;
    mlir::OwningOpRef<mlir::ModuleOp> reference, lowered;
    std::vector<KernelCode> kernels;
    std::vector<Run> runs;
  };
  struct Kernels;
  void RunOne(Program& program, const Run& run, Kernels& kernels);

  mlir::MLIRContext context_;
  std::unique_ptr<CudaTarget> target_;
  std::vector<Program> programs_;
  std::vector<KernelCode> codes_;
  int64_t most_stack_ = 0;
};

}  // namespace tcc::codegen
