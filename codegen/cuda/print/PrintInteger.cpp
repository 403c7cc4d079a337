//===- PrintInteger.cpp - integers, bools and conversions -------------------===//
#include "codegen/cuda/print/Printer.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace tcc::codegen::cuda_print {
namespace {

bool hasNoOverflow(Operation &op) {
  auto flags = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op);
  return flags && flags.hasNoSignedWrap();
}

llvm::StringRef symbolOf(Operation &op) {
  return llvm::TypeSwitch<Operation *, llvm::StringRef>(&op)
      .Case<arith::AddIOp>([](auto) { return "+"; })
      .Case<arith::SubIOp>([](auto) { return "-"; })
      .Case<arith::MulIOp>([](auto) { return "*"; })
      .Case<arith::DivSIOp, arith::DivUIOp>([](auto) { return "/"; })
      .Case<arith::RemSIOp, arith::RemUIOp>([](auto) { return "%"; })
      .Case<arith::AndIOp>([](auto) { return "&"; })
      .Case<arith::OrIOp>([](auto) { return "|"; })
      .Case<arith::XOrIOp>([](auto) { return "^"; })
      .Default([](Operation *) { return ""; });
}

} // namespace

//===- Comparisons ---------------------------------------------------------===//

Expr Printer::compare(arith::CmpIOp op) {
  using P = arith::CmpIPredicate;
  Type type = op.getLhs().getType();
  P predicate = op.getPredicate();
  bool isUnsigned = predicate == P::ult || predicate == P::ule || predicate == P::ugt || predicate == P::uge;
  bool isEquality = predicate == P::eq || predicate == P::ne;
  Expr a = get(op.getLhs()), b = get(op.getRhs());
  bool isBool = getElementTypeOrSelf(type).isInteger(1);
  if (isEquality)
    isUnsigned = (a.isUnsigned || a.literal) && (b.isUnsigned || b.literal) && (a.isUnsigned || b.isUnsigned);
  a = isUnsigned ? toUnsigned(a, type) : toSigned(a, type);
  b = isUnsigned ? toUnsigned(b, type) : toSigned(b, type);
  // Of signed bools true is -1.
  if (isBool && !isUnsigned && !isEquality)
    std::swap(a, b);
  llvm::StringRef symbol = predicate == P::eq                           ? "=="
                           : predicate == P::ne                         ? "!="
                           : predicate == P::slt || predicate == P::ult ? "<"
                           : predicate == P::sle || predicate == P::ule ? "<="
                           : predicate == P::sgt || predicate == P::ugt ? ">"
                                                                        : ">=";
  return binary(a, symbol, b, isEquality ? Precedence::Equality : Precedence::Relation);
}

//===- Bools ---------------------------------------------------------------===//

FailureOr<Expr> Printer::boolean(Operation &op) {
  if (auto cmp = dyn_cast<arith::CmpIOp>(op))
    return compare(cmp);
  if (op.getNumOperands() != 2)
    return unknown(op), failure();
  Expr a = get(op.getOperand(0)), b = get(op.getOperand(1));
  if (isa<arith::XOrIOp, arith::AddIOp, arith::SubIOp>(op)) {
    if (b.literal && b.literal->isOne()) {
      Expr inner = a;
      return Expr{"!" + atLeast(inner, Precedence::Unary), Precedence::Unary};
    }
    return binary(a, "!=", b, Precedence::Equality);
  }
  // Of signed bools true is -1, the smaller one.
  if (isa<arith::AndIOp, arith::MulIOp, arith::MinUIOp, arith::MaxSIOp>(op))
    return binary(a, "&&", b, Precedence::LogicalAnd);
  if (isa<arith::OrIOp, arith::MaxUIOp, arith::MinSIOp>(op))
    return binary(a, "||", b, Precedence::LogicalOr);
  return unknown(op, "bools are only compared and combined"), failure();
}

//===- Integers ------------------------------------------------------------===//

