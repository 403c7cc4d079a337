//===- KernelInfo.cpp - what fusion asks about a kernel -------------------===//
#include "codegen/fusion/KernelInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tcc::codegen {

std::string nameOf(ir::KernelOp kernel) {
  ArrayAttr sources = kernel.getSources();
  if (sources.empty())
    return "[a kernel]";
  std::string first = cast<StringAttr>(sources[0]).str(), last = cast<StringAttr>(sources[sources.size() - 1]).str();
  if (sources.size() == 1)
    return "[" + first + "]";
  return "[" + first + " .. " + last + ", " + std::to_string(sources.size()) + " ops]";
}

Operation *getTemplate(ir::KernelOp kernel) {
  for (Operation &op : kernel.getBody().front())
    if (isa<ir::MatmulOp, ir::ConvOp, ir::ConvTransposeOp, ir::AttentionOp>(op))
      return &op;
  return nullptr;
}

llvm::SmallVector<ir::LoopsOp> getLoops(ir::KernelOp kernel) {
  auto range = kernel.getBody().front().getOps<ir::LoopsOp>();
  return {range.begin(), range.end()};
}

ir::ScatterOp getScatter(ir::KernelOp kernel) {
  auto range = kernel.getBody().front().getOps<ir::ScatterOp>();
  return range.empty() ? ir::ScatterOp() : *range.begin();
}

bool hasReduction(ir::KernelOp kernel) {
  return llvm::any_of(getLoops(kernel), [](ir::LoopsOp loops) { return loops.getNumReductions() > 0; });
}

bool isPointwise(ir::KernelOp kernel) {
  return !getTemplate(kernel) && getLoops(kernel).size() == 1 && !hasReduction(kernel);
}

bool isDataMovement(ir::KernelOp kernel) {
  if (!isPointwise(kernel) || kernel.getNumResults() != 1)
    return false;
  Block &body = getLoops(kernel).front().getBody().front();
  unsigned loads = 0;
  for (Operation &op : body.without_terminator()) {
    if (isa<ir::LoadOp>(op))
      ++loads;
    else if (!isa<ir::ApplyOp>(op) && !op.hasTrait<OpTrait::ConstantLike>())
      return false;
  }
  return loads == 1;
}

BodyCost bodyCost(ir::LoopsOp loops) {
  BodyCost cost;
  for (Operation &op : loops.getBody().front().without_terminator()) {
    if (isa<ir::LoadOp>(op))
      ++cost.loads;
    else if (isa<ir::BoundsCheckOp>(op))
      cost.checks = true;
    else if (isa<math::MathDialect>(op.getDialect()) && !isa<math::AbsFOp, math::AbsIOp, math::FloorOp, math::CeilOp,
                                                             math::TruncOp, math::RoundEvenOp, math::CopySignOp>(op))
      cost.flops += 8;
    else if (isa<arith::DivFOp, arith::RemFOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op))
      cost.flops += 4;
    else if (isa<arith::ArithDialect>(op.getDialect()) && !op.hasTrait<OpTrait::ConstantLike>())
      cost.flops += 1;
  }
  return cost;
}

unsigned countOps(ir::KernelOp kernel) {
  unsigned count = 0;
  kernel.getBody().walk([&](Operation *) { ++count; });
  return count;
}

double iterations(ir::LoopsOp loops) {
  double count = 1;
  ArrayAttr symbols = ir::getSymbols(loops);
  for (AffineExpr extent : loops.getExtents().getExprs())
    count *= static_cast<double>(std::max<int64_t>(1, ir::getRange(extent, symbols).first));
  return count;
}

Walk walkOf(ir::LoadOp load) {
  auto loops = load->getParentOfType<ir::LoopsOp>();
  ArrayRef<AffineExpr> extents = loops.getExtents().getExprs();
  // The innermost loop that has more than one iteration.
  int64_t innermost = static_cast<int64_t>(extents.size()) - 1;
  while (innermost >= 0 && ir::getConstant(extents[innermost]) == 1)
    --innermost;
  if (innermost < 0)
    return Walk::Invariant;
  Value index = loops.getBody().getArgument(innermost);
  int64_t position = -1;
  for (auto [i, operand] : llvm::enumerate(load.getIndices())) {
    if (operand == index)
      position = static_cast<int64_t>(i);
    // An index that is computed from data or by arithmetic: taken to depend on the innermost loop.
    else if (!isa<BlockArgument>(operand))
      return Walk::Strided;
  }
  if (position < 0)
    return Walk::Invariant;
  ArrayRef<AffineExpr> results = load.getMap().getResults();
  if (results.empty())
    return Walk::Invariant; // a scalar, whatever the indices of the load before it was simplified
  for (AffineExpr result : results.drop_back())
    if (result.isFunctionOfDim(position)) {
      // (d floordiv c) in an outer axis is constant over most neighbours.
      return Walk::Strided;
    }
  AffineExpr last = results.back();
  MLIRContext *context = load.getContext();
  AffineExpr dim = getAffineDimExpr(position, context);
  AffineExpr step =
      simplifyAffineExpr(last.replace(dim, dim + 1) - last, load.getMap().getNumDims(), load.getMap().getNumSymbols());
  if (auto constant = dyn_cast<AffineConstantExpr>(step))
    return constant.getValue() == 0 ? Walk::Invariant : constant.getValue() == 1 ? Walk::Contiguous : Walk::Strided;
  return Walk::Strided;
}

} // namespace tcc::codegen
