//===- Reduction.cpp - nests with reductions ------------------------------===//
#include "codegen/schedule/Reduction.h"

#include "codegen/cuda/loops/LoopFunction.h"
#include "ir/Extents.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/bit.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

constexpr int64_t kWarp = 32, kMostThreads = 1024;
// Elements that a thread should add up before others share the work.
constexpr int64_t kThreadElements = 4, kChunkElements = 8;
constexpr int64_t kMostChunks = 256;

Type elementOf(Value tensor) { return llvm::cast<RankedTensorType>(tensor.getType()).getElementType(); }

// What neighbouring threads along a dimension cost in transactions, over all loads.
double accessCost(const LoopNest &nest, unsigned dim) {
  IndexSimplifier simplifier = nest.simplifier();
  double cost = 0;
  for (ir::LoadOp load : nest.loads()) {
    AffineExpr stride = simplifier.stride(nest.offset.lookup(load), dim);
    std::optional<int64_t> constant = stride ? ir::getConstant(stride) : std::nullopt;
    cost += !constant ? 8 : *constant == 0 ? 0.25 : std::min<double>(8, std::abs(*constant));
  }
  // Few neighbours leave lanes without a neighbour of theirs.
  int64_t extent = nest.constantExtent(dim).value_or(256);
  return extent >= kWarp ? cost : cost * std::max<double>(1, 8.0 / std::max<int64_t>(extent, 1));
}

int64_t powerOfTwo(int64_t value) {
  return static_cast<int64_t>(llvm::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(value, 1))));
}

} // namespace

LoopFunction::ReducePlan LoopFunction::planReduce(const LoopNest &nest) {
  ReducePlan plan;
  llvm::ArrayRef<AffineExpr> extents(nest.extents);
  int64_t results = estimate(extents.take_front(nest.numParallel));
  int64_t length = estimate(extents.drop_front(nest.numParallel));
  auto cheapest = [&](unsigned from, unsigned to) {
    int best = -1;
    for (unsigned dim = from; dim < to; ++dim)
      if (nest.constantExtent(dim) != 1 && (best < 0 || accessCost(nest, dim) <= accessCost(nest, best)))
        best = dim;
    return best;
  };
  int reduced = cheapest(nest.numParallel, nest.numDims()), parallel = cheapest(0, nest.numParallel);
  int64_t busy = backend.device().multiprocessors * int64_t{kMostThreads};
  double innerCost = reduced < 0 ? 1e9 : accessCost(nest, reduced);
  double outerCost = parallel < 0 ? 1e9 : accessCost(nest, parallel);
  plan.inner = innerCost < outerCost || (innerCost == outerCost && results < busy);

  for (unsigned dim = 0; dim < nest.numParallel; ++dim)
    if (static_cast<int>(dim) != parallel)
      plan.parallel.push_back(dim);
  if (parallel >= 0)
    plan.parallel.push_back(parallel);

  // The dimension to divide: the threads' own, or the longest.
  int longest = nest.numParallel;
  for (unsigned dim = nest.numParallel; dim < nest.numDims(); ++dim)
    if (nest.constantExtent(dim).value_or(INT64_MAX) > nest.constantExtent(longest).value_or(INT64_MAX))
      longest = dim;
  plan.sequence = plan.inner && reduced >= 0 ? reduced : longest;

  if (plan.inner) {
    bool isOnly = nest.numDims() == nest.numParallel + 1;
    if (isOnly) {
      int64_t width = vectorWidth(nest, reduced < 0 ? nest.numParallel : reduced);
      std::optional<int64_t> extent = nest.constantExtent(nest.numParallel);
      while (width > 1 && !(extent && *extent % width == 0 && *extent >= width * 4))
        width /= 2;
      plan.width = width;
    }
    plan.group = std::clamp<int64_t>(powerOfTwo(length / (kThreadElements * plan.width)), 1, kWarp);
    if (length >= 2048 * plan.width / 2 && results < busy / kWarp)
      plan.group = std::clamp<int64_t>(powerOfTwo(length / (kThreadElements * plan.width)), kWarp, kMostThreads);
    plan.group = tuned.scaled(plan.group, 1, kMostThreads);
    plan.block = std::max<int64_t>(plan.group, tuned.threads);
    // Threads of several dimensions as one, where one dimension is too short for them.
    if (!isOnly && nest.constantExtent(plan.sequence).value_or(INT64_MAX) < 2 * plan.group)
      plan.sequence = -1;
  } else {
    plan.group = 1;
    while (plan.group < 8 && results * plan.group < busy && length / plan.group > kChunkElements)
      plan.group *= 2;
    plan.group = tuned.scaled(plan.group, 1, 8);
    plan.block = tuned.threads;
    if (nest.constantExtent(plan.sequence).value_or(INT64_MAX) < 2 * plan.group && plan.group > 1)
      plan.sequence = -1;
  }

  // Too few blocks: several share a result.
  int64_t blocks = std::max<int64_t>(1, llvm::divideCeil(results * plan.group, plan.block));
  bool isKnown = llvm::all_of(extents.take_front(nest.numParallel), [](AffineExpr e) { return ir::getConstant(e); });
  int64_t wanted = 2 * backend.device().multiprocessors;
  if (isKnown && blocks < wanted / 2) {
    int64_t sequence = plan.sequence < 0 ? length : nest.constantExtent(plan.sequence).value_or(1 << 20);
    int64_t least = plan.group * plan.width * (plan.inner ? kChunkElements : 1);
    int64_t most = std::min({kMostChunks, wanted / blocks, sequence / std::max<int64_t>(least, 1)});
    if (most > 1 && length >= (1 << 14))
      plan.chunks = most;
  }
  return plan;
}

