#include <cmath>

#include "runtime/reference/support.h"

namespace tcc::reference {

// One row of scores at a time, in float64 from the dot products on.
Results Attention(const Call& call) {
  for (int i = 0; i < 3; ++i) TCC_RETURN_IF_ERROR(CheckRank(call.inputs[i], 4, "q, k and v"));
  for (int i = 1; i < 3; ++i) TCC_RETURN_IF_ERROR(CheckDType(call.inputs[i], call.inputs[0].dtype(), "k and v"));
  TCC_ASSIGN_OR_RETURN(const Tensor q, call.inputs[0].Contiguous());
  TCC_ASSIGN_OR_RETURN(const Tensor k, call.inputs[1].Contiguous());
  TCC_ASSIGN_OR_RETURN(const Tensor v, call.inputs[2].Contiguous());
  TCC_ASSIGN_OR_RETURN(const double scale, call.attributes.Float("scale"));
  TCC_ASSIGN_OR_RETURN(const bool causal, Flag(call, "causal"));
  const std::string masked_rows = call.attributes.StringOr("masked_rows", "zero");
  if (masked_rows != "nan" && masked_rows != "zero" && masked_rows != "guarded") {
    return Invalid("masked_rows '", masked_rows, "' is none of nan, zero, guarded");
  }
  const int64_t batch = q.dim(0), heads = q.dim(1), rows = q.dim(2), depth = q.dim(3);
  const int64_t kv_heads = k.dim(1), columns = k.dim(2), width = v.dim(3);
  if (k.dim(0) != batch || v.dim(0) != batch || v.dim(1) != kv_heads || v.dim(2) != columns || k.dim(3) != depth ||
      (kv_heads == 0 ? heads != 0 : heads % kv_heads != 0)) {
    return Invalid("q ", DimsText(q.dims()), ", k ", DimsText(k.dims()), " and v ", DimsText(v.dims()),
                   " do not fit together");
  }
  Tensor mask;
  if (call.inputs[3].valid()) {
    TCC_ASSIGN_OR_RETURN(mask, BroadcastView(call.inputs[3], {batch, heads, rows, columns}));
    const bool wide = mask.dtype() == DType::kF32 && (q.dtype() == DType::kF16 || q.dtype() == DType::kBF16);
    if (mask.dtype() != DType::kBool && !wide) {
      TCC_RETURN_IF_ERROR(CheckDType(mask, q.dtype(), "a mask that is not bool"));
    }
  }
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(q.dtype(), {batch, heads, rows, width}));
  if (y.num_elements() == 0) return One(std::move(y));
  TCC_RETURN_IF_ERROR(Dispatch(Floats(), q.dtype(), [&]<typename T>() -> absl::Status {
    std::vector<double> scores(columns), sums(width);
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t h = 0; h < heads; ++h) {
        const int64_t kv = b * kv_heads + h / (heads / kv_heads);
        const T* ks = k.data_as<T>() + kv * columns * depth;
        const T* vs = v.data_as<T>() + kv * columns * width;
        for (int64_t i = 0; i < rows; ++i) {
          const T* qs = q.data_as<T>() + ((b * heads + h) * rows + i) * depth;
          const int64_t visible = causal ? std::clamp<int64_t>(i + columns - rows + 1, 0, columns) : columns;
          double max = -std::numeric_limits<double>::infinity();
          for (int64_t j = 0; j < visible; ++j) {
            double score = 0;
            for (int64_t d = 0; d < depth; ++d) score += static_cast<double>(qs[d]) * ks[j * depth + d];
            score *= scale;
            if (mask.valid()) {
              const int64_t at =
                  b * mask.strides()[0] + h * mask.strides()[1] + i * mask.strides()[2] + j * mask.strides()[3];
              if (mask.dtype() == DType::kBool) {
                if (!mask.data_as<Bool>()[at]) score = -std::numeric_limits<double>::infinity();
              } else if (mask.dtype() == DType::kF32) {
                score += mask.data_as<float>()[at];
              } else {
                score += mask.data_as<T>()[at];
              }
            }
            scores[j] = score;
            max = MaxOf(max, score);
          }
          double total = 0;
          std::fill(sums.begin(), sums.end(), 0.0);
          const bool excluded = max == -std::numeric_limits<double>::infinity();  // every key, or there is none
          if (!excluded) {
            for (int64_t j = 0; j < visible; ++j) {
              const double p = std::exp(scores[j] - max);
              total += p;
              for (int64_t d = 0; d < width; ++d) sums[d] += p * vs[j * width + d];
            }
          }
          T* ys = y.data_as<T>() + ((b * heads + h) * rows + i) * width;
          double none = 0;
          if (excluded && columns > 0 && masked_rows == "nan") none = std::numeric_limits<double>::quiet_NaN();
          const bool no_value = excluded || (masked_rows == "guarded" && std::isnan(total));
          for (int64_t d = 0; d < width; ++d) ys[d] = static_cast<T>(no_value ? none : sums[d] / total);
        }
      }
    }
    return absl::OkStatus();
  }));
  return One(std::move(y));
}

}  // namespace tcc::reference
