//===- Attention.cpp - schedule of kernels around tcc.attention ------------===//
//
// Online softmax over blocks of keys (https://arxiv.org/abs/2205.14135): a work item is a block of queries of one head.
// The keys are packed first, as panels of their transpose; values are read where they lie. Scores of a block, running
// maxima, sums and results live in scratch memory.
//
//===----------------------------------------------------------------------===//
#include <algorithm>
#include <limits>

#include "codegen/cpu/gemm/MicroKernel.h"
#include "codegen/cpu/gemm/Schedule.h"
#include "ir/Extents.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tcc::codegen::gemm {

bool canScheduleAttention(const TemplateKernel &kernel) {
  // Widths and numbers of heads are known; scores are float32 or float64.
  const Exprs &q = kernel.operands[0].extents, &k = kernel.operands[1].extents, &v = kernel.operands[2].extents;
  if (q.size() != 4 || !ir::getConstant(q[1]) || !ir::getConstant(q[3]) || !ir::getConstant(k[1]) ||
      !ir::getConstant(v[3]))
    return false;
  if (*ir::getConstant(k[1]) == 0 || *ir::getConstant(q[1]) % *ir::getConstant(k[1]) != 0)
    return false;
  if (kernel.operands.size() > 3) {
    Type element = kernel.operands[3].element;
    return element.isInteger(1) || isa<FloatType>(element);
  }
  return true;
}

namespace {

struct Attention {
  Attention(const TemplateKernel &kernel, ir::AttentionOp op, Type compute)
      : kernel(kernel), op(op), compute(compute) {}

  const TemplateKernel &kernel;
  mutable ir::AttentionOp op; // its accessors are not const
  Type compute;
  GemmTiles tiles;      // of the scores; rowTiles register tiles are a block of queries
  int64_t keyBlock = 0; // keys at a time
  int64_t heads = 1, keyHeads = 1, depth = 0, width = 0;
  AffineExpr batch, queries, keys;
  int keyPanels = -1, valuePanels = -1;
  AffineExpr valueOffset; // over (batch, key head, key, column), or null: panels
  // Scratch memory.
  int64_t qAt = 0, scoresAt = 0, outAt = 0, maxAt = 0, sumAt = 0, bytes = 0, qStride = 0, scoreStride = 0,
          outStride = 0;

  int64_t blockRows() const { return tiles.rowTiles * tiles.rows; }
  int64_t lanes() const { return tiles.lanes; }

  void layout() {
    Scratch scratch;
    auto padded = [&](int64_t count) { return (((count + lanes() - 1) / lanes()) | 1) * lanes(); };
    qStride = padded(depth);
    scoreStride = padded(keyBlock);
    outStride = (width + tiles.panelWidth() - 1) / tiles.panelWidth() * tiles.panelWidth();
    qAt = scratch.reserve(blockRows() * qStride, compute);
    scoresAt = scratch.reserve(blockRows() * scoreStride, compute);
    outAt = scratch.reserve(blockRows() * outStride, compute);
    maxAt = scratch.reserve(blockRows(), compute);
    sumAt = scratch.reserve(blockRows(), compute);
    bytes = scratch.bytes();
  }

  Value number(Emit &e, double value) const {
    return e.b.create<arith::ConstantOp>(e.loc, e.b.getFloatAttr(compute, value));
  }
  Value numbers(Emit &e, double value) const { return e.splat(number(e, value), lanes()); }
  Value larger(Emit &e, Value x, Value y) const {
    return e.b.create<arith::SelectOp>(e.loc, e.b.create<arith::CmpFOp>(e.loc, arith::CmpFPredicate::OGT, x, y), x, y);
  }
  // All lanes combined, in a tree.
  Value combine(Emit &e, Value vector, bool max) const {
    for (int64_t half = lanes() / 2; half >= 1; half /= 2) {
      SmallVector<int64_t> order;
      for (int64_t i = 0; i < lanes(); ++i)
        order.push_back(i ^ half);
      Value other = e.b.create<vector::ShuffleOp>(e.loc, vector, vector, order);
      vector = max ? larger(e, vector, other) : Value(e.b.create<arith::AddFOp>(e.loc, vector, other));
    }
    return e.lane(vector, 0);
  }
  // body(index, count): whole vectors of [0, size), then the rest.
  void vectors(Emit &e, Value size, llvm::function_ref<void(Value, Value)> body) const {
    Value full = e.mul(e.div(size, e.c(lanes())), e.c(lanes()));
    e.loop(e.c(0), full, lanes(), [&](Value i) { body(i, {}); });
    e.when(e.lt(full, size), [&] { body(full, e.sub(size, full)); });
  }
  Values vectors(Emit &e, Value size, Value init, llvm::function_ref<Value(Value, Value, Value)> body) const {
    Value full = e.mul(e.div(size, e.c(lanes())), e.c(lanes()));
    Value sum =
        e.loop(e.c(0), full, lanes(), init, [&](Value i, ValueRange s) { return Values{body(i, {}, s[0])}; })[0];
    return e.when(
        e.lt(full, size), TypeRange{init.getType()}, [&] { return Values{body(full, e.sub(size, full), sum)}; },
        [&] { return Values{sum}; });
  }

