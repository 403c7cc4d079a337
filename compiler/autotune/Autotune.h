//===- Autotune.h - schedules chosen by measurement -------------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compiler/request.h"
#include "mlir/IR/BuiltinOps.h"

namespace tcc::compiler {

struct AutotuneOptions {
  std::string cpu;                    ///< the target's name; empty: this machine
  std::string store;                  ///< folder of what was measured before; empty: none
  std::vector<int64_t> symbol_values; ///< what the symbols of the inputs are in the call at hand; negative: unknown
  double seconds = 0;                 ///< no kernel is begun later than this; 0: no limit
  double seconds_per_kernel = 1;      ///< of measuring, not counting compilation
};

/// Measures the candidates of every distinct matrix product and convolution of a module of kernels on this machine, and
/// notes the winner on the kernel (codegen::gemm::setTiles). What cannot be measured is left to the heuristics: there
/// are no errors. `progress`: candidates done, of how many. Uses the process's thread pool; not thread-safe.
TuningSummary autotuneKernels(mlir::ModuleOp module, const AutotuneOptions &options,
                              const std::function<void(int done, int total)> &progress);

} // namespace tcc::compiler
