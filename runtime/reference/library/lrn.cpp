#include <cmath>

#include "runtime/reference/convert.h"
#include "runtime/reference/support.h"

namespace tcc::reference {

// ONNX LRN(x [N, C, ..]; size, alpha 1e-4, beta 0.75, bias 1).
Results Lrn(const Call& call) {
  TCC_ASSIGN_OR_RETURN(const int64_t size, call.attributes.Int("size"));
  const double alpha = call.attributes.FloatOr("alpha", 1e-4), beta = call.attributes.FloatOr("beta", 0.75);
  const double bias = call.attributes.FloatOr("bias", 1);
  if (size < 1 || call.inputs[0].rank() < 2) return Invalid("size must be positive and the operand have channels");
  TCC_ASSIGN_OR_RETURN(const Tensor x, ConvertDType(call.inputs[0], DType::kF64));
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(DType::kF64, x.dims()));
  const int64_t channels = x.dim(1), inner = Product(Extents(x.dims()).subspan(2));
  const int64_t before = (size - 1) / 2, after = size / 2;
  for (int64_t n = 0; n < x.dim(0); ++n) {
    const double* xs = x.data_as<double>() + n * channels * inner;
    double* ys = y.data_as<double>() + n * channels * inner;
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = 0; i < inner; ++i) {
        double sum = 0;
        const int64_t last = after < channels - c ? c + after : channels - 1;
        for (int64_t k = before < c ? c - before : 0; k <= last; ++k) sum += xs[k * inner + i] * xs[k * inner + i];
        ys[c * inner + i] = xs[c * inner + i] / std::pow(bias + alpha / static_cast<double>(size) * sum, beta);
      }
    }
  }
  return One(ConvertDType(y, call.inputs[0].dtype()));
}

}  // namespace tcc::reference
