//===- VectorMath.cpp - math functions without a C library ----------------===//
//
// Largest errors seen, in units in the last place (tests/codegen_cpu/math_test.cpp samples every exponent): see the
// table in that test. Infinities, NaN, zeros of both signs and denormals are as in C, except where a function says
// otherwise. f64 sin, cos and tan lose accuracy beyond |x| = 1e9.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/VectorMath.h"

#include <cmath>
#include <functional>
#include <limits>

#include "codegen/cpu/MathCoefficients.h"
#include "codegen/cpu/MathEmitter.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

using namespace math_coefficients;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

//===- Exponentials --------------------------------------------------------===//

struct Reduced {
  Value n; ///< integer
  Value r; ///< x - n log(2)
};

// x = n log(2) + r, for x in the clamped range.
Reduced reduceLog2(MathEmitter &m, Value x) {
  Value n = m.roundEven(m.mul(x, m.c(1.4426950408889634)));
  // The high part has few bits, so that its product with n is exact.
  Value r = m.isDouble() ? m.fma(n, m.c(-0x1.62e42fefa39efp-1), x) : m.fma(n, m.c(-0x1.62e4p-1), x);
  r = m.isDouble() ? m.fma(n, m.c(-0x1.abc9e3b39803fp-56), r) : m.fma(n, m.c(-0x1.7f7d1cf79abcap-20), r);
  return {m.toInt(n), r};
}

// exp(r) - 1 for a reduced r.
Value expm1Reduced(MathEmitter &m, Value r) {
  Value p = m.isDouble() ? m.poly(r, kExp64) : m.poly(r, kExp32);
  return m.fma(m.mul(r, r), p, r);
}

// 2^n for n within the exponents of normal numbers.
Value pow2(MathEmitter &m, Value n) {
  return m.fromBits(m.shl(m.addI(n, m.ci(m.isDouble() ? 1023 : 127)), m.isDouble() ? 52 : 23));
}

// x 2^n for any n that two steps reach: right for results that overflow or are denormal.
Value scale(MathEmitter &m, Value x, Value n) {
  Value half = m.shrS(n, 1);
  return m.mul(m.mul(x, pow2(m, half)), pow2(m, m.subI(n, half)));
}

// 2^shift exp(x).
Value expOf(MathEmitter &m, Value x, int shift = 0) {
  Value clamped = m.clamp(x, m.isDouble() ? -760 : -110, m.isDouble() ? 720 : 95);
  Reduced reduced = reduceLog2(m, clamped);
  Value y = m.add(m.c(1), expm1Reduced(m, reduced.r));
  return scale(m, y, shift ? m.addI(reduced.n, m.ci(shift)) : reduced.n);
}

Value expm1Of(MathEmitter &m, Value x) {
  Value clamped = m.clamp(x, m.isDouble() ? -60 : -30, m.isDouble() ? 720 : 95);
  Reduced reduced = reduceLog2(m, clamped);
  // 2 (2^(n-1) p + 2^(n-1) - 1/2): the power would overflow before the result does.
  Value half = m.minI(m.subI(reduced.n, m.ci(1)), m.ci(m.isDouble() ? 1023 : 127));
  Value power = pow2(m, half);
  Value p = expm1Reduced(m, reduced.r);
  Value y = m.mul(m.c(2), m.fma(power, p, m.sub(power, m.c(0.5))));
  y = m.select(m.gt(x, m.c(m.isDouble() ? 710 : 89)), m.c(kInf), y);
  return m.copySign(y, x);
}

Value sigmoidOf(MathEmitter &m, Value x) { return m.div(m.c(1), m.add(m.c(1), expOf(m, m.neg(x)))); }

Value tanhOf(MathEmitter &m, Value x) {
  Value e = expm1Of(m, m.mul(m.c(2), m.min(m.abs(x), m.c(m.isDouble() ? 22 : 10))));
  Value y = m.div(e, m.add(e, m.c(2)));
  return m.select(m.isNan(x), x, m.copySign(y, x));
}

