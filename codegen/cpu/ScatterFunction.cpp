//===- ScatterFunction.cpp - the function that does a scatter's updates ----===//
//
// Points that differ along a dimension which is an index of the result as it is never meet: work items run over those.
// Within an item updates come in the order of the nest, so that the result does not depend on the number of threads.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/LoopFunction.h"
#include "codegen/schedule/ScatterNest.h"
#include "ir/Extents.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

constexpr int64_t kItemElements = 512;
// Elements of a contiguous dimension in an item where other dimensions do not give enough items.
constexpr int64_t kBlock = 256;
constexpr int64_t kFewItems = 8;

Type elementOf(Value tensor) { return llvm::cast<RankedTensorType>(tensor.getType()).getElementType(); }

} // namespace

LoopFunction::ScatterItems LoopFunction::cutScatter(const LoopNest &nest) {
  ScatterItems items;
  ir::ScatterOp scatter = group.scatter;
  auto [parallel, inner] = splitScatter(nest, scatter);

  // Lanes: the same positions for all, side by side in the result.
  if (inner >= 0) {
    bool same = true;
    auto points = nest.op.getBody().front().getTerminator()->getOperands();
    for (Value position : points.drop_back())
      same &= !dependsOn(nest, position, inner);
    if (auto it = nest.conditions.find(scatter); it != nest.conditions.end())
      for (AffineExpr expr : it->second.exprs)
        same &= !dependsOn(nest, expr, inner);
    NestPlan &plan = items.plan;
    int64_t lanes = 1;
    if (same) {
      // Positions are the same in all lanes: the widest of the rest decides.
      int64_t bits = computeType(elementOf(scatter.getY())).getIntOrFloatBitWidth();
      for (Operation &op : nest.op.getBody().front().without_terminator())
        if (Type type = op.getResult(0).getType(); type.isIntOrFloat() && dependsOn(nest, op.getResult(0), inner))
          bits = std::max<int64_t>(bits, computeType(type).getIntOrFloatBitWidth());
      lanes = backend.cpu().lanes(std::max<int64_t>(bits, 8));
      bool narrowMasks = backend.cpu().vectorBits == 512;
      plan.maskedTail = BodyEmitter::canMask(nest, inner, narrowMasks) &&
                        (narrowMasks || storageType(elementOf(scatter.getY())).getIntOrFloatBitWidth() >= 32);
      if (std::optional<int64_t> extent = nest.constantExtent(inner); extent && *extent < lanes)
        lanes = plan.maskedTail ? llvm::bit_ceil(static_cast<uint64_t>(*extent))
                                : llvm::bit_floor(static_cast<uint64_t>(*extent));
    }
    if (lanes > 1) {
      plan.laneDim = inner;
      plan.lanes = lanes;
      int64_t unroll = bodyCost(nest) <= 24 ? 2 : 1;
      plan.unroll = std::clamp<int64_t>(nest.constantExtent(inner).value_or(64) / lanes, 1, unroll);
    } else {
      plan = {};
    }
  }

  // As many dimensions to an item as it takes to be worth one.
  int64_t elements = 1, count = 1;
  for (unsigned dim = 0; dim < nest.numDims(); ++dim)
    if (!llvm::is_contained(parallel, dim))
      elements = std::min<int64_t>(
          INT32_MAX,
          elements * std::max<int64_t>(1, std::min<int64_t>(INT32_MAX, nest.constantExtent(dim).value_or(64))));
  while (!parallel.empty() && elements < kItemElements && nest.constantExtent(parallel.back()))
    elements *= std::max<int64_t>(1, nest.constantExtent(parallel.pop_back_val()).value());
  for (unsigned dim : parallel)
    count = std::min<int64_t>(
        kFewItems, count * std::max<int64_t>(1, std::min<int64_t>(kFewItems, nest.constantExtent(dim).value_or(64))));
  items.outer = parallel;
  if (inner >= 0 && count < kFewItems && nest.constantExtent(inner).value_or(INT64_MAX) > kBlock) {
    items.blockDim = inner;
    items.block = kBlock;
  }
  return items;
}

void LoopFunction::emitScatter(llvm::StringRef name, KernelCode &code) {
  LoopNest &nest = nests[0];
  ScatterItems items = cutScatter(nest);
  begin(name.str() + "_updates", {}, {});
  NestEmitter emitter(b, nest, context, items.plan);
  Exprs extents;
  for (unsigned dim : items.outer)
    extents.push_back(nest.extents[dim]);
  if (items.blockDim >= 0)
    extents.push_back(nest.extents[items.blockDim].ceilDiv(items.block));
  forItems([&](Value item) {
    Values indices = delinearize(item, extents);
    Values dims(nest.numDims());
    for (auto [i, dim] : llvm::enumerate(items.outer))
      dims[dim] = indices[i];
    if (items.blockDim >= 0) {
      Value low = b.create<arith::MulIOp>(loc, indices.back(), constant(items.block));
      Value high = b.create<arith::AddIOp>(loc, low, constant(items.block));
      emitter.setRange(items.blockDim, low, b.create<arith::MinSIOp>(loc, high, extent(nest.extents[items.blockDim])));
    }
    emitter.emit(dims, [&](BodyEmitter &, const Point &point, ValueRange results) {
      emitScatterUpdate(b, nest, group.scatter, point, results, memrefOf(ir::ScatterOp(group.scatter).getY()),
                        context.symbols);
    });
  });
  int64_t perItem = 1;
  for (unsigned dim = 0; dim < nest.numDims(); ++dim)
    if (!llvm::is_contained(items.outer, dim)) {
      int64_t inside = static_cast<int>(dim) == items.blockDim ? items.block : nest.constantExtent(dim).value_or(64);
      if (llvm::MulOverflow(perItem, inside, perItem))
        perItem = INT64_MAX;
    }
  LaunchSpec spec = launch(ir::product(mlir, extents), perItem);
  spec.function = finish();
  code.launches.push_back(std::move(spec));
  code.choices.push_back(describe(items.plan) + ", " + std::to_string(perItem) + " updates an item");
}

} // namespace tcc::codegen
