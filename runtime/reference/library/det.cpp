#include <cmath>

#include "runtime/reference/support.h"

namespace tcc::reference {

// Determinants of the matrices in the last two axes, by elimination with partial pivoting in float64.
Results Det(const Call& call) {
  const int rank = call.inputs[0].rank();
  if (rank < 2 || call.inputs[0].dim(rank - 1) != call.inputs[0].dim(rank - 2)) {
    return Invalid("the last two axes must be equal, got extents ", DimsText(call.inputs[0].dims()));
  }
  TCC_ASSIGN_OR_RETURN(std::vector<double> m, ToVector<double>(call.inputs[0]));
  const int64_t n = call.inputs[0].dim(rank - 1);
  const Dims dims(call.inputs[0].dims().begin(), call.inputs[0].dims().end() - 2);
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(call.inputs[0].dtype(), dims));
  return Dispatch(Floats(), y.dtype(), [&]<typename T>() -> Results {
    for (int64_t b = 0; b < y.num_elements(); ++b) {
      double* a = m.data() + b * n * n;
      double det = 1;
      for (int64_t k = 0; k < n && det != 0; ++k) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < n; ++i) {
          if (std::fabs(a[i * n + k]) > std::fabs(a[pivot * n + k])) pivot = i;
        }
        det *= a[pivot * n + k];
        if (pivot != k) {
          det = -det;
          for (int64_t j = k; j < n; ++j) std::swap(a[k * n + j], a[pivot * n + j]);
        }
        for (int64_t i = k + 1; i < n && det != 0; ++i) {
          const double factor = a[i * n + k] / a[k * n + k];
          for (int64_t j = k; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
        }
      }
      y.data_as<T>()[b] = static_cast<T>(det);
    }
    return One(std::move(y));
  });
}

}  // namespace tcc::reference
