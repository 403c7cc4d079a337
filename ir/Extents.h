//===- Extents.h - symbolic extents of tensor types -------------*- C++ -*-===//
//
// The one place that knows how extents are written in types. Everything else asks these functions. An extent is an
// mlir::AffineExpr over symbols only (semi-affine: symbol * symbol is allowed), simplified, so that equal extents are
// equal expressions.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <optional>

#include "ir/Dialect.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace tcc::ir {

using Exprs = llvm::SmallVector<mlir::AffineExpr>;

/// All extents of a ranked tensor type. Asserts that a dynamic type carries its encoding (the verifier guarantees it).
Exprs getExtents(mlir::Type type);
mlir::AffineExpr getExtent(mlir::Type type, int64_t axis);
/// The tensor type with these extents: constants become static, and only a dynamic type gets an encoding.
mlir::RankedTensorType makeTensorType(llvm::ArrayRef<mlir::AffineExpr> extents, mlir::Type elementType);
mlir::RankedTensorType makeTensorType(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> extents,
                                      mlir::Type elementType);
/// The same extents with another element type.
mlir::RankedTensorType withElementType(mlir::RankedTensorType type, mlir::Type elementType);

/// Canonical form of an expression over symbols: equal polynomials become equal expressions, exact divisions are
/// carried out. Divisors count as positive.
mlir::AffineExpr simplifyExtent(mlir::AffineExpr expr);
std::optional<int64_t> getConstant(mlir::AffineExpr expr);
/// Product of expressions (1 for none).
mlir::AffineExpr product(mlir::MLIRContext *context, llvm::ArrayRef<mlir::AffineExpr> exprs);
/// Rounding the number of windows up (ceil_mode, where no window starts beyond the input and its low padding) is
/// rounding down with this high padding, for every extent of the input: so it needs no constant extent, and no minimum.
/// `span` is what a window covers, dilation included.
int64_t ceilModePadding(int64_t high, int64_t span, int64_t stride);
/// An inclusive range [min, max] of an extent, from the ranges in the function's tcc.symbols (min 0, max INT64_MAX
/// where unknown).
std::pair<int64_t, int64_t> getRange(mlir::AffineExpr expr, mlir::ArrayAttr symbols);

/// The same of any expression, which may be negative.
std::pair<int64_t, int64_t> getValueRange(mlir::AffineExpr expr, mlir::ArrayAttr symbols);

/// tcc.symbols of the enclosing function (empty array if none).
mlir::ArrayAttr getSymbols(mlir::Operation *op);
/// Appends a symbol to the enclosing function and returns its expression: for extents that are known only at run time.
mlir::AffineExpr addSymbol(mlir::FunctionOpInterface function, llvm::StringRef name, int64_t min = 0,
                           int64_t max = INT64_MAX, int64_t multipleOf = 1);

} // namespace tcc::ir
