//===- Match.h - looking through constants and broadcasts -------*- C++ -*-===//
#pragma once

#include <optional>

#include "ir/Dialect.h"
#include "ir/Extents.h"
#include "runtime/tensor.h"

namespace tcc::ir {

/// The value of a floating-point or integer constant whose elements are all equal, seen through broadcasts, reshapes,
/// transposes and casts between floating-point types.
std::optional<double> getSplat(mlir::Value value);

/// The value below broadcasts and the reshapes that only add or drop unit axes.
mlir::Value skipBroadcasts(mlir::Value value);

/// The reduction whose result is broadcast to `statistic`, or with `throughElementwise` to what elementwise ops make of
/// it and of splats. Null unless each axis that it keeps is the same axis of `statistic`: where extents are equal, they
/// alone do not tell the mean of each row from that of each column.
ReduceOp findReduction(mlir::Value statistic, bool throughElementwise);

/// A constant that varies along at most one axis of `value`'s type: that axis (-1 for a splat) and the rank-1
/// constant's elements as a tensor of `value`'s element type (one element for a splat).
struct ChannelConstant {
  int64_t axis = -1;
  Tensor elements;
};
std::optional<ChannelConstant> getChannelConstant(mlir::Value value);

} // namespace tcc::ir
