#include <algorithm>

#include "runtime/reference/support.h"

namespace tcc::reference {
namespace {

struct Box {
  float y1, x1, y2, x2;
  float Area() const { return (y2 - y1) * (x2 - x1); }
};

float IntersectionOverUnion(const Box& a, const Box& b) {
  const float height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  const float width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  if (!(height > 0 && width > 0)) return 0;
  const float shared = height * width, all = a.Area() + b.Area() - shared;
  return all > 0 ? shared / all : 0;
}

}  // namespace

// ONNX NonMaxSuppression(boxes [B, N, 4], scores [B, C, N], max_output_boxes_per_class?, iou_threshold?,
// score_threshold?; center_point_box) -> i64 [kept, 3] of (batch, class, box): exactly the kept boxes, by batch, class
// and falling score.
Results NonMaxSuppression(const Call& call) {
  TCC_RETURN_IF_ERROR(CheckDType(call.inputs[0], DType::kF32, "boxes"));
  TCC_RETURN_IF_ERROR(CheckDType(call.inputs[1], DType::kF32, "scores"));
  TCC_RETURN_IF_ERROR(CheckRank(call.inputs[0], 3, "boxes"));
  TCC_RETURN_IF_ERROR(CheckRank(call.inputs[1], 3, "scores"));
  TCC_ASSIGN_OR_RETURN(const Tensor boxes, call.inputs[0].Contiguous());
  TCC_ASSIGN_OR_RETURN(const Tensor scores, call.inputs[1].Contiguous());
  const int64_t batches = boxes.dim(0), n = boxes.dim(1), classes = scores.dim(1);
  if (boxes.dim(2) != 4 || scores.dim(0) != batches || scores.dim(2) != n) {
    return Invalid("boxes ", DimsText(boxes.dims()), " and scores ", DimsText(scores.dims()), " do not fit");
  }
  int64_t limit = 0;
  double iou_threshold = 0, score_threshold = 0;
  const bool has_score = call.inputs[4].valid();
  if (call.inputs[2].valid()) {
    TCC_ASSIGN_OR_RETURN(limit, Int64Scalar(call.inputs[2], "max_output_boxes_per_class"));
  }
  if (call.inputs[3].valid()) {
    TCC_ASSIGN_OR_RETURN(iou_threshold, DoubleScalar(call.inputs[3], "iou_threshold"));
  }
  if (has_score) {
    TCC_ASSIGN_OR_RETURN(score_threshold, DoubleScalar(call.inputs[4], "score_threshold"));
  }
  const bool center = call.attributes.IntOr("center_point_box", 0) != 0;
  std::vector<int64_t> kept;
  std::vector<Box> corners(n);
  for (int64_t b = 0; b < batches; ++b) {
    for (int64_t i = 0; i < n; ++i) {
      const float* v = boxes.data_as<float>() + (b * n + i) * 4;
      if (center) {  // x, y, width, height
        corners[i] = {v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2};
      } else {  // any two opposite corners
        corners[i] = {std::min(v[0], v[2]), std::min(v[1], v[3]), std::max(v[0], v[2]), std::max(v[1], v[3])};
      }
    }
    for (int64_t c = 0; c < classes; ++c) {
      const float* s = scores.data_as<float>() + (b * classes + c) * n;
      std::vector<int64_t> order;
      for (int64_t i = 0; i < n; ++i) {
        if (s[i] == s[i] && (!has_score || s[i] > score_threshold)) order.push_back(i);
      }
      std::sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return s[i] != s[j] ? s[i] > s[j] : i < j; });
      std::vector<int64_t> chosen;
      for (int64_t i : order) {
        if (static_cast<int64_t>(chosen.size()) >= limit) break;
        const bool suppressed = std::any_of(chosen.begin(), chosen.end(), [&](int64_t j) {
          return IntersectionOverUnion(corners[i], corners[j]) > iou_threshold;
        });
        if (!suppressed) chosen.push_back(i);
      }
      for (int64_t i : chosen) kept.insert(kept.end(), {b, c, i});
    }
  }
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(DType::kI64, {static_cast<int64_t>(kept.size()) / 3, 3}));
  std::copy(kept.begin(), kept.end(), y.data_as<int64_t>());
  return One(std::move(y));
}

// torchvision.ops.nms(boxes [N, 4] of (x1, y1, x2, y2), scores [N]; iou_threshold) -> i64 [kept], by falling score.
Results Nms(const Call& call) {
  TCC_RETURN_IF_ERROR(CheckDType(call.inputs[0], DType::kF32, "boxes"));
  TCC_RETURN_IF_ERROR(CheckDType(call.inputs[1], DType::kF32, "scores"));
  TCC_RETURN_IF_ERROR(CheckRank(call.inputs[0], 2, "boxes"));
  TCC_RETURN_IF_ERROR(CheckRank(call.inputs[1], 1, "scores"));
  TCC_ASSIGN_OR_RETURN(const Tensor boxes, call.inputs[0].Contiguous());
  TCC_ASSIGN_OR_RETURN(const Tensor scores, call.inputs[1].Contiguous());
  TCC_ASSIGN_OR_RETURN(const double threshold, call.attributes.Float("iou_threshold"));
  const int64_t n = boxes.dim(0);
  if (boxes.dim(1) != 4 || scores.dim(0) != n) return Invalid("boxes and scores do not fit");
  std::vector<int64_t> order(n), chosen;
  for (int64_t i = 0; i < n; ++i) order[i] = i;
  const float* s = scores.data_as<float>();
  std::sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    const bool nan_i = IsNanValue(s[i]), nan_j = IsNanValue(s[j]);
    if (nan_i != nan_j) return nan_i;  // NaN first, as torch sorts
    return !nan_i && s[i] != s[j] ? s[i] > s[j] : i < j;
  });
  const auto box = [&](int64_t i) {
    const float* v = boxes.data_as<float>() + i * 4;
    return Box{v[1], v[0], v[3], v[2]};
  };
  for (int64_t i : order) {
    const bool suppressed = std::any_of(chosen.begin(), chosen.end(), [&](int64_t j) {
      return IntersectionOverUnion(box(j), box(i)) > static_cast<float>(threshold);
    });
    if (!suppressed) chosen.push_back(i);
  }
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(DType::kI64, {static_cast<int64_t>(chosen.size())}));
  std::copy(chosen.begin(), chosen.end(), y.data_as<int64_t>());
  return One(std::move(y));
}

}  // namespace tcc::reference
