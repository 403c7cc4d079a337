// Shape operations whose parameters arrive as tensors at run time (where they are constants, the dialect's own ops
// serve).
#include <algorithm>
#include <numeric>

#include "runtime/reference/pad.h"
#include "runtime/reference/scan.h"
#include "runtime/reference/support.h"
#include "runtime/reference/top_k.h"

namespace tcc::reference {
namespace {

// Axes listed in a tensor, normalised and distinct; 0..rank-1 where the tensor is absent.
absl::StatusOr<std::vector<int64_t>> ReadAxes(const Tensor& axes, int rank) {
  std::vector<int64_t> list(rank);
  if (!axes.valid()) {
    std::iota(list.begin(), list.end(), 0);
    return list;
  }
  TCC_ASSIGN_OR_RETURN(list, Int64List(axes, "axes"));
  std::vector<bool> seen(rank, false);
  for (int64_t& axis : list) {
    TCC_ASSIGN_OR_RETURN(axis, Axis(axis, rank));
    if (seen[axis]) return Invalid("axis ", axis, " is listed twice");
    seen[axis] = true;
  }
  return list;
}

}  // namespace

// ONNX Reshape: -1 is inferred, 0 copies the operand's extent at that position unless allowzero.
Results DynamicReshape(const Call& call) {
  const Tensor& x = call.inputs[0];
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> shape, Int64List(call.inputs[1], "the shape"));
  const bool allowzero = call.attributes.IntOr("allowzero", 0) != 0;
  int unknown = -1;
  int64_t known = 1;
  for (int i = 0; i < static_cast<int>(shape.size()); ++i) {
    if (shape[i] == 0 && !allowzero) {
      if (i >= x.rank()) return Invalid("0 at position ", i, " of ", DimsText(shape), " has no extent to copy");
      shape[i] = x.dim(i);
    }
    if (shape[i] == -1) {
      if (unknown >= 0) return Invalid("more than one -1 in ", DimsText(shape));
      unknown = i;
      continue;
    }
    if (shape[i] < 0) return Invalid("negative extent in ", DimsText(shape));
    TCC_ASSIGN_OR_RETURN(known, CheckedMul(known, shape[i]));
  }
  if (unknown >= 0) {
    if (known == 0) return Invalid("-1 in ", DimsText(shape), " cannot be inferred beside an extent of 0");
    shape[unknown] = x.num_elements() / known;
  }
  return One(ReshapedTo(x, shape));
}

// An extent, where another is the same: what cannot be told before the run.
Results CheckEqual(const Call& call) {
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> one, Int64List(call.inputs[0], "an extent"));
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> other, Int64List(call.inputs[1], "an extent"));
  if (one != other) {
    return Invalid(call.attributes.StringOr("message", "extents differ"), " (", DimsText(one), " and ", DimsText(other),
                   ")");
  }
  return One(call.inputs[0]);
}

// ONNX Expand: broadcasting in both directions.
Results DynamicExpand(const Call& call) {
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, Int64List(call.inputs[1], "the shape"));
  for (int64_t d : shape) {
    if (d < 0) return Invalid("negative extent in ", DimsText(shape));
  }
  TCC_ASSIGN_OR_RETURN(const Dims dims, BroadcastDims(call.inputs[0].dims(), shape));
  return One(BroadcastView(call.inputs[0], dims));
}

// ONNX Slice: starts and ends clamp to the axis, whatever their magnitude.
Results DynamicSlice(const Call& call) {
  const Tensor& x = call.inputs[0];
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> starts, Int64List(call.inputs[1], "starts"));
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> ends, Int64List(call.inputs[2], "ends"));
  std::vector<int64_t> axes(starts.size()), steps(starts.size(), 1);
  if (call.inputs[3].valid()) {
    TCC_ASSIGN_OR_RETURN(axes, ReadAxes(call.inputs[3], x.rank()));
  } else {
    std::iota(axes.begin(), axes.end(), 0);
    if (static_cast<int>(axes.size()) > x.rank()) return Invalid("more starts than the ", x.rank(), " axes");
  }
  if (call.inputs[4].valid()) {
    TCC_ASSIGN_OR_RETURN(steps, Int64List(call.inputs[4], "steps"));
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    return Invalid("starts, ends, axes and steps must be of one length");
  }
  Dims dims = x.dims(), strides = x.strides();
  int64_t offset = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t extent = x.dims()[axes[i]], step = steps[i];
    if (step == 0) return Invalid("step 0 of axis ", axes[i]);
    if (extent == 0) continue;
    const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
    // Adding the extent to a negative index cannot overflow; INT64_MIN clamps.
    const int64_t start = std::clamp(starts[i] < 0 ? starts[i] + extent : starts[i], std::max<int64_t>(low, 0), high);
    const int64_t end = std::clamp(ends[i] < 0 ? ends[i] + extent : ends[i], low, high);
    int64_t count = 0;
    if (step > 0 ? start < end : start > end) {
      // In unsigned arithmetic: step may be INT64_MIN.
      const uint64_t span = static_cast<uint64_t>(step > 0 ? end - start : start - end);
      const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
      count = static_cast<int64_t>((span - 1) / stride) + 1;
    }
    dims[axes[i]] = count;
    if (count > 0) offset += start * x.strides()[axes[i]];
    if (count > 1) strides[axes[i]] *= step;
  }
  if (Product(dims) == 0) return One(Tensor::Allocate(x.dtype(), dims));
  return One(x.View(dims, strides, offset));
}

