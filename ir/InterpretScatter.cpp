//===- InterpretScatter.cpp - tcc.scatter, update by update ----------------===//
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/Extents.h"
#include "ir/InterpretLoops.h"
#include "ir/OpAttributes.h"
#include "mlir/IR/IntegerSet.h"
#include "runtime/status.h"

namespace tcc::ir {

namespace {

/// Integers as in Scalar: sign-extended, bool 0 or 1.
int64_t combineIntegers(ScatterKind kind, bool isUnsigned, int64_t old, int64_t update, unsigned width) {
  auto a = static_cast<uint64_t>(old), b = static_cast<uint64_t>(update);
  bool isLess = isUnsigned ? a < b : old < update;
  switch (kind) {
  case ScatterKind::Add:
    return width == 1 ? old | update : wrap(static_cast<int64_t>(a + b), width);
  case ScatterKind::Mul:
    return wrap(static_cast<int64_t>(a * b), width);
  case ScatterKind::Max:
    return isLess ? update : old;
  case ScatterKind::Min:
    return isLess ? old : update;
  default:
    return update;
  }
}

double combineFloats(ScatterKind kind, double old, double update) {
  bool isNan = old != old || update != update;
  switch (kind) {
  case ScatterKind::Add:
    return old + update;
  case ScatterKind::Mul:
    return old * update;
  case ScatterKind::Max:
    return isNan ? old + update : std::max(old, update);
  case ScatterKind::Min:
    return isNan ? old + update : std::min(old, update);
  default:
    return update;
  }
}

} // namespace

absl::StatusOr<std::vector<Tensor>> interpretScatter(ScatterOp scatter,
                                                     llvm::function_ref<absl::StatusOr<Tensor>(mlir::Value)> tensor,
                                                     llvm::function_ref<std::optional<int64_t>(unsigned)> symbol) {
  TCC_ASSIGN_OR_RETURN(Tensor updates, tensor(scatter.getUpdates()));
  TCC_ASSIGN_OR_RETURN(updates, updates.Contiguous());
  TCC_ASSIGN_OR_RETURN(Tensor into, tensor(scatter.getInto()));
  TCC_ASSIGN_OR_RETURN(Tensor result, into.Clone());
  std::vector<Tensor> positions;
  for (mlir::Value value : scatter.getPositions()) {
    TCC_ASSIGN_OR_RETURN(Tensor position, tensor(value));
    TCC_ASSIGN_OR_RETURN(positions.emplace_back(), position.Contiguous());
  }
  mlir::Type element = llvm::cast<mlir::RankedTensorType>(scatter.getType()).getElementType();
  bool isFloat = llvm::isa<mlir::FloatType>(element);
  unsigned rank = updates.rank();
  llvm::SmallVector<int64_t> dims(rank + positions.size(), 0); // the point, and the positions there
  auto valueOf = [&](mlir::AffineExpr expr) {
    return evaluate(expr, symbol, [&](unsigned i) -> std::optional<int64_t> { return dims[i]; });
  };
  auto isMasked = [&]() -> absl::StatusOr<bool> {
    std::optional<mlir::IntegerSet> set = scatter.getMask();
    for (unsigned i = 0; set && i < set->getNumConstraints(); ++i) {
      std::optional<int64_t> value = valueOf(set->getConstraint(i));
      if (!value)
        return absl::InternalError("a constraint of the mask has no value");
      if (set->isEq(i) ? *value != 0 : *value < 0)
        return true;
    }
    return false;
  };
  for (int64_t point = 0, count = updates.num_elements(); point < count; ++point) {
    for (auto [k, position] : llvm::enumerate(positions))
      dims[rank + k] = position.data_as<int64_t>()[point];
    TCC_ASSIGN_OR_RETURN(bool masked, isMasked());
    if (!masked) {
      llvm::SmallVector<int64_t> at;
      int64_t flat = 0;
      bool outside = false;
      for (auto [axis, expr] : llvm::enumerate(scatter.getMap().getResults())) {
        std::optional<int64_t> index = valueOf(expr);
        if (!index)
          return absl::InternalError("an index has no value");
        at.push_back(*index);
        outside |= *index < 0 || *index >= result.dim(axis);
        flat = flat * result.dim(axis) + *index;
      }
      if (outside)
        return absl::OutOfRangeError(absl::StrCat("tcc.scatter updates element [", absl::StrJoin(at, ", "),
                                                  "] of a tensor of extents [", absl::StrJoin(result.dims(), ", "),
                                                  "]"));
      Scalar old = loadElement(result, element, flat), update = loadElement(updates, element, point);
      if (isFloat)
        update.number = roundTo(combineFloats(scatter.getKind(), old.number, update.number), element);
      else
        update.integer =
            combineIntegers(scatter.getKind(), scatter.getIsUnsigned(), old.integer, update.integer, widthOf(element));
      storeElement(result, element, flat, update);
    }
    for (unsigned axis = rank; axis-- > 0;) {
      if (++dims[axis] < updates.dim(axis))
        break;
      dims[axis] = 0;
    }
  }
  return std::vector<Tensor>{result};
}

} // namespace tcc::ir