Values LoopFunction::reduceShare(const LoopNest &nest, BodyEmitter &body, Values dims, const ReducePlan &plan,
                                 Value first, Value low, Value high) {
  auto accumulate = [&](const Chunk &chunk, ValueRange before) {
    return forElements(nest, body, chunk, before, [&](Value, const Point &, ValueRange results, ValueRange carried) {
      Values after;
      for (auto [r, value] : llvm::enumerate(results))
        after.push_back(reduceCombine(b, nest, r, carried[r], value));
      return after;
    });
  };
  Value start = add(low, mul(first, plan.width)), step = constant(plan.group * plan.width);
  if (plan.sequence < 0) {
    llvm::ArrayRef<AffineExpr> extents = llvm::ArrayRef(nest.extents).drop_front(nest.numParallel);
    return loop(start, high, step, identities(nest), [&](Value flat, ValueRange before) {
      Values indices = delinearize(flat, extents);
      std::copy(indices.begin(), indices.end(), dims.begin() + nest.numParallel);
      return accumulate({dims}, before);
    });
  }
  std::function<Values(unsigned, ValueRange)> over = [&](unsigned dim, ValueRange before) -> Values {
    if (dim == nest.numDims())
      return accumulate({dims, plan.width > 1 ? plan.sequence : -1, plan.width}, before);
    bool isShared = static_cast<int>(dim) == plan.sequence;
    return loop(isShared ? start : constant(0), isShared ? high : extent(nest.extents[dim]),
                isShared ? step : constant(1), before, [&](Value at, ValueRange carried) {
                  dims[dim] = at;
                  return over(dim + 1, carried);
                });
  };
  return over(nest.numParallel, identities(nest));
}

