// Kernels that compute something else than the interpreter, on disk: what `tcc verify` leaves and takes.
//
// A reproducer is a folder: kernel.mlir, a module whose @main takes the operands of one op and returns its results, and
// values.npz with the operands by name, `actual` and `expected`.
#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "compiler/request.h"
#include "compiler/verify.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Operation.h"
#include "runtime/tensor.h"

namespace tcc {

// Writes one below $TCC_REPRODUCER_DIR (default /tmp) and returns its folder; empty where that fails. `values`: the
// values that the function had in a run, by their opaque pointers; those of operands, and of symbols, are taken from
// it.
std::string WriteReproducer(mlir::Operation* op, const std::map<void*, Tensor>& values, const Tensor& actual,
                            const Tensor& expected);

// Compiles the op of a reproducer and compares it with the interpreter. The target's dialects must be loaded.
absl::StatusOr<Verification> VerifyReproducer(const std::string& folder, mlir::MLIRContext* context,
                                              const TargetFactory& target, const VerifyTolerance& tolerance = {});

}  // namespace tcc
