// Ops whose results are views of the operand.
#include <optional>

#include "runtime/reference/support.h"

namespace tcc::reference {

// The plan makes outputs with it that would otherwise share memory with an input or a constant.
Results Copy(const Call& call) { return One(call.inputs[0].Clone()); }

// A view where the operand is contiguous, else a copy.
Results Reshape(const Call& call) {
  const Tensor& x = call.inputs[0];
  TCC_ASSIGN_OR_RETURN(TensorType type, ResultType(call));
  // One unknown extent follows from the others.
  int64_t known = 1;
  int unknown = -1;
  for (int axis = 0; axis < static_cast<int>(type.dims.size()); ++axis) {
    if (type.dims[axis] >= 0) {
      TCC_ASSIGN_OR_RETURN(known, CheckedMul(known, type.dims[axis]));
    } else if (unknown >= 0) {
      return Invalid("more than one extent of ", DimsText(type.dims), " is unknown");
    } else {
      unknown = axis;
    }
  }
  if (unknown >= 0) type.dims[unknown] = known == 0 ? 0 : x.num_elements() / known;
  return One(ReshapedTo(x, type.dims));
}

Results Transpose(const Call& call) {
  const Tensor& x = call.inputs[0];
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> permutation, call.attributes.Ints("permutation"));
  std::vector<bool> seen(x.rank(), false);
  bool good = static_cast<int>(permutation.size()) == x.rank();
  for (int64_t axis : permutation) {
    good = good && axis >= 0 && axis < x.rank() && !seen[axis];
    if (good) seen[axis] = true;
  }
  if (!good) return Invalid(DimsText(permutation), " is not a permutation of ", x.rank(), " axes");
  return One(PermutedView(x, permutation));
}

Results Broadcast(const Call& call) {
  TCC_ASSIGN_OR_RETURN(const TensorType type, KnownResultType(call));
  return One(BroadcastView(call.inputs[0], type.dims));
}

Results Slice(const Call& call) {
  const Tensor& x = call.inputs[0];
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> starts, call.attributes.Ints("starts"));
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> steps, call.attributes.Ints("steps"));
  TCC_ASSIGN_OR_RETURN(const TensorType type, KnownResultType(call));
  const size_t rank = x.dims().size();
  if (starts.size() != rank || steps.size() != rank || type.dims.size() != rank) {
    return Invalid("starts, steps and the result must have one entry for each of ", rank, " axes");
  }
  TCC_ASSIGN_OR_RETURN(const int64_t count, NumElements(type.dims));
  Dims strides(rank, 0);
  int64_t offset = 0;
  for (size_t axis = 0; axis < rank; ++axis) {
    const int64_t extent = x.dims()[axis], start = starts[axis], step = steps[axis], n = type.dims[axis];
    if (count == 0) continue;  // nothing is read
    TCC_ASSIGN_OR_RETURN(const int64_t span, CheckedMul(n - 1, step));
    TCC_ASSIGN_OR_RETURN(const int64_t last, CheckedAdd(start, span));
    if (start < 0 || start >= extent || last < 0 || last >= extent) {
      return OutOfRange("elements ", start, " to ", last, " of axis ", axis, " are outside its extent ", extent);
    }
    offset += start * x.strides()[axis];
    strides[axis] = n == 1 ? x.strides()[axis] : x.strides()[axis] * step;
  }
  if (count == 0) return One(Tensor::Allocate(x.dtype(), type.dims));
  return One(x.View(type.dims, strides, offset));
}

}  // namespace tcc::reference
