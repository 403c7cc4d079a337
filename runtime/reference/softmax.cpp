#include <cmath>

#include "runtime/reference/lines.h"

namespace tcc::reference {
namespace {

// Exponents are taken relative to the line's maximum, sums in float64. A line of -inf only, like one with NaN, is NaN.
Results SoftmaxOf(const Call& call, bool logarithm) {
  const Tensor& x = call.inputs[0];
  TCC_ASSIGN_OR_RETURN(const int axis, AxisAttribute(call, "axis", x.rank()));
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(x.dtype(), x.dims()));
  TCC_RETURN_IF_ERROR(Dispatch(Floats(), x.dtype(), [&]<typename T>() -> absl::Status {
    const int64_t n = x.dim(axis), dx = x.strides()[axis], dy = y.strides()[axis];
    ForEachLine(x.dims(), axis, x.strides(), y.strides(), [&](int64_t from, int64_t to) {
      const T* xs = x.data_as<T>() + from;
      T* ys = y.data_as<T>() + to;
      T max = LowestValue<T>();
      for (int64_t i = 0; i < n; ++i) max = MaxOf(max, xs[i * dx]);
      double sum = 0;
      for (int64_t i = 0; i < n; ++i) {
        const T e = std::exp(xs[i * dx] - max);
        sum += e;
        ys[i * dy] = e;
      }
      if (logarithm) {
        const T log_sum = static_cast<T>(std::log(sum));
        for (int64_t i = 0; i < n; ++i) ys[i * dy] = xs[i * dx] - max - log_sum;
      } else {
        for (int64_t i = 0; i < n; ++i) ys[i * dy] = static_cast<T>(ys[i * dy] / sum);
      }
    });
    return absl::OkStatus();
  }));
  return One(std::move(y));
}

}  // namespace

Results Softmax(const Call& call) { return SoftmaxOf(call, false); }
Results LogSoftmax(const Call& call) { return SoftmaxOf(call, true); }

}  // namespace tcc::reference
