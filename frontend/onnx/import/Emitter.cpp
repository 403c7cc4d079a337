//===- Emitter.cpp - creation, constants, types ---------------------------===//
#include "frontend/onnx/import/Emitter.h"

#include "ir/ElementTypes.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace tcc::onnx {

void Emitter::fail(const Twine &message) const {
  emitError(loc) << message.str();
  throw ConversionFailure{};
}

bool Emitter::noteSymbolsOf(AffineExpr extent) const {
  bool ofInputs = true;
  extent.walk([&](AffineExpr e) {
    auto symbol = dyn_cast<AffineSymbolExpr>(e);
    if (!symbol || !needs)
      return;
    ofInputs &= symbol.getPosition() < needs->inputSymbols;
    if (needs->staticSymbols && symbol.getPosition() < needs->inputSymbols)
      needs->staticSymbols->insert(symbol.getPosition());
  });
  return ofInputs;
}

void Emitter::noteInputsOf(Value v) const {
  // Everything between the value and the arguments of the function.
  FunctionOpInterface owner = function;
  SmallVector<Value> work{v};
  std::set<std::string> integers, others;
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(next)) {
      if (argument.getOwner() != &owner.getFunctionBody().front() || !needs)
        continue;
      if (auto name = owner.getArgAttrOfType<StringAttr>(argument.getArgNumber(), ir::TCCDialect::kInputNameAttr))
        (isa<IntegerType>(elementType(argument)) ? integers : others).insert(name.str());
      continue;
    }
    Operation *op = next.getDefiningOp();
    if (!seen.insert(op).second)
      continue;
    llvm::append_range(work, op->getOperands());
    if (auto extents = dyn_cast<ir::ExtentsOp>(op))
      for (AffineExpr e : extents.getValue().getExprs())
        noteSymbolsOf(e);
  }
  // Integers decide shapes; floats do where there is nothing else (scales).
  if (needs && needs->valueInputs)
    *needs->valueInputs = integers.empty() ? others : integers;
}

void Emitter::failUnknown(Value v, StringRef what) const {
  noteInputsOf(v);
  fail(what + " must be known when compiling; give the input that decides it as a constant");
}

Exprs Emitter::exprs(ArrayRef<int64_t> values) const {
  return llvm::map_to_vector(values, [&](int64_t v) { return expr(v); });
}

