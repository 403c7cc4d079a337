//===- Match.cpp - looking through constants and broadcasts ----------------===//
#include "ir/transforms/Match.h"

#include <cstring>

#include "ir/ElementTypes.h"
#include "ir/OpSupport.h"

namespace tcc::ir {

using mlir::Value;

std::optional<double> getSplat(Value value) {
  for (;;) {
    mlir::Operation *op = value.getDefiningOp();
    if (!op)
      return std::nullopt;
    if (auto cast = llvm::dyn_cast<CastOp>(op)) {
      if (!llvm::isa<mlir::FloatType>(tensorType(cast.getX()).getElementType()) ||
          !llvm::isa<mlir::FloatType>(cast.getType().getElementType()))
        return std::nullopt;
      value = cast.getX();
    } else if (llvm::isa<BroadcastOp, ReshapeOp, TransposeOp>(op)) {
      value = op->getOperand(0);
    } else {
      break;
    }
  }
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant || constant.getValue().getNumElements() == 0)
    return std::nullopt;
  auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue());
  if (!dense)
    return std::nullopt;
  if (!dense.isSplat() && dense.getNumElements() > 64)
    return std::nullopt;
  std::optional<double> result;
  for (mlir::Attribute element : dense.getValues<mlir::Attribute>()) {
    double number;
    if (auto real = llvm::dyn_cast<mlir::FloatAttr>(element))
      number = real.getValueAsDouble();
    else if (auto integer = llvm::dyn_cast<mlir::IntegerAttr>(element))
      number =
          integer.getValue().roundToDouble(integer.getType().isSignlessInteger() && !integer.getType().isInteger(1));
    else
      return std::nullopt;
    if (result && *result != number)
      return std::nullopt;
    result = number;
    if (dense.isSplat())
      break;
  }
  return result;
}

/// Extents other than 1, in order.
static Exprs nonUnitExtents(mlir::Type type) {
  Exprs result;
  for (mlir::AffineExpr extent : getExtents(type))
    if (getConstant(extent) != 1)
      result.push_back(extent);
  return result;
}

Value skipBroadcasts(Value value) {
  for (;;) {
    mlir::Operation *op = value.getDefiningOp();
    if (llvm::isa_and_nonnull<BroadcastOp>(op) ||
        (llvm::isa_and_nonnull<ReshapeOp>(op) &&
         nonUnitExtents(op->getOperand(0).getType()) == nonUnitExtents(value.getType())))
      value = op->getOperand(0);
    else
      return value;
  }
}

/// `outer` maps the axes of the reshape's result somewhere; makes it map those of its operand. False unless the reshape
/// only adds or drops unit axes; a unit axis of the operand maps to -1.
static bool mapThroughUnitReshape(ReshapeOp reshape, llvm::SmallVectorImpl<int64_t> &outer) {
  if (nonUnitExtents(reshape.getX().getType()) != nonUnitExtents(reshape.getType()))
    return false;
  llvm::SmallVector<int64_t> positions, mapped(rankOf(reshape.getX()), -1);
  for (auto [axis, extent] : llvm::enumerate(getExtents(reshape.getType())))
    if (getConstant(extent) != 1)
      positions.push_back(outer[axis]);
  size_t next = 0;
  for (auto [axis, extent] : llvm::enumerate(getExtents(reshape.getX().getType())))
    if (getConstant(extent) != 1)
      mapped[axis] = positions[next++];
  outer.assign(mapped.begin(), mapped.end());
  return true;
}

