// Loops of elementwise kernels. `f` is a lambda that the compiler inlines into them.
#pragma once

#include "runtime/reference/support.h"

namespace tcc::reference {

// y[i] = f(x[i])
template <typename T, typename Y, typename F>
Results MapUnary(const Tensor& x, F f) {
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(DTypeOf<Y>(), x.dims()));
  for (Runs runs(x.dims(), {x.strides(), y.strides()}); runs.more(); runs.Next()) {
    const T* xs = x.data_as<T>() + runs.offset(0);
    Y* ys = y.data_as<Y>() + runs.offset(1);
    const int64_t n = runs.length(), dx = runs.step(0), dy = runs.step(1);
    for (int64_t i = 0; i < n; ++i) ys[i * dy] = f(xs[i * dx]);
  }
  return One(std::move(y));
}

// y[i] = f(a[i], b[i])
template <typename T, typename Y, typename F>
Results MapBinary(const Tensor& a, const Tensor& b, F f) {
  TCC_RETURN_IF_ERROR(CheckSameDims(a, b));
  TCC_RETURN_IF_ERROR(CheckDType(b, a.dtype(), "the second operand"));
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(DTypeOf<Y>(), a.dims()));
  for (Runs runs(a.dims(), {a.strides(), b.strides(), y.strides()}); runs.more(); runs.Next()) {
    const T* as = a.data_as<T>() + runs.offset(0);
    const T* bs = b.data_as<T>() + runs.offset(1);
    Y* ys = y.data_as<Y>() + runs.offset(2);
    const int64_t n = runs.length(), da = runs.step(0), db = runs.step(1), dy = runs.step(2);
    for (int64_t i = 0; i < n; ++i) ys[i * dy] = f(as[i * da], bs[i * db]);
  }
  return One(std::move(y));
}

}  // namespace tcc::reference