// The values of a symbol in [min, max] for which an expression over it alone, which does not fall with it, is `wanted`.
static std::optional<std::pair<int64_t, int64_t>> solve(AffineExpr e, unsigned symbol, int64_t wanted, int64_t min,
                                                        int64_t max) {
  auto valueAt = [&](int64_t n) {
    Exprs values(symbol + 1, getAffineConstantExpr(n, e.getContext()));
    return ir::getConstant(ir::simplifyExtent(e.replaceSymbols(values)));
  };
  // The first value at which the expression is at least `least`.
  auto first = [&](int64_t least) {
    int64_t low = min, high = max;
    while (low < high) {
      int64_t middle = low + (high - low) / 2;
      if (valueAt(middle).value_or(least) >= least)
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  };
  int64_t low = first(wanted), high = first(wanted + 1);
  if (valueAt(high) != wanted)
    --high;
  if (low > high || valueAt(low) != wanted || valueAt(high) != wanted)
    return std::nullopt;
  return std::make_pair(low, high);
}

std::string Emitter::whereExtentIs(AffineExpr e, int64_t wanted) const {
  std::optional<unsigned> symbol;
  bool several = false;
  e.walk([&](AffineExpr part) {
    if (auto s = dyn_cast<AffineSymbolExpr>(part)) {
      several |= symbol && *symbol != s.getPosition();
      symbol = s.getPosition();
    }
  });
  if (!symbol || several)
    return "";
  auto attribute = cast<ir::SymbolAttr>(ir::getSymbols(function)[*symbol]);
  constexpr int64_t kMost = int64_t(1) << 40;
  auto range = solve(e, *symbol, wanted, attribute.getMin(), std::min(attribute.getMax(), kMost));
  // The input that has it, as the user would describe it.
  FunctionOpInterface owner = function;
  for (unsigned i = 0; i < owner.getNumArguments(); ++i) {
    Exprs own = extents(owner.getArgument(i));
    auto name = owner.getArgAttrOfType<StringAttr>(i, ir::TCCDialect::kInputNameAttr);
    auto it = llvm::find(own, getAffineSymbolExpr(*symbol, e.getContext()));
    if (!name || it == own.end())
      continue;
    std::string place = "axis " + std::to_string(it - own.begin()) + " of input '" + name.str() + "'";
    if (!range)
      return ", which it is for no extent of " + place;
    std::string last = range->second == kMost ? "" : std::to_string(range->second);
    std::string described = std::to_string(range->first) + ".." + last;
    return ", which it is where " + place + " is in " + described + ": declare that range (--dynamic '" + name.str() +
           "=[...," + attribute.getName().str() + ":" + described + ",...]')";
  }
  return "";
}

Value Emitter::withKnownExtents(Value v) {
  Exprs known = extents(v);
  bool changed = false;
  for (AffineExpr &e : known) {
    if (ir::getConstant(e))
      continue;
    auto [low, high] = range(e);
    if (low != high)
      continue;
    e = expr(low);
    changed = true;
  }
  return changed ? reshape(v, known) : v;
}

int64_t Emitter::requireExtent(Value v, int64_t axis, StringRef what, std::optional<int64_t> wanted) const {
  if (std::optional<int64_t> n = constantExtent(v, axis))
    return *n;
  if (!noteSymbolsOf(extent(v, axis)))
    failUnknown(v, (what + ", the extent of axis " + Twine(axis) + ",").str());
  if (wanted)
    fail(what + " needs extent " + Twine(*wanted) + " at axis " + Twine(axis) +
         whereExtentIs(extent(v, axis), *wanted) + "; or give the model input static extents");
  fail(what + " needs a constant extent at axis " + Twine(axis) + "; give the model input static extents");
}

bool Emitter::dependsOnData(AffineExpr e) const {
  bool depends = false;
  e.walk([&](AffineExpr part) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
      depends |= needs && symbol.getPosition() >= needs->inputSymbols;
  });
  return depends;
}

int64_t Emitter::normalizeAxis(int64_t axis, int64_t rank) const {
  if (axis < -rank || axis >= rank)
    fail("axis " + Twine(axis) + " is out of range for rank " + Twine(rank));
  return axis < 0 ? axis + rank : axis;
}

Ints Emitter::normalizeAxes(ArrayRef<int64_t> axes, int64_t rank) const {
  Ints result;
  for (int64_t axis : axes) {
    int64_t normalized = normalizeAxis(axis, rank);
    check(!llvm::is_contained(result, normalized), "axis " + Twine(axis) + " is named twice");
    result.push_back(normalized);
  }
  llvm::sort(result);
  return result;
}

std::pair<int64_t, int64_t> Emitter::range(AffineExpr e) const {
  // getRange is for extents, which are never negative; differences may be: shift them out of its way.
  constexpr int64_t kShift = int64_t(1) << 60;
  auto [low, high] = ir::getRange(ir::simplifyExtent(e + kShift), ir::getSymbols(function));
  return {low - kShift, high - kShift};
}

// False where the constant overflows.
static bool collectFactors(AffineExpr e, Exprs &symbolic, int64_t &constant) {
  if (auto c = dyn_cast<AffineConstantExpr>(e))
    return !llvm::MulOverflow(constant, c.getValue(), constant);
  if (e.getKind() == AffineExprKind::Mul) {
    auto binary = cast<AffineBinaryOpExpr>(e);
    return collectFactors(binary.getLHS(), symbolic, constant) && collectFactors(binary.getRHS(), symbolic, constant);
  }
  symbolic.push_back(e);
  return true;
}

AffineExpr Emitter::divideProducts(ArrayRef<AffineExpr> numerator, ArrayRef<AffineExpr> denominator) const {
  Exprs top, bottom;
  int64_t topConstant = 1, bottomConstant = 1;
  bool fits = true;
  for (AffineExpr e : numerator)
    fits = fits && collectFactors(e, top, topConstant);
  for (AffineExpr e : denominator)
    fits = fits && collectFactors(e, bottom, bottomConstant);
  check(fits, "a product of extents is too large");
  Exprs rest;
  for (AffineExpr e : bottom) {
    auto it = llvm::find(top, e);
    if (it != top.end())
      top.erase(it);
    else
      rest.push_back(e);
  }
  AffineExpr result = expr(topConstant);
  for (AffineExpr e : top)
    result = result * e;
  AffineExpr divisor = expr(bottomConstant);
  for (AffineExpr e : rest)
    divisor = divisor * e;
  if (ir::getConstant(divisor) == 0)
    return expr(0);
  return ir::simplifyExtent(result.floorDiv(divisor));
}

