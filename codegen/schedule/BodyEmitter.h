//===- BodyEmitter.h - bodies of loops, scalar or vector ----------*- C++ -*-===//
#pragma once

#include "codegen/schedule/ElementOps.h"
#include "codegen/schedule/LoopNest.h"
#include "mlir/IR/Builders.h"

namespace tcc::codegen {

using Values = llvm::SmallVector<mlir::Value>;

/// Where a tensor of the kernel is.
struct TensorPlace {
  mlir::Value memref; ///< flat; bool as i8
  mlir::Value scalar; ///< instead: a tensor of one element (at this point of the fixed dimensions), in a register
};

/// Values of a nest's dimensions, of which one may run along the lanes of a vector.
struct Point {
  Values dims;           ///< in lane 0
  int laneDim = -1;      ///< grows by one from lane to lane
  int64_t lanes = 1;     ///< one: scalar code
  mlir::Value mask = {}; ///< valid lanes, null: all
};

/// What bodies read besides their nest.
struct BodyContext {
  std::function<TensorPlace(mlir::Value)> place;
  Values symbols;          ///< values of the function's symbols, by position; null for those it does not have
  mlir::Value errorWord;   ///< memref<?xi64>, where the kernel may fail
  bool contract = true;    ///< whether a * b + c may be fused
  bool nativeBf16 = false; ///< see toStorage()
};

/// Emits a nest's body. Float16 and bfloat16 values are computed as float32; the values it returns are.
class BodyEmitter {
public:
  BodyEmitter(mlir::OpBuilder &builder, const LoopNest &nest, const BodyContext &context)
      : b(builder), loc(nest.op.getLoc()), nest(nest), context(context), simplifier(nest.simplifier()) {}

  /// What the body yields at a point: scalars, or vectors for more than one lane.
  Values evaluate(const Point &point);

  /// Loads `lanes` elements that are contiguous along another dimension, from a point without lanes.
  mlir::Value loadContiguous(ir::LoadOp op, const Point &point, int64_t lanes);
  /// Where a load reads and a result is written at a point without lanes.
  mlir::Value loadOffset(ir::LoadOp op, const Point &point);
  mlir::Value resultOffset(unsigned result, const Point &point);
  /// What evaluate() takes for a load instead of loading.
  void setLoaded(ir::LoadOp op, mlir::Value value) { loaded[op] = value; }
  void clearLoaded() { loaded.clear(); }

  /// Writes a result at the point. Lanes must be contiguous or the same in memory for vectors, unless `scatter` is
  /// affordable.
  void store(mlir::Value value, unsigned result, mlir::Value memref, const Point &point);
  /// The same into memory of the compute type that starts at `base`, for results to be combined later.
  void storePartial(mlir::Value value, unsigned result, mlir::Value memref, mlir::Value base, const Point &point);

  /// Whether bodies of this nest with lanes along `dim` can be masked (and therefore have a masked tail) on a
  /// processor.
  static bool canMask(const LoopNest &nest, unsigned dim, bool narrowMasks);

private:
  void storeAt(mlir::Value value, mlir::AffineExpr offset, mlir::Value memref, mlir::Value base);
  bool isVector(mlir::AffineExpr expr) const;
  mlir::Value constant(int64_t value);
  mlir::Value scalarIndex(mlir::AffineExpr expr);
  mlir::Value vectorIndex(mlir::AffineExpr expr);
  mlir::Value laneNumbers(mlir::Type element);
  mlir::Value splat(mlir::Value value);
  mlir::Value indexValue(mlir::Value value);
  mlir::Value operand(mlir::Value value);

  mlir::Value condition(const Conditions &conditions);
  mlir::Value load(ir::LoadOp op);
  mlir::Value loadScalar(mlir::Value memref, mlir::Value offset, mlir::Value condition, mlir::Type type);
  mlir::Value loadStrided(mlir::Value memref, mlir::Value offset, int64_t stride, mlir::Type type);
  mlir::Value loadGather(mlir::Value memref, mlir::AffineExpr offset, mlir::Value mask, mlir::Type type);
  mlir::Value boundsCheck(ir::BoundsCheckOp op);
  void report(mlir::Value bad, int64_t code);

  mlir::OpBuilder &b;
  mlir::Location loc;
  const LoopNest &nest;
  const BodyContext &context;
  IndexSimplifier simplifier;
  Point point;
  llvm::DenseMap<mlir::Operation *, mlir::Value> loaded;
  llvm::DenseMap<mlir::Value, mlir::Value> values; ///< body value -> emitted scalar or vector
};

} // namespace tcc::codegen
