//===- PrintVector.cpp - tcc::Vec -------------------------------------------===//
#include "codegen/cuda/print/Printer.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tcc::codegen::cuda_print {

// Splats denote the same for every element.
FailureOr<Expr> Printer::vectorElement(Operation &op) {
  if (isa<vector::SplatOp, vector::BroadcastOp>(op)) {
    if (isa<VectorType>(op.getOperand(0).getType())) {
      if (op.getOperand(0).getType() != op.getResult(0).getType())
        return unknown(op, "only scalars are broadcast"), failure();
      return unknown(op, "of a vector to itself"), failure();
    }
    return get(op.getOperand(0));
  }
  Value vector = op.getOperand(0);
  std::string position;
  if (auto extract = dyn_cast<vector::ExtractOp>(op)) {
    if (extract.getNumIndices() != 1)
      return unknown(op), failure();
    OpFoldResult index = extract.getMixedPosition()[0];
    std::optional<int64_t> constant = getConstantIntValue(index);
    position = constant ? std::to_string(*constant) : get(cast<Value>(index)).text;
  } else {
    auto element = cast<vector::ExtractElementOp>(op);
    if (!element.getPosition())
      return unknown(op), failure();
    position = get(element.getPosition()).text;
  }
  // An expression that denotes every element need not become a variable.
  if (!vectorNames.count(vector)) {
    Expr expr = get(vector);
    Operation *definition = vector.getDefiningOp();
    if (definition && isAlias(definition) && !isa<arith::ConstantOp>(definition))
      return expr;
    if (expr.literal)
      return expr;
    if (onlyExpressions) {
      tooLong = true;
      return Expr{};
    }
  }
  return Expr{vectorName(vector) + "[" + position + "]"};
}

LogicalResult Printer::printVector(Operation &op) {
  if (auto load = dyn_cast<vector::LoadOp>(op)) {
    Type type = load.getType();
    if (load.getType().getElementType() != cast<MemRefType>(load.getBase().getType()).getElementType() ||
        load.getType().getElementType().isInteger(1))
      return unknown(op, "elements of the vector are those in memory, and no bools");
    if (!isMemoryVector(load.getType()))
      return unknown(op, "vectors in memory have 1, 2, 4, 8 or 16 bytes");
    std::string name = nameFor(op);
    line("const " + typeOf(type) + " " + name + " = tcc::load_vec<" + std::to_string(load.getType().getDimSize(0)) +
         ">(" + address(load.getBase(), load.getIndices()) + ");");
    defineName(load.getResult(), name);
    return success();
  }
  if (auto store = dyn_cast<vector::StoreOp>(op)) {
    if (store.getVectorType().getElementType() != cast<MemRefType>(store.getBase().getType()).getElementType() ||
        store.getVectorType().getElementType().isInteger(1))
      return unknown(op, "elements of the vector are those in memory, and no bools");
    if (!isMemoryVector(store.getVectorType()))
      return unknown(op, "vectors in memory have 1, 2, 4, 8 or 16 bytes");
    std::string name = vectorName(store.getValueToStore());
    line("tcc::store_vec(" + address(store.getBase(), store.getIndices()) + ", " + name + ");");
    return success();
  }
  if (auto reduction = dyn_cast<vector::ReductionOp>(op))
    return printReduction(reduction);

  // Others are filled element by element.
  if (!isa<vector::InsertOp, vector::InsertElementOp, vector::FromElementsOp, vector::ShuffleOp>(op))
    return unknown(op);
  Value result = op.getResult(0);
  auto type = cast<VectorType>(result.getType());
  std::string name;
  auto declareEmpty = [&] {
    name = nameFor(op);
    line(typeOf(type) + " " + name + ";");
  };
  auto set = [&](const std::string &position, const std::string &value) {
    line(name + "[" + position + "] = " + value + ";");
  };
  if (isa<vector::InsertOp, vector::InsertElementOp>(op)) {
    Value source = op.getOperand(0), into = op.getOperand(1);
    std::string position;
    if (auto insert = dyn_cast<vector::InsertOp>(op)) {
      if (insert.getNumIndices() != 1 || isa<VectorType>(source.getType()))
        return unknown(op);
      OpFoldResult index = insert.getMixedPosition()[0];
      std::optional<int64_t> constant = getConstantIntValue(index);
      position = constant ? std::to_string(*constant) : get(cast<Value>(index)).text;
    } else {
      auto insertElement = cast<vector::InsertElementOp>(op);
      if (!insertElement.getPosition())
        return unknown(op);
      position = get(insertElement.getPosition()).text;
    }
    // What nobody else reads is changed in place.
    Operation *definition = into.getDefiningOp();
    bool inPlace = definition && isa<vector::InsertOp, vector::InsertElementOp>(definition) &&
                   inlining.uses(into) == 1 && definition->getBlock() == op.getBlock();
    if (inPlace) {
      name = vectorNames.lookup(into);
    } else {
      name = nameFor(op);
      line(typeOf(type) + " " + name + ";");
      assign(name, into);
    }
    set(position, get(source).text);
  } else if (isa<vector::FromElementsOp>(op)) {
    declareEmpty();
    for (auto [i, operand] : llvm::enumerate(op.getOperands()))
      set(std::to_string(i), get(operand).text);
  } else {
    auto shuffle = cast<vector::ShuffleOp>(op);
    std::string a = vectorName(shuffle.getV1()), b = vectorName(shuffle.getV2());
    int64_t first = shuffle.getV1VectorType().getDimSize(0);
    declareEmpty();
    for (auto [i, attr] : llvm::enumerate(shuffle.getMask())) {
      int64_t from = cast<IntegerAttr>(attr).getInt();
      if (from >= 0)
        set(std::to_string(i), (from < first ? a : b) + "[" + std::to_string(from < first ? from : from - first) + "]");
    }
  }
  defineName(result, name);
  return success();
}

