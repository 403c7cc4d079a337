#include <cmath>

#include "runtime/reference/support.h"

namespace tcc::reference {

Results Resize(const Call& call);  // resize.cpp

// ONNX Resize(x, roi?, scales?, sizes?) with scales or sizes known at run time only: works out the extents and calls
// resize. Attributes: those of tcc.resize but scales and roi, and ONNX's axes and keep_aspect_ratio_policy (stretch,
// not_larger, not_smaller).
Results DynamicResize(const Call& call) {
  const Tensor& x = call.inputs[0];
  const int rank = x.rank();
  std::vector<int64_t> axes = call.attributes.IntsOr("axes", {});
  if (!call.attributes.Has("axes")) {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  }
  for (int64_t& axis : axes) {
    TCC_ASSIGN_OR_RETURN(axis, Axis(axis, rank));
  }
  const size_t count = axes.size();
  std::vector<double> scales(rank, 1), roi(2 * rank, 0);
  std::fill(roi.begin() + rank, roi.end(), 1);
  Dims dims = x.dims();
  if (call.inputs[1].valid() && call.inputs[1].num_elements() != 0) {
    TCC_ASSIGN_OR_RETURN(const std::vector<double> listed, ToVector<double>(call.inputs[1]));
    if (listed.size() != 2 * count) return Invalid(listed.size(), " entries of roi for ", count, " axes");
    for (size_t i = 0; i < count; ++i) {
      roi[axes[i]] = listed[i];
      roi[axes[i] + rank] = listed[i + count];
    }
  }
  const auto extent = [](double size) -> absl::StatusOr<int64_t> {
    if (!(size >= 0 && size < 1e15)) return OutOfRange("extent ", size);
    return static_cast<int64_t>(size);
  };
  if (call.inputs[3].valid() && call.inputs[3].num_elements() != 0) {
    TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, Int64List(call.inputs[3], "sizes"));
    if (sizes.size() != count) return Invalid(sizes.size(), " sizes for ", count, " axes");
    const std::string policy = call.attributes.StringOr("keep_aspect_ratio_policy", "stretch");
    if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller") {
      return Invalid("keep_aspect_ratio_policy '", policy, "' is none of stretch, not_larger, not_smaller");
    }
    double common = policy == "not_larger" ? std::numeric_limits<double>::infinity() : 0;
    for (size_t i = 0; i < count; ++i) {
      if (sizes[i] < 0) return Invalid("negative size ", sizes[i]);
      const auto in = static_cast<double>(x.dims()[axes[i]]);
      const double scale = in == 0 ? 1 : static_cast<double>(sizes[i]) / in;
      scales[axes[i]] = scale;
      dims[axes[i]] = sizes[i];
      common = policy == "not_larger" ? std::min(common, scale) : std::max(common, scale);
    }
    for (size_t i = 0; policy != "stretch" && i < count; ++i) {
      scales[axes[i]] = common;
      TCC_ASSIGN_OR_RETURN(dims[axes[i]], extent(std::floor(common * static_cast<double>(x.dims()[axes[i]]) + 0.5)));
    }
  } else {
    if (!call.inputs[2].valid()) return Invalid("one of scales and sizes must be given");
    TCC_ASSIGN_OR_RETURN(const std::vector<double> listed, ToVector<double>(call.inputs[2]));
    if (listed.size() != count) return Invalid(listed.size(), " scales for ", count, " axes");
    for (size_t i = 0; i < count; ++i) {
      const auto in = static_cast<double>(x.dims()[axes[i]]);
      // The result's extent in float64 of the float32 scale, as ONNX's own inference has it.
      scales[axes[i]] = listed[i];
      TCC_ASSIGN_OR_RETURN(dims[axes[i]], extent(std::floor(listed[i] * in)));
    }
  }
  for (double& scale : scales) {
    if (scale == 0) scale = 1;  // an empty axis: there is nothing to sample
  }
  Attributes attributes = call.attributes;
  attributes.Set("scales", scales);
  attributes.Set("roi", roi);
  const TensorType type{x.dtype(), dims};
  return Resize(Call{call.inputs.first(1), attributes, absl::MakeConstSpan(&type, 1)});
}

}  // namespace tcc::reference