FailureOr<Expr> Printer::integer(Operation &op) {
  if (auto cmp = dyn_cast<arith::CmpIOp>(op))
    return compare(cmp);
  if (op.getNumOperands() != 2 || op.getNumResults() != 1)
    return unknown(op), failure();
  Value lhs = op.getOperand(0), rhs = op.getOperand(1);
  Type type = getElementTypeOrSelf(lhs.getType());
  unsigned bits = width(type);
  Expr a = get(lhs), b = get(rhs);
  // Arithmetic of two literals is done in the type of their width.
  if (a.literal && b.literal && bits == 64)
    a.text = signedLiteral(*a.literal, /*typed=*/true);
  // A narrow result comes out of arithmetic of ints.
  auto narrowed = [&](Expr expr, bool isUnsigned) {
    llvm::StringRef name = isUnsigned ? unsignedType(bits) : signedType(bits);
    return Expr{"(" + name.str() + ")" + atLeast(expr, Precedence::Unary), Precedence::Unary, isUnsigned};
  };

  if (isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op)) {
    Precedence precedence = isa<arith::MulIOp>(op) ? Precedence::Product : Precedence::Sum;
    llvm::StringRef symbol = symbolOf(op);
    if (bits < 32)
      return narrowed(binary(toSigned(a, type), symbol, toSigned(b, type), precedence), /*isUnsigned=*/false);
    if (hasNoOverflow(op) || promise.covers(op.getResult(0)))
      return binary(toSigned(a, type), symbol, toSigned(b, type), precedence);
    return binary(toUnsigned(a, type), symbol, toUnsigned(b, type), precedence, /*isUnsigned=*/true);
  }
  if (isa<arith::DivSIOp, arith::RemSIOp>(op)) {
    Expr expr = binary(toSigned(a, type), symbolOf(op), toSigned(b, type), Precedence::Product);
    return bits < 32 ? narrowed(expr, /*isUnsigned=*/false) : expr;
  }
  if (isa<arith::DivUIOp, arith::RemUIOp>(op))
    return binary(toUnsigned(a, type), symbolOf(op), toUnsigned(b, type), Precedence::Product, /*isUnsigned=*/true);
  if (isa<arith::FloorDivSIOp, arith::CeilDivSIOp>(op))
    return call(isa<arith::FloorDivSIOp>(op) ? "tcc::floor_div" : "tcc::ceil_div",
                {getTyped(lhs), toSigned(b, type).text});
  if (isa<arith::CeilDivUIOp, arith::MinUIOp, arith::MaxUIOp>(op)) {
    const char *name = isa<arith::CeilDivUIOp>(op) ? "tcc::ceil_div_unsigned"
                       : isa<arith::MinUIOp>(op)   ? "tcc::min"
                                                   : "tcc::max";
    Expr expr = call(name, {toUnsigned(a, type).text, toUnsigned(b, type).text});
    expr.isUnsigned = true;
    return expr;
  }
  if (isa<arith::MinSIOp, arith::MaxSIOp>(op))
    return call(isa<arith::MinSIOp>(op) ? "tcc::min" : "tcc::max", {getTyped(lhs), toSigned(b, type).text});

  if (isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op)) {
    Precedence precedence = isa<arith::AndIOp>(op)  ? Precedence::BitAnd
                            : isa<arith::OrIOp>(op) ? Precedence::BitOr
                                                    : Precedence::BitXor;
    bool isUnsigned = a.isUnsigned || b.isUnsigned;
    a = isUnsigned ? toUnsigned(a, type) : toSigned(a, type);
    b = isUnsigned ? toUnsigned(b, type) : toSigned(b, type);
    if (isa<arith::XOrIOp>(op) && b.literal && b.literal->isAllOnes() && (bits >= 32 || !isUnsigned))
      return Expr{"~" + atLeast(a, Precedence::Unary), Precedence::Unary, isUnsigned};
    return binary(a, symbolOf(op), b, precedence, isUnsigned);
  }

  // A shift by the width or more has no value in MLIR, but is no error where the value is not used.
  Expr amount;
  if (b.literal) {
    if (b.literal->uge(bits))
      return unknown(op, "shifts by the width or more"), failure();
    amount = Expr{std::to_string(b.literal->getZExtValue())};
  } else {
    amount = binary(toSigned(b, type), "&", Expr{std::to_string(bits - 1)}, Precedence::BitAnd);
  }
  if (isa<arith::ShRSIOp>(op))
    return binary(toSigned(a, type), ">>", amount, Precedence::Shift);
  if (isa<arith::ShRUIOp>(op))
    return binary(toUnsigned(a, type), ">>", amount, Precedence::Shift, /*isUnsigned=*/true);
  if (isa<arith::ShLIOp>(op)) {
    if (bits >= 32)
      return binary(toUnsigned(a, type), "<<", amount, Precedence::Shift, /*isUnsigned=*/true);
    Expr wide{"(unsigned)" + atLeast(toUnsigned(a, type), Precedence::Unary), Precedence::Unary};
    return narrowed(binary(wide, "<<", amount, Precedence::Shift), /*isUnsigned=*/true);
  }
  return unknown(op), failure();
}