AffineExpr Emitter::freshExtent(StringRef name, int64_t min, int64_t max) {
  return ir::addSymbol(function, name, min, max);
}

NamedAttribute Emitter::extentsAttr(StringRef name, ArrayRef<AffineExpr> values) const {
  Exprs simplified = llvm::map_to_vector(values, [](AffineExpr e) { return ir::simplifyExtent(e); });
  return attr(name, ir::ExtentsAttr::get(context(), simplified));
}

//===--- Creation ---------------------------------------------------------===//

// Result types by the op's own inference, called directly: OpBuilder::create aborts the process where it fails.
static LogicalResult inferTypes(OperationState &state, SmallVectorImpl<Type> &types) {
  std::optional<RegisteredOperationName> info = state.name.getRegisteredInfo();
  if (!info)
    return emitError(state.location) << "'" << state.name << "' is not a registered op";
  auto *infer = info->getInterface<InferTypeOpInterface>();
  if (!infer)
    return emitError(state.location) << "'" << state.name << "' needs explicit result types";
  MLIRContext *context = state.getContext();
  DictionaryAttr attributes = state.attributes.getDictionary(context);
  size_t size = state.name.getOpPropertyByteSize();
  std::vector<std::max_align_t> storage((size + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t) + 1);
  OpaqueProperties properties(storage.data());
  if (size)
    state.name.initOpProperties(properties, /*init=*/nullptr);
  auto destroy = llvm::make_scope_exit([&] {
    if (size)
      state.name.destroyOpProperties(properties);
  });
  if (size && failed(state.name.setOpPropertiesFromAttribute(state.name, properties, attributes,
                                                             [&] { return emitError(state.location); })))
    return failure();
  if (failed(infer->inferReturnTypes(context, state.location, state.operands, attributes, properties, {}, types)))
    return emitError(state.location) << "'" << state.name << "' does not accept operands of these types";
  return success();
}

Values Emitter::create(StringRef name, ValueRange operands, Attrs attributes, TypeRange types) {
  OperationState state(loc, name, operands, {}, attributes);
  SmallVector<Type> resultTypes(types.begin(), types.end());
  if (resultTypes.empty() && failed(inferTypes(state, resultTypes)))
    throw ConversionFailure{};
  state.addTypes(resultTypes);
  Operation *op = builder.create(state);
  if (failed(verify(op, /*verifyRecursively=*/false))) {
    op->erase();
    throw ConversionFailure{};
  }
  // Folding in place (a chain shortened) succeeds without results; what it leaves may fold further.
  for (int round = 0; round < 4; ++round) {
    Values results;
    if (failed(builder.tryFold(op, results)))
      break;
    if (!results.empty()) {
      op->erase();
      return results;
    }
  }
  return Values(op->getResults());
}

Values Emitter::library(StringRef kernel, ArrayRef<Value> inputs, Attrs config, TypeRange types) {
  Values present;
  Ints absent;
  for (auto [i, v] : llvm::enumerate(inputs)) {
    if (v)
      present.push_back(v);
    else
      absent.push_back(i);
  }
  return create("tcc.library", present,
                {str("kernel", kernel), attr("config", builder.getDictionaryAttr(config)), i64s("absent", absent)},
                types);
}

//===--- Constants --------------------------------------------------------===//

Value Emitter::scalar(Type elementType, double value) {
  RankedTensorType type = scalarType(elementType);
  DenseElementsAttr data;
  if (auto floatType = dyn_cast<FloatType>(elementType)) {
    APFloat number(value);
    bool lossy;
    number.convert(floatType.getFloatSemantics(), APFloat::rmNearestTiesToEven, &lossy);
    data = DenseElementsAttr::get(type, number);
  } else if (isa<IntegerType>(elementType)) {
    // Also false for NaN.
    if (!(value >= -0x1p63 && value < 0x1p63))
      fail("it takes the number " + std::to_string(value) + ", which an integer cannot hold");
    return scalarInt(elementType, static_cast<int64_t>(value));
  } else {
    fail("a number in an element type that holds none");
  }
  return create("tcc.constant", {}, attr("value", data), type).front();
}

