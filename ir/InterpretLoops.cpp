//===- InterpretLoops.cpp - loop nests, element by element -----------------===//
#include "ir/InterpretLoops.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/ElementTypes.h"
#include "ir/Extents.h"
#include "ir/OpAttributes.h"
#include "mlir/IR/IntegerSet.h"
#include "runtime/dispatch.h"
#include "runtime/status.h"
#include "llvm/ADT/DenseMap.h"

namespace tcc::ir {

Scalar loadElement(const Tensor &tensor, mlir::Type type, int64_t flat) {
  DType dtype = getDType(type);
  Scalar result;
  if (llvm::isa<mlir::FloatType>(type))
    result.number = LoadDouble(tensor.data(), dtype, flat);
  else
    result.integer = wrap(LoadInt(tensor.data(), dtype, flat), widthOf(type));
  return result;
}

void storeElement(const Tensor &tensor, mlir::Type type, int64_t flat, Scalar value) {
  if (llvm::isa<mlir::FloatType>(type))
    StoreDouble(tensor.data(), getDType(type), flat, value.number);
  else
    StoreInt(tensor.data(), getDType(type), flat, value.integer);
}

namespace {

using Symbol = llvm::function_ref<std::optional<int64_t>(unsigned)>;

/// The value before the first combination.
Scalar identityOf(ReduceKind kind, mlir::Type type) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Scalar result;
  bool isFloat = llvm::isa<mlir::FloatType>(type);
  unsigned width = isFloat ? 0 : widthOf(type);
  // As signed integers; bool is 0 or 1.
  int64_t lowest = width == 1 ? 0 : wrap(int64_t{1} << (width ? width - 1 : 0), width ? width : 64);
  switch (kind) {
  case ReduceKind::Prod:
    result = {1, 1};
    break;
  case ReduceKind::Max:
    result = {lowest, -kInfinity};
    break;
  case ReduceKind::Min:
    result = {width == 1 ? 1 : -1 - lowest, kInfinity};
    break;
  default:
    break;
  }
  return result;
}

/// Floats accumulate in double, whatever their type: the caller rounds at the end.
Scalar combine(ReduceKind kind, Scalar a, Scalar b, unsigned width) {
  auto nan = [](double x, double y) { return std::isnan(x) ? x : y; };
  switch (kind) {
  case ReduceKind::Prod:
    return {wrap(static_cast<int64_t>(static_cast<uint64_t>(a.integer) * static_cast<uint64_t>(b.integer)), width),
            a.number * b.number};
  case ReduceKind::Max:
    return {std::max(a.integer, b.integer),
            std::isnan(a.number) || std::isnan(b.number) ? nan(a.number, b.number) : std::max(a.number, b.number)};
  case ReduceKind::Min:
    return {std::min(a.integer, b.integer),
            std::isnan(a.number) || std::isnan(b.number) ? nan(a.number, b.number) : std::min(a.number, b.number)};
  default:
    return {wrap(static_cast<int64_t>(static_cast<uint64_t>(a.integer) + static_cast<uint64_t>(b.integer)), width),
            a.number + b.number};
  }
}

class Nest {
public:
  Nest(LoopsOp loops, Symbol symbol) : loops(loops), symbol(symbol) {}

