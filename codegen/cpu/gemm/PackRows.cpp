//===- PackRows.cpp -------------------------------------------------------===//
#include "codegen/cpu/gemm/PackRows.h"

#include "codegen/cpu/gemm/MicroKernel.h"
#include "codegen/cpu/gemm/Schedule.h"
#include "ir/Extents.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tcc::codegen::gemm {

Values loadTransposed(Emit &e, const Frame &frame, Value memref, AffineExpr offset, ArrayRef<Value> origin,
                      unsigned contiguous, unsigned other, Value countContiguous, Value countOther, int64_t lanes,
                      Type compute) {
  Value base = e.affine(offset, origin, frame.symbols);
  Value stride = e.affine(*dimStride(offset, other, 3), {}, frame.symbols);
  Value mask = e.maskOf(countContiguous, lanes);
  Values rows;
  for (int64_t i = 0; i < lanes; ++i) {
    // A row beyond the count repeats the last one.
    Value row = e.min(e.c(i), e.sub(countOther, e.c(1)));
    rows.push_back(e.convert(e.vload(memref, e.add(base, e.mul(row, stride)), lanes, mask), compute));
  }
  return emitTranspose(e, rows);
}

decltype(GemmCore::packA) packRowsOf(const TemplateKernel &kernel, const Operand &operand,
                                     ArrayRef<AffineExpr> coordinate, int64_t lanes) {
  Exprs at(coordinate.begin(), coordinate.end());
  Type compute = accumulationType(kernel.resultElement());
  AffineExpr offset = operand.offset ? simplify(substitute(operand.offset, at)) : AffineExpr();
  bool transposed = offset && dimStride(offset, 2, 3) && dimStride(offset, 1, 3) && llvm::isPowerOf2_64(lanes) &&
                    lanes > 1 && ir::getConstant(*dimStride(offset, 1, 3)) == 1 &&
                    ir::getConstant(*dimStride(offset, 2, 3)) != 1;
  if (transposed)
    return [=](Emit &e, const Frame &frame, Value g, Value row, Value rows, Value k, Value depth, Value to,
               int64_t rowStride) {
      e.loop(e.c(0), rows, lanes, [&](Value r) {
        e.loop(e.c(0), depth, lanes, [&](Value j) {
          Values square =
              loadTransposed(e, frame, frame.buffers[operand.argument], offset, {g, e.add(row, r), e.add(k, j)}, 1, 2,
                             e.sub(rows, r), e.sub(depth, j), lanes, compute);
          for (int64_t i = 0; i < lanes; ++i)
            e.when(e.lt(e.add(r, e.c(i)), rows),
                   [&] { e.vstore(square[i], to, e.add(e.mul(e.add(r, e.c(i)), e.c(rowStride)), j)); });
        });
      });
    };
  return [=, &kernel](Emit &e, const Frame &frame, Value g, Value row, Value rows, Value k, Value depth, Value to,
                      int64_t rowStride) {
    e.loop(e.c(0), rows, 1, [&](Value r) {
      auto copy = [&](Value j, Value count) {
        Point point{{g, e.add(row, r), e.add(k, j)},         frame.symbols, 2, lanes, count,
                    count ? e.maskOf(count, lanes) : Value()};
        Value value = e.convert(kernel.evaluate(e, frame, point, operand.tensor, at), compute);
        e.vstore(value, to, e.add(e.mul(r, e.c(rowStride)), j));
      };
      Value full = e.sub(depth, e.rem(depth, e.c(lanes)));
      e.loop(e.c(0), full, lanes, [&](Value j) { copy(j, {}); });
      e.when(e.lt(full, depth), [&] { copy(full, e.sub(depth, full)); });
    });
  };
}

} // namespace tcc::codegen::gemm