Value sinhOf(MathEmitter &m, Value x) {
  Value a = m.abs(x);
  Value e = expm1Of(m, a);
  Value small = m.mul(m.c(0.5), m.add(e, m.div(e, m.add(e, m.c(1)))));
  Value large = expOf(m, a, -1);
  return m.copySign(m.select(m.gt(a, m.c(20)), large, small), x);
}

Value coshOf(MathEmitter &m, Value x) {
  Value h = expOf(m, m.abs(x), -1);
  return m.add(h, m.div(m.c(0.25), h));
}

//===- Logarithms ----------------------------------------------------------===//

struct Split {
  Value e; ///< a float
  Value f; ///< x = 2^e (1 + f), with 1 + f in [sqrt(1/2), sqrt(2))
};

Split splitExponent(MathEmitter &m, Value x) {
  bool wide = m.isDouble();
  // Denormals are scaled up.
  Value tiny = m.lt(x, m.c(wide ? 0x1p-1022 : 0x1p-126));
  Value scaled = m.select(tiny, m.mul(x, m.c(wide ? 0x1p54 : 0x1p25)), x);
  Value bits = m.toBits(scaled);
  int64_t half = wide ? 0x3fe6a09e667f3bcd : 0x3f3504f3;
  Value offset = m.subI(bits, m.ci(half));
  Value e = m.shrS(offset, wide ? 52 : 23);
  Value mantissa = m.fromBits(m.subI(bits, m.shl(e, wide ? 52 : 23)));
  Value exponent = m.fromInt(e);
  exponent = m.sub(exponent, m.select(tiny, m.c(wide ? 54 : 25), m.c(0)));
  return {exponent, m.sub(mantissa, m.c(1))};
}

// Zero, negative numbers, infinity and NaN.
Value logSpecial(MathEmitter &m, Value x, Value y) {
  y = m.select(m.eq(x, m.c(kInf)), x, y);
  y = m.select(m.eq(x, m.c(0)), m.c(-kInf), y);
  return m.select(m.notGe(x, m.c(0)), m.c(kNan), y);
}

Value logFinite(MathEmitter &m, Value x) {
  Split s = splitExponent(m, x);
  Value f = s.f, square = m.mul(f, f);
  Value p = m.isDouble() ? m.poly(f, kLog64) : m.poly(f, kLog32);
  Value low = m.isDouble() ? m.c(0x1.abc9e3b39803fp-56) : m.c(0x1.7f7d1cf79abcap-20);
  Value high = m.isDouble() ? m.c(0x1.62e42fefa39efp-1) : m.c(0x1.62e4p-1);
  Value y = m.fma(m.mul(square, f), p, m.mul(s.e, low));
  y = m.fma(square, m.c(-0.5), y);
  // e log(2) is exact in its high part: the largest terms are added last.
  return m.fma(s.e, high, m.add(f, y));
}

Value logOf(MathEmitter &m, Value x) { return logSpecial(m, x, logFinite(m, x)); }

Value log1pOf(MathEmitter &m, Value x) {
  // log(u) plus what u = 1 + x lost.
  Value u = m.add(m.c(1), x);
  Value lost = m.select(m.ge(x, m.c(1)), m.sub(m.c(1), m.sub(u, x)), m.sub(x, m.sub(u, m.c(1))));
  Value y = m.add(logFinite(m, u), m.div(lost, u));
  y = logSpecial(m, u, y);
  return m.select(m.lt(m.abs(x), m.c(m.isDouble() ? 0x1p-54 : 0x1p-25)), x, y);
}

Value asinhOf(MathEmitter &m, Value x) {
  Value a = m.abs(x);
  Value square = m.mul(a, a);
  Value small = log1pOf(m, m.add(a, m.div(square, m.add(m.c(1), m.sqrt(m.add(square, m.c(1)))))));
  Value large = m.add(logOf(m, a), m.c(0.6931471805599453));
  return m.copySign(m.select(m.gt(a, m.c(1e9)), large, small), x);
}

