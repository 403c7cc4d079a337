//===- Body.h - bodies of tcc.loops inside a tile -----------------*- C++ -*-===//
#pragma once

#include "codegen/schedule/ElementOps.h"
#include "codegen/schedule/template/Emit.h"
#include "codegen/schedule/template/TileExpr.h"
#include "ir/Dialect.h"
#include "llvm/ADT/DenseMap.h"

namespace tcc::codegen::gemm {

/// Where a body is evaluated: values of the tile's dimensions, of which one may run along the lanes of a vector.
struct Point {
  Values dims;      ///< value of each dimension, in lane 0
  Values symbols;   ///< of the enclosing function, by position
  int laneDim = -1; ///< the dimension that grows by one from lane to lane; its value is a multiple of `lanes`
  int64_t lanes = 1;
  mlir::Value count = {}; ///< how many lanes are valid (at least one); null: all
  mlir::Value mask = {};  ///< the same as a mask
};

/// Evaluates scalar bodies of tcc.loops for one point or for a vector of consecutive points, in their compute types
/// (ElementOps.h). What does not depend on the lane stays scalar.
class BodyEmitter {
public:
  /// The memref that holds a kernel argument.
  using Buffers = llvm::function_ref<mlir::Value(mlir::Value)>;

  BodyEmitter(Emit &emit, Point point, Buffers buffers) : e(emit), point(std::move(point)), buffers(buffers) {}

  /// Loads of `tensor` (a template's result) give `value`, whatever their index.
  /// In the tensor's element type or in a wider one.
  void bind(mlir::Value tensor, mlir::Value value) { bound[tensor] = value; }

  /// What the loops yield at a coordinate, given in terms of the tile's dimensions.
  Values evaluate(ir::LoopsOp loops, llvm::ArrayRef<mlir::AffineExpr> coordinate);
  /// The element of a kernel tensor (argument or result of a tcc.loops) at a coordinate.
  mlir::Value element(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> coordinate);
  /// The same as a vector (for lanes > 1).
  mlir::Value vectorElement(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> coordinate) {
    return e.splat(element(tensor, coordinate), point.lanes);
  }
  /// Writes a scalar or vector into row-major memory at a coordinate of a tensor type.
  void store(mlir::Value value, mlir::Value memref, mlir::RankedTensorType type,
             llvm::ArrayRef<mlir::AffineExpr> coordinate);

private:
  // An index in the body: an expression of the tile's dimensions, or a computed value (scalar or vector).
  struct Index {
    mlir::AffineExpr expr;
    mlir::Value value;
  };
  Index indexOf(mlir::Value value);
  /// Indices as expressions: computed ones are dims after those of the tile, with these values.
  std::pair<Exprs, Values> splitIndices(mlir::ValueRange operands);
  mlir::Value valueOf(mlir::Value value);
  mlir::Value materialize(mlir::AffineExpr expr);
  // The expression in one lane, with lanes beyond the count clamped to the last valid one.
  Values laneDims(int64_t lane);
  mlir::Value load(ir::LoadOp op);
  mlir::Value loadAt(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> coordinate, mlir::IntegerSet mask,
                     mlir::Value fill, llvm::ArrayRef<mlir::Value> extra);
  mlir::Value condition(mlir::IntegerSet set, llvm::ArrayRef<mlir::AffineExpr> dims, llvm::ArrayRef<mlir::Value> extra);
  mlir::Value scalarCondition(mlir::IntegerSet set, mlir::ValueRange dims);
  /// In the type that this element type is computed in; a bound value may be in a wider one.
  mlir::Value narrowed(mlir::Value value, mlir::Type element);
  void emit(mlir::Operation &op);

  Emit &e;
  Point point;
  Buffers buffers;
  llvm::DenseMap<mlir::Value, mlir::Value> bound;
  llvm::DenseMap<mlir::Value, mlir::Value> values;
  llvm::DenseMap<mlir::Value, Index> indices;
};

/// Whether BodyEmitter knows every op of the body.
bool canEmitBody(ir::LoopsOp loops);
/// Rough number of operations of a body, for choosing between unrolled and looped epilogues.
int64_t bodyCost(ir::LoopsOp loops);

} // namespace tcc::codegen::gemm
