// Elements of every type in memory, as doubles; random inputs of kernels, and the comparison of their results.
#pragma once

#include <string>
#include <vector>

#include "ir/Dialect.h"
#include "tests/codegen_gemm/oracle.h"

namespace tcc::codegen::testing {

double Read(const char* at, mlir::Type type);
void Write(char* at, mlir::Type type, double value);
int64_t Bytes(mlir::Type type);
mlir::Type Element(mlir::Type tensor);

// Multiples of 1/8 in [-2, 2], exact in every float type; small integers; bools.
std::vector<Array> RandomInputs(ir::KernelOp kernel, const std::vector<int64_t>& symbols);

// Fails the test on any difference beyond the tolerance (relative to the largest magnitude of a result; that of its
// type for 16-bit floats). `text` is shown.
void Compare(ir::KernelOp kernel, const std::vector<Array>& want, const std::vector<Array>& got, double tolerance,
             const std::string& text);

}  // namespace tcc::codegen::testing
