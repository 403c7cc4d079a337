//===- NestEmitter.cpp - the loops around a body --------------------------===//
#include "codegen/cpu/NestEmitter.h"

#include "codegen/schedule/Reduction.h"
#include "ir/Extents.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/bit.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

/// Floats that are added one after another.
constexpr int64_t kSumBlock = 32;

Type elementOf(Value tensor) { return llvm::cast<RankedTensorType>(tensor.getType()).getElementType(); }

} // namespace

// Looks for a pair of dimensions to transpose between: the bodies must be short, as they are unrolled.
static void planTiles(const LoopNest &nest, unsigned fixed, int64_t lanes, NestPlan &plan) {
  if (nest.isReduction() || lanes > 16 || bodyCost(nest) > 12)
    return;
  IndexSimplifier simplifier = nest.simplifier();
  for (unsigned lane = nest.numParallel; lane-- > fixed;) {
    bool contiguous = llvm::all_of(nest.resultOffset, [&](AffineExpr offset) {
      AffineExpr stride = simplifier.stride(offset, lane);
      return stride && ir::getConstant(stride) == 1;
    });
    if (!contiguous || nest.constantExtent(lane).value_or(lanes) < lanes)
      continue;
    for (unsigned tile = fixed; tile < nest.numParallel; ++tile) {
      if (tile == lane || nest.constantExtent(tile).value_or(lanes) < lanes)
        continue;
      if (transposedLoads(nest, lane, tile).empty())
        continue;
      plan.laneDim = lane;
      plan.lanes = lanes;
      plan.tileDim = tile;
      plan.unroll = 1;
      return;
    }
  }
}

//===- Choosing lanes ------------------------------------------------------===//

std::string describe(const NestPlan &plan) {
  if (plan.laneDim < 0)
    return "scalar";
  std::string text = std::to_string(plan.unroll) + " vectors of " + std::to_string(plan.lanes) + " along dimension " +
                     std::to_string(plan.laneDim);
  if (plan.tileDim >= 0)
    text += ", squares transposed in registers along dimension " + std::to_string(plan.tileDim);
  return text;
}

