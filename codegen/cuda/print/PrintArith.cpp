//===- PrintArith.cpp - expressions: constants, floats, choices ------------===//
#include "codegen/cuda/print/Printer.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace tcc::codegen::cuda_print {

Expr Printer::binary(const Expr &a, llvm::StringRef symbol, const Expr &b, Precedence precedence, bool isUnsigned) {
  Precedence left = precedence, right = static_cast<Precedence>(static_cast<int>(precedence) + 1);
  // Mixtures whose order few know by heart get parentheses that C++ would not need.
  bool isBitwise = precedence >= Precedence::BitOr && precedence <= Precedence::BitAnd;
  if (isBitwise) {
    left = a.precedence == precedence ? precedence : Precedence::Unary;
    right = Precedence::Unary;
  } else if (precedence == Precedence::Shift || precedence == Precedence::Equality) {
    left = right = precedence == Precedence::Shift ? Precedence::Unary : Precedence::Shift;
  } else if (precedence == Precedence::LogicalOr) {
    left = a.precedence == precedence ? precedence : Precedence::BitOr;
    right = Precedence::BitOr;
  }
  return {atLeast(a, left) + " " + symbol.str() + " " + atLeast(b, right), precedence, isUnsigned};
}

Expr Printer::call(const std::string &function, llvm::ArrayRef<std::string> arguments) {
  return {function + "(" + llvm::join(arguments, ", ") + ")"};
}

//===- Constants -----------------------------------------------------------===//

Expr Printer::constantOf(TypedAttr attr) const {
  if (auto integer = dyn_cast<IntegerAttr>(attr)) {
    llvm::APInt value = integer.getValue().sextOrTrunc(width(attr.getType()));
    std::string text = signedLiteral(value, /*typed=*/false);
    Precedence precedence = text.front() == '-' ? Precedence::Unary : Precedence::Postfix;
    return {text, precedence, false, value};
  }
  llvm::APFloat value = cast<FloatAttr>(attr).getValue();
  Type type = attr.getType();
  if (type.isF32() || type.isF64())
    return floatLiteral(value);
  bool loses;
  value.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &loses);
  return {"tcc::from_float<" + typeOf(type) + ">(" + floatLiteral(value).text + ")"};
}

FailureOr<Expr> Printer::constant(arith::ConstantOp op) {
  if (isa<IntegerAttr, FloatAttr>(op.getValue())) {
    auto integer = dyn_cast<IntegerAttr>(op.getValue());
    if (integer && op.getType().isIndex() && !integer.getValue().isSignedIntN(indexBits))
      return unknown(*op, "the index does not fit into tcc.index_bits"), failure();
    return constantOf(op.getValue());
  }
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements || !isa<VectorType>(op.getType()))
    return unknown(*op, "unknown kind of constant"), failure();
  if (elements.isSplat())
    return constantOf(elements.getSplatValue<TypedAttr>());
  return unknown(*op, "its elements are a statement"), failure();
}

//===- Choices -------------------------------------------------------------===//

Expr Printer::select(Value condition, Value a, Value b) {
  Type type = a.getType();
  Expr test = get(condition), yes = get(a), no = get(b);
  bool isUnsigned = yes.isUnsigned && no.isUnsigned;
  if (!isUnsigned) {
    yes = toSigned(yes, type);
    no = toSigned(no, type);
  }
  // Two ints would be an int.
  if (yes.literal && no.literal)
    yes.text = signedLiteral(*yes.literal, /*typed=*/true);
  Expr result{atLeast(test, Precedence::LogicalOr) + " ? " + atLeast(yes, Precedence::LogicalOr) + " : " +
                  atLeast(no, Precedence::LogicalOr),
              Precedence::Conditional, isUnsigned};
  return result;
}

LogicalResult Printer::inlineBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(print(op)))
      return failure();
  return success();
}

FailureOr<Expr> Printer::choice(scf::IfOp op) {
  llvm::SaveAndRestore<bool> guard(onlyExpressions, true);
  if (failed(inlineBlock(*op.thenBlock())) || failed(inlineBlock(*op.elseBlock())))
    return failure();
  if (tooLong)
    return Expr{};
  return select(op.getCondition(), op.thenYield().getOperand(0), op.elseYield().getOperand(0));
}

//===- Floats --------------------------------------------------------------===//