  void emit(Emit &e, const Frame &frame) const;
  void emitBlock(Emit &e, const Frame &frame, struct AttentionBlock &block, Value t0, Value tEnd) const;
};

struct AttentionBlock {
  Value b, h, hk, s0, rows; // rows of queries from s0 on
  Value S, T;
  Value q, scores, out, maxima, sums;
};

void Attention::emit(Emit &e, const Frame &frame) const {
  AttentionBlock block;
  block.S = e.affineNonNegative(queries, {}, frame.symbols);
  block.T = e.affineNonNegative(keys, {}, frame.symbols);
  block.q = Scratch::view(e, frame, qAt, blockRows() * qStride, compute);
  block.scores = Scratch::view(e, frame, scoresAt, blockRows() * scoreStride, compute);
  block.out = Scratch::view(e, frame, outAt, blockRows() * outStride, compute);
  block.maxima = Scratch::view(e, frame, maxAt, blockRows(), compute);
  block.sums = Scratch::view(e, frame, sumAt, blockRows(), compute);
  MLIRContext *context = e.b.getContext();
  Exprs identity;
  for (unsigned i = 0; i < 4; ++i)
    identity.push_back(getAffineDimExpr(i, context));
  double scale = op.getScale().convertToDouble();
  Value blocks = e.ceilDiv(block.S, e.c(blockRows()));
  e.loop(frame.begin, frame.end, 1, [&](Value item) {
    Value head = e.div(item, blocks);
    block.s0 = e.mul(e.rem(item, blocks), e.c(blockRows()));
    block.rows = e.min(e.c(blockRows()), e.sub(block.S, block.s0));
    block.b = e.div(head, e.c(heads));
    block.h = e.rem(head, e.c(heads));
    block.hk = e.div(block.h, e.c(heads / keyHeads));
    // Scaled queries; empty sums.
    e.loop(e.c(0), block.rows, 1, [&](Value r) {
      vectors(e, e.c(depth), [&](Value c, Value count) {
        Point point{{block.b, block.h, e.add(block.s0, r), c}, frame.symbols, 3, lanes(), count,
                    count ? e.maskOf(count, lanes()) : Value()};
        Value value = e.convert(kernel.evaluate(e, frame, point, kernel.operands[0].tensor, identity), compute);
        value = e.b.create<arith::MulFOp>(e.loc, value, numbers(e, scale));
        e.vstore(value, block.q, e.add(e.mul(r, e.c(qStride)), c));
      });
      e.loop(e.c(0), e.c(outStride), lanes(), [&](Value c) {
        e.vstore(e.zero(e.vector(compute, lanes())), block.out, e.add(e.mul(r, e.c(outStride)), c));
      });
      e.store(number(e, -std::numeric_limits<double>::infinity()), block.maxima, r);
      e.store(number(e, 0), block.sums, r);
    });
    // With a causal mask the last query of the block sees the most keys.
    Value tEnd = block.T;
    if (op.getCausal())
      tEnd = e.max(e.c(0), e.min(block.T, e.add(e.add(block.s0, block.rows), e.sub(block.T, block.S))));
    e.loop(e.c(0), tEnd, keyBlock, [&](Value t0) { emitBlock(e, frame, block, t0, tEnd); });
    e.loop(e.c(0), block.rows, 1, [&](Value r) {
      Value sum = e.load(block.sums, r);
      Value inverse = e.b.create<arith::DivFOp>(e.loc, number(e, 1), sum);
      // Where no key was seen the sum is zero and the results are too: that makes them NaN. Where there is no key at
      // all they stay zero.
      Value zero = op.getMaskedRows() == ir::MaskedRows::Nan
                       ? e.b.create<arith::CmpIOp>(e.loc, arith::CmpIPredicate::eq, block.T, e.c(0)).getResult()
                       : e.b.create<arith::CmpFOp>(e.loc, arith::CmpFPredicate::OEQ, sum, number(e, 0)).getResult();
      inverse = e.select(zero, number(e, 0), inverse);
      Value guarded;
      if (op.getMaskedRows() == ir::MaskedRows::Guarded)
        guarded = e.b.create<arith::CmpFOp>(e.loc, arith::CmpFPredicate::UNO, sum, sum);
      vectors(e, e.c(width), [&](Value c, Value count) {
        Value value = e.vload(block.out, e.add(e.mul(r, e.c(outStride)), c), lanes());
        value = e.b.create<arith::MulFOp>(e.loc, value, e.splat(inverse, lanes()));
        if (guarded)
          value = e.select(guarded, numbers(e, 0), value);
        Point point{{block.b, block.h, e.add(block.s0, r), c}, frame.symbols, 3, lanes(), count,
                    count ? e.maskOf(count, lanes()) : Value()};
        kernel.finish(e, frame, std::move(point), value, identity);
      });
    });
  });
}

void Attention::emitBlock(Emit &e, const Frame &frame, AttentionBlock &block, Value t0, Value tEnd) const {
  int64_t panelWidth = tiles.panelWidth();
  Value count = e.min(e.c(keyBlock), e.sub(tEnd, t0));
  Value tileCount = e.ceilDiv(block.rows, e.c(tiles.rows));
  MicroA a;
  // rows(tile, height): once for the height that fits.
  auto heights = [&](Value tile, llvm::function_ref<void(int64_t)> body) {
    if (ir::getConstant(queries) || tiles.rows == 1)
      return body(tiles.rows);
    Value left = e.sub(block.rows, e.mul(tile, e.c(tiles.rows)));
    e.when(e.lt(e.c(1), left), [&] { body(tiles.rows); }, [&] { body(1); });
  };
  // Scores: queries times the keys' panels.
  Value keyHead = e.add(e.mul(block.b, e.c(keyHeads)), block.hk);
  Value panelsPerHead = e.ceilDiv(block.T, e.c(panelWidth));
  Value firstPanel = e.add(e.mul(keyHead, panelsPerHead), e.div(t0, e.c(panelWidth)));
  e.loop(e.c(0), e.ceilDiv(count, e.c(panelWidth)), 1, [&](Value p) {
    e.loop(e.c(0), tileCount, 1, [&](Value tile) {
      heights(tile, [&](int64_t rows) {
        MicroA a{block.q, e.mul(tile, e.c(tiles.rows * qStride)), {}, e.c(1)};
        for (int64_t r = 0; r < rows; ++r)
          a.rowOffsets.push_back(e.c(r * qStride));
        MicroB b{frame.buffers[keyPanels], e.mul(e.add(firstPanel, p), e.c(depth * panelWidth)), e.c(panelWidth), {}};
        Values sums = emitMicroKernel(e, compute, rows, tiles.vectors, lanes(), a, b, e.c(depth), {});
        Value at = e.add(e.mul(tile, e.c(tiles.rows * scoreStride)), e.mul(p, e.c(panelWidth)));
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t v = 0; v < tiles.vectors; ++v)
            e.vstore(sums[r * tiles.vectors + v], block.scores, e.add(at, e.c(r * scoreStride + v * lanes())));
      });
    });
  });

