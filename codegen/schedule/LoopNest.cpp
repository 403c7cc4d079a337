//===- LoopNest.cpp - a tcc.loops as schedules see it ---------------------===//
#include "codegen/schedule/LoopNest.h"

#include "codegen/schedule/ElementTypes.h"
#include "ir/Extents.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IntegerSet.h"

using namespace mlir;

namespace tcc::codegen {

AffineExpr rowMajorOffset(llvm::ArrayRef<AffineExpr> coordinate, llvm::ArrayRef<AffineExpr> extents, unsigned skip,
                          MLIRContext *context) {
  AffineExpr offset = getAffineConstantExpr(0, context);
  for (auto [position, extent] : llvm::drop_begin(llvm::zip(coordinate, extents), skip))
    offset = offset * extent + position;
  return offset;
}

LoopNest LoopNest::analyze(ir::LoopsOp op, SkippedAxes skippedAxes) {
  MLIRContext *context = op.getContext();
  LoopNest nest;
  nest.op = op;
  nest.extents = Exprs(op.getExtents().getExprs());
  nest.numParallel = nest.extents.size() - op.getNumReductions();
  nest.symbols = ir::getSymbols(op);
  IndexSimplifier simplifier = nest.simplifier();

  Block &body = op.getBody().front();
  for (BlockArgument argument : body.getArguments())
    nest.index[argument] = simplifier.simplify(getAffineDimExpr(argument.getArgNumber(), context));

  auto dimsOf = [&](ValueRange values) {
    Exprs dims;
    for (Value value : values)
      dims.push_back(nest.index.lookup(value));
    return dims;
  };
  auto conditionsOf = [&](IntegerSet set, ValueRange indices) {
    Conditions result;
    Exprs dims = dimsOf(indices);
    for (auto [constraint, equal] : llvm::zip(set.getConstraints(), set.getEqFlags())) {
      AffineExpr expr = simplifier.simplify(constraint.replaceDims(dims));
      if (!equal && simplifier.isNonNegative(expr))
        continue;
      result.exprs.push_back(expr);
      result.equal.push_back(equal);
    }
    return result;
  };
  for (Operation &inner : body.without_terminator()) {
    if (auto load = llvm::dyn_cast<ir::LoadOp>(inner)) {
      Exprs dims = dimsOf(load.getIndices());
      Exprs coordinate;
      for (AffineExpr result : load.getMap().getResults())
        coordinate.push_back(simplifier.simplify(result.replaceDims(dims)));
      Exprs tensorExtents = ir::getExtents(load.getTensor().getType());
      nest.offset[load] =
          simplifier.simplify(rowMajorOffset(coordinate, tensorExtents, skippedAxes(load.getTensor()), context));
      nest.coordinates[load] = coordinate;
      if (load.getMask()) {
        Conditions conditions = conditionsOf(*load.getMask(), load.getIndices());
        if (!conditions.exprs.empty())
          nest.conditions[load] = conditions;
      }
    } else if (auto inSet = llvm::dyn_cast<ir::InSetOp>(inner)) {
      nest.conditions[inSet] = conditionsOf(inSet.getSet(), inSet.getIndices());
    } else if (auto apply = llvm::dyn_cast<ir::ApplyOp>(inner)) {
      nest.index[apply.getValue()] =
          simplifier.simplify(apply.getMap().getResult(0).replaceDims(dimsOf(apply.getIndices())));
    }
    for (Value result : inner.getResults()) {
      if (!result.getType().isIndex() || nest.index.count(result))
        continue;
      IntegerAttr constant;
      if (auto op = llvm::dyn_cast<arith::ConstantOp>(inner))
        constant = llvm::dyn_cast<IntegerAttr>(op.getValue());
      if (constant) {
        nest.index[result] = getAffineConstantExpr(constant.getInt(), context);
        continue;
      }
      nest.index[result] = getAffineDimExpr(kFirstOpaqueDim + nest.opaque.size(), context);
      nest.opaque.push_back(result);
    }
  }

  Exprs point;
  for (unsigned dim = 0; dim < nest.numParallel; ++dim)
    point.push_back(getAffineDimExpr(dim, context));
  for (Value result : op.getResults())
    nest.resultOffset.push_back(
        simplifier.simplify(rowMajorOffset(point, ir::getExtents(result.getType()), skippedAxes(result), context)));
  return nest;
}

std::optional<int64_t> LoopNest::constantExtent(unsigned dim) const { return ir::getConstant(extents[dim]); }

llvm::SmallVector<ir::LoadOp> LoopNest::loads() const {
  llvm::SmallVector<ir::LoadOp> result;
  for (ir::LoadOp load : op.getBody().front().getOps<ir::LoadOp>())
    result.push_back(load);
  return result;
}

bool LoopNest::isIndexUsed(unsigned dim) const {
  for (auto &[op, conditions] : conditions)
    for (AffineExpr expr : conditions.exprs)
      if (expr.isFunctionOfDim(dim))
        return true;
  for (auto &[value, expr] : index) {
    if (!expr.isFunctionOfDim(dim))
      continue;
    for (Operation *user : value.getUsers())
      if (!llvm::isa<ir::LoadOp, ir::InSetOp, ir::ApplyOp>(user))
        return true;
  }
  return false;
}

void LoopNest::substitute(llvm::ArrayRef<AffineExpr> replacements) {
  IndexSimplifier simplifier = this->simplifier();
  llvm::DenseMap<AffineExpr, AffineExpr> map;
  for (auto [dim, expr] : llvm::enumerate(replacements))
    map[getAffineDimExpr(dim, op.getContext())] = expr;
  auto replace = [&](AffineExpr &expr) { expr = simplifier.simplify(expr.replace(map)); };
  for (auto &entry : index)
    replace(entry.second);
  for (auto &entry : offset)
    replace(entry.second);
  for (auto &entry : conditions)
    for (AffineExpr &expr : entry.second.exprs)
      replace(expr);
  for (AffineExpr &expr : resultOffset)
    replace(expr);
}

void LoopNest::mergeDims(unsigned first) {
  MLIRContext *context = op.getContext();
  auto isMergeable = [&](unsigned outer, unsigned inner) {
    if ((outer < numParallel) != (inner < numParallel) || isIndexUsed(outer) || isIndexUsed(inner))
      return false;
    IndexSimplifier simplifier = this->simplifier();
    auto fits = [&](AffineExpr expr) {
      AffineExpr a = simplifier.stride(expr, outer), b = simplifier.stride(expr, inner);
      return a && b && simplifier.simplify(a - b * extents[inner]) == getAffineConstantExpr(0, context);
    };
    for (auto &entry : offset)
      if (!fits(entry.second))
        return false;
    return llvm::all_of(resultOffset, fits);
  };
  // Replaces dimensions, of which `gone` disappears.
  auto remove = [&](unsigned gone, Exprs replacements) {
    extents.erase(extents.begin() + gone);
    if (gone < numParallel)
      --numParallel;
    for (unsigned dim = gone + 1; dim < replacements.size(); ++dim)
      replacements[dim] = getAffineDimExpr(dim - 1, context);
    substitute(replacements);
  };
  auto identity = [&] {
    Exprs exprs;
    for (unsigned dim = 0; dim < numDims(); ++dim)
      exprs.push_back(getAffineDimExpr(dim, context));
    return exprs;
  };
  // The last parallel and the last reduced dimension stay, so that each kind of loop is still there.
  for (unsigned dim = numDims(); dim-- > first;) {
    bool last = dim + 1 == numParallel || dim + 1 == numDims();
    if (last || constantExtent(dim) != 1)
      continue;
    Exprs replacements = identity();
    replacements[dim] = getAffineConstantExpr(0, context);
    remove(dim, replacements);
  }
  for (unsigned dim = numDims(); dim-- > first + 1;) {
    if (!isMergeable(dim - 1, dim))
      continue;
    Exprs replacements = identity();
    replacements[dim - 1] = getAffineConstantExpr(0, context);
    extents[dim] = simplifier().simplify(extents[dim - 1] * extents[dim]);
    remove(dim - 1, replacements);
  }
}

int64_t bodyCost(const LoopNest &nest) {
  int64_t cost = 0;
  for (Operation &op : nest.op.getBody().front()) {
    if (op.getDialect() && op.getDialect()->getNamespace() == "math")
      cost += 12;
    else
      ++cost;
  }
  return cost;
}

llvm::SmallVector<ir::LoadOp> transposedLoads(const LoopNest &nest, unsigned laneDim, unsigned tileDim) {
  llvm::SmallVector<ir::LoadOp> result;
  IndexSimplifier simplifier = nest.simplifier();
  for (ir::LoadOp load : nest.loads()) {
    AffineExpr offset = nest.offset.lookup(load);
    AffineExpr lane = simplifier.stride(offset, laneDim), tile = simplifier.stride(offset, tileDim);
    bool opaque = llvm::any_of(llvm::seq<unsigned>(0, nest.opaque.size()),
                               [&](unsigned i) { return offset.isFunctionOfDim(kFirstOpaqueDim + i); });
    if (!lane || !tile || opaque || nest.conditions.count(load) || ir::getConstant(tile) != 1)
      continue;
    if (std::optional<int64_t> constant = ir::getConstant(lane); constant && (*constant == 0 || *constant == 1))
      continue;
    if (storageType(llvm::cast<RankedTensorType>(load.getTensor().getType()).getElementType())
            .getIntOrFloatBitWidth() >= 16)
      result.push_back(load);
  }
  return result;
}

} // namespace tcc::codegen
