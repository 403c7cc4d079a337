//===- Folding.cpp - constant folding with the reference kernels -----------===//
#include "ir/Folding.h"

#include "ir/ElementTypes.h"
#include "ir/Extents.h"
#include "ir/KernelCall.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Matchers.h"

namespace tcc::ir {

using mlir::Attribute;
using mlir::failed;
using mlir::failure;
using mlir::LogicalResult;
using mlir::Operation;
using mlir::OpFoldResult;
using mlir::success;
using Results = llvm::SmallVectorImpl<OpFoldResult>;

bool isGrowing(Operation *op) { return llvm::isa<BroadcastOp, IotaOp, PadOp, ResizeOp>(op); }

namespace {

mlir::RankedTensorType staticResult(Operation *op, unsigned index) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(op->getResult(index).getType());
  return type && type.hasStaticShape() ? type : nullptr;
}

/// Multiplications of a contraction; 0 for other ops. Saturates.
int64_t workOf(Operation *op) {
  auto elements = [](mlir::Value v) { return llvm::cast<mlir::ShapedType>(v.getType()).getNumElements(); };
  auto multiply = [](uint64_t x, uint64_t y) {
    return static_cast<int64_t>(std::min<uint64_t>(llvm::SaturatingMultiply(x, y), INT64_MAX));
  };
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case([&](MatmulOp m) {
        int64_t k = llvm::cast<mlir::ShapedType>(m.getA().getType()).getShape().back();
        return multiply(elements(m.getY()), k);
      })
      .Case<ConvOp, ConvTransposeOp>([&](auto conv) { return multiply(elements(conv.getY()), elements(conv.getW())); })
      .Case([&](AttentionOp a) { return multiply(elements(a.getQ()), elements(a.getK())); })
      .Default([](Operation *) { return 0; });
}

/// Movement of a splat, and elementwise ops on splats, need one element only.
LogicalResult foldSplats(Operation *op, llvm::ArrayRef<Attribute> operands, Results &results) {
  if (op->getNumResults() != 1)
    return failure();
  mlir::RankedTensorType type = staticResult(op, 0);
  if (!type || type.getNumElements() == 0 || operands.empty())
    return failure();
  llvm::SmallVector<mlir::DenseElementsAttr> splats;
  for (Attribute operand : operands) {
    auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(operand);
    if (!dense || !dense.isSplat())
      return failure();
    splats.push_back(dense);
  }
  if (llvm::isa<BroadcastOp, ReshapeOp, TransposeOp, SliceOp>(op)) {
    results.push_back(mlir::DenseElementsAttr::get(type, splats[0].getSplatValue<Attribute>()));
    return success();
  }
  if (!op->hasTrait<mlir::OpTrait::Elementwise>())
    return failure();
  std::vector<Tensor> scalars;
  for (mlir::DenseElementsAttr splat : splats) {
    auto scalar = mlir::RankedTensorType::get({}, splat.getElementType());
    absl::StatusOr<Tensor> tensor = toTensor(mlir::DenseElementsAttr::get(scalar, splat.getSplatValue<Attribute>()));
    if (!tensor.ok())
      return failure();
    scalars.push_back(*std::move(tensor));
  }
  TensorType scalarType{getDType(type.getElementType()), {}};
  absl::StatusOr<std::vector<Tensor>> values = callReference(op, scalars, nullptr, {scalarType});
  if (!values.ok() || values->size() != 1)
    return failure();
  absl::StatusOr<mlir::ElementsAttr> element = toElements(op->getContext(), values->front());
  auto dense = element.ok() ? llvm::dyn_cast<mlir::DenseElementsAttr>(*element) : mlir::DenseElementsAttr();
  if (!dense)
    return failure();
  results.push_back(mlir::DenseElementsAttr::get(type, dense.getSplatValue<Attribute>()));
  return success();
}

/// Other extents of the same elements, without a copy: weights are often reshaped. Null where there is no such form.
Attribute reshaped(Attribute value, mlir::RankedTensorType type) {
  if (auto resource = llvm::dyn_cast<mlir::DenseResourceElementsAttr>(value))
    return mlir::DenseResourceElementsAttr::get(type, resource.getRawHandle());
  if (auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(value))
    return dense.reshape(type);
  return {};
}

} // namespace

