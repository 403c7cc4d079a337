//===- Slices.h - pieces of a tensor next to each other ----------*- C++ -*-===//
#pragma once

#include "ir/Dialect.h"
#include "ir/Extents.h"

namespace tcc::ir {

/// Elements [start, start + size) along an axis; all of it is the tensor itself.
mlir::Value sliceAlong(mlir::OpBuilder &b, mlir::Location loc, mlir::Value whole, int64_t axis, int64_t start,
                       int64_t size);

/// A slice that takes all of every axis but one, of which it takes elements next to each other.
struct Piece {
  SliceOp op;
  int64_t axis = 0, start = 0, size = 0;
};
/// Nothing where a slice is no such piece, or where it is not known at compile time which elements it takes.
std::optional<Piece> pieceOf(SliceOp slice);

} // namespace tcc::ir
