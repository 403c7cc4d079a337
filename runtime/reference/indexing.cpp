#include "runtime/reference/indexing.h"

namespace tcc::reference {

absl::StatusOr<std::vector<int64_t>> NormalizedIndices(const Tensor& indices, int64_t extent, int axis) {
  if (!IsInteger(indices.dtype()) && indices.dtype() != DType::kBool) {
    return Invalid("indices must be integers, got ", DTypeText(indices.dtype()));
  }
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> list, ToVector<int64_t>(indices));
  for (int64_t& index : list) {
    if (index < -extent || index >= extent) {
      return OutOfRange("index ", index, " is out of range for axis ", axis, " of extent ", extent);
    }
    if (index < 0) index += extent;
  }
  return list;
}

absl::Status CheckIndexedDims(const Tensor& x, const Tensor& indices, int axis) {
  TCC_RETURN_IF_ERROR(CheckRank(indices, x.rank(), "indices"));
  for (int d = 0; d < x.rank(); ++d) {
    if (d != axis && indices.dim(d) > x.dim(d)) {
      return Invalid("extents ", DimsText(indices.dims()), " of indices exceed those of the operand, ",
                     DimsText(x.dims()), ", off axis ", axis);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<TupleIndices> ReadTuples(const Tensor& x, const Tensor& indices, int64_t batch_dims) {
  if (indices.rank() == 0) return Invalid("indices must have an axis of tuples");
  if (batch_dims < 0 || batch_dims >= indices.rank() || batch_dims > x.rank()) {
    return OutOfRange("batch_dims ", batch_dims, " is out of range for ranks ", x.rank(), " and ", indices.rank());
  }
  const int batch = static_cast<int>(batch_dims);
  for (int d = 0; d < batch; ++d) {
    if (x.dim(d) != indices.dim(d)) {
      return Invalid("batch extents of ", DimsText(x.dims()), " and ", DimsText(indices.dims()), " differ");
    }
  }
  const int64_t width = indices.dim(indices.rank() - 1);
  if (width > x.rank() - batch) {
    return Invalid("tuples of ", width, " indices are too long for extents ", DimsText(x.dims()));
  }
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> list, ToVector<int64_t>(indices));
  TupleIndices tuples;
  tuples.width = static_cast<int>(width);
  const Extents outer = Extents(indices.dims()).first(indices.rank() - 1);
  TCC_ASSIGN_OR_RETURN(const int64_t count, NumElements(outer));
  tuples.offsets.reserve(count);
  size_t next = 0;
  for (Counter tuple(outer); tuple.more(); tuple.Next()) {
    int64_t offset = 0;
    for (int d = 0; d < batch; ++d) offset += tuple[d] * x.strides()[d];
    for (int64_t k = 0; k < width; ++k) {
      const int axis = batch + static_cast<int>(k);
      const int64_t index = list[next++], extent = x.dim(axis);
      if (index < -extent || index >= extent) {
        return OutOfRange("index ", index, " is out of range for axis ", axis, " of extent ", extent);
      }
      offset += (index < 0 ? index + extent : index) * x.strides()[axis];
    }
    tuples.offsets.push_back(offset);
  }
  return tuples;
}

}  // namespace tcc::reference
