//===- DeviceAutotune.h - schedules for GPUs, chosen by measurement -*- C++ -*-===//
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compiler/request.h"
#include "mlir/IR/BuiltinOps.h"

namespace tcc::compiler {

struct DeviceAutotuneOptions {
  Options options;                    ///< of the request, with a target "cuda..." or "cuda-sim"
  std::string worker;                 ///< the program that runs candidates; empty: nothing is measured
  std::string kernel_cache;           ///< as TargetHooks have it
  std::string store;                  ///< folder of what was measured before; empty: none
  std::vector<int64_t> symbol_values; ///< what the symbols of the inputs are in the call at hand; negative: unknown
  double seconds = 0;                 ///< no kernel is begun later than this; 0: no limit
  double seconds_per_kernel = 1;      ///< of measuring, not counting compilation
  double seconds_per_run = 30;        ///< a candidate that takes longer is lost; $TCC_MEASURE_SECONDS sets another
};

/// Measures the candidates of every distinct kernel that has a choice (codegen/cuda/Tuning.h) on the device of this
/// machine, in a process of its own, and notes the winners on the kernels. Then the whole plan is run with the winners
/// and without: where they are slower together, or compute something else, none is kept. What cannot be measured is
/// left to the heuristics: there are no errors, but a warning where there is no such device. On the simulated device
/// this goes through the same steps with few candidates, and what wins there means nothing.
TuningSummary autotuneDeviceKernels(mlir::ModuleOp module, const DeviceAutotuneOptions &options,
                                    const std::function<void(int done, int total)> &progress);

} // namespace tcc::compiler
