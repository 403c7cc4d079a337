//===- LowerGridSample.cpp - grid_sample as loads at computed indices -----===//
#include "codegen/fusion/Lowering.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

constexpr unsigned kMostTaps = 16;
/// Above, float32 lacks some of the pixels' numbers, the last among them.
constexpr int64_t kMostPixels = int64_t{1} << 24;

/// Scalar arithmetic of one sampled axis; its rules are those of runtime/reference/grid_sample.cpp.
class AxisEmitter {
public:
  AxisEmitter(Nest &nest, ir::GridSampleOp op, Type compute, AffineExpr extent)
      : nest(nest), b(nest.b), loc(nest.loc), op(op), compute(compute) {
    // Pixels are numbered in 32 bits where they fit: vectors of 64-bit integers are slow to convert.
    std::optional<int64_t> fixed = ir::getConstant(extent);
    indexType = b.getIntegerType(fixed && *fixed < (int64_t(1) << 30) ? 32 : 64);
    if (fixed) {
      last = number(static_cast<double>(*fixed - 1));
    } else {
      Value integer = b.create<arith::IndexCastOp>(loc, indexType, nest.apply(extent - 1));
      last = b.create<arith::SIToFPOp>(loc, compute, integer);
      if (compute.isF32() && ir::getRange(extent, ir::getSymbols(op)).second > kMostPixels)
        lastIndex = integer;
    }
    zeros = op.getPadding() == ir::GridPadding::Zeros;
    border = op.getPadding() == ir::GridPadding::Border;
    low = number(op.getAlignCorners() ? 0 : -0.5);
    high = op.getAlignCorners() ? last : add(last, number(0.5));
  }

  struct Tap {
    Value index;  ///< of the pixel, inside the image
    Value weight; ///< null: 1
    Value inside; ///< whether the pixel exists; null: it does
  };

  llvm::SmallVector<Tap> taps(Value normalized) {
    Value half = number(0.5), one = number(1);
    Value position = op.getAlignCorners() ? mul(mul(add(normalized, one), half), last)
                                          : mul(sub(mul(add(normalized, one), add(last, one)), one), half);
    llvm::SmallVector<Tap> result;
    if (op.getMode() == ir::GridMode::Nearest) {
      position = wrap(b.create<math::RoundEvenOp>(loc, position));
      // Reflection at half a pixel may leave a half: away from zero, as the reference rounds.
      if (op.getPadding() == ir::GridPadding::Reflection)
        position = b.create<math::FloorOp>(loc, add(position, half));
      result.push_back(pixel(position));
      return result;
    }
    position = wrap(position);
    bool cubic = op.getMode() == ir::GridMode::Cubic;
    Value base = b.create<math::FloorOp>(loc, position);
    Value fraction = sub(position, base);
    for (int tap = cubic ? -1 : 0, end = cubic ? 3 : 2; tap < end; ++tap) {
      Tap &t = result.emplace_back(pixel(tap == 0 ? base : add(base, number(tap))));
      if (!cubic)
        t.weight = tap == 0 ? sub(one, fraction) : fraction;
      else
        t.weight =
            cubicWeight(tap <= 0 ? sub(fraction, number(tap)) : sub(number(tap), fraction), tap == 0 || tap == 1);
    }
    return result;
  }

private:
  Value number(double value) { return nest.constantOf(compute, value); }
  Value add(Value x, Value y) { return b.create<arith::AddFOp>(loc, x, y); }
  Value sub(Value x, Value y) { return b.create<arith::SubFOp>(loc, x, y); }
  Value mul(Value x, Value y) { return b.create<arith::MulFOp>(loc, x, y); }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return b.create<arith::CmpFOp>(loc, predicate, x, y);
  }
  Value select(Value condition, Value x, Value y) { return b.create<arith::SelectOp>(loc, condition, x, y); }
  /// Between 0 and the last pixel, or so far outside; the least for NaN.
  Value clamp(Value x, double margin = 0) {
    Value least = number(-margin), most = margin == 0 ? last : add(last, number(margin));
    x = select(compare(arith::CmpFPredicate::OGT, x, least), x, least);
    return select(compare(arith::CmpFPredicate::OLT, x, most), x, most);
  }

  /// x mirrored at both borders until it lies between them; the low border where that has no answer.
  Value reflect(Value x) {
    Value range = sub(high, low), twice = add(range, range);
    Value distance = b.create<arith::RemFOp>(loc, b.create<math::AbsFOp>(loc, sub(x, low)), twice);
    distance = select(compare(arith::CmpFPredicate::OGT, distance, range), sub(twice, distance), distance);
    // Also NaN where the range is empty or x is not finite.
    return select(compare(arith::CmpFPredicate::ORD, distance, distance), add(low, distance), low);
  }

  /// The position moved into the image as the padding says.
  Value wrap(Value x) {
    if (zeros)
      return x;
    Value inside = b.create<arith::AndIOp>(loc, compare(arith::CmpFPredicate::OGE, x, low),
                                           compare(arith::CmpFPredicate::OLE, x, high));
    // (The taps of a cubic then lie on the border each.)
    return select(inside, x, border ? clamp(x, op.getMode() == ir::GridMode::Cubic ? 2 : 0) : reflect(x));
  }

  Tap pixel(Value at) {
    Tap tap;
    if (zeros)
      tap.inside = b.create<arith::AndIOp>(loc, compare(arith::CmpFPredicate::OGE, at, number(0)),
                                           compare(arith::CmpFPredicate::OLE, at, last));
    else if (!border)
      at = select(b.create<arith::AndIOp>(loc, compare(arith::CmpFPredicate::OGE, at, number(0)),
                                          compare(arith::CmpFPredicate::OLE, at, last)),
                  at, reflect(at));
    Value index = b.create<arith::FPToSIOp>(loc, indexType, clamp(at));
    if (lastIndex)
      index = b.create<arith::MinSIOp>(loc, index, lastIndex);
    tap.index = b.create<arith::IndexCastOp>(loc, b.getIndexType(), index);
    return tap;
  }

  /// Keys' cubic convolution with a = -0.75 at a distance of at most 1 (near) or at most 2.
  Value cubicWeight(Value x, bool near) {
    constexpr double a = -0.75;
    if (near)
      return add(mul(mul(sub(mul(number(a + 2), x), number(a + 3)), x), x), number(1));
    return mul(number(a), sub(mul(add(mul(sub(x, number(5)), x), number(8)), x), number(4)));
  }

  Nest &nest;
  OpBuilder &b;
  Location loc;
  ir::GridSampleOp op;
  Type compute, indexType;
  Value last, low, high;
  Value lastIndex; ///< of an extent that may be too large for `last` to be exact; else null
  bool zeros, border;
};

} // namespace