LogicalResult LoopFunction::emitReduce(KernelCode &code) {
  const LoopNest &nest = nests[0];
  ReducePlan plan = planReduce(nest);
  AffineExpr results = product(llvm::ArrayRef(nest.extents).take_front(nest.numParallel));
  AffineExpr length = plan.sequence < 0 ? product(llvm::ArrayRef(nest.extents).drop_front(nest.numParallel))
                                        : nest.extents[plan.sequence];
  int64_t perBlock = plan.block / plan.group; // results of a block

  llvm::SmallVector<int32_t> partials;
  llvm::SmallVector<Type> elements;
  if (plan.chunks > 1)
    for (Value result : nest.op.getResults()) {
      elements.push_back(storageType(computeType(elementOf(result))));
      partials.push_back(addTemporary(code, results * plan.chunks, elements.back()));
    }

  AffineExpr blocks = ir::simplifyExtent(results.ceilDiv(perBlock));
  begin("reduction", plan.block, partials, elements, plan.chunks > 1 ? blocks : AffineExpr());
  for (int32_t position : partials)
    function.setArgAttr(llvm::cast<BlockArgument>(arguments.lookup(position)).getArgNumber(), "tcc.other_threads",
                        b.getUnitAttr());
  BodyEmitter body(b, nest, context);
  Value chunk = constant(0), resultBlock = block;
  if (plan.chunks > 1) {
    // Neighbouring blocks work on neighbouring results.
    Values parts = delinearize(block, {getAffineConstantExpr(plan.chunks, mlir), blocks});
    chunk = named(parts[0], "chunk");
    resultBlock = parts[1];
  }
  auto split = [&](Value value, int64_t by, bool quotient) -> Value {
    if (by == 1)
      return quotient ? value : constant(0);
    return quotient ? b.create<arith::DivUIOp>(loc, value, constant(by)).getResult()
                    : b.create<arith::RemUIOp>(loc, value, constant(by)).getResult();
  };
  Value member = plan.inner ? split(thread, plan.group, false) : split(thread, perBlock, true);
  Value slot = plan.inner ? split(thread, plan.group, true) : split(thread, perBlock, false);
  if (plan.group == 1) {
    member = constant(0);
    slot = thread;
  }
  named(member, "member");
  Value row = named(add(mul(resultBlock, perBlock), slot), "row");
  Value isRow = less(row, extent(results));

  Exprs parallelExtents;
  for (unsigned dim : plan.parallel)
    parallelExtents.push_back(nest.extents[dim]);
  Values dims(nest.numDims());
  Values indices = delinearize(row, parallelExtents);
  for (auto [dim, index] : llvm::zip(plan.parallel, indices))
    dims[dim] = index;
  Value low = constant(0), high = extent(length);
  if (plan.chunks > 1) {
    AffineExpr size = ir::simplifyExtent(length.ceilDiv(plan.chunks * plan.width) * plan.width);
    low = b.create<arith::MulIOp>(loc, chunk, extent(size));
    high = b.create<arith::MinSIOp>(loc, add(low, extent(size)), high);
  }
  Values sums = guarded(isRow, identities(nest),
                        [&](ValueRange) { return reduceShare(nest, body, dims, plan, member, low, high); });
  sums = groupReduce(nest, sums, plan.group, plan.block, plan.inner);
  Value isFirst = isRow;
  if (plan.group > 1)
    isFirst = b.create<arith::AndIOp>(loc, isRow,
                                      b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, member, constant(0)));
  auto store = [&] {
    when(isFirst, [&] {
      for (auto [r, value] : llvm::enumerate(sums))
        storeResult(body, nest, r, value, Point{dims});
    });
  };
  if (plan.chunks == 1) {
    store();
  } else {
    // Results that neighbouring threads have, or parts that they read, lie next to each other.
    auto place = [&](Value part) {
      auto product = [&](Value value, Value by) { return b.create<arith::MulIOp>(loc, value, by).getResult(); };
      return plan.inner ? add(product(row, constant(plan.chunks)), part) : add(product(part, extent(results)), row);
    };
    when(isFirst, [&] {
      Value at = place(chunk);
      for (auto [r, value] : llvm::enumerate(sums))
        b.create<memref::StoreOp>(loc, toStorage(b, loc, value, value.getType()), arguments.lookup(partials[r]), at);
    });
    when(isLastOf(resultBlock, plan.chunks), [&] {
      sums = guarded(isRow, identities(nest), [&](ValueRange init) {
        return loop(member, constant(plan.chunks), constant(plan.group), init, [&](Value part, ValueRange before) {
          Value at = place(part);
          Values after;
          for (auto [r, result] : llvm::enumerate(nest.op.getResults())) {
            Value value = b.create<memref::LoadOp>(loc, arguments.lookup(partials[r]), at);
            value = fromStorage(b, loc, value, computeType(elementOf(result)));
            after.push_back(reduceCombine(b, nest, r, before[r], value));
          }
          return after;
        });
      });
      sums = groupReduce(nest, sums, plan.group, plan.block, plan.inner);
      store();
    });
  }
  std::string choice = std::to_string(plan.group) + " threads a result" + (plan.inner ? ", along it" : "") +
                       (plan.width > 1 ? ", " + std::to_string(plan.width) + " elements at once" : "") +
                       (plan.chunks > 1 ? ", " + std::to_string(plan.chunks) + " blocks each" : "");
  return finish(code, blocks * plan.chunks, choice);
}

} // namespace tcc::codegen::cuda
