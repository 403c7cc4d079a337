//===- MicroKernel.cpp ----------------------------------------------------===//
#include "codegen/cpu/gemm/MicroKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tcc::codegen::gemm {

Values emitMicroKernel(Emit &e, Type compute, int64_t rows, int64_t vectors, int64_t lanes, const MicroA &a,
                       const MicroB &b, Value depth, ValueRange init) {
  VectorType type = e.vector(compute, lanes);
  int64_t count = rows * vectors;
  auto step = [&](Value k, ValueRange sums) {
    Values rowOfB, next;
    Value at = e.add(b.base, e.mul(k, b.kStride));
    for (int64_t v = 0; v < vectors; ++v) {
      Value mask = v + 1 == vectors ? b.tailMask : Value();
      rowOfB.push_back(e.convert(e.vload(b.memref, e.add(at, e.c(v * lanes)), lanes, mask), compute));
    }
    Value column = e.add(a.base, e.mul(k, a.kStride));
    for (int64_t r = 0; r < rows; ++r) {
      Value x = e.splat(e.convert(e.load(a.memref, e.add(column, a.rowOffsets[r])), compute), lanes);
      for (int64_t v = 0; v < vectors; ++v)
        next.push_back(e.fma(x, rowOfB[v], sums[r * vectors + v]));
    }
    return next;
  };
  Values start(init.begin(), init.end());
  if (start.empty())
    start.assign(count, e.zero(type));
  int64_t split = count >= 8 ? 1 : (8 + count - 1) / count;
  if (split == 1)
    return e.loop(e.c(0), depth, 1, start, step);

  Values sums(start);
  sums.append((split - 1) * count, e.zero(type));
  Value even = e.sub(depth, e.rem(depth, e.c(split)));
  sums = e.loop(e.c(0), even, split, sums, [&](Value k, ValueRange sums) {
    Values all;
    for (int64_t s = 0; s < split; ++s)
      all.append(step(e.add(k, e.c(s)), sums.slice(s * count, count)));
    return all;
  });
  // Pairwise, so that the order of additions does not depend on the depth's remainder.
  for (int64_t width = split; width > 1; width = (width + 1) / 2)
    for (int64_t s = 0; s < width / 2; ++s)
      for (int64_t i = 0; i < count; ++i) {
        Value &x = sums[s * count + i];
        Value y = sums[(s + (width + 1) / 2) * count + i];
        x = isa<FloatType>(compute) ? Value(e.b.create<arith::AddFOp>(e.loc, x, y))
                                    : Value(e.b.create<arith::AddIOp>(e.loc, x, y));
      }
  sums.truncate(count);
  return e.loop(even, depth, 1, sums, step);
}

Values emitTranspose(Emit &e, ValueRange rows) {
  int64_t n = rows.size();
  Values now(rows.begin(), rows.end());
  // Each stage exchanges the off-diagonal halves of squares of side 2 * half.
  for (int64_t half = n / 2; half >= 1; half /= 2) {
    SmallVector<int64_t> low(n), high(n);
    for (int64_t i = 0; i < n; ++i) {
      bool second = i & half;
      low[i] = second ? n + i - half : i;
      high[i] = second ? n + i : i + half;
    }
    Values next(n);
    for (int64_t i = 0; i < n; ++i) {
      if (i & half)
        continue;
      next[i] = e.b.create<vector::ShuffleOp>(e.loc, now[i], now[i + half], low);
      next[i + half] = e.b.create<vector::ShuffleOp>(e.loc, now[i], now[i + half], high);
    }
    now = next;
  }
  return now;
}

} // namespace tcc::codegen::gemm