Value acoshOf(MathEmitter &m, Value x) {
  Value t = m.sub(x, m.c(1));
  Value small = log1pOf(m, m.add(t, m.sqrt(m.fma(t, t, m.mul(m.c(2), t)))));
  Value large = m.add(logOf(m, x), m.c(0.6931471805599453));
  return m.select(m.lt(x, m.c(1)), m.c(kNan), m.select(m.gt(x, m.c(1e9)), large, small));
}

Value atanhOf(MathEmitter &m, Value x) {
  Value a = m.abs(x);
  Value y = m.mul(m.c(0.5), log1pOf(m, m.div(m.mul(m.c(2), a), m.sub(m.c(1), a))));
  return m.copySign(y, x);
}

//===- Powers --------------------------------------------------------------===//

// |x|^y in double precision arithmetic, with the logarithm in two parts, for finite x > 0.
Value powPositive(MathEmitter &m, Value x, Value y) {
  Split split = splitExponent(m, x);
  Value f = split.f, sum = m.add(m.c(2), f);
  Value sumLow = m.sub(f, m.sub(sum, m.c(2)));
  Value s = m.div(f, sum);
  Value sLow = m.div(m.sub(m.fma(m.neg(s), sum, f), m.mul(s, sumLow)), sum);
  Value z = m.mul(s, s);
  Value tail = m.mul(m.mul(z, s), m.poly(z, kLogRatio64));
  // log(x) = e log(2) + 2 s + tail, summed without loss: |2 s| < |e log(2)|, or e is zero.
  Value high = m.mul(split.e, m.c(0x1.62e42fefap-1));
  Value two = m.mul(m.c(2), s);
  Value total = m.add(high, two);
  Value lost = m.sub(two, m.sub(total, high));
  Value low = m.add(lost, m.fma(split.e, m.c(0x1.cf79abc9e3b398p-40), m.fma(m.c(2), sLow, tail)));
  Value l = m.add(total, low), lLow = m.sub(low, m.sub(l, total));
  Value product = m.mul(y, l);
  Value rest = m.add(m.fma(y, l, m.neg(product)), m.mul(y, lLow));
  Value bounded = m.lt(m.abs(product), m.c(800));
  rest = m.select(bounded, rest, m.c(0));
  Value clamped = m.clamp(product, -760, 720);
  Reduced reduced = reduceLog2(m, clamped);
  Value r = m.add(reduced.r, rest);
  return scale(m, m.add(m.c(1), expm1Reduced(m, r)), reduced.n);
}

Value powOf(MathEmitter &m, Value x, Value y) {
  MathEmitter wide = m.asDouble();
  Value a = m.widen(m.abs(x)), b = m.widen(y);
  // Powers of zero and infinity follow from those of numbers beyond the range.
  Value finite = wide.select(wide.eq(a, wide.c(0)), wide.c(0x1p-1022),
                             wide.select(wide.eq(a, wide.c(kInf)), wide.c(0x1.fffffffffffffp1023), a));
  Value result = m.narrow(powPositive(wide, finite, b));
  Value isZero = m.eq(x, m.c(0)), isInf = m.eq(m.abs(x), m.c(kInf));
  Value positive = m.gt(y, m.c(0));
  result = m.select(isZero, m.select(positive, m.c(0), m.c(kInf)), result);
  result = m.select(isInf, m.select(positive, m.c(kInf), m.c(0)), result);
  // y infinite.
  Value one = m.eq(m.abs(x), m.c(1));
  Value yInf = m.eq(m.abs(y), m.c(kInf));
  Value grows = m.select(positive, m.gt(m.abs(x), m.c(1)), m.lt(m.abs(x), m.c(1)));
  result = m.select(yInf, m.select(one, m.c(1), m.select(grows, m.c(kInf), m.c(0))), result);
  // Negative bases: integers only, odd ones keep the sign.
  Value whole = m.eq(m.trunc(y), y);
  Value half = m.mul(y, m.c(0.5));
  Value odd = m.andB(whole, m.andB(m.ne(m.trunc(half), half), m.lt(m.abs(y), m.c(m.isDouble() ? 0x1p53 : 0x1p24))));
  Value negative = m.signBit(x);
  Value bad = m.andB(m.andB(m.lt(x, m.c(0)), m.notB(whole)), m.notB(isInf));
  result = m.select(m.andB(negative, odd), m.neg(result), result);
  result = m.select(bad, m.c(kNan), result);
  result = m.select(m.orB(m.isNan(x), m.isNan(y)), m.c(kNan), result);
  return m.select(m.orB(m.eq(x, m.c(1)), m.eq(y, m.c(0))), m.c(1), result);
}