  // Softmax, row by row: mask, running maximum, exponentials.
  bool hasMask = static_cast<bool>(op.getMask());
  Exprs maskAt;
  if (hasMask) {
    const Exprs &extents = kernel.operands[3].extents;
    for (unsigned i = 0; i < extents.size(); ++i)
      maskAt.push_back(ir::getConstant(extents[i]) == 1 ? getAffineConstantExpr(0, e.b.getContext())
                                                        : getAffineDimExpr(4 - extents.size() + i, e.b.getContext()));
  }
  double infinity = std::numeric_limits<double>::infinity();
  e.loop(e.c(0), block.rows, 1, [&](Value r) {
    Value line = e.mul(r, e.c(scoreStride)), query = e.add(block.s0, r);
    Value lowest = numbers(e, -infinity);
    Value top = vectors(e, count, lowest, [&](Value c, Value valid, Value top) -> Value {
      Value value = e.vload(block.scores, e.add(line, c), lanes());
      Value t = e.add(t0, c);
      if (hasMask) {
        Point point{
            {block.b, block.h, query, t}, frame.symbols, 3, lanes(), valid, valid ? e.maskOf(valid, lanes()) : Value()};
        Value mask = kernel.evaluate(e, frame, point, kernel.operands[3].tensor, maskAt);
        if (kernel.operands[3].element.isInteger(1))
          value = e.select(mask, value, lowest);
        else
          value = e.b.create<arith::AddFOp>(e.loc, value, e.convert(mask, compute));
      }
      Value seen = valid;
      if (op.getCausal()) {
        Value most = e.sub(e.add(query, e.add(e.sub(block.T, block.S), e.c(1))), t);
        seen = seen ? e.min(seen, most) : most;
      }
      if (seen)
        value = e.select(e.maskOf(seen, lanes()), value, lowest);
      if (hasMask || seen)
        e.vstore(value, block.scores, e.add(line, c));
      return larger(e, value, top);
    })[0];
    Value before = e.load(block.maxima, r);
    Value now = larger(e, combine(e, top, true), before);
    e.store(now, block.maxima, r);
    // Nothing seen yet: any finite number will do.
    Value none = e.b.create<arith::CmpFOp>(e.loc, arith::CmpFPredicate::OEQ, now, number(e, -infinity));
    Value base = e.select(none, number(e, 0), now);
    Value factor = e.b.create<math::ExpOp>(e.loc, Value(e.b.create<arith::SubFOp>(e.loc, before, base)));
    Value bases = e.splat(base, lanes());
    // The last vector holds whole lanes: those that are not valid were made -inf above.
    Value sum =
        e.loop(e.c(0), count, lanes(), Value(e.zero(e.vector(compute, lanes()))), [&](Value c, ValueRange sums) {
          Value value = e.vload(block.scores, e.add(line, c), lanes());
          value = e.b.create<math::ExpOp>(e.loc, Value(e.b.create<arith::SubFOp>(e.loc, value, bases)));
          e.vstore(value, block.scores, e.add(line, c));
          return Values{Value(e.b.create<arith::AddFOp>(e.loc, sums[0], value))};
        })[0];
    Value total = e.b.create<arith::AddFOp>(
        e.loc, Value(e.b.create<arith::MulFOp>(e.loc, e.load(block.sums, r), factor)), combine(e, sum, false));
    e.store(total, block.sums, r);
    Value factors = e.splat(factor, lanes());
    e.loop(e.c(0), e.c(outStride), lanes(), [&](Value c) {
      Value at = e.add(e.mul(r, e.c(outStride)), c);
      e.vstore(e.b.create<arith::MulFOp>(e.loc, e.vload(block.out, at, lanes()), factors), block.out, at);
    });
  });