LoweredValues lowerGridSample(ir::GridSampleOp op, KernelBuilder &kernel) {
  Type element = elementOf(op.getX()), compute = computeType(element);
  ir::Exprs from = extentsOf(op.getX());
  unsigned axes = from.size() - 2, perAxis = op.getMode() == ir::GridMode::Nearest  ? 1
                                             : op.getMode() == ir::GridMode::Linear ? 2
                                                                                    : 4;
  unsigned taps = 1;
  for (unsigned i = 0; i < axes; ++i)
    taps *= perAxis;
  if (!isa<FloatType>(compute) || taps > kMostTaps)
    return failure();
  // There has to be a pixel to clamp to.
  ArrayAttr symbols = ir::getSymbols(op);
  for (AffineExpr extent : ArrayRef(from).drop_front(2))
    if (ir::getRange(extent, symbols).first < 1)
      return failure();
  for (AffineExpr extent : ArrayRef(from).drop_front(2))
    if (compute.isF32() && ir::getConstant(extent).value_or(0) > kMostPixels)
      return failure();
  return lowered(kernel.map(extentsOf(op.getY()), element, [&](Nest &nest) {
    OpBuilder &b = nest.b;
    llvm::SmallVector<llvm::SmallVector<AxisEmitter::Tap>> perAxisTaps;
    for (unsigned axis = 0; axis < axes; ++axis) {
      ir::Exprs at = {nest.dim(0)};
      for (unsigned i = 0; i < axes; ++i)
        at.push_back(nest.dim(2 + i));
      at.push_back(nest.constant(axes - 1 - axis)); // the grid's coordinates begin with the last axis
      AxisEmitter emitter(nest, op, compute, from[2 + axis]);
      perAxisTaps.push_back(emitter.taps(nest.loadCompute(kernel.input(1), at)));
    }
    Value zero = nest.constantOf(compute, 0), total;
    // The sum over all combinations of taps, the last axis innermost.
    std::function<void(unsigned, llvm::SmallVector<Value>, Value, Value)> sum =
        [&](unsigned axis, llvm::SmallVector<Value> indices, Value weight, Value inside) {
          if (axis == axes) {
            ir::Exprs at = nest.dims(2);
            for (unsigned i = 0; i < axes; ++i)
              at.push_back(nest.dim(2 + axes + i));
            Value value = toCompute(b, nest.loc, nest.load(kernel.input(0), at, {}, {}, indices));
            if (weight) {
              // An infinite pixel of weight 0 does not count.
              Value counts = b.create<arith::CmpFOp>(nest.loc, arith::CmpFPredicate::UNE, weight, zero);
              inside = inside ? b.create<arith::AndIOp>(nest.loc, inside, counts).getResult() : counts;
              value = b.create<arith::MulFOp>(nest.loc, value, weight);
            }
            if (inside)
              value = b.create<arith::SelectOp>(nest.loc, inside, value, zero);
            total = total ? b.create<arith::AddFOp>(nest.loc, total, value).getResult() : value;
            return;
          }
          for (const AxisEmitter::Tap &tap : perAxisTaps[axis]) {
            llvm::SmallVector<Value> inner = indices;
            inner.push_back(tap.index);
            auto both = [&](auto op, Value x, Value y) { return !x ? y : !y ? x : op(x, y); };
            sum(axis + 1, inner,
                both([&](Value x, Value y) -> Value { return b.create<arith::MulFOp>(nest.loc, x, y); }, weight,
                     tap.weight),
                both([&](Value x, Value y) -> Value { return b.create<arith::AndIOp>(nest.loc, x, y); }, inside,
                     tap.inside));
          }
        };
    sum(0, {}, {}, {});
    return fromCompute(b, nest.loc, total, element);
  }));
}

} // namespace tcc::codegen