  absl::Status prepare(llvm::function_ref<absl::StatusOr<Tensor>(mlir::Value)> tensorOf) {
    for (mlir::AffineExpr extent : loops.getExtents().getExprs()) {
      std::optional<int64_t> value = evaluate(extent, symbol);
      if (!value || *value < 0)
        return absl::InternalError("an extent of the nest has no value");
      extents.push_back(*value);
    }
    for (mlir::Operation &op : loops.getBody().front())
      if (auto load = llvm::dyn_cast<LoadOp>(op)) {
        TCC_ASSIGN_OR_RETURN(Tensor tensor, tensorOf(load.getTensor()));
        TCC_ASSIGN_OR_RETURN(tensors[load.getTensor()], tensor.Contiguous());
      }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Tensor>> run() {
    size_t parallel = extents.size() - loops.getNumReductions();
    Dims dims(extents.begin(), extents.begin() + parallel);
    std::vector<Tensor> results;
    llvm::SmallVector<mlir::Type> types;
    for (mlir::Type type : loops.getResultTypes()) {
      types.push_back(llvm::cast<mlir::RankedTensorType>(type).getElementType());
      TCC_ASSIGN_OR_RETURN(results.emplace_back(), Tensor::Allocate(getDType(types.back()), dims));
    }
    TCC_ASSIGN_OR_RETURN(int64_t count, NumElements(dims));
    llvm::SmallVector<int64_t> point(extents.size(), 0);
    for (int64_t flat = 0; flat < count; ++flat) {
      TCC_ASSIGN_OR_RETURN(llvm::SmallVector<Scalar> values,
                           loops.getNumReductions() ? reduce(point, parallel) : element(point));
      for (auto [result, type, value] : llvm::zip(results, types, values))
        storeElement(result, type, flat, value);
      advance(point, 0, parallel);
    }
    return results;
  }

private:
  using Values = absl::StatusOr<llvm::SmallVector<Scalar>>;

  /// Counts axes [first, last) up in row-major order; false after the last point.
  bool advance(llvm::SmallVectorImpl<int64_t> &point, size_t first, size_t last) {
    for (size_t axis = last; axis-- > first;) {
      if (++point[axis] < extents[axis])
        return true;
      point[axis] = 0;
    }
    return false;
  }

  Values reduce(llvm::SmallVector<int64_t> &point, size_t parallel) {
    llvm::SmallVector<Scalar> sums;
    llvm::SmallVector<ReduceKind> kinds;
    llvm::SmallVector<mlir::Type> types;
    for (auto [kind, type] : llvm::zip(loops.getKinds().getAsRange<ReduceKindAttr>(), loops.getResultTypes())) {
      kinds.push_back(kind.getValue());
      types.push_back(llvm::cast<mlir::RankedTensorType>(type).getElementType());
      sums.push_back(identityOf(kinds.back(), types.back()));
    }
    bool any = llvm::all_of(llvm::ArrayRef<int64_t>(extents).drop_front(parallel), [](int64_t e) { return e > 0; });
    while (any) {
      TCC_ASSIGN_OR_RETURN(llvm::SmallVector<Scalar> values, element(point));
      for (auto [k, value] : llvm::enumerate(values))
        sums[k] = combine(kinds[k], sums[k], value, llvm::isa<mlir::FloatType>(types[k]) ? 64 : widthOf(types[k]));
      any = advance(point, parallel, extents.size());
    }
    return sums;
  }

  /// The yielded scalars at a point.
  Values element(llvm::ArrayRef<int64_t> point) {
    mlir::Block &block = loops.getBody().front();
    scalars.clear();
    for (auto [argument, index] : llvm::zip(block.getArguments(), point))
      scalars[argument].integer = index;
    for (mlir::Operation &op : block.without_terminator()) {
      TCC_ASSIGN_OR_RETURN(scalars[op.getResult(0)], evaluateOp(&op));
    }
    llvm::SmallVector<Scalar> values;
    for (mlir::Value value : block.getTerminator()->getOperands())
      values.push_back(scalars[value]);
    return values;
  }

  absl::StatusOr<Scalar> evaluateOp(mlir::Operation *op) {
    Scalar result;
    if (auto load = llvm::dyn_cast<LoadOp>(op))
      return evaluateLoad(load);
    if (auto apply = llvm::dyn_cast<ApplyOp>(op)) {
      TCC_ASSIGN_OR_RETURN(result.integer, evaluateExpr(apply.getMap().getResult(0), apply.getIndices()));
      return result;
    }
    if (auto inSet = llvm::dyn_cast<InSetOp>(op)) {
      TCC_ASSIGN_OR_RETURN(result.integer, holds(inSet.getSet(), inSet.getIndices()));
      return result;
    }
    if (auto check = llvm::dyn_cast<BoundsCheckOp>(op))
      return evaluateCheck(check);
    llvm::SmallVector<Scalar> operands;
    for (mlir::Value operand : op->getOperands())
      operands.push_back(scalars[operand]);
    return evaluateScalar(op, operands);
  }

  absl::StatusOr<Scalar> evaluateCheck(BoundsCheckOp check) {
    TCC_ASSIGN_OR_RETURN(int64_t extent, evaluateExpr(check.getExtent().getExprs()[0], {}));
    int64_t given = scalars[check.getIndex()].integer;
    Scalar index;
    index.integer = given < 0 && !check.getExact() ? given + extent : given;
    if (check.getWhen() && !scalars[check.getWhen()].integer)
      index.integer = std::max<int64_t>(0, std::min(index.integer, extent - 1));
    else if (index.integer < 0 || index.integer >= extent)
      return absl::OutOfRangeError(absl::StrCat("index ", given, " is out of range for extent ", extent));
    return index;
  }

  absl::StatusOr<Scalar> evaluateLoad(LoadOp load) {
    mlir::Type type = load.getValue().getType();
    if (load.getMask()) {
      TCC_ASSIGN_OR_RETURN(bool inside, holds(*load.getMask(), load.getIndices()));
      if (!inside)
        return load.getFill() ? scalars[load.getFill()] : Scalar();
    }
    const Tensor &tensor = tensors[load.getTensor()];
    int64_t flat = 0;
    llvm::SmallVector<int64_t> at;
    bool outside = false;
    for (auto [axis, expr] : llvm::enumerate(load.getMap().getResults())) {
      TCC_ASSIGN_OR_RETURN(int64_t index, evaluateExpr(expr, load.getIndices()));
      at.push_back(index);
      outside |= index < 0 || index >= tensor.dim(axis);
      flat = flat * tensor.dim(axis) + index;
    }
    if (outside)
      return absl::OutOfRangeError(absl::StrCat("tcc.load reads element [", absl::StrJoin(at, ", "),
                                                "] of a tensor of extents [", absl::StrJoin(tensor.dims(), ", "), "]"));
    return loadElement(tensor, type, flat);
  }

  absl::StatusOr<bool> holds(mlir::IntegerSet set, mlir::ValueRange indices) {
    for (auto [constraint, isEquality] : llvm::zip(set.getConstraints(), set.getEqFlags())) {
      TCC_ASSIGN_OR_RETURN(int64_t value, evaluateExpr(constraint, indices));
      if (isEquality ? value != 0 : value < 0)
        return false;
    }
    return true;
  }

  absl::StatusOr<int64_t> evaluateExpr(mlir::AffineExpr expr, mlir::ValueRange indices) {
    std::optional<int64_t> value = evaluate(expr, symbol, [&](unsigned position) -> std::optional<int64_t> {
      return position < indices.size() ? std::optional(scalars[indices[position]].integer) : std::nullopt;
    });
    if (!value)
      return absl::InternalError("an affine expression has no value");
    return *value;
  }

  LoopsOp loops;
  Symbol symbol;
  llvm::SmallVector<int64_t> extents;
  llvm::DenseMap<mlir::Value, Tensor> tensors;
  llvm::DenseMap<mlir::Value, Scalar> scalars;
};

} // namespace

absl::StatusOr<std::vector<Tensor>>
interpretLoops(LoopsOp loops, llvm::function_ref<absl::StatusOr<Tensor>(mlir::Value)> tensor, Symbol symbol) {
  Nest nest(loops, symbol);
  TCC_RETURN_IF_ERROR(nest.prepare(tensor));
  return nest.run();
}

} // namespace tcc::ir