//===- Error function ------------------------------------------------------===//

Value erfOf(MathEmitter &m, Value x) {
  Value a = m.abs(x);
  Value z = m.mul(x, x);
  Value small = m.fma(x, m.isDouble() ? m.poly(z, kErf64) : m.poly(z, kErf32), x);
  Value t = m.min(a, m.c(m.isDouble() ? 6 : 4));
  Value q = m.isDouble() ? m.poly(t, kLogErfcWide64) : m.poly(t, kLogErfc32);
  Reduced reduced = reduceLog2(m, q);
  Value e = m.mul(m.add(m.c(1), expm1Reduced(m, reduced.r)), pow2(m, m.maxI(reduced.n, m.ci(-100))));
  Value large = m.copySign(m.sub(m.c(1), e), x);
  return m.select(m.isNan(x), x, m.select(m.lt(a, m.c(1)), small, large));
}

//===- Trigonometry --------------------------------------------------------===//

struct Angle {
  Value r;        ///< in [-pi/4, pi/4]
  Value quadrant; ///< integer
};

// Any finite float32: whole turns are taken off with a table of 2^e / (2 pi) mod 1.
Angle reduceLargeAngle(MathEmitter &m, Value x) {
  MathEmitter wide = m.asDouble();
  Value bits = m.toBits(m.abs(x));
  Value exponent = m.shrU(bits, 23);
  Value index = m.maxI(m.minI(m.subI(exponent, m.ci(127 + 14)), m.ci(113)), m.ci(0));
  Value mantissa = m.orI(m.andI(bits, m.ci(0x7fffff)), m.ci(0x800000));
  Value number = m.widen(m.fromInt(mantissa));
  Value high = m.table("tcc_turns", kTurns, m.shl(index, 1));
  Value low = m.table("tcc_turns", kTurns, m.orI(m.shl(index, 1), m.ci(1)));
  Value p = wide.mul(number, high);
  Value error = wide.fma(number, high, wide.neg(p));
  Value f = wide.sub(p, wide.roundEven(p));
  f = wide.add(f, wide.fma(number, low, error));
  f = wide.sub(f, wide.roundEven(f));
  Value q = wide.roundEven(wide.mul(f, wide.c(4)));
  Value r = wide.mul(wide.fma(q, wide.c(-0.25), f), wide.c(6.283185307179586));
  Value quadrant = m.toInt(m.narrow(q));
  Value negative = m.lt(x, m.c(0));
  Value narrow = m.narrow(r);
  return {m.select(negative, m.neg(narrow), narrow), m.select(negative, m.subI(m.ci(0), quadrant), quadrant)};
}