ReduceOp findReduction(Value statistic, bool throughElementwise) {
  llvm::SmallVector<int64_t> outer; // axis of `value` -> axis of `statistic`
  for (int64_t axis = 0; axis < rankOf(statistic); ++axis)
    outer.push_back(axis);
  Value value = statistic;
  while (mlir::Operation *op = value.getDefiningOp()) {
    if (auto broadcast = llvm::dyn_cast<BroadcastOp>(op)) {
      outer.erase(outer.begin(), outer.begin() + (rankOf(value) - rankOf(broadcast.getX())));
      value = broadcast.getX();
    } else if (auto reshape = llvm::dyn_cast<ReshapeOp>(op)) {
      if (!mapThroughUnitReshape(reshape, outer))
        return nullptr;
      value = reshape.getX();
    } else if (auto reduce = llvm::dyn_cast<ReduceOp>(op)) {
      int64_t result = 0;
      for (int64_t axis = 0; axis < rankOf(reduce.getX()); ++axis) {
        bool reduced = llvm::is_contained(reduce.getAxes(), axis);
        if (!reduced && getConstant(getExtent(reduce.getX().getType(), axis)) != 1 && outer[result] != axis)
          return nullptr;
        result += reduced && !reduce.getKeepDims() ? 0 : 1;
      }
      return reduce;
    } else if (throughElementwise && op->hasTrait<mlir::OpTrait::Elementwise>()) {
      // The operand that is no splat: epsilon, exponent and count are.
      Value next;
      for (Value operand : op->getOperands())
        if (!getSplat(operand))
          next = operand;
      if (!next)
        return nullptr;
      value = next;
    } else {
      return nullptr;
    }
  }
  return nullptr;
}

/// The one axis along which a constant varies (-1: none). Small constants may be broadcasts that were folded, so their
/// elements are compared; larger ones have one extent other than 1. Nothing if there are several such axes.
static std::optional<int64_t> varyingAxis(const Tensor &tensor) {
  constexpr int64_t kCompared = 4096;
  int64_t found = -1;
  for (int64_t axis = 0; axis < tensor.rank(); ++axis) {
    if (tensor.dim(axis) == 1)
      continue;
    if (tensor.num_elements() <= kCompared && !IsPacked(tensor.dtype())) {
      // Equal to its first slice along this axis, repeated?
      int64_t element = DTypeBytes(tensor.dtype(), 1), inner = tensor.strides()[axis] * element,
              block = inner * tensor.dim(axis);
      const char *data = static_cast<const char *>(tensor.data()), *end = data + tensor.bytes();
      bool repeats = true;
      for (; repeats && data < end; data += block)
        for (int64_t k = 1; repeats && k < tensor.dim(axis); ++k)
          repeats = std::memcmp(data, data + k * inner, inner) == 0;
      if (repeats)
        continue;
    }
    if (found >= 0)
      return std::nullopt;
    found = axis;
  }
  return found;
}

std::optional<ChannelConstant> getChannelConstant(Value value) {
  // Walk down while following where the one varying axis came from.
  int64_t rank = rankOf(value);
  Value below = value;
  llvm::SmallVector<int64_t> outer(rank); // axis of `below` -> axis of `value`
  for (int64_t axis = 0; axis < rank; ++axis)
    outer[axis] = axis;
  for (;;) {
    mlir::Operation *op = below.getDefiningOp();
    if (!op)
      return std::nullopt;
    if (auto broadcast = llvm::dyn_cast<BroadcastOp>(op)) {
      outer.erase(outer.begin(), outer.begin() + (rankOf(below) - rankOf(broadcast.getX())));
      below = broadcast.getX();
    } else if (auto reshape = llvm::dyn_cast<ReshapeOp>(op)) {
      if (!mapThroughUnitReshape(reshape, outer))
        return std::nullopt;
      below = reshape.getX();
    } else if (auto transpose = llvm::dyn_cast<TransposeOp>(op)) {
      llvm::SmallVector<int64_t> mapped(outer.size());
      for (auto [position, axis] : llvm::enumerate(transpose.getPermutation()))
        mapped[axis] = outer[position];
      outer = mapped;
      below = transpose.getX();
    } else {
      break;
    }
  }
  auto constant = below.getDefiningOp<ConstantOp>();
  if (!constant)
    return std::nullopt;
  absl::StatusOr<Tensor> tensor = toTensor(constant.getValue());
  if (!tensor.ok() || tensor->num_elements() == 0)
    return std::nullopt;
  std::optional<int64_t> varying = varyingAxis(*tensor);
  if (!varying)
    return std::nullopt;
  ChannelConstant result;
  int64_t count = 1;
  if (*varying >= 0) {
    result.axis = outer[*varying];
    count = tensor->dim(*varying);
  }
  int64_t stride = *varying >= 0 ? tensor->strides()[*varying] : 1;
  absl::StatusOr<Tensor> elements = tensor->View({count}, {stride}, 0).Contiguous();
  if (!elements.ok())
    return std::nullopt;
  result.elements = *std::move(elements);
  return result;
}

} // namespace tcc::ir