Expr Printer::compare(arith::CmpFOp op) {
  using P = arith::CmpFPredicate;
  Expr a = get(op.getLhs()), b = get(op.getRhs());
  auto plain = [&](llvm::StringRef symbol) {
    bool isEquality = symbol == "==" || symbol == "!=";
    return binary(a, symbol, b, isEquality ? Precedence::Equality : Precedence::Relation);
  };
  // True also where one is NaN: not the opposite.
  auto unordered = [&](llvm::StringRef opposite) {
    Expr expr = plain(opposite);
    return Expr{"!(" + expr.text + ")", Precedence::Unary};
  };
  auto named = [&](llvm::StringRef function, bool negated) {
    std::string text = (negated ? "!tcc::" : "tcc::") + function.str() + "(" + a.text + ", " + b.text + ")";
    return Expr{text, negated ? Precedence::Unary : Precedence::Postfix};
  };
  switch (op.getPredicate()) {
  case P::AlwaysFalse:
    return {"false"};
  case P::AlwaysTrue:
    return {"true"};
  case P::OEQ:
    return plain("==");
  case P::OGT:
    return plain(">");
  case P::OGE:
    return plain(">=");
  case P::OLT:
    return plain("<");
  case P::OLE:
    return plain("<=");
  case P::ONE:
    return named("less_or_greater", false);
  case P::ORD:
    return named("is_ordered", false);
  case P::UEQ:
    return named("less_or_greater", true);
  case P::UGT:
    return unordered("<=");
  case P::UGE:
    return unordered("<");
  case P::ULT:
    return unordered(">=");
  case P::ULE:
    return unordered(">");
  case P::UNE:
    return plain("!=");
  case P::UNO:
    if (op.getLhs() == op.getRhs())
      return {"tcc::is_nan(" + a.text + ")"};
    return named("is_ordered", true);
  }
  llvm_unreachable("all predicates are above");
}

FailureOr<Expr> Printer::real(Operation &op) {
  Type type = getElementTypeOrSelf(op.getOperand(0).getType());
  if (type.isF16() || type.isBF16())
    return unknown(op, "float16 and bfloat16 are computed as float32"), failure();
  bool isDouble = type.isF64();
  Expr a = get(op.getOperand(0)), b = op.getNumOperands() > 1 ? get(op.getOperand(1)) : Expr{};
  auto two = [&](const std::string &function) { return call(function, {a.text, b.text}); };
  if (isa<arith::NegFOp>(op)) {
    bool isSign = a.text.front() == '-';
    return Expr{"-" + (isSign ? "(" + a.text + ")" : atLeast(a, Precedence::Unary)), Precedence::Unary};
  }
  if (isa<arith::AddFOp>(op))
    return binary(a, "+", b, Precedence::Sum);
  if (isa<arith::SubFOp>(op))
    return binary(a, "-", b, Precedence::Sum);
  if (isa<arith::MulFOp>(op)) // without a plain product there is nothing to contract
    return isStrict ? two(isDouble ? "__dmul_rn" : "__fmul_rn") : binary(a, "*", b, Precedence::Product);
  if (isa<arith::DivFOp>(op))
    return binary(a, "/", b, Precedence::Product);
  if (isa<arith::RemFOp>(op))
    return two(isDouble ? "fmod" : "fmodf");
  if (isa<arith::MaximumFOp>(op))
    return two("tcc::maximum");
  if (isa<arith::MinimumFOp>(op))
    return two("tcc::minimum");
  if (isa<arith::MaxNumFOp>(op))
    return two(isDouble ? "fmax" : "fmaxf");
  if (isa<arith::MinNumFOp>(op))
    return two(isDouble ? "fmin" : "fminf");
  if (auto cmp = dyn_cast<arith::CmpFOp>(op))
    return compare(cmp);
  return unknown(op), failure();
}

//===- All -----------------------------------------------------------------===//

FailureOr<Expr> Printer::expression(Operation &op) {
  if (auto definition = dyn_cast<arith::ConstantOp>(op))
    return constant(definition);
  if (op.getName().getStringRef() == "ub.poison")
    return constantOf(cast<TypedAttr>(Builder(op.getContext()).getZeroAttr(getElementTypeOrSelf(op.getResult(0)))));
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return choice(branch);
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    std::string text = element(load.getMemRef(), load.getIndices());
    bool isBool = load.getType().isInteger(1);
    return Expr{isBool ? text + " != 0" : text, isBool ? Precedence::Equality : Precedence::Postfix};
  }
  if (isa<memref::CastOp>(op))
    return get(op.getOperand(0));
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    auto type = cast<MemRefType>(dim.getSource().getType());
    std::optional<int64_t> index = dim.getConstantIndex();
    if (!index || *index < 0 || *index >= type.getRank() || type.isDynamicDim(*index))
      return unknown(op, "only extents that are static are known"), failure();
    return constantOf(Builder(op.getContext()).getIndexAttr(type.getDimSize(*index)));
  }
  if (isa<gpu::SubgroupSizeOp>(op))
    return constantOf(Builder(op.getContext()).getIndexAttr(32));
  if (isa<math::MathDialect, vector::VectorDialect>(op.getDialect()) && isElementwise(&op))
    return math(op);
  if (isa<vector::VectorDialect>(op.getDialect()))
    return vectorElement(op);
  if (auto chosen = dyn_cast<arith::SelectOp>(op)) {
    if (isa<MemRefType>(chosen.getType()))
      return unknown(op, "a choice of buffers"), failure();
    return select(chosen.getCondition(), chosen.getTrueValue(), chosen.getFalseValue());
  }
  if (isa<CastOpInterface>(op))
    return conversion(op);
  Type type = getElementTypeOrSelf(op.getOperand(0).getType());
  if (isa<FloatType>(type))
    return real(op);
  return type.isInteger(1) ? boolean(op) : integer(op);
}

} // namespace tcc::codegen::cuda_print
