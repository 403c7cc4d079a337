//===- Emit.h - short names for building loops, index arithmetic and vectors ----*- C++ -*-===//
#pragma once

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IntegerSet.h"

namespace tcc::codegen::gemm {

using Values = llvm::SmallVector<mlir::Value>;

/// What a generated function works with.
struct Frame {
  Values buffers;         ///< memrefs of rank 1
  Values symbols;         ///< index values, by symbol position; null where the function does not use the symbol
  mlir::Value scratch;    ///< CPU: memref<?xi8>, per thread
  mlir::Value begin, end; ///< CPU: the work items of this call
};

/// Builds scf, arith, vector and memref ops at an insertion point. Index arithmetic folds as it is built. Index values
/// are taken to be nonnegative unless a function says otherwise.
class Emit {
public:
  Emit(mlir::OpBuilder &builder, mlir::Location loc) : b(builder), loc(loc) {}

  mlir::Value c(int64_t value);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value div(mlir::Value x, mlir::Value y);
  mlir::Value rem(mlir::Value x, mlir::Value y);
  mlir::Value ceilDiv(mlir::Value x, mlir::Value y);
  mlir::Value min(mlir::Value x, mlir::Value y);
  mlir::Value max(mlir::Value x, mlir::Value y);
  mlir::Value lt(mlir::Value x, mlir::Value y);
  mlir::Value ge(mlir::Value x, mlir::Value y);
  mlir::Value eq(mlir::Value x, mlir::Value y);
  mlir::Value both(mlir::Value x, mlir::Value y);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);

  /// for (iv = lb; iv < ub; iv += step). A loop whose trip count is known to be one is not made.
  void loop(mlir::Value lb, mlir::Value ub, int64_t step, llvm::function_ref<void(mlir::Value)> body);
  Values loop(mlir::Value lb, mlir::Value ub, int64_t step, mlir::ValueRange init,
              llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> body);
  void when(mlir::Value condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise = nullptr);
  Values when(mlir::Value condition, mlir::TypeRange types, llvm::function_ref<Values()> then,
              llvm::function_ref<Values()> otherwise);

  mlir::Value zero(mlir::Type type); ///< of a scalar or vector type
  mlir::VectorType vector(mlir::Type element, int64_t lanes) { return mlir::VectorType::get({lanes}, element); }
  mlir::Value splat(mlir::Value scalar, int64_t lanes);
  mlir::Value lane(mlir::Value vector, int64_t index);
  /// Lanes [0, count); count may be any number, also negative.
  mlir::Value maskOf(mlir::Value count, int64_t lanes);

  mlir::Value load(mlir::Value memref, mlir::Value offset);
  void store(mlir::Value value, mlir::Value memref, mlir::Value offset);
  mlir::Value vload(mlir::Value memref, mlir::Value offset, int64_t lanes, mlir::Value mask = {});
  void vstore(mlir::Value vector, mlir::Value memref, mlir::Value offset, mlir::Value mask = {});
  /// x * y + z, in the type of z: fused for floats, wrapping for integers.
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z);
  /// Converts a scalar or vector between float types, or between signless integer types (sign extending).
  mlir::Value convert(mlir::Value value, mlir::Type element);

  /// An expression over dims and symbols; divisions and remainders have the floor semantics of affine expressions.
  mlir::Value affine(mlir::AffineExpr expr, mlir::ValueRange dims, mlir::ValueRange symbols);
  /// The same where every division's operand is known to be nonnegative.
  mlir::Value affineNonNegative(mlir::AffineExpr expr, mlir::ValueRange dims, mlir::ValueRange symbols);

  mlir::OpBuilder &b;
  mlir::Location loc;
  bool nativeBf16 = false; ///< see toStorage()
};

std::optional<int64_t> constantOf(mlir::Value value);

} // namespace tcc::codegen::gemm