NestPlan planNest(const LoopNest &nest, const CpuDescription &cpu, unsigned fixed) {
  NestPlan plan;
  // The widest element that is computed decides how many lanes fill a register.
  int64_t bits = 8;
  auto widen = [&](Type type) {
    type = getElementTypeOrSelf(type);
    if (type.isIntOrFloat())
      bits = std::max<int64_t>(bits, computeType(type).getIntOrFloatBitWidth());
  };
  for (Operation &op : nest.op.getBody().front())
    for (Type type : op.getResultTypes())
      widen(type);
  int64_t full = cpu.lanes(bits);

  IndexSimplifier simplifier = nest.simplifier();
  bool narrowMasks = cpu.vectorBits == 512;
  double best = 0;
  for (unsigned dim = fixed; dim < nest.numDims(); ++dim) {
    std::optional<int64_t> extent = nest.constantExtent(dim);
    if (extent && *extent <= 1)
      continue;
    bool maskable = BodyEmitter::canMask(nest, dim, narrowMasks);
    int64_t lanes = full;
    if (extent && *extent < lanes)
      lanes =
          maskable ? llvm::bit_ceil(static_cast<uint64_t>(*extent)) : llvm::bit_floor(static_cast<uint64_t>(*extent));
    auto access = [&](AffineExpr offset, Type type, bool isStore) -> double {
      bool narrow = storageType(type).getIntOrFloatBitWidth() < 32;
      AffineExpr stride = simplifier.stride(offset, dim);
      auto constant = llvm::dyn_cast_or_null<AffineConstantExpr>(stride);
      bool opaque = llvm::any_of(llvm::seq<unsigned>(0, nest.opaque.size()),
                                 [&](unsigned i) { return offset.isFunctionOfDim(kFirstOpaqueDim + i); });
      if (constant && constant.getValue() == 1)
        return 1;
      if (constant && constant.getValue() == 0)
        return opaque && !isStore ? 0.75 : 0.5;
      if (constant && constant.getValue() >= 2 && constant.getValue() <= 4 && !isStore)
        return 1.0 + constant.getValue();
      return lanes * (isStore || narrow ? 1.2 : 0.8);
    };
    double cost = 0.5 + 0.1 * bodyCost(nest);
    for (ir::LoadOp load : nest.loads())
      cost += access(nest.offset.lookup(load), elementOf(load.getTensor()), false);
    if (dim < nest.numParallel)
      for (auto [offset, result] : llvm::zip(nest.resultOffset, nest.op.getResults()))
        cost += access(offset, elementOf(result), true);
    else
      cost += 2;
    double done = lanes;
    if (extent)
      done = static_cast<double>(*extent) / llvm::divideCeil(*extent, lanes);
    cost /= done;
    if (plan.laneDim < 0 || cost <= best) {
      best = cost;
      plan.laneDim = dim;
      plan.lanes = lanes;
      plan.maskedTail = maskable;
    }
  }
  planTiles(nest, fixed, full, plan);
  if (plan.tileDim >= 0) {
    plan.maskedTail = BodyEmitter::canMask(nest, plan.laneDim, narrowMasks);
    return plan;
  }
  // A scalar loop costs about one per access.
  double scalar = 0.5 + 0.1 * bodyCost(nest) + nest.loads().size() + nest.op.getNumResults();
  if (plan.laneDim < 0 || plan.lanes < 2 || best > scalar)
    return {};
  int64_t ops = bodyCost(nest);
  plan.unroll = ops <= 8 ? 4 : ops <= 24 ? 2 : 1;
  if (nest.isReduction())
    plan.unroll = std::max<int64_t>(plan.unroll, ops <= 40 ? 4 : 2);
  if (std::optional<int64_t> extent = nest.constantExtent(plan.laneDim))
    plan.unroll = std::clamp<int64_t>(*extent / plan.lanes, 1, plan.unroll);
  return plan;
}

//===- Loops ---------------------------------------------------------------===//

Value NestEmitter::constant(int64_t value) { return b.create<arith::ConstantIndexOp>(loc, value); }

Value NestEmitter::low(unsigned dim) {
  auto it = ranges.find(dim);
  return it != ranges.end() ? it->second.first : constant(0);
}

Value NestEmitter::high(unsigned dim) {
  auto it = ranges.find(dim);
  return it != ranges.end() ? it->second.second : emitExtent(b, loc, nest.extents[dim], context.symbols);
}

void NestEmitter::setRange(unsigned dim, Value low, Value high) { ranges[dim] = {low, high}; }

Values NestEmitter::loop(Value low, Value high, int64_t step, ValueRange init,
                         llvm::function_ref<Values(Value, ValueRange)> inner) {
  std::optional<int64_t> first = getConstantIntValue(low), end = getConstantIntValue(high);
  if (first && end && *first >= *end)
    return Values(init);
  if (first && end && *end - *first <= step)
    return inner(low, init);
  auto op = b.create<scf::ForOp>(loc, low, high, constant(step), init,
                                 [&](OpBuilder &, Location, Value iv, ValueRange arguments) {
                                   OpBuilder::InsertionGuard guard(b);
                                   Block *block = llvm::cast<BlockArgument>(iv).getOwner();
                                   b.setInsertionPointToEnd(block);
                                   b.create<scf::YieldOp>(loc, inner(iv, arguments));
                                 });
  return Values(op.getResults());
}