Value Emitter::scalarInt(Type elementType, int64_t value) {
  if (!isa<IntegerType>(elementType))
    return scalar(elementType, static_cast<double>(value));
  unsigned width = elementType.getIntOrFloatBitWidth();
  APInt number = APInt(64, static_cast<uint64_t>(value)).sextOrTrunc(width);
  if (width == 1)
    number = APInt(1, value != 0);
  RankedTensorType type = scalarType(elementType);
  return create("tcc.constant", {}, attr("value", DenseElementsAttr::get(type, number)), type).front();
}

Value Emitter::vectorI64(ArrayRef<int64_t> values) {
  auto type = RankedTensorType::get({static_cast<int64_t>(values.size())}, i64Type());
  return create("tcc.constant", {}, attr("value", DenseElementsAttr::get(type, values)), type).front();
}

Value Emitter::vectorF(ArrayRef<double> values, Type elementType) {
  auto type = RankedTensorType::get({static_cast<int64_t>(values.size())}, elementType);
  SmallVector<APFloat> numbers;
  for (double value : values) {
    APFloat number(value);
    bool lossy;
    number.convert(cast<FloatType>(elementType).getFloatSemantics(), APFloat::rmNearestTiesToEven, &lossy);
    numbers.push_back(number);
  }
  return create("tcc.constant", {}, attr("value", DenseElementsAttr::get(type, numbers)), type).front();
}

Value Emitter::extentsTensor(ArrayRef<AffineExpr> values, bool scalar) {
  Exprs simplified = llvm::map_to_vector(values, [](AffineExpr e) { return ir::simplifyExtent(e); });
  SmallVector<int64_t> shape;
  if (!scalar)
    shape.push_back(values.size());
  auto type = RankedTensorType::get(shape, i64Type());
  auto extents = ir::ExtentsAttr::get(context(), simplified);
  if (std::optional<Ints> constants = extents.getConstants())
    return create("tcc.constant", {}, attr("value", DenseElementsAttr::get(type, ArrayRef<int64_t>(*constants))), type)
        .front();
  return create("tcc.extents", {}, attr("value", extents), type).front();
}

std::optional<Exprs> Emitter::knownInts(Value v) {
  if (auto extents = v.getDefiningOp<ir::ExtentsOp>())
    return Exprs(extents.getValue().getExprs());
  std::optional<Ints> constants = constantInts(v);
  if (!constants)
    return std::nullopt;
  return llvm::map_to_vector(*constants, [&](int64_t c) { return getAffineConstantExpr(c, v.getContext()); });
}

//===--- Short forms ------------------------------------------------------===//

Value Emitter::binary(StringRef op, Value a, Value b) {
  check(elementType(a) == elementType(b), "operands have different element types");
  return create(op, broadcast({a, b}), {}).front();
}

Value Emitter::compare(Value a, Value b, ir::Predicate predicate) {
  check(elementType(a) == elementType(b), "operands have different element types");
  return create("tcc.compare", broadcast({a, b}), attr("predicate", ir::PredicateAttr::get(context(), predicate)))
      .front();
}

Value Emitter::select(Value condition, Value a, Value b) {
  check(isBool(condition), "the condition must be bool");
  check(elementType(a) == elementType(b), "operands have different element types");
  return create("tcc.select", broadcast({condition, a, b}), {}).front();
}

Value Emitter::cast(Value x, Type target, bool saturate) {
  if (elementType(x) == target)
    return x;
  return emit<ir::CastOp>(x, flag("saturate", saturate), ir::withElementType(type(x), target));
}

Value Emitter::reduce(Value x, ir::ReduceKind kind, ArrayRef<int64_t> axes, bool keepDims) {
  if (axes.empty())
    return x;
  return emit<ir::ReduceOp>(
      x, {attr("kind", ir::ReduceKindAttr::get(context(), kind)), i64s("axes", axes), flag("keep_dims", keepDims)});
}

Value Emitter::softmax(Value x, int64_t axis) { return emit<ir::SoftmaxOp>(x, i64("axis", axis)); }

} // namespace tcc::onnx
