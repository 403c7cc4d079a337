//===- KernelBuilder.cpp - builds one tcc.kernel --------------------------===//
#include "codegen/fusion/KernelBuilder.h"

using namespace mlir;

namespace tcc::codegen {

RankedTensorType signlessTensor(Type tensorType) {
  auto tensor = cast<RankedTensorType>(tensorType);
  return ir::withElementType(tensor, signless(tensor.getElementType()));
}

bool isKernelElement(Type elementType) {
  if (elementType.isF16() || elementType.isBF16() || elementType.isF32() || elementType.isF64())
    return true;
  auto integer = dyn_cast<IntegerType>(elementType);
  return integer && llvm::is_contained({1u, 8u, 16u, 32u, 64u}, integer.getWidth());
}

Value toCompute(OpBuilder &b, Location loc, Value scalar) {
  Type type = computeType(scalar.getType());
  return type == scalar.getType() ? scalar : b.create<arith::ExtFOp>(loc, type, scalar);
}

static constexpr llvm::StringLiteral kAsked = "tcc.asked";

Value fromCompute(OpBuilder &b, Location loc, Value scalar, Type elementType, bool asked) {
  elementType = signless(elementType);
  if (scalar.getType() == elementType)
    return scalar;
  auto truncation = b.create<arith::TruncFOp>(loc, elementType, scalar);
  if (asked)
    truncation->setAttr(kAsked, b.getUnitAttr());
  return truncation;
}

bool isAskedFor(arith::TruncFOp truncation) { return truncation->hasAttr(kAsked); }

Nest::Nest(OpBuilder &b, Location loc, ir::LoopsOp loops) : b(b), loc(loc), numSymbols(ir::getSymbols(loops).size()) {
  llvm::append_range(indices, loops.getBody().front().getArguments());
}

ir::Exprs Nest::dims(std::optional<unsigned> count) const {
  ir::Exprs result;
  for (unsigned i = 0; i < count.value_or(indices.size()); ++i)
    result.push_back(dim(i));
  return result;
}

static IntegerSet nonNegative(ArrayRef<AffineExpr> mask, unsigned numDims, unsigned numSymbols) {
  return IntegerSet::get(numDims, numSymbols, mask, llvm::SmallVector<bool>(mask.size(), false));
}

Value Nest::load(Value tensor, ArrayRef<AffineExpr> at, ArrayRef<AffineExpr> mask, Value fill, ValueRange extra) {
  llvm::SmallVector<Value> operands = indices;
  llvm::append_range(operands, extra);
  auto map = AffineMap::get(operands.size(), numSymbols, at, b.getContext());
  IntegerSetAttr set;
  if (!mask.empty())
    set = IntegerSetAttr::get(nonNegative(mask, operands.size(), numSymbols));
  Type element = cast<RankedTensorType>(tensor.getType()).getElementType();
  return b.create<ir::LoadOp>(loc, element, tensor, operands, fill, AffineMapAttr::get(map), set);
}

Value Nest::inSet(ArrayRef<AffineExpr> mask) {
  return b.create<ir::InSetOp>(loc, b.getI1Type(), indices,
                               IntegerSetAttr::get(nonNegative(mask, indices.size(), numSymbols)));
}

Value Nest::apply(AffineExpr expr, ValueRange extra) {
  llvm::SmallVector<Value> operands = indices;
  llvm::append_range(operands, extra);
  auto map = AffineMap::get(operands.size(), numSymbols, expr, b.getContext());
  return b.create<ir::ApplyOp>(loc, b.getIndexType(), operands, AffineMapAttr::get(map));
}

Value Nest::constantOf(Type type, double value) {
  if (isa<FloatType>(type))
    return b.create<arith::ConstantOp>(loc, b.getFloatAttr(type, value));
  return b.create<arith::ConstantOp>(loc, b.getIntegerAttr(type, static_cast<int64_t>(value)));
}

std::string sourceName(Operation *op) { return sourceNames(op).front(); }

llvm::SmallVector<std::string> sourceNames(Operation *op) {
  std::string mnemonic = op->getName().stripDialect().str();
  llvm::SmallVector<std::string> names;
  op->getLoc()->walk([&](Location location) {
    auto named = dyn_cast<NameLoc>(location);
    if (!named)
      return WalkResult::advance();
    std::string name = named.getName().str() + " (" + mnemonic + ")";
    if (!llvm::is_contained(names, name))
      names.push_back(std::move(name));
    return WalkResult::skip();
  });
  if (names.empty())
    names.push_back(std::move(mnemonic));
  return names;
}

KernelBuilder::KernelBuilder(Operation *source) : source(source), b(source) {
  // An operand used twice is one input.
  llvm::SetVector<Value> inputs(source->operand_begin(), source->operand_end());
  llvm::SmallVector<Type> results(source->getResultTypes());
  llvm::SmallVector<std::string> names = sourceNames(source);
  llvm::SmallVector<llvm::StringRef> sources(names.begin(), names.end());
  kernel = b.create<ir::KernelOp>(loc(), results, inputs.getArrayRef(), b.getStrArrayAttr(sources));
  Block &block = kernel.getBody().emplaceBlock();
  for (Value input : inputs)
    block.addArgument(signlessTensor(input.getType()), input.getLoc());
  for (Value operand : source->getOperands())
    arguments.push_back(block.getArgument(std::distance(inputs.begin(), llvm::find(inputs, operand))));
  b.setInsertionPointToEnd(&block);
}

Value KernelBuilder::addConstant(ElementsAttr value) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(kernel);
  Value constant = b.create<ir::ConstantOp>(loc(), value.getShapedType(), value);
  kernel.getInputsMutable().append(constant);
  return kernel.getBody().front().addArgument(signlessTensor(constant.getType()), loc());
}