// The largest low + k * step that is not beyond high.
Value NestEmitter::roundDown(Value low, Value high, int64_t step) {
  Value span = b.createOrFold<arith::SubIOp>(loc, high, low);
  Value zero = constant(0);
  span = b.createOrFold<arith::MaxSIOp>(loc, span, zero);
  Value whole =
      b.createOrFold<arith::MulIOp>(loc, b.createOrFold<arith::DivUIOp>(loc, span, constant(step)), constant(step));
  return b.createOrFold<arith::AddIOp>(loc, low, whole);
}

Value NestEmitter::tailMask(Value low, Value high) {
  Value left = b.create<arith::SubIOp>(loc, high, low);
  return b.create<vector::CreateMaskOp>(loc, VectorType::get({plan.lanes}, b.getI1Type()), ValueRange{left});
}

Point NestEmitter::pointAt(const Values &dims, Value lane, int64_t lanes, Value mask) {
  Point point{dims, lanes > 1 ? plan.laneDim : -1, lanes, mask};
  if (plan.laneDim >= 0)
    point.dims[plan.laneDim] = lane;
  return point;
}

void NestEmitter::emit(Values dims, Sink sink) {
  dims.resize(nest.numDims());
  if (plan.laneDim >= 0) {
    laneLow = low(plan.laneDim);
    laneHigh = high(plan.laneDim);
  }
  if (plan.tileDim >= 0)
    transposed = transposedLoads(nest, plan.laneDim, plan.tileDim);
  emitParallel(0, dims, sink);
}

void NestEmitter::emitParallel(unsigned dim, Values &dims, Sink sink) {
  while (dim < nest.numParallel &&
         (dims[dim] || static_cast<int>(dim) == plan.laneDim || static_cast<int>(dim) == plan.tileDim))
    ++dim;
  if (dim == nest.numParallel) {
    if (nest.isReduction())
      emitReduction(dims, sink);
    else if (plan.tileDim >= 0)
      emitTiles(dims, sink);
    else
      emitPointwise(dims, sink);
    return;
  }
  loop(low(dim), high(dim), 1, {}, [&](Value iv, ValueRange) -> Values {
    dims[dim] = iv;
    emitParallel(dim + 1, dims, sink);
    dims[dim] = nullptr;
    return {};
  });
}

void NestEmitter::emitPointwise(Values &dims, Sink sink) {
  auto evaluate = [&](Value lane, int64_t lanes, Value mask) {
    Point point = pointAt(dims, lane, lanes, mask);
    Values results = body.evaluate(point);
    sink(body, point, results);
  };
  if (plan.laneDim < 0)
    return evaluate({}, 1, {});
  int64_t block = plan.lanes * plan.unroll;
  Value end = roundDown(laneLow, laneHigh, block);
  loop(laneLow, end, block, {}, [&](Value iv, ValueRange) -> Values {
    for (int64_t i = 0; i < plan.unroll; ++i)
      evaluate(i ? b.create<arith::AddIOp>(loc, iv, constant(i * plan.lanes)).getResult() : iv, plan.lanes, {});
    return {};
  });
  if (plan.maskedTail) {
    loop(end, laneHigh, plan.lanes, {}, [&](Value iv, ValueRange) -> Values {
      evaluate(iv, plan.lanes, tailMask(iv, laneHigh));
      return {};
    });
    return;
  }
  Value rest = end;
  if (plan.unroll > 1) {
    rest = roundDown(end, laneHigh, plan.lanes);
    loop(end, rest, plan.lanes, {}, [&](Value iv, ValueRange) -> Values {
      evaluate(iv, plan.lanes, {});
      return {};
    });
  }
  loop(rest, laneHigh, 1, {}, [&](Value iv, ValueRange) -> Values {
    evaluate(iv, 1, {});
    return {};
  });
}

