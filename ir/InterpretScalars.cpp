//===- InterpretScalars.cpp - arith and math ops on one element ------------===//
#include "ir/InterpretScalars.h"

#include <cmath>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "ir/ElementTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "runtime/dispatch.h"

namespace tcc::ir {

unsigned widthOf(mlir::Type type) { return type.isIndex() ? 64 : type.getIntOrFloatBitWidth(); }

static uint64_t zeroExtended(int64_t value, unsigned width) {
  return width >= 64 ? static_cast<uint64_t>(value) : static_cast<uint64_t>(value) & ((uint64_t{1} << width) - 1);
}

static int64_t signExtended(int64_t value, unsigned width) {
  return width >= 64 ? value : static_cast<int64_t>(static_cast<uint64_t>(value) << (64 - width)) >> (64 - width);
}

int64_t wrap(int64_t value, unsigned width) {
  return width == 1 ? static_cast<int64_t>(zeroExtended(value, 1)) : signExtended(value, width);
}

double roundTo(double value, mlir::Type type) {
  DType dtype = getDType(type);
  if (dtype == DType::kF64)
    return value;
  if (dtype == DType::kF32)
    return static_cast<float>(value);
  double storage = 0;
  StoreDouble(&storage, dtype, 0, value);
  return LoadDouble(&storage, dtype, 0);
}

namespace {

double maximum(double a, double b) {
  return std::isnan(a) ? a : std::isnan(b) ? b : a > b ? a : b > a ? b : std::signbit(a) ? b : a;
}
double minimum(double a, double b) {
  return std::isnan(a) ? a : std::isnan(b) ? b : a < b ? a : b < a ? b : std::signbit(a) ? a : b;
}

using FloatFunction = double (*)(llvm::ArrayRef<double>);
#define UNARY(expression)                                                                                              \
  [](llvm::ArrayRef<double> v) -> double {                                                                             \
    const double x = v[0];                                                                                             \
    return expression;                                                                                                 \
  }
#define BINARY(expression)                                                                                             \
  [](llvm::ArrayRef<double> v) -> double {                                                                             \
    const double x = v[0], y = v[1];                                                                                   \
    return expression;                                                                                                 \
  }

/// Float operands to a float result.
const std::map<std::string, FloatFunction> &floatFunctions() {
  static const auto *functions = new std::map<std::string, FloatFunction>{
      {"arith.addf", BINARY(x + y)},
      {"arith.subf", BINARY(x - y)},
      {"arith.mulf", BINARY(x * y)},
      {"arith.divf", BINARY(x / y)},
      {"arith.remf", BINARY(std::fmod(x, y))},
      {"arith.negf", UNARY(-x)},
      {"arith.maximumf", BINARY(maximum(x, y))},
      {"arith.minimumf", BINARY(minimum(x, y))},
      {"arith.maxnumf", BINARY(std::fmax(x, y))},
      {"arith.minnumf", BINARY(std::fmin(x, y))},
      {"arith.extf", UNARY(x)},
      {"arith.truncf", UNARY(x)},
      {"math.absf", UNARY(std::fabs(x))},
      {"math.acos", UNARY(std::acos(x))},
      {"math.acosh", UNARY(std::acosh(x))},
      {"math.asin", UNARY(std::asin(x))},
      {"math.asinh", UNARY(std::asinh(x))},
      {"math.atan", UNARY(std::atan(x))},
      {"math.atan2", BINARY(std::atan2(x, y))},
      {"math.atanh", UNARY(std::atanh(x))},
      {"math.cbrt", UNARY(std::cbrt(x))},
      {"math.ceil", UNARY(std::ceil(x))},
      {"math.copysign", BINARY(std::copysign(x, y))},
      {"math.cos", UNARY(std::cos(x))},
      {"math.cosh", UNARY(std::cosh(x))},
      {"math.erf", UNARY(std::erf(x))},
      {"math.exp", UNARY(std::exp(x))},
      {"math.exp2", UNARY(std::exp2(x))},
      {"math.expm1", UNARY(std::expm1(x))},
      {"math.floor", UNARY(std::floor(x))},
      {"math.fma", [](llvm::ArrayRef<double> v) -> double { return std::fma(v[0], v[1], v[2]); }},
      {"math.log", UNARY(std::log(x))},
      {"math.log10", UNARY(std::log10(x))},
      {"math.log1p", UNARY(std::log1p(x))},
      {"math.log2", UNARY(std::log2(x))},
      {"math.powf", BINARY(std::pow(x, y))},
      {"math.round", UNARY(std::round(x))},
      {"math.roundeven", UNARY(std::nearbyint(x))},
      {"math.rsqrt", UNARY(1 / std::sqrt(x))},
      {"math.sin", UNARY(std::sin(x))},
      {"math.sinh", UNARY(std::sinh(x))},
      {"math.sqrt", UNARY(std::sqrt(x))},
      {"math.tan", UNARY(std::tan(x))},
      {"math.tanh", UNARY(std::tanh(x))},
      {"math.trunc", UNARY(std::trunc(x))},
  };
  return *functions;
}
#undef UNARY
#undef BINARY

/// Integer operands, all of `width` bits, to an integer. Wrapping is the caller's.
using IntFunction = int64_t (*)(llvm::ArrayRef<int64_t> v, unsigned width);
#define INT(expression)                                                                                                \
  [](llvm::ArrayRef<int64_t> v, unsigned w) -> int64_t {                                                               \
    (void)w;                                                                                                           \
    return expression;                                                                                                 \
  }
#define SIGNED(k) signExtended(v[k], w)
#define UNSIGNED(k) zeroExtended(v[k], w)

const std::map<std::string, IntFunction> &intFunctions() {
  static const auto *functions = new std::map<std::string, IntFunction>{
      {"arith.addi", INT(static_cast<uint64_t>(v[0]) + static_cast<uint64_t>(v[1]))},
      {"arith.subi", INT(static_cast<uint64_t>(v[0]) - static_cast<uint64_t>(v[1]))},
      {"arith.muli", INT(static_cast<uint64_t>(v[0]) * static_cast<uint64_t>(v[1]))},
      // MIN / -1 wraps. A divisor of zero is caught before.
      {"arith.divsi", INT(v[1] == -1 ? 0 - static_cast<uint64_t>(v[0]) : SIGNED(0) / SIGNED(1))},
      {"arith.remsi", INT(v[1] == -1 ? 0 : SIGNED(0) % SIGNED(1))},
      {"arith.floordivsi", INT(v[1] == -1 ? 0 - static_cast<uint64_t>(v[0])
                                          : SIGNED(0) / SIGNED(1) - ((SIGNED(0) % SIGNED(1) != 0) &&
                                                                     ((SIGNED(0) < 0) != (SIGNED(1) < 0))))},
      {"arith.ceildivsi", INT(v[1] == -1 ? 0 - static_cast<uint64_t>(v[0])
                                         : SIGNED(0) / SIGNED(1) +
                                               ((SIGNED(0) % SIGNED(1) != 0) && ((SIGNED(0) < 0) == (SIGNED(1) < 0))))},
      {"arith.divui", INT(UNSIGNED(0) / UNSIGNED(1))},
      {"arith.remui", INT(UNSIGNED(0) % UNSIGNED(1))},
      {"arith.ceildivui", INT(UNSIGNED(0) / UNSIGNED(1) + (UNSIGNED(0) % UNSIGNED(1) != 0))},
      {"arith.andi", INT(v[0] & v[1])},
      {"arith.ori", INT(v[0] | v[1])},
      {"arith.xori", INT(v[0] ^ v[1])},
      // A shift by the width or more has no value in arith: here it is 0.
      {"arith.shli", INT(UNSIGNED(1) >= w ? 0 : static_cast<int64_t>(UNSIGNED(0) << UNSIGNED(1)))},
      {"arith.shrsi", INT(UNSIGNED(1) >= w ? 0 : SIGNED(0) >> UNSIGNED(1))},
      {"arith.shrui", INT(UNSIGNED(1) >= w ? 0 : static_cast<int64_t>(UNSIGNED(0) >> UNSIGNED(1)))},
      {"arith.maxsi", INT(std::max(SIGNED(0), SIGNED(1)))},
      {"arith.minsi", INT(std::min(SIGNED(0), SIGNED(1)))},
      {"arith.maxui", INT(static_cast<int64_t>(std::max(UNSIGNED(0), UNSIGNED(1))))},
      {"arith.minui", INT(static_cast<int64_t>(std::min(UNSIGNED(0), UNSIGNED(1))))},
      {"arith.extsi", INT(SIGNED(0))},
      {"arith.extui", INT(static_cast<int64_t>(UNSIGNED(0)))},
      {"arith.trunci", INT(v[0])},
      {"arith.index_cast", INT(SIGNED(0))},
      {"arith.index_castui", INT(static_cast<int64_t>(UNSIGNED(0)))},
      {"math.absi", INT(SIGNED(0) < 0 ? 0 - static_cast<uint64_t>(v[0]) : v[0])},
      {"math.ctlz", INT(std::countl_zero(UNSIGNED(0)) - static_cast<int>(64 - w))},
      {"math.ctpop", INT(std::popcount(UNSIGNED(0)))},
  };
  return *functions;
}
#undef INT
#undef SIGNED
#undef UNSIGNED

bool compareInts(mlir::arith::CmpIPredicate predicate, int64_t a, int64_t b, unsigned width) {
  using P = mlir::arith::CmpIPredicate;
  int64_t sa = signExtended(a, width), sb = signExtended(b, width);
  uint64_t ua = zeroExtended(a, width), ub = zeroExtended(b, width);
  switch (predicate) {
  case P::eq:
    return ua == ub;
  case P::ne:
    return ua != ub;
  case P::slt:
    return sa < sb;
  case P::sle:
    return sa <= sb;
  case P::sgt:
    return sa > sb;
  case P::sge:
    return sa >= sb;
  case P::ult:
    return ua < ub;
  case P::ule:
    return ua <= ub;
  case P::ugt:
    return ua > ub;
  case P::uge:
    return ua >= ub;
  }
  return false;
}

bool compareFloats(mlir::arith::CmpFPredicate predicate, double a, double b) {
  using P = mlir::arith::CmpFPredicate;
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case P::AlwaysFalse:
    return false;
  case P::AlwaysTrue:
    return true;
  case P::ORD:
    return !unordered;
  case P::UNO:
    return unordered;
  case P::OEQ:
    return a == b;
  case P::OGT:
    return a > b;
  case P::OGE:
    return a >= b;
  case P::OLT:
    return a < b;
  case P::OLE:
    return a <= b;
  case P::ONE:
    return !unordered && a != b;
  case P::UEQ:
    return unordered || a == b;
  case P::UGT:
    return unordered || a > b;
  case P::UGE:
    return unordered || a >= b;
  case P::ULT:
    return unordered || a < b;
  case P::ULE:
    return unordered || a <= b;
  case P::UNE:
    return a != b;
  }
  return false;
}

Scalar constantValue(mlir::Attribute value) {
  Scalar result;
  if (auto number = llvm::dyn_cast<mlir::FloatAttr>(value))
    result.number = number.getValueAsDouble();
  else if (auto integer = llvm::dyn_cast<mlir::IntegerAttr>(value))
    result.integer = wrap(integer.getValue().getSExtValue(), widthOf(integer.getType()));
  return result;
}

/// The same bits as another type.
Scalar bitcast(Scalar value, mlir::Type from, mlir::Type to) {
  char storage[8] = {};
  Scalar result;
  DType fromType = getDType(from), toType = getDType(to);
  if (llvm::isa<mlir::FloatType>(from))
    StoreDouble(storage, fromType, 0, value.number);
  else
    StoreInt(storage, fromType, 0, value.integer);
  if (llvm::isa<mlir::FloatType>(to))
    result.number = LoadDouble(storage, toType, 0);
  else
    result.integer = LoadInt(storage, toType, 0);
  return result;
}

/// Truncated towards zero. A value that the type cannot hold has no result in arith: here it is the lowest.
int64_t toInteger(double value, unsigned width, bool isUnsigned) {
  double low = isUnsigned ? 0 : -std::ldexp(1.0, width - 1), high = std::ldexp(1.0, isUnsigned ? width : width - 1);
  double whole = std::trunc(value);
  if (!(whole >= low && whole < high))
    return isUnsigned ? 0 : wrap(int64_t{1} << (width - 1), width);
  return isUnsigned ? static_cast<int64_t>(static_cast<uint64_t>(whole)) : static_cast<int64_t>(whole);
}

/// Rounded once, from the integer.
double fromInteger(int64_t value, unsigned width, bool isUnsigned, mlir::Type type) {
  DType dtype = getDType(type);
  double storage = 0;
  uint64_t bits = zeroExtended(value, width);
  if (!isUnsigned)
    StoreInt(&storage, dtype, 0, signExtended(value, width));
  else if (bits >> 63 == 0)
    StoreInt(&storage, dtype, 0, static_cast<int64_t>(bits));
  else // half of it, whose last bit stands for what is cut off
    StoreInt(&storage, dtype, 0, static_cast<int64_t>(bits >> 1 | (bits & 1)));
  double number = LoadDouble(&storage, dtype, 0);
  return isUnsigned && bits >> 63 ? 2 * number : number;
}

} // namespace

