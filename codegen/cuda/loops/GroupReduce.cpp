//===- GroupReduce.cpp - values of several threads as one -----------------===//
//
// Always in the same order, whatever runs beside it: floats give the same bits from run to run.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/loops/LoopFunction.h"
#include "codegen/schedule/Reduction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

constexpr int64_t kWarp = 32;

// The value of the lane `distance` away (its number differs in that bit).
Value exchange(OpBuilder &b, Location loc, Value value, int64_t distance) {
  Type type = value.getType();
  bool isNarrow = type.isIntOrIndex() && type.getIntOrFloatBitWidth() < 32;
  if (isNarrow)
    value = b.create<arith::ExtUIOp>(loc, b.getI32Type(), value);
  value = b.create<gpu::ShuffleOp>(loc, value, static_cast<int32_t>(distance), kWarp, gpu::ShuffleMode::XOR)
              .getShuffleResult();
  return isNarrow ? b.create<arith::TruncIOp>(loc, type, value).getResult() : value;
}

} // namespace

Values LoopFunction::identities(const LoopNest &nest) {
  Values values;
  for (unsigned r = 0; r < nest.op.getNumResults(); ++r)
    values.push_back(reduceIdentity(b, nest, r, 1));
  return values;
}

Values LoopFunction::groupReduce(const LoopNest &nest, ValueRange given, int64_t group, int64_t block, bool inner) {
  return groupReduce(given, group, block, inner, [&](ValueRange x, ValueRange y) {
    Values after;
    for (unsigned r = 0; r < x.size(); ++r)
      after.push_back(reduceCombine(b, nest, r, x[r], y[r]));
    return after;
  });
}

Values LoopFunction::groupReduce(ValueRange given, int64_t group, int64_t block, bool inner, Combine combine) {
  Values values(given);
  auto lanes = [&](int64_t most) {
    for (int64_t distance = most / 2; distance >= 1; distance /= 2) {
      Values others;
      for (Value value : values)
        others.push_back(exchange(b, loc, value, distance));
      values = combine(values, others);
    }
  };
  if (group == 1)
    return values;
  if (inner && group <= kWarp) {
    lanes(group);
    return values;
  }
  // One value of each warp (of each thread that is far from its neighbours) goes through shared memory.
  int64_t parts = inner ? group / kWarp : group;
  int64_t columns = block / group;
  if (inner)
    lanes(kWarp);
  Value part = inner ? b.create<arith::DivUIOp>(loc, thread, constant(kWarp)).getResult() : thread;
  Values places;
  for (Value value : values)
    places.push_back(named(shared(storageType(value.getType()), {inner ? block / kWarp : block}), "partial"));
  auto store = [&] {
    for (auto [r, value] : llvm::enumerate(values))
      b.create<memref::StoreOp>(loc, toStorage(b, loc, value, value.getType()), places[r], part);
  };
  if (inner) {
    Value lane = b.create<arith::RemUIOp>(loc, thread, constant(kWarp));
    when(b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, lane, constant(0)), store);
  } else {
    store();
  }
  barrier();
  // Every thread adds up the parts of its group.
  Value first, step;
  if (inner) {
    first = columns == 1
                ? constant(0)
                : b.create<arith::MulIOp>(loc, b.create<arith::DivUIOp>(loc, thread, constant(group)), constant(parts))
                      .getResult();
    step = constant(1);
  } else {
    first = b.create<arith::RemUIOp>(loc, thread, constant(columns));
    step = constant(columns);
  }
  auto read = [&](unsigned r, Value at) {
    return fromStorage(b, loc, b.create<memref::LoadOp>(loc, places[r], at), values[r].getType());
  };
  Values sums;
  for (unsigned r = 0; r < values.size(); ++r)
    sums.push_back(read(r, first));
  return loop(
      constant(1), constant(parts), constant(1), sums,
      [&](Value i, ValueRange before) {
        Value at = add(first, b.createOrFold<arith::MulIOp>(loc, i, step));
        Values others;
        for (unsigned r = 0; r < values.size(); ++r)
          others.push_back(read(r, at));
        return combine(before, others);
      },
      /*unroll=*/true);
}

} // namespace tcc::codegen::cuda