LogicalResult foldConstants(Operation *op, llvm::ArrayRef<Attribute> operands, Results &results, int64_t maxElements) {
  int64_t operandElements = 0, resultElements = 0;
  for (Attribute operand : operands) {
    auto elements = llvm::dyn_cast_or_null<mlir::ElementsAttr>(operand);
    if (!elements)
      return failure();
    operandElements += elements.getNumElements();
  }
  for (unsigned k = 0; k < op->getNumResults(); ++k) {
    mlir::RankedTensorType type = staticResult(op, k);
    if (!type)
      return failure();
    resultElements = std::max(resultElements, type.getNumElements());
  }
  if (auto reshape = llvm::dyn_cast<ReshapeOp>(op))
    if (Attribute value = reshaped(operands[0], reshape.getType())) {
      results.push_back(value);
      return success();
    }
  // Moving a splat takes no memory whatever its size.
  bool moves = llvm::isa<ReshapeOp, TransposeOp, SliceOp>(op);
  if ((moves || resultElements <= maxElements) && succeeded(foldSplats(op, operands, results)))
    return success();
  if (resultElements > maxElements)
    return failure();
  if (isGrowing(op) && resultElements > std::max(operandElements, kMaxSymbolicElements))
    return failure();
  // What is read and computed must be in proportion to what comes out.
  if (operandElements > 64 * maxElements || workOf(op) > 1024 * maxElements)
    return failure();

  std::vector<Tensor> inputs;
  for (Attribute operand : operands) {
    absl::StatusOr<Tensor> tensor = toTensor(llvm::cast<mlir::ElementsAttr>(operand));
    if (!tensor.ok())
      return failure();
    inputs.push_back(*std::move(tensor));
  }
  absl::StatusOr<std::vector<Tensor>> outputs = callReference(op, inputs, nullptr);
  if (!outputs.ok() || outputs->size() != op->getNumResults())
    return failure();
  llvm::SmallVector<OpFoldResult> folded;
  for (auto [index, output] : llvm::enumerate(*outputs)) {
    absl::StatusOr<mlir::ElementsAttr> value = toElements(op->getContext(), output);
    if (!value.ok() || value->getShapedType() != op->getResult(index).getType())
      return failure();
    folded.push_back(static_cast<Attribute>(*value));
  }
  results.append(folded.begin(), folded.end());
  return success();
}

LogicalResult foldWithReference(Operation *op, llvm::ArrayRef<Attribute> operands, Results &results) {
  if (llvm::any_of(operands, [](Attribute operand) { return !operand; }))
    return failure();
  bool symbolic = llvm::any_of(operands, [](Attribute operand) { return llvm::isa<ExtentsAttr>(operand); });
  return symbolic ? foldSymbolic(op, operands, results) : foldConstants(op, operands, results);
}

Attribute getSplatValue(mlir::Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!llvm::isa<BroadcastOp, ReshapeOp, TransposeOp, SliceOp>(op))
      break;
    value = op->getOperand(0);
  }
  mlir::DenseElementsAttr dense;
  if (!matchPattern(value, mlir::m_Constant(&dense)) || !dense || dense.empty())
    return {};
  if (dense.isSplat())
    return dense.getSplatValue<Attribute>();
  return {};
}

std::optional<int64_t> getSplatInt(mlir::Value value) {
  auto number = llvm::dyn_cast_or_null<mlir::IntegerAttr>(getSplatValue(value));
  if (!number || number.getValue().getBitWidth() > 64)
    return std::nullopt;
  auto type = llvm::cast<mlir::IntegerType>(number.getType());
  if (!type.isUnsigned() && type.getWidth() > 1)
    return number.getValue().getSExtValue();
  uint64_t bits = number.getValue().getZExtValue();
  return bits > INT64_MAX ? std::nullopt : std::optional<int64_t>(bits);
}

} // namespace tcc::ir
