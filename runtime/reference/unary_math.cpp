// Transcendental and algebraic functions of one variable: float32 and float64 (narrow floats through float32), complex
// where the C++ library has the function.
#include <cmath>

#include "runtime/reference/pointwise.h"

namespace tcc::reference {
namespace {

template <typename F>
Results Real(const Call& call, F f) {
  const Tensor& x = call.inputs[0];
  return Dispatch(Floats(), x.dtype(), [&]<typename T>() { return MapUnary<T, T>(x, f); });
}
template <typename F>
Results RealOrComplex(const Call& call, F f) {
  const Tensor& x = call.inputs[0];
  return Dispatch(Floats() + Complexes(), x.dtype(), [&]<typename T>() { return MapUnary<T, T>(x, f); });
}

// Neither branch overflows: exp only ever sees a negative number.
template <typename T>
T SigmoidOf(T x) {
  if (x >= 0) return 1 / (1 + std::exp(-x));
  const T e = std::exp(x);
  return e / (1 + e);
}

}  // namespace

#define TCC_REAL(name, expression)                        \
  Results name(const Call& call) {                        \
    return Real(call, [](auto x) { return expression; }); \
  }
#define TCC_REAL_OR_COMPLEX(name, expression)                      \
  Results name(const Call& call) {                                 \
    return RealOrComplex(call, [](auto x) { return expression; }); \
  }

TCC_REAL_OR_COMPLEX(Sqrt, std::sqrt(x))
TCC_REAL(Rsqrt, 1 / std::sqrt(x))
TCC_REAL_OR_COMPLEX(Reciprocal, decltype(x)(1) / x)
TCC_REAL_OR_COMPLEX(Exp, std::exp(x))
TCC_REAL(Expm1, std::expm1(x))
TCC_REAL_OR_COMPLEX(Log, std::log(x))
TCC_REAL(Log1p, std::log1p(x))
TCC_REAL(Sin, std::sin(x))
TCC_REAL(Cos, std::cos(x))
TCC_REAL(Tan, std::tan(x))
TCC_REAL(Asin, std::asin(x))
TCC_REAL(Acos, std::acos(x))
TCC_REAL(Atan, std::atan(x))
TCC_REAL(Sinh, std::sinh(x))
TCC_REAL(Cosh, std::cosh(x))
TCC_REAL(Tanh, std::tanh(x))
TCC_REAL(Asinh, std::asinh(x))
TCC_REAL(Acosh, std::acosh(x))
TCC_REAL(Atanh, std::atanh(x))
TCC_REAL(Erf, std::erf(x))
TCC_REAL(Sigmoid, SigmoidOf(x))

#undef TCC_REAL
#undef TCC_REAL_OR_COMPLEX

}  // namespace tcc::reference