// Constants with different elements.
LogicalResult Printer::printElements(arith::ConstantOp op) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements || !isa<VectorType>(op.getType()))
    return unknown(*op, "unknown kind of constant");
  llvm::SmallVector<std::string> texts;
  for (Attribute element : elements.getValues<Attribute>())
    texts.push_back(constantOf(cast<TypedAttr>(element)).text);
  std::string name = names.number("k");
  line("const " + typeOf(op.getType()) + " " + name + " = {" + llvm::join(texts, ", ") + "};");
  defineName(op.getResult(), name);
  return success();
}

// From the first element to the last.
LogicalResult Printer::printReduction(vector::ReductionOp op) {
  using K = vector::CombiningKind;
  Type type = op.getType();
  bool isFloat = isa<FloatType>(type), isBool = type.isInteger(1);
  if (type.isF16() || type.isBF16())
    return unknown(*op, "float16 and bfloat16 are computed as float32");
  std::string e = kElement.str(), name = names.number(isBool ? "is" : isFloat ? "v" : "n");
  std::string vector = vectorName(op.getVector()), x = vector + "[" + e + "]";
  auto infix = [&](llvm::StringRef symbol) { return name + " " + symbol.str() + " " + x; };
  auto wrapping = [&](llvm::StringRef symbol) {
    llvm::StringRef wide = width(type) == 64 ? "(unsigned long long)" : "(unsigned)";
    return "(" + typeOf(type) + ")(" + wide.str() + name + " " + symbol.str() + " " + wide.str() + x + ")";
  };
  auto function = [&](llvm::StringRef function) { return function.str() + "(" + name + ", " + x + ")"; };
  auto ofUnsigned = [&](llvm::StringRef function) {
    std::string cast = "(" + unsignedType(width(type)).str() + ")";
    return "(" + typeOf(type) + ")" + function.str() + "(" + cast + name + ", " + cast + x + ")";
  };
  std::string suffix = type.isF64() ? "" : "f", update;
  switch (op.getKind()) {
  case K::ADD:
    update = isBool ? infix("!=") : isFloat ? infix("+") : wrapping("+");
    break;
  case K::MUL:
    if (isFloat)
      update = isStrict ? function(type.isF64() ? "__dmul_rn" : "__fmul_rn") : infix("*");
    else
      update = isBool ? infix("&&") : wrapping("*");
    break;
  case K::AND:
    update = isBool ? infix("&&") : infix("&");
    break;
  case K::OR:
    update = isBool ? infix("||") : infix("|");
    break;
  case K::XOR:
    update = isBool ? infix("!=") : infix("^");
    break;
  case K::MINSI:
    update = isBool ? infix("||") : function("tcc::min");
    break;
  case K::MAXSI:
    update = isBool ? infix("&&") : function("tcc::max");
    break;
  case K::MINUI:
    update = isBool ? infix("&&") : ofUnsigned("tcc::min");
    break;
  case K::MAXUI:
    update = isBool ? infix("||") : ofUnsigned("tcc::max");
    break;
  case K::MINNUMF:
    update = function("fmin" + suffix);
    break;
  case K::MAXNUMF:
    update = function("fmax" + suffix);
    break;
  case K::MINIMUMF:
    update = function("tcc::minimum");
    break;
  case K::MAXIMUMF:
    update = function("tcc::maximum");
    break;
  }
  int64_t lanes = op.getSourceVectorType().getDimSize(0), start = 0;
  std::string init;
  if (op.getAcc())
    init = get(op.getAcc()).text;
  else
    init = vector + "[" + std::to_string(start++) + "]";
  line(typeOf(type) + " " + name + " = " + init + ";");
  line("#pragma unroll");
  line("for (int " + e + " = " + std::to_string(start) + "; " + e + " < " + std::to_string(lanes) + "; ++" + e + ") " +
       name + " = " + update + ";");
  defineName(op.getResult(), name);
  return success();
}

} // namespace tcc::codegen::cuda_print