// ONNX Pad: pads is all lows, then all highs, of the axes listed.
Results DynamicPad(const Call& call) {
  const Tensor& x = call.inputs[0];
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> pads, Int64List(call.inputs[1], "pads"));
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, ReadAxes(call.inputs[3], x.rank()));
  if (pads.size() != 2 * axes.size()) return Invalid(pads.size(), " pads for ", axes.size(), " axes");
  std::vector<int64_t> low(x.rank(), 0), high(x.rank(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    low[axes[i]] = pads[i];
    high[axes[i]] = pads[i + axes.size()];
  }
  return PadTensor(x, call.inputs[2], low, high, call.attributes.StringOr("mode", "constant"));
}

Results DynamicTile(const Call& call) {
  const Tensor& x = call.inputs[0];
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> repeats, Int64List(call.inputs[1], "repeats"));
  if (static_cast<int>(repeats.size()) != x.rank()) return Invalid(repeats.size(), " repeats for ", x.rank(), " axes");
  // y seen as [r0, d0, r1, d1, ...]: x broadcast along every r.
  Dims dims, split, strides;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (repeats[axis] < 0) return Invalid("negative repeat ", repeats[axis]);
    TCC_ASSIGN_OR_RETURN(const int64_t extent, CheckedMul(repeats[axis], x.dim(axis)));
    dims.push_back(extent);
    split.insert(split.end(), {repeats[axis], x.dim(axis)});
    strides.insert(strides.end(), {0, x.strides()[axis]});
  }
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(x.dtype(), dims));
  if (y.num_elements() != 0) TCC_RETURN_IF_ERROR(CopyStrided(x.View(split, strides, 0), y.Reshaped(split)));
  return One(std::move(y));
}

Results DynamicTopK(const Call& call) {
  const Tensor& x = call.inputs[0];
  TCC_ASSIGN_OR_RETURN(const int axis, AxisAttribute(call, "axis", x.rank(), -1));
  TCC_ASSIGN_OR_RETURN(const int64_t k, Int64Scalar(call.inputs[1], "k"));
  return TopKTensor(x, axis, k, call.attributes.IntOr("largest", 1) != 0);
}

Results DynamicScan(const Call& call) {
  const Tensor& x = call.inputs[0];
  TCC_ASSIGN_OR_RETURN(const int64_t value, Int64Scalar(call.inputs[1], "the axis"));
  TCC_ASSIGN_OR_RETURN(const int axis, Axis(value, x.rank()));
  return ScanTensor(x, call.attributes.StringOr("kind", "sum"), axis, call.attributes.IntOr("exclusive", 0) != 0,
                    call.attributes.IntOr("reverse", 0) != 0);
}

Results DynamicSqueeze(const Call& call) {
  const Tensor& x = call.inputs[0];
  std::vector<bool> drop(x.rank(), false);
  if (call.inputs[1].valid()) {
    TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, ReadAxes(call.inputs[1], x.rank()));
    for (int64_t axis : axes) {
      if (x.dims()[axis] != 1) return Invalid("axis ", axis, " of extent ", x.dims()[axis], " cannot be squeezed");
      drop[axis] = true;
    }
  } else {
    for (int axis = 0; axis < x.rank(); ++axis) drop[axis] = x.dim(axis) == 1;
  }
  Dims dims, strides;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (drop[axis]) continue;
    dims.push_back(x.dim(axis));
    strides.push_back(x.strides()[axis]);
  }
  return One(x.View(dims, strides, 0));
}

Results DynamicUnsqueeze(const Call& call) {
  const Tensor& x = call.inputs[0];
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> raw, Int64List(call.inputs[1], "axes"));
  const int rank = x.rank() + static_cast<int>(raw.size());
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, ReadAxes(call.inputs[1], rank));
  std::vector<bool> added(rank, false);
  for (int64_t axis : axes) added[axis] = true;
  Dims dims, strides;
  for (int axis = 0, next = 0; axis < rank; ++axis) {
    dims.push_back(added[axis] ? 1 : x.dim(next));
    strides.push_back(added[axis] ? 1 : x.strides()[next++]);
  }
  return One(x.View(dims, strides, 0));
}

// ONNX ConstantOfShape with the value as an operand of one element.
Results DynamicFill(const Call& call) {
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, Int64List(call.inputs[0], "the shape"));
  const Tensor& value = call.inputs[1];
  if (value.num_elements() != 1) return Invalid("the value must be one element");
  for (int64_t d : shape) {
    if (d < 0) return Invalid("negative extent in ", DimsText(shape));
  }
  TCC_RETURN_IF_ERROR(NumElements(shape).status());
  return One(value.View(shape, Dims(shape.size(), 0), 0));
}

}  // namespace tcc::reference
