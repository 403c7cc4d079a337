//===- NestEmitter.h - the loops around a body --------------------*- C++ -*-===//
#pragma once

#include "codegen/cpu/CpuDescription.h"
#include "codegen/schedule/BodyEmitter.h"

namespace tcc::codegen {

/// How a nest is vectorised. Any values are correct, as long as lanes are contiguous in the results that the nest
/// stores or few enough to scatter.
struct NestPlan {
  int laneDim = -1;   ///< -1: scalar
  int64_t lanes = 1;  ///< a power of two
  int64_t unroll = 1; ///< vectors side by side
  bool maskedTail = false;
  /// Another dimension, along which some loads are contiguous that are not along the lanes: squares of lanes x lanes
  /// are transposed in registers. -1: none.
  int tileDim = -1;
};

/// Chooses among the dimensions from `fixed` on.
NestPlan planNest(const LoopNest &nest, const CpuDescription &cpu, unsigned fixed);

/// "4 vectors of 16 along dimension 1", for logs.
std::string describe(const NestPlan &plan);

class NestEmitter {
public:
  /// Receives each result (scalar or vector) at a point.
  using Sink = llvm::function_ref<void(BodyEmitter &, const Point &, mlir::ValueRange)>;

  NestEmitter(mlir::OpBuilder &b, const LoopNest &nest, const BodyContext &context, const NestPlan &plan)
      : b(b), loc(nest.op.getLoc()), nest(nest), context(context), plan(plan), body(b, nest, context) {}

  /// Restricts a dimension to [low, high).
  void setRange(unsigned dim, mlir::Value low, mlir::Value high);
  /// Emits all loops but those of dimensions that have a value in `dims`.
  void emit(Values dims, Sink sink);

private:
  mlir::Value constant(int64_t value);
  mlir::Value low(unsigned dim);
  mlir::Value high(unsigned dim);
  Values loop(mlir::Value low, mlir::Value high, int64_t step, mlir::ValueRange init,
              llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> body);
  mlir::Value roundDown(mlir::Value low, mlir::Value high, int64_t step);
  mlir::Value tailMask(mlir::Value low, mlir::Value high);
  void emitParallel(unsigned dim, Values &dims, Sink sink);
  void emitPointwise(Values &dims, Sink sink);
  void emitTiles(Values &dims, Sink sink);
  void emitReduction(Values &dims, Sink sink);
  void emitInnerReduction(Values &dims, Sink sink);
  /// Runs through the reduced dimensions but the lane's.
  Values reduceOver(unsigned dim, Values &dims, mlir::ValueRange accumulators,
                    llvm::function_ref<Values(Values &, mlir::ValueRange)> inner);
  bool sumsInBlocks(unsigned dim) const;
  mlir::Value horizontal(unsigned result, mlir::Value vector);
  Point pointAt(const Values &dims, mlir::Value lane, int64_t lanes, mlir::Value mask);

  mlir::OpBuilder &b;
  mlir::Location loc;
  const LoopNest &nest;
  const BodyContext &context;
  NestPlan plan;
  BodyEmitter body;
  llvm::SmallVector<ir::LoadOp> transposed;
  llvm::DenseMap<unsigned, std::pair<mlir::Value, mlir::Value>> ranges;
  mlir::Value laneLow, laneHigh;
};

} // namespace tcc::codegen
