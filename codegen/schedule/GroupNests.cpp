//===- GroupNests.cpp - the nests of a group of loops ---------------------===//
#include "codegen/schedule/ElementTypes.h"
#include "codegen/schedule/LoopKernel.h"
#include "codegen/schedule/ScatterNest.h"
#include "ir/Extents.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

Type elementOf(Value tensor) { return llvm::cast<RankedTensorType>(tensor.getType()).getElementType(); }

int64_t storageBytes(Value tensor) { return storageType(elementOf(tensor)).getIntOrFloatBitWidth() / 8; }

} // namespace

GroupNests::GroupNests(const LoopGroup &group, KernelTensors &tensors) : group(group), tensors(tensors) {
  planScratch(ir::LoopsOp(group.loops[0]).getContext());
  llvm::DenseSet<unsigned> seen;
  auto collect = [&](AffineExpr expr) {
    expr.walk([&](AffineExpr part) {
      if (auto symbol = llvm::dyn_cast<AffineSymbolExpr>(part))
        seen.insert(symbol.getPosition());
    });
  };
  for (ir::LoopsOp op : group.loops) {
    nests.push_back(LoopNest::analyze(op, [&](Value tensor) { return scratch.count(tensor) ? group.prefix : 0; }));
    LoopNest &nest = nests.back();
    if (ir::ScatterOp scatter = group.scatter) {
      addScatterTarget(nest, scatter);
      used.insert({scatter.getY(), tensors.buffer.lookup(scatter.getY())});
    }
    for (ir::LoadOp load : nest.loads())
      if (auto it = tensors.buffer.find(load.getTensor()); it != tensors.buffer.end())
        used.insert({load.getTensor(), it->second});
    for (Value result : op.getResults())
      if (auto it = tensors.buffer.find(result); it != tensors.buffer.end())
        used.insert({result, it->second});
    for (AffineExpr extent : nest.extents)
      collect(extent);
    for (auto &entry : nest.index)
      collect(entry.second);
    for (auto &entry : nest.offset)
      collect(entry.second);
    for (auto &entry : nest.conditions)
      for (AffineExpr expr : entry.second.exprs)
        collect(expr);
    for (AffineExpr expr : nest.resultOffset)
      collect(expr);
    for (Operation &inner : op.getBody().front()) {
      if (auto check = llvm::dyn_cast<ir::BoundsCheckOp>(inner))
        collect(check.getExtent().getExprs()[0]);
      mayFail |= llvm::isa<ir::BoundsCheckOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
                           arith::FloorDivSIOp, arith::CeilDivSIOp, arith::CeilDivUIOp>(inner);
    }
    nest.mergeDims(group.prefix);
  }
  if (scratchBytes)
    collect(scratchBytes);
  symbols.assign(seen.begin(), seen.end());
  llvm::sort(symbols);
}

// Values that stay within the group: in registers, or in scratch memory.
void GroupNests::planScratch(MLIRContext *context) {
  scratchBytes = getAffineConstantExpr(0, context);
  if (group.loops.size() == 1)
    return;
  for (ir::LoopsOp op : group.loops)
    for (Value result : op.getResults()) {
      Exprs extents = ir::getExtents(result.getType());
      if (extents.size() == group.prefix)
        registers.insert(result);
      else if (!tensors.buffer.count(result)) {
        scratch[result] = scratchBytes;
        AffineExpr count = ir::product(context, llvm::ArrayRef(extents).drop_front(group.prefix));
        scratchBytes = ir::simplifyExtent(scratchBytes + (count * storageBytes(result)).ceilDiv(64) * 64);
      }
    }
}

void GroupNests::findInPlace(unsigned numInputs, llvm::SmallVectorImpl<std::pair<int32_t, int32_t>> &pairs) {
  // The input is read at the index at which the result is written, and by no loop but the one that writes, or before
  // it.
  llvm::DenseSet<int32_t> taken;
  for (LoopNest &nest : nests) {
    if (nest.isReduction())
      continue;
    for (auto [r, result] : llvm::enumerate(nest.op.getResults())) {
      auto place = tensors.buffer.find(result);
      if (place == tensors.buffer.end() || tensors.copies.count(result))
        continue;
      for (auto &[tensor, position] : used) {
        auto argument = llvm::dyn_cast<BlockArgument>(tensor);
        if (!argument || position >= static_cast<int32_t>(numInputs) || taken.count(position) ||
            elementOf(tensor) != elementOf(result) ||
            ir::getExtents(tensor.getType()) != ir::getExtents(result.getType()))
          continue;
        bool fits = true, after = false;
        for (LoopNest &other : nests) {
          for (ir::LoadOp load : other.loads()) {
            if (load.getTensor() != tensor)
              continue;
            if (&other == &nest) {
              fits &= nest.offset[load] == nest.resultOffset[r] && !nest.conditions.count(load);
              continue;
            }
            // Another loop of the same rows: before the writing one, and within the row.
            fits &= !after;
            const Exprs &coordinate = other.coordinates[load];
            for (unsigned dim = 0; dim < group.prefix; ++dim)
              fits &= dim < coordinate.size() && coordinate[dim] == getAffineDimExpr(dim, nest.op.getContext());
          }
          after |= &other == &nest;
        }
        if (!fits)
          continue;
        pairs.push_back({place->second - numInputs, position});
        taken.insert(position);
        mayAlias = true;
        break;
      }
    }
  }
}

} // namespace tcc::codegen
