//===- NarrowIntegers.cpp -------------------------------------------------===//
#include "codegen/cuda/gemm/NarrowIntegers.h"

#include <algorithm>

#include "codegen/schedule/template/TileExpr.h"
#include "ir/ElementTypes.h"
#include "ir/Extents.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

constexpr unsigned kK = 2;

// A scalar of a body, at a coordinate of its loops.
struct Traced {
  Value value;
  Exprs coordinate;
};

// What a load reads: the scalar that loops make there, or (value null) an argument at its coordinate.
std::optional<Traced> traced(ir::LoadOp load, ArrayRef<AffineExpr> coordinate) {
  if (load.getMask())
    return std::nullopt;
  Exprs dims, at;
  for (Value index : load.getIndices()) {
    auto argument = dyn_cast<BlockArgument>(index);
    if (!argument || argument.getOwner()->getParentOp() != load->getParentOp())
      return std::nullopt;
    dims.push_back(coordinate[argument.getArgNumber()]);
  }
  for (AffineExpr result : load.getMap().getResults())
    at.push_back(gemm::simplify(gemm::substitute(result, dims)));
  auto loops = load.getTensor().getDefiningOp<ir::LoopsOp>();
  if (!loops)
    return Traced{Value(), at};
  if (loops.getNumReductions() != 0)
    return std::nullopt;
  return Traced{loops.getBody().front().getTerminator()->getOperand(cast<OpResult>(load.getTensor()).getResultNumber()),
                at};
}

// Through loads of what other loops make.
std::optional<Traced> resolve(Traced at) {
  while (auto load = at.value.getDefiningOp<ir::LoadOp>()) {
    std::optional<Traced> next = traced(load, at.coordinate);
    if (!next)
      return std::nullopt;
    if (!next->value)
      return at;
    at = *next;
  }
  return at;
}

std::optional<NarrowValue> valueOf(Traced at) {
  std::optional<Traced> found = resolve(std::move(at));
  if (!found)
    return std::nullopt;
  Operation *op = found->value.getDefiningOp();
  NarrowValue value;
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(op)) {
    auto integer = dyn_cast<IntegerAttr>(constant.getValue());
    if (!integer || integer.getType().getIntOrFloatBitWidth() > 32)
      return std::nullopt;
    value.constant = integer.getValue().getSExtValue();
    value.bits = 32;
    return value;
  }
  bool widened = isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp>(op);
  if (widened) {
    value.isUnsigned = isa<arith::ExtUIOp>(op);
    found = resolve({op->getOperand(0), found->coordinate});
    if (!found)
      return std::nullopt;
  }
  auto load = found->value.getDefiningOp<ir::LoadOp>();
  if (!load)
    return std::nullopt;
  auto argument = dyn_cast<BlockArgument>(load.getTensor());
  auto type = cast<RankedTensorType>(load.getTensor().getType());
  std::optional<Traced> place = traced(load, found->coordinate);
  value.bits = type.getElementType().getIntOrFloatBitWidth();
  if (!argument || !place || value.bits != (widened ? 8u : 32u))
    return std::nullopt;
  value.argument = static_cast<int>(argument.getArgNumber());
  value.offset = gemm::rowMajorOffset(place->coordinate, ir::getExtents(type), load.getContext());
  return value;
}

// As an operand of tensor cores.
struct Narrowed {
  OperandSpec spec;
  std::string zero;
  int zeroBuffer = -1;
};

std::optional<Narrowed> narrow(KernelBuilder &builder, const gemm::Operand &operand, const OperandSpec &spec,
                               ArrayRef<AffineExpr> coordinate) {
  std::optional<NarrowOperand> found = narrowOf(operand);
  if (!found)
    return std::nullopt;
  Narrowed result;
  result.spec.element = IntegerType::get(builder.context, 8);
  result.spec.isUnsigned = found->value.isUnsigned;
  result.spec.extents = spec.extents;
  result.spec.buffer = found->value.argument;
  result.spec.offset = gemm::simplify(gemm::substitute(found->value.offset, coordinate));
  if (!found->zero)
    return result;
  const NarrowValue &zero = *found->zero;
  if (zero.argument < 0) {
    result.zero = std::to_string(zero.constant);
    return result;
  }
  AffineExpr offset = gemm::simplify(gemm::substitute(zero.offset, coordinate));
  // With symbols it would need their values as members.
  if (offset.isFunctionOfDim(kK) || !symbolsIn({offset}).empty())
    return std::nullopt;
  IndexSimplifier ranges(builder.context, spec.extents, builder.symbols);
  StringRef dims[] = {"g", "row", "k"};
  result.zeroBuffer = zero.argument;
  result.zero = builder.name(zero.argument) + "[" + cppExpr(offset, dims, ranges) + "]";
  if (zero.isUnsigned)
    result.zero = "static_cast<unsigned char>(" + result.zero + ")";
  return result;
}

