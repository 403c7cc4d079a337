//===- LoopGroups.cpp - which loops of a kernel run together --------------===//
#include "codegen/schedule/LoopGroups.h"

#include "ir/Extents.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

unsigned numParallel(ir::LoopsOp op) { return op.getExtents().getExprs().size() - op.getNumReductions(); }

int64_t constantProduct(llvm::ArrayRef<AffineExpr> extents, int64_t unknown) {
  int64_t product = 1;
  for (AffineExpr extent : extents)
    if (llvm::MulOverflow(product, ir::getConstant(extent).value_or(unknown), product))
      return INT64_MAX;
  return product;
}

// How many outer dimensions the loops share such that what one hands to another stays within one point of them.
unsigned sharedPrefix(llvm::ArrayRef<ir::LoopsOp> loops) {
  unsigned prefix = numParallel(loops[0]);
  unsigned deepest = 0;
  llvm::ArrayRef<AffineExpr> first = ir::LoopsOp(loops[0]).getExtents().getExprs();
  for (ir::LoopsOp op : loops) {
    llvm::ArrayRef<AffineExpr> extents = op.getExtents().getExprs();
    deepest = std::max<unsigned>(deepest, extents.size());
    prefix = std::min(prefix, numParallel(op));
    for (unsigned dim = 0; dim < prefix; ++dim)
      if (extents[dim] != first[dim])
        prefix = dim;
  }
  for (ir::LoopsOp op : loops) {
    LoopNest nest = LoopNest::analyze(op, [](Value) { return 0; });
    for (ir::LoadOp load : nest.loads()) {
      auto producer = load.getTensor().getDefiningOp<ir::LoopsOp>();
      if (!producer || !llvm::is_contained(loops, producer))
        continue;
      const Exprs &coordinate = nest.coordinates[load];
      for (unsigned dim = 0; dim < prefix; ++dim)
        if (dim >= coordinate.size() ||
            (coordinate[dim] != getAffineDimExpr(dim, op.getContext()) && ir::getConstant(first[dim]) != 1))
          prefix = dim;
    }
  }
  // Something must be left to vectorise.
  return prefix == deepest && prefix ? prefix - 1 : prefix;
}

bool isWorthwhile(llvm::ArrayRef<ir::LoopsOp> loops, unsigned prefix, const LoopGroupLimits &limits) {
  if (prefix == 0)
    return false;
  int64_t rows = constantProduct(ir::LoopsOp(loops[0]).getExtents().getExprs().take_front(prefix), 64);
  int64_t work = 0, scratch = 0;
  for (ir::LoopsOp op : loops) {
    work = std::max(work, constantProduct(op.getExtents().getExprs(), 64));
    for (Value result : op.getResults())
      scratch += constantProduct(llvm::ArrayRef(ir::getExtents(result.getType())).drop_front(prefix), 64) * 4;
  }
  if (scratch > limits.scratchBytes)
    return false;
  return rows >= limits.fewRows || work <= limits.littleWork;
}

} // namespace

ir::ScatterOp scatterOf(ir::LoopsOp op) {
  return op->use_empty() ? ir::ScatterOp() : llvm::dyn_cast<ir::ScatterOp>(*op->user_begin());
}

llvm::SmallVector<LoopGroup> groupLoops(ir::KernelOp kernel, const LoopGroupLimits &limits) {
  llvm::SmallVector<LoopGroup> groups;
  for (auto op : kernel.getBody().front().getOps<ir::LoopsOp>()) {
    if (auto scatter = scatterOf(op); scatter && scatter.getInto() != op.getResult(0)) {
      groups.push_back({{op}, 0, scatter});
      continue;
    }
    if (!groups.empty() && !groups.back().scatter) {
      llvm::SmallVector<ir::LoopsOp> together = groups.back().loops;
      together.push_back(op);
      unsigned prefix = sharedPrefix(together);
      if (isWorthwhile(together, prefix, limits)) {
        groups.back() = {together, prefix};
        continue;
      }
    }
    groups.push_back({{op}, 0});
  }
  return groups;
}

} // namespace tcc::codegen
