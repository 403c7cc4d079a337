//===- SymbolicFolding.cpp - arithmetic on extents held in tensors ---------===//
//
// What a model computes from Shape: small integer tensors whose elements are expressions over symbols. Ops that only
// move elements run their reference kernel on the positions of the elements instead of the elements.
//
//===----------------------------------------------------------------------===//
#include "ir/ElementTypes.h"
#include "ir/Extents.h"
#include "ir/Folding.h"
#include "ir/KernelCall.h"

namespace tcc::ir {

using mlir::AffineExpr;
using mlir::Attribute;
using mlir::failure;
using mlir::LogicalResult;
using mlir::Operation;
using mlir::OpFoldResult;
using mlir::success;

namespace {

/// The elements as expressions; nothing for another kind of attribute, too many, or another element type than an
/// integer's. Small types are left out: extents would wrap in them. (A model that casts extents to i32 is not defined
/// for larger ones.)
std::optional<Exprs> getExprs(Attribute value) {
  if (auto extents = llvm::dyn_cast<ExtentsAttr>(value))
    return Exprs(extents.getExprs());
  auto dense = llvm::dyn_cast<mlir::DenseIntElementsAttr>(value);
  if (!dense || dense.getNumElements() > kMaxSymbolicElements || dense.getElementType().isInteger(1))
    return std::nullopt;
  bool isUnsigned = dense.getElementType().isUnsignedInteger();
  Exprs exprs;
  for (const llvm::APInt &element : dense.getValues<llvm::APInt>())
    exprs.push_back(
        mlir::getAffineConstantExpr(isUnsigned ? element.getZExtValue() : element.getSExtValue(), value.getContext()));
  return exprs;
}

mlir::RankedTensorType symbolicResult(Operation *op) {
  auto type = op->getNumResults() == 1 ? llvm::dyn_cast<mlir::RankedTensorType>(op->getResult(0).getType()) : nullptr;
  if (!type || !type.hasStaticShape() || type.getNumElements() > kMaxSymbolicElements)
    return nullptr;
  auto integer = llvm::dyn_cast<mlir::IntegerType>(type.getElementType());
  return integer && (integer.getWidth() >= 32 || integer.getWidth() == 1) ? type : nullptr;
}

/// Exprs as the value of a tensor of this type.
LogicalResult finish(mlir::RankedTensorType type, llvm::ArrayRef<AffineExpr> exprs,
                     llvm::SmallVectorImpl<OpFoldResult> &results) {
  auto extents = ExtentsAttr::get(type.getContext(), exprs);
  auto constants = extents.getConstants();
  if (!constants) {
    if (type.getElementType().isInteger(1))
      return failure();
    results.push_back(static_cast<Attribute>(extents));
    return success();
  }
  unsigned width = type.getElementTypeBitWidth();
  llvm::SmallVector<llvm::APInt> values;
  for (int64_t constant : *constants)
    values.push_back(llvm::APInt(64, constant, /*isSigned=*/true).trunc(width));
  results.push_back(static_cast<Attribute>(mlir::DenseElementsAttr::get(type, values)));
  return success();
}

//===- Movement -----------------------------------------------------------------===//

/// Operands whose elements the op moves to its result, unchanged; nothing if it does anything else.
std::optional<llvm::SmallVector<unsigned>> movedOperands(Operation *op) {
  using Moved = llvm::SmallVector<unsigned>;
  return llvm::TypeSwitch<Operation *, std::optional<Moved>>(op)
      .Case<ReshapeOp, TransposeOp, BroadcastOp, SliceOp, GatherOp, GatherElementsOp, GatherNdOp>(
          [](auto) { return Moved{0}; })
      .Case<ScatterElementsOp, ScatterNdOp>([](auto scatter) {
        return scatter.getKind() == ScatterKind::Assign ? std::optional<Moved>({0, 2}) : std::nullopt;
      })
      .Case([](SelectOp) { return Moved{1, 2}; })
      .Case([](ConcatOp concat) { return llvm::to_vector(llvm::seq<unsigned>(0, concat->getNumOperands())); })
      .Case([](PadOp pad) {
        // Without a fill, zeros come from nowhere.
        return pad.getFill() ? std::optional<Moved>({0, 1}) : std::nullopt;
      })
      .Default([](Operation *) { return std::nullopt; });
}

LogicalResult foldMovement(Operation *op, llvm::ArrayRef<Attribute> operands, llvm::ArrayRef<unsigned> moved,
                           mlir::RankedTensorType type, llvm::SmallVectorImpl<OpFoldResult> &results) {
  Exprs elements;
  std::vector<Tensor> inputs;
  for (auto [index, operand] : llvm::enumerate(operands)) {
    if (!llvm::is_contained(moved, index)) {
      auto constant = llvm::dyn_cast<mlir::ElementsAttr>(operand);
      if (!constant)
        return failure();
      absl::StatusOr<Tensor> tensor = toTensor(constant);
      if (!tensor.ok())
        return failure();
      inputs.push_back(*std::move(tensor));
      continue;
    }
    auto operandType = llvm::dyn_cast<mlir::RankedTensorType>(op->getOperand(index).getType());
    std::optional<Exprs> exprs = getExprs(operand);
    if (!exprs || !operandType || !operandType.hasStaticShape() ||
        operandType.getNumElements() != static_cast<int64_t>(exprs->size()))
      return failure();
    absl::StatusOr<Tensor> positions =
        Tensor::Allocate(DType::kI64, {operandType.getShape().data(), operandType.getShape().size()});
    if (!positions.ok())
      return failure();
    for (auto [k, expr] : llvm::enumerate(*exprs)) {
      positions->data_as<int64_t>()[k] = elements.size();
      elements.push_back(expr);
    }
    inputs.push_back(*std::move(positions));
  }
  TensorType resultType{DType::kI64, Dims(type.getShape().begin(), type.getShape().end())};
  absl::StatusOr<std::vector<Tensor>> outputs = callReference(op, inputs, nullptr, {resultType});
  if (!outputs.ok() || outputs->size() != 1)
    return failure();
  absl::StatusOr<Tensor> positions = outputs->front().Contiguous();
  if (!positions.ok() || positions->num_elements() != type.getNumElements())
    return failure();
  Exprs exprs;
  for (int64_t k = 0; k < positions->num_elements(); ++k)
    exprs.push_back(elements[positions->data_as<int64_t>()[k]]);
  return finish(type, exprs, results);
}

//===- Arithmetic ---------------------------------------------------------------===//

/// One element of an arithmetic op from those of its operands.
class Arithmetic {
public:
  Arithmetic(Operation *op) : op(op), symbols(getSymbols(op)) {}

