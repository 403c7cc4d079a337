//===- Printer.cpp - values and statements --------------------------------===//
#include "codegen/cuda/print/Printer.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace tcc::codegen::cuda_print {
namespace {

// Columns: of an expression before parts of it get names, and of a line before it is broken.
constexpr size_t kLongExpression = 76;
constexpr size_t kLongLine = 110;

// Bound types that vectors of the device library and of the hardware have.
constexpr int64_t kMaxLanes = 64;

bool isHalf(Type type) { return type.isF16() || type.isBF16(); }

} // namespace

Printer::Printer(func::FuncOp function, Names names, unsigned indent)
    : function(function), inlining(function), names(std::move(names)), indexBits(64),
      isStrict(function->hasAttr("tcc.strict")), depth(indent) {
  if (auto bits = function->getAttrOfType<IntegerAttr>("tcc.index_bits"))
    indexBits = bits.getInt() == 32 ? 32 : 64;
  // A variable must not hide a function that is called.
  if (auto module = function->getParentOfType<ModuleOp>())
    for (auto other : module.getOps<func::FuncOp>())
      this->names.reserve(other.getName());
}

//===- Types ---------------------------------------------------------------===//

unsigned Printer::width(Type type) const {
  type = getElementTypeOrSelf(type);
  return type.isIndex() ? indexBits : type.getIntOrFloatBitWidth();
}

bool Printer::isPrintable(Type type) const {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getRank() == 1 && !vector.isScalable() && vector.getDimSize(0) <= kMaxLanes &&
           isPrintable(vector.getElementType());
  if (auto memref = dyn_cast<MemRefType>(type)) {
    llvm::SmallVector<int64_t> strides;
    int64_t offset;
    if (memref.getElementType().isIndex() || isa<VectorType>(memref.getElementType()) ||
        !isPrintable(memref.getElementType()) || failed(getStridesAndOffset(memref, strides, offset)))
      return false;
    if (memref.getRank() == 1)
      return strides[0] == 1;
    return memref.getRank() > 1 && memref.hasStaticShape() && memref.getLayout().isIdentity();
  }
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.isSignless() && isKnownWidth(integer.getWidth());
  return type.isIndex() || type.isF32() || type.isF64() || isHalf(type);
}

bool Printer::isMemoryVector(VectorType type) const {
  int64_t bytes = type.getDimSize(0) * std::max(1u, width(type) / 8);
  return bytes <= 16 && llvm::isPowerOf2_64(bytes);
}

std::string Printer::typeOf(Type type) const {
  if (auto vector = dyn_cast<VectorType>(type))
    return (isMemoryVector(vector) ? "tcc::Vec<" : "tcc::Lanes<") + typeOf(vector.getElementType()) + ", " +
           std::to_string(vector.getDimSize(0)) + ">";
  if (type.isIntOrIndex())
    return signedType(width(type)).str();
  if (type.isF16())
    return "__half";
  if (type.isBF16())
    return "__nv_bfloat16";
  return type.isF64() ? "double" : "float";
}

std::string Printer::memoryType(Type element) const { return element.isInteger(1) ? "unsigned char" : typeOf(element); }

bool Printer::isWritten(Value memref) {
  for (OpOperand &use : memref.getUses()) {
    Operation *user = use.getOwner();
    if (isa<memref::LoadOp, vector::LoadOp, memref::DimOp>(user))
      continue;
    if (isa<memref::CastOp, memref::ViewOp, memref::SubViewOp, memref::ReinterpretCastOp>(user)) {
      if (isWritten(user->getResult(0)))
        return true;
      continue;
    }
    if (auto call = dyn_cast<func::CallOp>(user)) {
      auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
      unsigned index = use.getOperandNumber();
      if (callee && index < callee.getNumArguments() &&
          (callee.getArgAttr(index, "tcc.readonly") || (!callee.isExternal() && !isWritten(callee.getArgument(index)))))
        continue;
    }
    return true;
  }
  return false;
}

//===- Values --------------------------------------------------------------===//

void Printer::defineName(Value value, const std::string &name) {
  if (!isa<VectorType>(value.getType()))
    return define(value, {name});
  vectorNames[value] = name;
  define(value, {name + "[" + kElement.str() + "]"});
}

Expr Printer::toSigned(Expr expr, Type type) const {
  if (!expr.isUnsigned)
    return expr;
  expr.text = "(" + signedType(width(type)).str() + ")" + atLeast(expr, Precedence::Unary);
  expr.precedence = Precedence::Unary;
  expr.isUnsigned = false;
  return expr;
}