Angle reduceAngle(MathEmitter &m, Value x) {
  Value k = m.roundEven(m.mul(x, m.c(0.6366197723675814)));
  if (m.isDouble()) {
    k = m.clamp(k, -0x1p62, 0x1p62);
    Value r = m.fma(k, m.c(-0x1.921fb54442d18p0), x);
    r = m.fma(k, m.c(-0x1.1a62633145c07p-54), r);
    r = m.fma(k, m.c(0x1.f1976b7ed8fbcp-110), r);
    return {r, m.toInt(k)};
  }
  k = m.clamp(k, -0x1p22, 0x1p22);
  Value r = m.fma(k, m.c(-0x1.921fb6p0), x);
  r = m.fma(k, m.c(0x1.777a5cp-25), r);
  r = m.fma(k, m.c(0x1.ee59dap-50), r);
  Value quadrant = m.toInt(k);
  Value large = m.gt(m.abs(x), m.c(20000));
  Values chosen = m.ifAny(large,
                          [&](MathEmitter &inner) -> Values {
                            Angle exact = reduceLargeAngle(inner, x);
                            return {inner.select(large, exact.r, r), inner.select(large, exact.quadrant, quadrant)};
                          },
                          {r, quadrant});
  return {chosen[0], chosen[1]};
}

Value sinReduced(MathEmitter &m, Value r, Value z) {
  Value p = m.isDouble() ? m.poly(z, kSin64) : m.poly(z, kSin32);
  return m.fma(m.mul(z, r), p, r);
}

Value cosReduced(MathEmitter &m, Value z) {
  Value p = m.isDouble() ? m.poly(z, kCos64) : m.poly(z, kCos32);
  return m.fma(m.mul(z, z), p, m.fma(z, m.c(-0.5), m.c(1)));
}

Value sinCos(MathEmitter &m, Value x, int shift) {
  Angle angle = reduceAngle(m, x);
  Value z = m.mul(angle.r, angle.r);
  Value quadrant = shift ? m.addI(angle.quadrant, m.ci(shift)) : angle.quadrant;
  Value odd = m.neI(m.andI(quadrant, m.ci(1)), m.ci(0));
  Value y = m.select(odd, cosReduced(m, z), sinReduced(m, angle.r, z));
  Value negative = m.neI(m.andI(quadrant, m.ci(2)), m.ci(0));
  y = m.select(negative, m.neg(y), y);
  if (!shift)
    y = m.select(m.eq(x, m.c(0)), x, y);
  return m.select(m.lt(m.abs(x), m.c(kInf)), y, m.c(kNan));
}

Value tanOf(MathEmitter &m, Value x) {
  Angle angle = reduceAngle(m, x);
  Value z = m.mul(angle.r, angle.r);
  Value s = sinReduced(m, angle.r, z), c = cosReduced(m, z);
  Value odd = m.neI(m.andI(angle.quadrant, m.ci(1)), m.ci(0));
  Value y = m.div(m.select(odd, m.neg(c), s), m.select(odd, s, c));
  y = m.select(m.eq(x, m.c(0)), x, y);
  return m.select(m.lt(m.abs(x), m.c(kInf)), y, m.c(kNan));
}

// In [0, 1].
Value atanReduced(MathEmitter &m, Value x) {
  Value z = m.mul(x, x);
  Value p = m.isDouble() ? m.poly(z, kAtan64) : m.poly(z, kAtan32);
  return m.fma(m.mul(z, x), p, x);
}

Value atanOf(MathEmitter &m, Value x) {
  Value a = m.abs(x);
  Value big = m.gt(a, m.c(1));
  Value y = atanReduced(m, m.select(big, m.div(m.c(1), a), a));
  Value complement =
      m.add(m.sub(m.c(1.5707963267948966), y), m.c(m.isDouble() ? 6.123233995736766e-17 : -4.371139000186241e-08));
  return m.copySign(m.select(big, complement, y), x);
}

