//===- Interpreter.h - runs the dialect on the host -------------*- C++ -*-===//
//
// The numeric oracle of the compiler: walks a function and calls the reference kernel of each op. It also runs what
// fusion makes of a function (tcc.kernel and tcc.loops), element by element, so that every stage of the tensor level
// can be compared with the stage before it. Written for reading, not for speed.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/Dialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "runtime/tensor.h"

namespace tcc::ir {

struct InterpretOptions {
  /// Called after each op that yields tensors, in execution order (ops of branches and loop bodies included), with its
  /// results. For finding the first op whose value differs between two programs.
  std::function<void(mlir::Operation *, absl::Span<const Tensor>)> observe;
};

/// Runs `function` (one block of tcc ops and a return) on `inputs`, one for each argument, of the arguments' element
/// types and extents; symbols get their values from the inputs and are checked against their ranges. Errors name the op
/// and its location: InvalidArgument for inputs that do not fit and values that ops refuse, OutOfRange for indices,
/// Unimplemented for ops and types without a kernel, Internal where the IR computes extents other than it says.
/// Thread-safe as long as the IR is not changed.
absl::StatusOr<std::vector<Tensor>> interpret(mlir::FunctionOpInterface function, absl::Span<const Tensor> inputs,
                                              const InterpretOptions &options = {});

} // namespace tcc::ir