Expr Printer::toUnsigned(Expr expr, Type type) const {
  type = getElementTypeOrSelf(type);
  if (expr.isUnsigned || !type.isIntOrIndex() || type.isInteger(1))
    return expr;
  if (expr.literal)
    return {unsignedLiteral(*expr.literal), Precedence::Postfix, /*isUnsigned=*/true, expr.literal};
  // A cast of something that looks like a number with a sign would be read as a difference.
  bool isSign = expr.text.front() == '-';
  expr.text =
      "(" + unsignedType(width(type)).str() + ")" + (isSign ? "(" + expr.text + ")" : atLeast(expr, Precedence::Unary));
  expr.precedence = Precedence::Unary;
  expr.isUnsigned = true;
  return expr;
}

std::string Printer::getTyped(Value value) const {
  Expr expr = getSigned(value);
  Type type = getElementTypeOrSelf(value.getType());
  if (expr.literal)
    return signedLiteral(*expr.literal, /*typed=*/true);
  // Arithmetic of small integers has type int.
  if (type.isIntOrIndex() && width(type) < 32 && width(type) > 1 && expr.precedence != Precedence::Postfix)
    return "(" + typeOf(type) + ")" + atLeast(expr, Precedence::Unary);
  return expr.text;
}

std::string Printer::vectorName(Value value) {
  if (auto it = vectorNames.find(value); it != vectorNames.end())
    return it->second;
  // Not kept: the place where it is made need not be visible to other uses.
  std::string name = names.number("v");
  declare(value, get(value), name);
  return name;
}

//===- Output --------------------------------------------------------------===//

// Lines break after a comma or before an operator.
void Printer::line(const std::string &content) {
  std::string indent(2 * depth, ' ');
  llvm::StringRef rest = content;
  while (indent.size() + rest.size() > kLongLine && !rest.starts_with("#")) {
    size_t limit = kLongLine - indent.size(), at = 0;
    for (size_t i = 1; i + 1 < std::min(limit, rest.size()); ++i) {
      llvm::StringRef tail = rest.substr(i);
      bool isOperator = tail.starts_with(" && ") || tail.starts_with(" || ") || tail.starts_with(" ? ") ||
                        tail.starts_with(" : ") || tail.starts_with(" + ") || tail.starts_with(" - ") ||
                        tail.starts_with(" * ");
      if ((rest[i] == ' ' && rest[i - 1] == ',') || isOperator)
        at = i;
    }
    if (at == 0)
      break;
    text += indent + rest.take_front(at).str() + "\n";
    rest = rest.drop_front(at + 1);
    indent = std::string(2 * depth + 4, ' ');
  }
  text += indent + rest.str() + "\n";
}

void Printer::open(const std::string &content) {
  line(content);
  ++depth;
  names.openScope();
}

void Printer::reopen(const std::string &content) {
  names.closeScope();
  --depth;
  line(content);
  ++depth;
  names.openScope();
}

void Printer::close(const std::string &content) {
  names.closeScope();
  --depth;
  line(content);
}

//===- Statements ----------------------------------------------------------===//

InFlightDiagnostic Printer::unknown(Operation &op, llvm::StringRef why) {
  InFlightDiagnostic error = op.emitOpError("cannot be printed as CUDA C++");
  if (!why.empty())
    error << ": " << why;
  return error;
}

LogicalResult Printer::check(Operation &op) {
  for (TypeRange types : {TypeRange(op.getOperandTypes()), TypeRange(op.getResultTypes())})
    for (Type type : types)
      if (!isPrintable(type))
        return unknown(op, "unknown type") << ' ' << type;
  return success();
}

std::string Printer::nameFor(Operation &op) {
  if (auto hint = op.getAttrOfType<StringAttr>("tcc.name"))
    if (std::string base = identifier(hint.getValue()); !base.empty())
      return names.role(base);
  Type type = getElementTypeOrSelf(op.getResult(0).getType());
  if (isa<memref::LoadOp, vector::LoadOp>(op))
    return names.number("x");
  if (isa<scf::IfOp, arith::SelectOp>(op) && !type.isInteger(1) && !type.isIndex())
    return names.number("y");
  if (type.isInteger(1))
    return names.number("is");
  if (type.isIndex())
    return names.number("at");
  return names.number(isa<IntegerType>(type) ? "n" : "v");
}

void Printer::declare(Value value, const Expr &expr, const std::string &name) {
  Type type = value.getType();
  if (!isa<VectorType>(type)) {
    // The conversion to the variable's type is the one that a cast would be.
    line("const " + typeOf(type) + " " + name + " = " + expr.text + ";");
    return;
  }
  line(typeOf(type) + " " + name + ";");
  assign(name, value);
}