  // Results: weights times values.
  for (int64_t column = 0; column < width; column += panelWidth) {
    int64_t rest = std::min(panelWidth, width - column), wide = (rest + lanes() - 1) / lanes();
    e.loop(e.c(0), tileCount, 1, [&](Value tile) {
      heights(tile, [&](int64_t rows) {
        MicroA a{block.scores, e.mul(tile, e.c(tiles.rows * scoreStride)), {}, e.c(1)};
        for (int64_t r = 0; r < rows; ++r)
          a.rowOffsets.push_back(e.c(r * scoreStride));
        MicroB b;
        if (valueOffset) {
          b.memref = frame.buffers[kernel.operands[2].argument];
          b.base = e.affineNonNegative(valueOffset, {block.b, block.hk, t0, e.c(column)}, frame.symbols);
          b.kStride = e.affineNonNegative(*dimStride(valueOffset, 2, 4), {}, frame.symbols);
          if (rest % lanes())
            b.tailMask = e.maskOf(e.c(rest % lanes()), lanes());
        } else {
          int64_t panels = (width + panelWidth - 1) / panelWidth;
          Value panel = e.add(e.mul(keyHead, e.c(panels)), e.c(column / panelWidth));
          b.memref = frame.buffers[valuePanels];
          b.base = e.mul(e.add(e.mul(panel, block.T), t0), e.c(panelWidth));
          b.kStride = e.c(panelWidth);
        }
        Value at = e.add(e.mul(tile, e.c(tiles.rows * outStride)), e.c(column));
        auto place = [&](int64_t r, int64_t v) { return e.add(at, e.c(r * outStride + v * lanes())); };
        Values init;
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t v = 0; v < wide; ++v)
            init.push_back(e.vload(block.out, place(r, v), lanes()));
        Values sums = emitMicroKernel(e, compute, rows, wide, lanes(), a, b, count, init);
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t v = 0; v < wide; ++v)
            e.vstore(sums[r * wide + v], block.out, place(r, v));
      });
    });
  }
}

} // namespace