Value atan2Of(MathEmitter &m, Value y, Value x) {
  Value ay = m.abs(y), ax = m.abs(x);
  Value swapped = m.gt(ay, ax);
  Value low = m.select(swapped, ax, ay), high = m.select(swapped, ay, ax);
  Value quotient = m.div(low, high);
  quotient = m.select(m.eq(high, m.c(0)), m.c(0), quotient);
  quotient = m.select(m.andB(m.eq(low, m.c(kInf)), m.eq(high, m.c(kInf))), m.c(1), quotient);
  Value t = atanReduced(m, quotient);
  t = m.select(swapped, m.sub(m.c(1.5707963267948966), t), t);
  t = m.select(m.signBit(x), m.sub(m.c(3.141592653589793), t), t);
  t = m.copySign(t, y);
  return m.select(m.orB(m.isNan(x), m.isNan(y)), m.c(kNan), t);
}

// asin of t in [0, 1/2], with its square.
Value asinReduced(MathEmitter &m, Value t, Value z) {
  Value p = m.isDouble() ? m.poly(z, kAsin64) : m.poly(z, kAsin32);
  return m.fma(m.mul(z, t), p, t);
}

struct Arc {
  Value big, y; ///< asin of |x|, or of sqrt((1 - |x|) / 2) where |x| > 1/2
};

Arc arcOf(MathEmitter &m, Value x) {
  Value a = m.abs(x);
  Value big = m.gt(a, m.c(0.5));
  Value half = m.fma(a, m.c(-0.5), m.c(0.5));
  Value z = m.select(big, half, m.mul(a, a));
  Value t = m.select(big, m.sqrt(half), a);
  return {big, asinReduced(m, t, z)};
}

Value asinOf(MathEmitter &m, Value x) {
  Arc arc = arcOf(m, x);
  return m.copySign(m.select(arc.big, m.fma(arc.y, m.c(-2), m.c(1.5707963267948966)), arc.y), x);
}

Value acosOf(MathEmitter &m, Value x) {
  Arc arc = arcOf(m, x);
  Value negative = m.lt(x, m.c(0));
  Value twice = m.mul(m.c(2), arc.y);
  Value outer = m.select(negative, m.sub(m.c(3.141592653589793), twice), twice);
  Value inner = m.sub(m.c(1.5707963267948966), m.copySign(arc.y, x));
  return m.select(arc.big, outer, inner);
}

//===- Rounding and remainders ---------------------------------------------===//

// Halves away from zero.
Value roundOf(MathEmitter &m, Value x) {
  Value t = m.trunc(x);
  Value away = m.ge(m.abs(m.sub(x, t)), m.c(0.5));
  return m.copySign(m.add(t, m.select(away, m.copySign(m.c(1), x), m.c(0))), x);
}

// Exact: takes off multiples of y that have 24 bits of quotient at a time.
Value fmodOf(MathEmitter &m, Value x, Value y) {
  MathEmitter wide = m.asDouble();
  Value a = m.widen(m.abs(x)), d = m.widen(m.abs(y));
  Value invalid = wide.orB(m.notB(wide.lt(a, wide.c(kInf))), wide.notB(wide.gt(d, wide.c(0))));
  Value r = wide.whileAny(
      wide.select(invalid, wide.c(0), a), [&](MathEmitter &w, Value r) { return w.ge(r, d); },
      [&](MathEmitter &w, Value r) {
        // Never more than the true quotient, so that what is left stays positive.
        // Where the quotient overflows, multiples of a multiple of y go first.
        Value step = d;
        for (int i = 0; i < 2; ++i)
          step = w.select(w.eq(w.div(r, step), w.c(kInf)), w.mul(step, w.c(0x1p600)), step);
        Value q = w.mul(w.div(r, step), w.c(1 - 0x1p-50));
        q = w.fromBits(w.andI(w.toBits(q), w.ci(~((int64_t{1} << 29) - 1))));
        q = w.select(w.lt(q, w.c(0x1p23)), w.trunc(q), q);
        return w.select(w.ge(r, d), w.fma(w.neg(w.max(q, w.c(1))), step, r), r);
      });
  Value result = m.copySign(m.narrow(r), x);
  return m.select(m.widenCondition(invalid), m.c(kNan), result);
}