absl::StatusOr<Scalar> evaluateScalar(mlir::Operation *op, llvm::ArrayRef<Scalar> operands) {
  std::string name = op->getName().getStringRef().str();
  mlir::Type type = op->getResult(0).getType();
  Scalar result;
  if (auto function = floatFunctions().find(name); function != floatFunctions().end()) {
    llvm::SmallVector<double, 3> numbers;
    for (const Scalar &operand : operands)
      numbers.push_back(operand.number);
    result.number = roundTo(function->second(numbers), type);
    return result;
  }
  if (auto function = intFunctions().find(name); function != intFunctions().end()) {
    llvm::SmallVector<int64_t, 3> integers;
    for (const Scalar &operand : operands)
      integers.push_back(operand.integer);
    llvm::StringRef text(name);
    if ((text.contains("div") || text.contains("rem")) && integers[1] == 0)
      return absl::InvalidArgumentError(absl::StrCat(name, ": division by zero"));
    result.integer = wrap(function->second(integers, widthOf(op->getOperand(0).getType())), widthOf(type));
    return result;
  }
  if (name == "arith.constant")
    return constantValue(op->getAttr("value"));
  if (name == "arith.select")
    return operands[0].integer ? operands[1] : operands[2];
  if (auto compare = llvm::dyn_cast<mlir::arith::CmpIOp>(op)) {
    result.integer = compareInts(compare.getPredicate(), operands[0].integer, operands[1].integer,
                                 widthOf(compare.getLhs().getType()));
    return result;
  }
  if (auto compare = llvm::dyn_cast<mlir::arith::CmpFOp>(op)) {
    result.integer = compareFloats(compare.getPredicate(), operands[0].number, operands[1].number);
    return result;
  }
  mlir::Type from = op->getNumOperands() ? op->getOperand(0).getType() : mlir::Type();
  if (name == "arith.sitofp" || name == "arith.uitofp")
    result.number = fromInteger(operands[0].integer, widthOf(from), name == "arith.uitofp", type);
  else if (name == "arith.fptosi" || name == "arith.fptoui")
    result.integer = wrap(toInteger(operands[0].number, widthOf(type), name == "arith.fptoui"), widthOf(type));
  else if (name == "arith.bitcast")
    result = bitcast(operands[0], from, type);
  else
    return absl::UnimplementedError(absl::StrCat("the interpreter does not know ", name, " on scalars"));
  return result;
}

} // namespace tcc::ir