  std::optional<AffineExpr> unary(AffineExpr x) {
    auto [low, high] = range(x);
    if (llvm::isa<NegOp>(op))
      return simplifyExtent(-x);
    if (llvm::isa<CastOp>(op))
      return x;
    if (llvm::isa<AbsOp>(op))
      return low >= 0 ? std::optional(x) : high <= 0 ? std::optional(simplifyExtent(-x)) : std::nullopt;
    if (llvm::isa<SignOp>(op) && (low > 0 || high < 0 || (low == 0 && high == 0)))
      return constant(low > 0 ? 1 : high < 0 ? -1 : 0);
    return std::nullopt;
  }

  std::optional<AffineExpr> binary(AffineExpr a, AffineExpr b) {
    if (llvm::isa<AddOp>(op))
      return simplifyExtent(a + b);
    if (llvm::isa<SubOp>(op))
      return simplifyExtent(a - b);
    if (llvm::isa<MulOp>(op))
      return simplifyExtent(a * b);
    if (llvm::isa<DivOp>(op))
      return divide(a, b);
    if (llvm::isa<ModOp>(op) || (llvm::isa<FmodOp>(op) && range(a).first >= 0))
      return range(b).first > 0 ? std::optional(simplifyExtent(a % b)) : std::nullopt;
    if (llvm::isa<MaxOp>(op))
      return larger(a, b);
    if (llvm::isa<MinOp>(op))
      return smaller(a, b);
    if (auto compare = llvm::dyn_cast<CompareOp>(op))
      return decide(compare.getPredicate(), a, b);
    return std::nullopt;
  }

  std::optional<AffineExpr> larger(AffineExpr a, AffineExpr b) {
    auto [low, high] = range(simplifyExtent(a - b));
    return low >= 0 ? std::optional(a) : high <= 0 ? std::optional(b) : std::nullopt;
  }
  std::optional<AffineExpr> smaller(AffineExpr a, AffineExpr b) {
    auto [low, high] = range(simplifyExtent(a - b));
    return low >= 0 ? std::optional(b) : high <= 0 ? std::optional(a) : std::nullopt;
  }

private:
  AffineExpr constant(int64_t value) { return mlir::getAffineConstantExpr(value, op->getContext()); }
  std::pair<int64_t, int64_t> range(AffineExpr expr) { return getValueRange(expr, symbols); }

  /// The op truncates, affine expressions floor: the same for a dividend that is not negative, or an exact quotient.
  std::optional<AffineExpr> divide(AffineExpr a, AffineExpr b) {
    if (range(b).first <= 0)
      return std::nullopt;
    AffineExpr quotient = simplifyExtent(a.floorDiv(b));
    bool exact = simplifyExtent(quotient * b - a) == constant(0);
    return range(a).first >= 0 || exact ? std::optional(quotient) : std::nullopt;
  }