// Squares first, then what is left of both dimensions.
void NestEmitter::emitTiles(Values &dims, Sink sink) {
  int64_t lanes = plan.lanes;
  unsigned tile = plan.tileDim;
  Value tileLow = low(tile), tileHigh = high(tile);
  Value tileEnd = roundDown(tileLow, tileHigh, lanes), laneEnd = roundDown(laneLow, laneHigh, lanes);
  Value first = laneLow, last = laneHigh;
  loop(tileLow, tileEnd, lanes, {}, [&](Value u, ValueRange) -> Values {
    loop(first, laneEnd, lanes, {}, [&](Value v, ValueRange) -> Values {
      auto plus = [&](Value base, int64_t k) -> Value {
        return k ? b.create<arith::AddIOp>(loc, base, constant(k)).getResult() : base;
      };
      llvm::SmallVector<Values> squares;
      for (ir::LoadOp load : transposed) {
        Values rows;
        for (int64_t k = 0; k < lanes; ++k) {
          Point point{dims};
          point.dims[tile] = u;
          point.dims[plan.laneDim] = plus(v, k);
          rows.push_back(body.loadContiguous(load, point, lanes));
        }
        // Blocks of half the size change places, then blocks within these.
        for (int64_t half = lanes / 2; half >= 1; half /= 2) {
          llvm::SmallVector<int64_t> low, high;
          for (int64_t i = 0; i < lanes; ++i) {
            low.push_back(i & half ? lanes + i - half : i);
            high.push_back(i & half ? lanes + i : i + half);
          }
          for (int64_t i = 0; i < lanes; ++i) {
            if (i & half)
              continue;
            Value x = rows[i], y = rows[i + half];
            rows[i] = b.create<vector::ShuffleOp>(loc, x, y, low);
            rows[i + half] = b.create<vector::ShuffleOp>(loc, x, y, high);
          }
        }
        squares.push_back(rows);
      }
      for (int64_t k = 0; k < lanes; ++k) {
        for (auto [load, rows] : llvm::zip(transposed, squares))
          body.setLoaded(load, rows[k]);
        dims[tile] = plus(u, k);
        Point point = pointAt(dims, v, lanes, {});
        Values results = body.evaluate(point);
        sink(body, point, results);
      }
      body.clearLoaded();
      dims[tile] = nullptr;
      return {};
    });
    // The rest of these rows of squares.
    laneLow = laneEnd;
    loop(u, b.create<arith::AddIOp>(loc, u, constant(lanes)), 1, {}, [&](Value row, ValueRange) -> Values {
      dims[tile] = row;
      emitPointwise(dims, sink);
      return {};
    });
    laneLow = first;
    return {};
  });
  loop(tileEnd, tileHigh, 1, {}, [&](Value row, ValueRange) -> Values {
    dims[tile] = row;
    emitPointwise(dims, sink);
    return {};
  });
  dims[tile] = nullptr;
  laneHigh = last;
}

//===- Reductions ----------------------------------------------------------===//

// Halves the vector until one lane is left: the same order on every machine of a width.
Value NestEmitter::horizontal(unsigned result, Value vector) {
  for (int64_t lanes = plan.lanes / 2; lanes >= 1; lanes /= 2) {
    llvm::SmallVector<int64_t> low, high;
    for (int64_t i = 0; i < lanes; ++i) {
      low.push_back(i);
      high.push_back(lanes + i);
    }
    if (lanes == 1) {
      Value x = b.create<vector::ExtractOp>(loc, vector, 0), y = b.create<vector::ExtractOp>(loc, vector, 1);
      return reduceCombine(b, nest, result, x, y);
    }
    Value x = b.create<vector::ShuffleOp>(loc, vector, vector, low);
    Value y = b.create<vector::ShuffleOp>(loc, vector, vector, high);
    vector = reduceCombine(b, nest, result, x, y);
  }
  return vector;
}