void Printer::assign(const std::string &name, Value value) {
  auto vector = dyn_cast<VectorType>(value.getType());
  if (!vector) {
    line(name + " = " + get(value).text + ";");
    return;
  }
  if (auto it = vectorNames.find(value); it != vectorNames.end()) {
    line(name + " = " + it->second + ";");
    return;
  }
  std::string e = kElement.str();
  line("#pragma unroll");
  line("for (int " + e + " = 0; " + e + " < " + std::to_string(vector.getDimSize(0)) + "; ++" + e + ") " + name + "[" +
       e + "] = " + get(value).text + ";");
}

// Whether a text reads a variable.
static bool mentions(llvm::StringRef text, llvm::StringRef name) {
  auto isWord = [&](size_t at) { return at < text.size() && (llvm::isAlnum(text[at]) || text[at] == '_'); };
  for (size_t at = text.find(name); at != llvm::StringRef::npos; at = text.find(name, at + 1))
    if ((at == 0 || !isWord(at - 1)) && !isWord(at + name.size()))
      return true;
  return false;
}

// All at once: a value that reads a variable which is assigned before it is kept aside.
void Printer::assignAll(llvm::ArrayRef<std::string> targets, ValueRange assigned) {
  for (unsigned i = 1; i < targets.size(); ++i) {
    Value value = assigned[i];
    bool isOverwritten = false;
    for (unsigned k = 0; k < i; ++k)
      isOverwritten |= mentions(get(value).text, targets[k]) && get(assigned[k]).text != targets[k];
    if (!isOverwritten)
      continue;
    std::string name = names.role("next");
    declare(value, get(value), name);
    defineName(value, name);
  }
  for (auto [target, value] : llvm::zip(targets, assigned)) {
    bool isSame = isa<VectorType>(value.getType()) ? vectorNames.lookup(value) == target : get(value).text == target;
    if (!isSame)
      assign(target, value);
  }
}

// Gives the longest of the expressions that an op is made of a name. False where there is none.
bool Printer::shorten(Operation &op) {
  Value longest;
  for (Value operand : op.getOperands()) {
    Operation *definition = operand.getDefiningOp();
    if (definition && inlining.isInlined(definition) && !vectorNames.count(operand) && get(operand).text.size() > 8 &&
        (!longest || get(operand).text.size() > get(longest).text.size()))
      longest = operand;
  }
  if (!longest)
    return false;
  Operation *definition = longest.getDefiningOp();
  std::string name = nameFor(*definition);
  declare(longest, get(longest), name);
  defineName(longest, name);
  return true;
}

LogicalResult Printer::result(Operation &op, Expr expr) {
  Value value = op.getResult(0);
  if (isAlias(&op) || inlining.isInlined(&op)) {
    define(value, std::move(expr));
    return success();
  }
  if (onlyExpressions) {
    tooLong = true;
    return success();
  }
  std::string name = nameFor(op);
  define(value, expr);
  declare(value, expr, name);
  defineName(value, name);
  return success();
}

LogicalResult Printer::print(Operation &op) {
  if (inlining.isDead(&op))
    return success();
  if (failed(check(op)))
    return failure();
  auto branch = dyn_cast<scf::IfOp>(op);
  if (branch && !inlining.isChoice(branch))
    return printIf(branch);
  if (!branch && !isElementwise(&op) && !isAlias(&op) &&
      !isa<memref::LoadOp, vector::ExtractOp, vector::ExtractElementOp>(op))
    return printStatement(op);
  while (true) {
    FailureOr<Expr> expr = expression(op);
    if (failed(expr))
      return failure();
    bool isLong = tooLong || (expr->text.size() > kLongExpression && !isAlias(&op));
    if (!isLong)
      return result(op, std::move(*expr));
    tooLong = onlyExpressions;
    if (onlyExpressions)
      return success();
    if (branch)
      return printIf(branch);
    if (!shorten(op))
      return result(op, std::move(*expr));
  }
}

LogicalResult Printer::printStatement(Operation &op) {
  auto length = [&] {
    size_t total = 0;
    for (Value operand : op.getOperands())
      total += get(operand).text.size();
    return total;
  };
  while (length() > kLongExpression + 24 && shorten(op))
    ;
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<arith::ConstantOp>([&](auto constant) { return printElements(constant); })
      .Case<scf::ForOp>([&](auto loop) { return printFor(loop); })
      .Case<scf::WhileOp>([&](auto loop) { return printWhile(loop); })
      .Case<func::CallOp>([&](auto call) { return printCall(call); })
      .Default([&](Operation *) -> LogicalResult {
        llvm::StringRef dialect = op.getName().getDialectNamespace();
        if (dialect == "memref")
          return printMemory(op);
        if (dialect == "vector")
          return printVector(op);
        if (dialect == "gpu")
          return printGpu(op);
        return unknown(op);
      });
}

LogicalResult Printer::printBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(print(op)))
      return failure();
  return success();
}

} // namespace tcc::codegen::cuda_print
