// The signature of a compiled function, from its types.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "compiler/request.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tcc {
namespace onnx {
class Program;
}

struct ArgumentSignature {
  Signature signature;
  // For each input of the signature the function's argument; -1 where it is known while compiling (absent, or its
  // values are specialised on), or constant.
  std::vector<int> argument_of_input;
};

// Inputs are those of the program, in order, but for the request's constants. Symbols are those of argument types.
absl::StatusOr<ArgumentSignature> SignatureOf(mlir::func::FuncOp function, const onnx::Program& program,
                                              const CompileRequest& request);

}  // namespace tcc