Values NestEmitter::reduceOver(unsigned dim, Values &dims, ValueRange accumulators,
                               llvm::function_ref<Values(Values &, ValueRange)> inner) {
  while (dim < nest.numDims() && (dims[dim] || static_cast<int>(dim) == plan.laneDim))
    ++dim;
  if (dim >= nest.numDims())
    return inner(dims, accumulators);
  auto over = [&](Value from, Value to, ValueRange before) {
    return loop(from, to, 1, before, [&](Value iv, ValueRange arguments) {
      dims[dim] = iv;
      Values results = reduceOver(dim + 1, dims, arguments, inner);
      dims[dim] = nullptr;
      return results;
    });
  };
  if (!sumsInBlocks(dim))
    return over(low(dim), high(dim), accumulators);
  // The error of a sum grows with the number of additions one after another: those of a block are made apart.
  return loop(low(dim), high(dim), kSumBlock, accumulators, [&](Value iv, ValueRange totals) {
    Value end = b.create<arith::AddIOp>(loc, iv, constant(kSumBlock));
    Values sums;
    for (auto [i, total] : llvm::enumerate(totals)) {
      auto vector = llvm::dyn_cast<VectorType>(total.getType());
      sums.push_back(reduceIdentity(b, nest, i % nest.op.getNumResults(), vector ? vector.getNumElements() : 1));
    }
    sums = over(iv, b.create<arith::MinSIOp>(loc, end, high(dim)), sums);
    for (auto [i, total] : llvm::enumerate(totals))
      sums[i] = reduceCombine(b, nest, i % nest.op.getNumResults(), total, sums[i]);
    return sums;
  });
}

// The innermost reduced dimension, if it may be long and floats are summed. (Lanes along it are partial sums already.)
bool NestEmitter::sumsInBlocks(unsigned dim) const {
  bool sums = false;
  for (unsigned r = 0; r < nest.op.getNumResults(); ++r)
    sums |= reduceKind(nest, r) == ir::ReduceKind::Sum &&
            llvm::isa<FloatType>(getElementTypeOrSelf(nest.op.getResult(r).getType()));
  std::optional<int64_t> extent = nest.constantExtent(dim);
  return sums && plan.laneDim < static_cast<int>(nest.numParallel) && dim + 1 == nest.numDims() &&
         (!extent || *extent >= 2 * kSumBlock);
}

// Lanes along a parallel dimension (or scalar code): every lane has an accumulator of its own.
void NestEmitter::emitReduction(Values &dims, Sink sink) {
  if (plan.laneDim >= static_cast<int>(nest.numParallel))
    return emitInnerReduction(dims, sink);
  unsigned numResults = nest.op.getNumResults();
  auto reduce = [&](Value lane, int64_t lanes, int64_t vectors, Value mask) {
    Values accumulators;
    for (int64_t v = 0; v < vectors; ++v)
      for (unsigned r = 0; r < numResults; ++r)
        accumulators.push_back(reduceIdentity(b, nest, r, lanes));
    auto laneAt = [&](int64_t v) {
      return v ? b.create<arith::AddIOp>(loc, lane, constant(v * lanes)).getResult() : lane;
    };
    Values sums = reduceOver(nest.numParallel, dims, accumulators, [&](Values &at, ValueRange before) {
      Values after;
      for (int64_t v = 0; v < vectors; ++v) {
        Values results = body.evaluate(pointAt(at, laneAt(v), lanes, mask));
        for (unsigned r = 0; r < numResults; ++r)
          after.push_back(reduceCombine(b, nest, r, before[v * numResults + r], results[r]));
      }
      return after;
    });
    for (int64_t v = 0; v < vectors; ++v)
      sink(body, pointAt(dims, laneAt(v), lanes, mask), ValueRange(sums).slice(v * numResults, numResults));
  };
  if (plan.laneDim < 0)
    return reduce({}, 1, 1, {});
  Value end = roundDown(laneLow, laneHigh, plan.lanes * plan.unroll);
  loop(laneLow, end, plan.lanes * plan.unroll, {}, [&](Value iv, ValueRange) -> Values {
    reduce(iv, plan.lanes, plan.unroll, {});
    return {};
  });
  if (plan.maskedTail) {
    loop(end, laneHigh, plan.lanes, {}, [&](Value iv, ValueRange) -> Values {
      reduce(iv, plan.lanes, 1, tailMask(iv, laneHigh));
      return {};
    });
    return;
  }
  Value rest = roundDown(end, laneHigh, plan.lanes);
  if (plan.unroll > 1)
    loop(end, rest, plan.lanes, {}, [&](Value iv, ValueRange) -> Values {
      reduce(iv, plan.lanes, 1, {});
      return {};
    });
  loop(rest, laneHigh, 1, {}, [&](Value iv, ValueRange) -> Values {
    reduce(iv, 1, 1, {});
    return {};
  });
}