FailureOr<KernelCode> scheduleAttention(KernelBuilder &builder) {
  const TemplateKernel &kernel = builder.kernel;
  MLIRContext *context = kernel.op->getContext();
  const Operand &q = kernel.operands[0], &k = kernel.operands[1], &v = kernel.operands[2];
  Type compute = accumulationType(kernel.resultElement());
  Attention attention(kernel, cast<ir::AttentionOp>(kernel.op), compute);
  attention.heads = *ir::getConstant(q.extents[1]);
  attention.keyHeads = *ir::getConstant(k.extents[1]);
  attention.depth = *ir::getConstant(q.extents[3]);
  attention.width = *ir::getConstant(v.extents[3]);
  attention.batch = q.extents[0];
  attention.queries = q.extents[2];
  attention.keys = k.extents[2];

  GemmTiles &tiles = attention.tiles;
  tiles.lanes = std::max<int64_t>(1, builder.machine.vectorBits / compute.getIntOrFloatBitWidth());
  tiles.vectors = 2;
  tiles.rows = builder.machine.registers >= 32 ? 14 : 6;
  tiles.rowTiles = builder.machine.registers >= 32 ? 4 : 8;
  if (auto rows = ir::getConstant(q.extents[2]); rows && *rows > 0) {
    int64_t count = (*rows + tiles.rows - 1) / tiles.rows;
    tiles.rows = (*rows + count - 1) / count;
    tiles.rowTiles = std::min(tiles.rowTiles, count);
  }
  // Scores, and the keys and values of a block, stay in L2.
  int64_t size = compute.getIntOrFloatBitWidth() / 8;
  int64_t most = builder.machine.l2Bytes / 3 / size /
                 std::max<int64_t>(1, attention.depth + attention.width + attention.blockRows());
  attention.keyBlock = std::clamp<int64_t>(most / tiles.panelWidth(), 1, 16) * tiles.panelWidth();
  attention.layout();

  // Keys as (key head, depth, key).
  AffineExpr d0 = getAffineDimExpr(0, context), d1 = getAffineDimExpr(1, context), d2 = getAffineDimExpr(2, context);
  AffineExpr batch = simplify(attention.batch * attention.keyHeads);
  Exprs keyAt{d0.floorDiv(attention.keyHeads), d0 % attention.keyHeads, d2, d1}, valueAt{keyAt[0], keyAt[1], d1, d2};
  attention.keyPanels = packPanels(builder, k, keyAt, true, batch, k.extents[3], k.extents[2], tiles).buffer;
  auto unit = v.offset ? dimStride(v.offset, 3, 4) : std::nullopt;
  if (unit && ir::getConstant(*unit) == 1 && dimStride(v.offset, 2, 4))
    attention.valueOffset = v.offset;
  else
    attention.valuePanels = packPanels(builder, v, valueAt, true, batch, v.extents[2], v.extents[3], tiles).buffer;

  SmallVector<int> uses = builder.inputsAndResults();
  uses.push_back(attention.keyPanels);
  if (attention.valuePanels >= 0)
    uses.push_back(attention.valuePanels);
  AffineExpr items = simplify(attention.batch * attention.heads * attention.queries.ceilDiv(attention.blockRows()));
  double flops = 2.0 * attention.blockRows() * ir::getConstant(attention.keys).value_or(256) *
                 (attention.depth + attention.width + 20);
  builder.addLaunch("attention", uses, items, grainOf(flops), attention.bytes,
                    [&](Emit &e, const Frame &frame) { attention.emit(e, frame); });
  return builder.take("attention");
}

} // namespace tcc::codegen::gemm