//===- Conversions ---------------------------------------------------------===//

FailureOr<Expr> Printer::conversion(Operation &op) {
  Value operand = op.getOperand(0);
  Type from = getElementTypeOrSelf(operand.getType()), to = getElementTypeOrSelf(op.getResult(0).getType());
  Expr x = get(operand);
  auto isHalf = [](Type type) { return type.isF16() || type.isBF16(); };
  auto cast = [&](llvm::StringRef type, const Expr &inner, bool isUnsigned = false) {
    bool isSign = inner.text.front() == '-';
    return Expr{"(" + type.str() + ")" + (isSign ? "(" + inner.text + ")" : atLeast(inner, Precedence::Unary)),
                Precedence::Unary, isUnsigned};
  };
  auto call1 = [&](const std::string &name, const std::string &argument) { return call(name, {argument}); };
  auto minus = [&](Expr expr) { return Expr{"-" + atLeast(expr, Precedence::Unary), Precedence::Unary}; };

  // Integers to integers.
  if (isa<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
    unsigned have = width(from), want = width(to);
    bool isZero = isa<arith::ExtUIOp, arith::IndexCastUIOp>(op);
    if (x.literal) {
      llvm::APInt value = isZero ? x.literal->zextOrTrunc(want) : x.literal->sextOrTrunc(want);
      std::string text = signedLiteral(value, /*typed=*/false);
      return Expr{text, text.front() == '-' ? Precedence::Unary : Precedence::Postfix, false, value};
    }
    if (have == want)
      return x;
    if (want == 1)
      return Expr{"(" + atLeast(x, Precedence::Unary) + " & 1) != 0", Precedence::Equality};
    if (have > want)
      return cast(signedType(want), x);
    if (have == 1)
      return isZero ? cast(signedType(want), x) : minus(cast(signedType(want), x));
    return cast(signedType(want), isZero ? toUnsigned(x, from) : toSigned(x, from));
  }
  // Integers and floats.
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op)) {
    if (isHalf(to))
      return unknown(op, "float16 and bfloat16 are computed as float32"), failure();
    if (isa<arith::UIToFPOp>(op))
      return cast(typeOf(to), toUnsigned(x, from));
    if (width(from) == 1) // true is -1, and false has no sign
      return Expr{atLeast(x, Precedence::LogicalOr) + (to.isF64() ? " ? -1.0 : 0.0" : " ? -1.0f : 0.0f"),
                  Precedence::Conditional};
    return cast(typeOf(to), toSigned(x, from));
  }
  if (isa<arith::FPToSIOp, arith::FPToUIOp>(op)) {
    if (isHalf(from))
      return unknown(op, "float16 and bfloat16 are computed as float32"), failure();
    if (width(to) == 1)
      return unknown(op, "a bool is the result of a comparison"), failure();
    bool isUnsigned = isa<arith::FPToUIOp>(op);
    return cast(isUnsigned ? unsignedType(width(to)) : signedType(width(to)), x, isUnsigned);
  }
  // Floats.
  if (isa<arith::ExtFOp>(op)) {
    Expr wide = isHalf(from) ? call1("tcc::to_float", x.text) : x;
    return to.isF64() ? cast("double", wide) : wide;
  }
  if (auto truncation = dyn_cast<arith::TruncFOp>(op)) {
    auto mode = truncation.getRoundingmode();
    if (mode && *mode != arith::RoundingMode::to_nearest_even)
      return unknown(op, "rounds otherwise than to nearest, ties to even"), failure();
    if (from.isF64() && isHalf(to))
      return unknown(op, "from float64 in one step; round to odd float32 before"), failure();
    return isHalf(to) ? call1("tcc::from_float<" + typeOf(to) + ">", x.text) : cast("float", x);
  }
  if (isa<arith::BitcastOp>(op)) {
    if (from == to)
      return x;
    if (from.isInteger(1) || to.isInteger(1) || from.isIndex() || to.isIndex())
      return unknown(op, "bits of a bool"), failure();
    // The argument decides the type it is copied from.
    return call1("tcc::bit_cast<" + typeOf(to) + ">", getTyped(operand));
  }
  return unknown(op), failure();
}

} // namespace tcc::codegen::cuda_print