ResultRange KernelBuilder::loops(ArrayRef<AffineExpr> extents, unsigned numReductions, ArrayRef<ir::ReduceKind> kinds,
                                 TypeRange elementTypes, Body body) {
  llvm::SmallVector<Type> results;
  for (Type element : elementTypes)
    results.push_back(ir::makeTensorType(extents.drop_back(numReductions), signless(element)));
  llvm::SmallVector<Attribute> kindAttrs;
  for (ir::ReduceKind kind : kinds)
    kindAttrs.push_back(ir::ReduceKindAttr::get(context(), kind));
  auto op = b.create<ir::LoopsOp>(loc(), results, ir::ExtentsAttr::get(context(), extents), numReductions,
                                  b.getArrayAttr(kindAttrs));
  Block &block = op.getBody().emplaceBlock();
  for (size_t i = 0; i < extents.size(); ++i)
    block.addArgument(b.getIndexType(), loc());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&block);
  Nest nest(b, loc(), op);
  llvm::SmallVector<Value> yields = body(nest);
  b.create<ir::YieldOp>(loc(), yields);
  return op.getResults();
}

Value KernelBuilder::map(ArrayRef<AffineExpr> extents, Type elementType, llvm::function_ref<Value(Nest &)> body) {
  return loops(extents, 0, {}, elementType, [&](Nest &nest) { return llvm::SmallVector<Value>{body(nest)}; })[0];
}

Value KernelBuilder::reduce(ArrayRef<AffineExpr> extents, unsigned numReductions, ir::ReduceKind kind, Type elementType,
                            llvm::function_ref<Value(Nest &)> body) {
  return loops(extents, numReductions, {kind}, elementType,
               [&](Nest &nest) { return llvm::SmallVector<Value>{body(nest)}; })[0];
}

ir::KernelOp KernelBuilder::finish(ValueRange results) {
  b.create<ir::YieldOp>(loc(), results);
  return kernel;
}

} // namespace tcc::codegen