using Unary = Value (*)(MathEmitter &, Value);

const llvm::StringMap<Unary> &unaryFunctions() {
  static const llvm::StringMap<Unary> functions = {
      {"math.exp", [](MathEmitter &m, Value x) { return expOf(m, x); }},
      {"math.exp2", [](MathEmitter &m, Value x) { return powOf(m, m.c(2), x); }},
      {"math.expm1", expm1Of},
      {"math.log", logOf},
      {"math.log2", [](MathEmitter &m, Value x) { return m.mul(logOf(m, x), m.c(1.4426950408889634)); }},
      {"math.log10", [](MathEmitter &m, Value x) { return m.mul(logOf(m, x), m.c(0.4342944819032518)); }},
      {"math.log1p", log1pOf},
      {"math.tanh", tanhOf},
      {"math.sinh", sinhOf},
      {"math.cosh", coshOf},
      {"math.asinh", asinhOf},
      {"math.acosh", acoshOf},
      {"math.atanh", atanhOf},
      {"math.erf", erfOf},
      {"math.sin", [](MathEmitter &m, Value x) { return sinCos(m, x, 0); }},
      {"math.cos", [](MathEmitter &m, Value x) { return sinCos(m, x, 1); }},
      {"math.tan", tanOf},
      {"math.atan", atanOf},
      {"math.asin", asinOf},
      {"math.acos", acosOf},
      {"math.round", roundOf},
      {"math.rsqrt", [](MathEmitter &m, Value x) { return m.div(m.c(1), m.sqrt(x)); }},
  };
  return functions;
}

} // namespace

Value emitSigmoid(OpBuilder &b, Location loc, Value x) {
  MathEmitter m(b, loc, x.getType());
  return sigmoidOf(m, x);
}

void expandMath(Operation *root) {
  llvm::SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    if (llvm::isa_and_nonnull<math::MathDialect>(op->getDialect()) || llvm::isa<arith::RemFOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    if (op->getNumResults() != 1)
      continue;
    llvm::StringRef name = op->getName().getStringRef();
    auto unary = unaryFunctions().find(name);
    bool isUnary = unary != unaryFunctions().end();
    bool isBinary = llvm::isa<math::PowFOp, math::Atan2Op, arith::RemFOp>(op);
    Type type = op->getResult(0).getType(), element = getElementTypeOrSelf(type);
    bool half = element.isF16() || element.isBF16();
    if (!isUnary && !isBinary && !half)
      continue; // LLVM has an instruction
    if (!llvm::isa<FloatType>(element))
      continue;
    OpBuilder b(op);
    Location loc = op->getLoc();
    MathEmitter m(b, loc, half ? MathEmitter::withElement(type, b.getF32Type()) : type);
    Values operands;
    for (Value operand : op->getOperands())
      operands.push_back(half ? b.create<arith::ExtFOp>(loc, m.type(), operand).getResult() : operand);
    Value result;
    if (isUnary) {
      result = unary->second(m, operands[0]);
    } else if (llvm::isa<math::PowFOp>(op)) {
      result = powOf(m, operands[0], operands[1]);
    } else if (llvm::isa<math::Atan2Op>(op)) {
      result = atan2Of(m, operands[0], operands[1]);
    } else if (llvm::isa<arith::RemFOp>(op)) {
      result = fmodOf(m, operands[0], operands[1]);
    } else {
      if (llvm::any_of(op->getOperandTypes(), [&](Type t) { return t != type; }))
        continue;
      OperationState state(loc, op->getName(), operands, TypeRange{m.type()}, op->getAttrs());
      result = b.create(state)->getResult(0);
    }
    if (half)
      result = b.create<arith::TruncFOp>(loc, type, result);
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }
}

} // namespace tcc::codegen