// Lanes along a reduced dimension: several vectors of partial results, combined at the end.
void NestEmitter::emitInnerReduction(Values &dims, Sink sink) {
  unsigned numResults = nest.op.getNumResults();
  int64_t chains = plan.unroll;
  Values accumulators;
  for (int64_t chain = 0; chain < chains; ++chain)
    for (unsigned r = 0; r < numResults; ++r)
      accumulators.push_back(reduceIdentity(b, nest, r, plan.lanes));
  // Without masks the elements of the tail have scalar accumulators.
  bool scalarTail = !plan.maskedTail;
  if (scalarTail)
    for (unsigned r = 0; r < numResults; ++r)
      accumulators.push_back(reduceIdentity(b, nest, r, 1));
  int64_t block = plan.lanes * chains;
  Value end = roundDown(laneLow, laneHigh, block);
  Value rest = scalarTail ? roundDown(end, laneHigh, plan.lanes) : laneHigh;
  Values sums = reduceOver(nest.numParallel, dims, accumulators, [&](Values &at, ValueRange before) {
    auto step = [&](Values &values, unsigned chain, Value lane, int64_t lanes, Value mask) {
      Values results = body.evaluate(pointAt(at, lane, lanes, mask));
      for (unsigned r = 0; r < numResults; ++r) {
        Value &accumulator = values[chain * numResults + r];
        Value combined = reduceCombine(b, nest, r, accumulator, results[r]);
        accumulator = mask ? b.create<arith::SelectOp>(loc, mask, combined, accumulator).getResult() : combined;
      }
    };
    Values values = loop(laneLow, end, block, before, [&](Value iv, ValueRange arguments) {
      Values now(arguments);
      for (int64_t chain = 0; chain < chains; ++chain)
        step(now, chain, chain ? b.create<arith::AddIOp>(loc, iv, constant(chain * plan.lanes)).getResult() : iv,
             plan.lanes, {});
      return now;
    });
    if (!scalarTail || chains > 1)
      values = loop(end, rest, plan.lanes, values, [&](Value iv, ValueRange arguments) {
        Values now(arguments);
        step(now, 0, iv, plan.lanes, scalarTail ? Value() : tailMask(iv, laneHigh));
        return now;
      });
    if (scalarTail)
      values = loop(rest, laneHigh, 1, values, [&](Value iv, ValueRange arguments) {
        Values now(arguments);
        step(now, chains, iv, 1, {});
        return now;
      });
    return values;
  });
  Values results;
  for (unsigned r = 0; r < numResults; ++r) {
    // Pairwise, so that chains do not wait for one another.
    for (int64_t width = 1; width < chains; width *= 2)
      for (int64_t chain = 0; chain + width < chains; chain += 2 * width)
        sums[chain * numResults + r] =
            reduceCombine(b, nest, r, sums[chain * numResults + r], sums[(chain + width) * numResults + r]);
    Value result = horizontal(r, sums[r]);
    if (scalarTail)
      result = reduceCombine(b, nest, r, result, sums[chains * numResults + r]);
    results.push_back(result);
  }
  sink(body, pointAt(dims, laneLow, 1, {}), results);
}

} // namespace tcc::codegen