// A constant of int32 as 8-bit integers, which lie along k. `zero`: what is subtracted from them.
std::optional<Narrowed> pack(KernelBuilder &builder, const gemm::Operand &operand, const OperandSpec &spec) {
  if (!operand.offset || operand.argument >= static_cast<int>(builder.constants.size()) ||
      !builder.constants[operand.argument])
    return std::nullopt;
  auto argument = builder.kernel.kernel.getBody().getArgument(operand.argument);
  SmallVector<int64_t, 3> extents;
  for (AffineExpr extent : spec.extents)
    if (auto constant = ir::getConstant(extent))
      extents.push_back(*constant);
  auto tensor = ir::toTensor(builder.constants[operand.argument]);
  if (extents.size() != 3 || !tensor.ok() || !tensor->is_contiguous() || tensor->num_elements() == 0)
    return std::nullopt;
  const auto *data = static_cast<const int32_t *>(tensor->data());
  auto [least, most] = std::minmax_element(data, data + tensor->num_elements());
  int64_t low = *least, high = *most;
  bool isSigned = low >= -128 && high <= 127;
  if (high - low > 255)
    return std::nullopt;
  auto packed =
      tcc::Tensor::Allocate(isSigned ? tcc::DType::kI8 : tcc::DType::kU8, {extents[0] * extents[1] * extents[2]});
  if (!packed.ok())
    return std::nullopt;
  auto *to = static_cast<int8_t *>(packed->data());
  int64_t shift = isSigned ? 0 : low;
  for (int64_t g = 0; g < extents[0]; ++g)
    for (int64_t row = 0; row < extents[1]; ++row)
      for (int64_t k = 0; k < extents[2]; ++k)
        *to++ = static_cast<int8_t>(data[gemm::evaluate(spec.offset, {g, row, k}, {})] - shift);
  Narrowed result;
  result.spec.element = IntegerType::get(builder.context, 8);
  result.spec.isUnsigned = !isSigned;
  result.spec.extents = spec.extents;
  result.spec.buffer = builder.addConstant(*packed, result.spec.element);
  MLIRContext *context = builder.context;
  result.spec.offset = (getAffineDimExpr(0, context) * extents[1] + getAffineDimExpr(1, context)) * extents[2] +
                       getAffineDimExpr(2, context);
  if (argument.hasOneUse())
    builder.dropInput(operand.argument);
  if (shift != 0)
    result.zero = std::to_string(-shift);
  return result;
}

} // namespace

std::optional<NarrowOperand> narrowOf(const gemm::Operand &operand) {
  auto loops = operand.tensor.getDefiningOp<ir::LoopsOp>();
  if (!loops || loops.getNumReductions() != 0)
    return std::nullopt;
  Exprs dims;
  for (unsigned i = 0; i < operand.extents.size(); ++i)
    dims.push_back(getAffineDimExpr(i, operand.tensor.getContext()));
  std::optional<Traced> at = resolve(
      {loops.getBody().front().getTerminator()->getOperand(cast<OpResult>(operand.tensor).getResultNumber()), dims});
  if (!at)
    return std::nullopt;
  NarrowOperand found;
  Value value = at->value;
  if (auto difference = value.getDefiningOp<arith::SubIOp>()) {
    found.zero = valueOf({difference.getRhs(), at->coordinate});
    if (!found.zero)
      return std::nullopt;
    value = difference.getLhs();
  }
  std::optional<NarrowValue> element = valueOf({value, at->coordinate});
  if (!element || element->argument < 0 || element->bits != 8)
    return std::nullopt;
  found.value = *element;
  return found;
}

void narrowProduct(KernelBuilder &builder, Product &product, ArrayRef<AffineExpr> a, ArrayRef<AffineExpr> b) {
  const gemm::Operand &left = builder.kernel.operands[0], &right = builder.kernel.operands[1];
  std::optional<Narrowed> narrowA = narrow(builder, left, product.a, a), narrowB;
  if (narrowA)
    narrowB = narrow(builder, right, product.b, b);
  // Only then is the input gone.
  if (narrowA && !narrowB)
    narrowB = pack(builder, right, product.b);
  if (!narrowA || !narrowB)
    return;
  product.a = narrowA->spec;
  product.b = narrowB->spec;
  product.zeroA = narrowA->zero;
  product.zeroB = narrowB->zero;
  for (int buffer : {narrowA->zeroBuffer, narrowB->zeroBuffer})
    if (buffer >= 0 && !llvm::is_contained(product.zeroBuffers, buffer))
      product.zeroBuffers.push_back(buffer);
}

} // namespace tcc::codegen::cuda