  std::optional<AffineExpr> decide(Predicate predicate, AffineExpr a, AffineExpr b) {
    auto [low, high] = range(simplifyExtent(a - b));
    auto known = [&](bool yes, bool no) { return yes || no ? std::optional(constant(yes)) : std::nullopt; };
    bool equal = low == 0 && high == 0, different = low > 0 || high < 0;
    switch (predicate) {
    case Predicate::Eq:
      return known(equal, different);
    case Predicate::Ne:
      return known(different, equal);
    case Predicate::Lt:
      return known(high < 0, low >= 0);
    case Predicate::Le:
      return known(high <= 0, low > 0);
    case Predicate::Gt:
      return known(low > 0, high <= 0);
    case Predicate::Ge:
      return known(low >= 0, high < 0);
    }
    return std::nullopt;
  }

  Operation *op;
  mlir::ArrayAttr symbols;
};

LogicalResult foldElementwise(Operation *op, llvm::ArrayRef<Attribute> operands, mlir::RankedTensorType type,
                              llvm::SmallVectorImpl<OpFoldResult> &results) {
  llvm::SmallVector<Exprs> values;
  for (Attribute operand : operands) {
    std::optional<Exprs> exprs = getExprs(operand);
    if (!exprs || static_cast<int64_t>(exprs->size()) != type.getNumElements())
      return failure();
    values.push_back(*std::move(exprs));
  }
  // A bool that an extent is cast to is whether it is not zero: a comparison, not this.
  if (llvm::isa<CastOp>(op) && type.getElementType().isInteger(1))
    return failure();
  Arithmetic arithmetic(op);
  Exprs folded;
  for (int64_t k = 0; k < type.getNumElements(); ++k) {
    std::optional<AffineExpr> element;
    if (values.size() == 1)
      element = arithmetic.unary(values[0][k]);
    else if (values.size() == 2)
      element = arithmetic.binary(values[0][k], values[1][k]);
    if (!element)
      return failure();
    folded.push_back(*element);
  }
  return finish(type, folded, results);
}

LogicalResult foldReduce(ReduceOp op, Attribute operand, mlir::RankedTensorType type,
                         llvm::SmallVectorImpl<OpFoldResult> &results) {
  auto from = llvm::cast<mlir::RankedTensorType>(op.getX().getType());
  std::optional<Exprs> elements = getExprs(operand);
  if (!elements || !from.hasStaticShape() || from.getNumElements() != static_cast<int64_t>(elements->size()) ||
      from.getNumElements() == 0)
    return failure();
  Arithmetic arithmetic(op);
  llvm::SmallVector<std::optional<AffineExpr>> sums(type.getNumElements());
  for (auto [flat, element] : llvm::enumerate(*elements)) {
    // Position in the result: row-major over the axes that stay.
    int64_t rest = flat, position = 0, stride = 1;
    for (int64_t axis = from.getRank() - 1; axis >= 0; --axis) {
      int64_t index = rest % from.getDimSize(axis);
      rest /= from.getDimSize(axis);
      if (llvm::is_contained(op.getAxes(), axis))
        continue;
      position += index * stride;
      stride *= from.getDimSize(axis);
    }
    std::optional<AffineExpr> &sum = sums[position];
    if (!sum) {
      sum = element;
      continue;
    }
    switch (op.getKind()) {
    case ReduceKind::Sum:
      sum = simplifyExtent(*sum + element);
      break;
    case ReduceKind::Prod:
      sum = simplifyExtent(*sum * element);
      break;
    case ReduceKind::Max:
      sum = arithmetic.larger(*sum, element);
      break;
    case ReduceKind::Min:
      sum = arithmetic.smaller(*sum, element);
      break;
    case ReduceKind::Mean:
      return failure();
    }
    if (!sum)
      return failure();
  }
  Exprs folded;
  for (const std::optional<AffineExpr> &sum : sums)
    folded.push_back(*sum);
  return finish(type, folded, results);
}

} // namespace

LogicalResult foldSymbolic(Operation *op, llvm::ArrayRef<Attribute> operands,
                           llvm::SmallVectorImpl<OpFoldResult> &results) {
  mlir::RankedTensorType type = symbolicResult(op);
  if (!type)
    return failure();
  if (std::optional<llvm::SmallVector<unsigned>> moved = movedOperands(op))
    return foldMovement(op, operands, *moved, type, results);
  if (auto reduce = llvm::dyn_cast<ReduceOp>(op))
    return foldReduce(reduce, operands[0], type, results);
  if (op->hasTrait<mlir::OpTrait::Elementwise>())
    return foldElementwise(op, operands, type, results);
  return failure();
}

} // namespace tcc::ir
