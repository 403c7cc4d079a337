#include <cmath>

#include "runtime/reference/support.h"

namespace tcc::reference {
namespace {

// Statistics in float64, in two passes: the variance is the mean of squared deviations, so that a large mean does not
// cancel.
Results Normalized(const Call& call, bool subtract_mean) {
  TCC_ASSIGN_OR_RETURN(const Tensor x, call.inputs[0].Contiguous());
  TCC_ASSIGN_OR_RETURN(const int64_t attribute, call.attributes.Int("axis"));
  TCC_ASSIGN_OR_RETURN(const double epsilon, call.attributes.Float("epsilon"));
  TCC_ASSIGN_OR_RETURN(const int axis, Axis(attribute, x.rank()));
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(x.dtype(), x.dims()));
  const int64_t n = Product(Extents(x.dims()).subspan(axis));
  TCC_RETURN_IF_ERROR(Dispatch(Floats(), x.dtype(), [&]<typename T>() -> absl::Status {
    for (int64_t begin = 0; begin < x.num_elements(); begin += n) {
      const T* xs = x.data_as<T>() + begin;
      T* ys = y.data_as<T>() + begin;
      double mean = 0;
      if (subtract_mean) {
        for (int64_t i = 0; i < n; ++i) mean += xs[i];
        mean /= static_cast<double>(n);
      }
      double squares = 0;
      for (int64_t i = 0; i < n; ++i) squares += (xs[i] - mean) * (xs[i] - mean);
      const double scale = 1 / std::sqrt(squares / static_cast<double>(n) + epsilon);
      for (int64_t i = 0; i < n; ++i) ys[i] = static_cast<T>((xs[i] - mean) * scale);
    }
    return absl::OkStatus();
  }));
  return One(std::move(y));
}

}  // namespace

Results LayerNorm(const Call& call) { return Normalized(call, true); }
Results RmsNorm(const Call& call) { return Normalized(call, false); }

}  // namespace tcc::reference
