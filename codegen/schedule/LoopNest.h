//===- LoopNest.h - a tcc.loops as schedules see it ---------------*- C++ -*-===//
//
// The index arithmetic of a loop body in one canonical form: every index value, every load's offset into flat row-major
// memory and every condition as an expression over the nest's dimensions. Schedules ask for strides and merge
// dimensions here, before any code exists.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/schedule/IndexExpr.h"
#include "ir/Dialect.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tcc::codegen {

/// Index values that are no expression of the loops' indices (loaded ones) are dimensions from here on.
constexpr unsigned kFirstOpaqueDim = 1000;

/// Conditions, all of which must hold: an expression is >= 0, or == 0.
struct Conditions {
  Exprs exprs;
  llvm::SmallVector<bool> equal;
};

struct LoopNest {
  mutable ir::LoopsOp op; ///< a handle; its accessors are not const
  Exprs extents;          ///< parallel dimensions first
  unsigned numParallel = 0;
  mlir::ArrayAttr symbols;

  llvm::DenseMap<mlir::Value, mlir::AffineExpr> index;        ///< every value of type index in the body
  llvm::SmallVector<mlir::Value> opaque;                      ///< values of dimensions kFirstOpaqueDim + i
  llvm::DenseMap<mlir::Operation *, mlir::AffineExpr> offset; ///< of each tcc.load
  llvm::DenseMap<mlir::Operation *, Exprs> coordinates; ///< of each tcc.load, one per axis; not kept up by mergeDims()
  llvm::DenseMap<mlir::Operation *, Conditions> conditions; ///< of masked loads and tcc.in_set
  llvm::SmallVector<mlir::AffineExpr> resultOffset;         ///< of each result

  /// How many leading axes of a tensor the memory that holds it leaves out.
  using SkippedAxes = llvm::function_ref<unsigned(mlir::Value)>;
  /// Never fails: what is not affine is opaque.
  static LoopNest analyze(ir::LoopsOp op, SkippedAxes skippedAxes);

  unsigned numDims() const { return extents.size(); }
  bool isReduction() const { return numParallel < extents.size(); }
  IndexSimplifier simplifier() const { return {op.getContext(), extents, symbols}; }
  /// The extent, if constant.
  std::optional<int64_t> constantExtent(unsigned dim) const;
  llvm::SmallVector<ir::LoadOp> loads() const;

  /// Merges neighbouring dimensions (both parallel or both reduced, at `first` or beyond) that all accesses run through
  /// without a gap, and drops those of extent one. The numbers of later dimensions change.
  void mergeDims(unsigned first);
  /// Whether an index other than through a load's offset depends on the dimension.
  bool isIndexUsed(unsigned dim) const;

private:
  void substitute(llvm::ArrayRef<mlir::AffineExpr> replacements);
};

/// Loads that run along `tileDim` where lanes run along `laneDim`.
llvm::SmallVector<ir::LoadOp> transposedLoads(const LoopNest &nest, unsigned laneDim, unsigned tileDim);

/// Number of ops in the body, roughly: for unrolling and grain.
int64_t bodyCost(const LoopNest &nest);

/// Row-major offset of a coordinate in a tensor type, leaving out the first axes.
mlir::AffineExpr rowMajorOffset(llvm::ArrayRef<mlir::AffineExpr> coordinate, llvm::ArrayRef<mlir::AffineExpr> extents,
                                unsigned skip, mlir::MLIRContext *context);

} // namespace tcc::codegen
