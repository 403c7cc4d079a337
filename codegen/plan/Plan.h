//===- Plan.h - from functions of kernels and library ops to plans -*- C++ -*-===//
//
// The last phase of compilation: a func.func of the tcc dialect (tcc.kernel ops and level-1 ops that stay library
// calls) becomes a tcc::Plan, its constants and its code object.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/Target.h"
#include "codegen/plan/Memory.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/kernel_image.h"
#include "runtime/plan.h"
#include "runtime/tensor.h"

namespace tcc::codegen {

class Target;

struct PlanOptions {
  MemoryOptions memory;
};

/// One launch on a device, for people. Extents are expressions over symbols.
struct LaunchRecord {
  std::string symbol;
  std::string grid;                        ///< "12", "s0 ceildiv 128 x 4"
  std::string block;                       ///< "256", "32 x 8"
  std::string shared;                      ///< bytes of dynamic shared memory; empty: none
  int threads = 1;                         ///< of a block
  std::optional<int64_t> sharedBytes = {}; ///< of dynamic shared memory, where it is a number
};

/// One executed kernel or library call, for `tcc explain` and profiles. In the order of the plan.
struct ExplainRecord {
  std::string name;                 ///< as the profile shows it
  std::vector<std::string> sources; ///< the level-1 ops it came from
  std::string schedule;             ///< of a generated kernel; empty: a library call
  int launches = 0;
  /// Estimates; extents that vary count with their smallest value.
  double flops = 0;
  double bytes = 0;
  std::string flopsText, bytesText; ///< for other extents: as Cost has them
  std::vector<LaunchRecord> deviceLaunches = {};
  bool isLibrary() const { return schedule.empty(); }
};

struct PlanResult {
  tcc::Plan plan;
  /// One for each of plan.constants, in order. They may point into attributes of the MLIR context and into the model's
  /// file: valid as long as those are.
  std::vector<tcc::Tensor> constants;
  int64_t constantBytes = 0;             ///< size of the constants entry of a package
  std::string codeObject;                ///< empty where no host code was generated
  std::vector<tcc::KernelImage> images;  ///< kernels of a device, by symbol (see plan.functions)
  std::vector<ImageResources> resources; ///< of those for GPUs
  std::vector<ExplainRecord> explain;
  /// What the builder knew about each value, for the checks of tests.
  std::vector<ValueInfo> values;
  std::vector<Space> spaces; ///< where each value is
};

/// Builds the plan of a function. Inputs are its arguments, outputs the operands of its return; symbols that occur in
/// argument types are inputs of the plan (symbol i of the function is symbol i of the signature), the others are bound
/// by the ops that make them. `target` may be null: then the function must hold no tcc.kernel and everything runs as
/// library kernels. Errors are emitted at the location of the op. Not thread-safe (the target is not).
mlir::FailureOr<PlanResult> buildPlan(mlir::func::FuncOp function, Target *target, const PlanOptions &options = {});

} // namespace tcc::codegen
