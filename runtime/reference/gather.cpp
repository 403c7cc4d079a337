#include "runtime/reference/indexing.h"

namespace tcc::reference {

// y[a.., i.., b..] = x[a.., indices[i..], b..]. The copy of one b.. block is the inner loop.
Results Gather(const Call& call) {
  const Tensor& x = call.inputs[0];
  TCC_ASSIGN_OR_RETURN(const int axis, AxisAttribute(call, "axis", x.rank()));
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, NormalizedIndices(call.inputs[1], x.dim(axis), axis));
  const Extents before = Extents(x.dims()).first(axis), after = Extents(x.dims()).subspan(axis + 1);
  Dims dims(before.begin(), before.end());
  dims.insert(dims.end(), call.inputs[1].dims().begin(), call.inputs[1].dims().end());
  dims.insert(dims.end(), after.begin(), after.end());
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(x.dtype(), dims));
  if (y.num_elements() == 0) return One(std::move(y));
  const Dims packed = ContiguousStrides(after);
  const Extents after_strides = Extents(x.strides()).subspan(axis + 1);
  const int64_t block = Product(after);
  TCC_RETURN_IF_ERROR(DispatchWidth(x.dtype(), [&]<typename T>() -> absl::Status {
    T* out = y.data_as<T>();
    for (Counter outer(before); outer.more(); outer.Next()) {
      const T* base = x.data_as<T>() + outer.Offset(Extents(x.strides()).first(axis));
      for (int64_t index : indices) {
        const T* source = base + index * x.strides()[axis];
        for (Runs runs(after, {after_strides, packed}); runs.more(); runs.Next()) {
          const T* s = source + runs.offset(0);
          T* t = out + runs.offset(1);
          const int64_t n = runs.length(), step = runs.step(0);
          if (step == 1) {
            std::copy_n(s, n, t);
          } else {
            for (int64_t i = 0; i < n; ++i) t[i] = s[i * step];
          }
        }
        out += block;
      }
    }
    return absl::OkStatus();
  }));
  return One(std::move(y));
}

Results GatherElements(const Call& call) {
  const Tensor& x = call.inputs[0];
  const Tensor& indices = call.inputs[1];
  TCC_ASSIGN_OR_RETURN(const int axis, AxisAttribute(call, "axis", x.rank()));
  TCC_RETURN_IF_ERROR(CheckIndexedDims(x, indices, axis));
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> list, NormalizedIndices(indices, x.dim(axis), axis));
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(x.dtype(), indices.dims()));
  Dims others = x.strides();  // of the axes that are not indexed
  others[axis] = 0;
  const int64_t stride = x.strides()[axis];
  TCC_RETURN_IF_ERROR(DispatchWidth(x.dtype(), [&]<typename T>() -> absl::Status {
    const T* xs = x.data_as<T>();
    T* ys = y.data_as<T>();
    for (Runs runs(y.dims(), {others, y.strides()}); runs.more(); runs.Next()) {
      for (int64_t i = 0; i < runs.length(); ++i) {
        const int64_t at = runs.offset(1) + i * runs.step(1);
        ys[at] = xs[runs.offset(0) + i * runs.step(0) + list[at] * stride];
      }
    }
    return absl::OkStatus();
  }));
  return One(std::move(y));
}

// The last axis of indices holds tuples: y[b.., i.., rest..] = x[b.., tuple.., rest..] with `batch_dims` leading axes
// b.
Results GatherNd(const Call& call) {
  const Tensor& x = call.inputs[0];
  TCC_ASSIGN_OR_RETURN(const int64_t batch_dims, call.attributes.Int("batch_dims"));
  TCC_ASSIGN_OR_RETURN(const TupleIndices tuples, ReadTuples(x, call.inputs[1], batch_dims));
  const int indexed = static_cast<int>(batch_dims) + tuples.width;
  const Extents rest = Extents(x.dims()).subspan(indexed);
  const Extents outer = Extents(call.inputs[1].dims()).first(call.inputs[1].rank() - 1);
  Dims dims(outer.begin(), outer.end());
  dims.insert(dims.end(), rest.begin(), rest.end());
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(x.dtype(), dims));
  if (y.num_elements() == 0) return One(std::move(y));
  const int64_t block = Product(rest);
  const Dims rest_strides(x.strides().begin() + indexed, x.strides().end());
  for (size_t i = 0; i < tuples.offsets.size(); ++i) {
    const Tensor from = x.View(rest, rest_strides, tuples.offsets[i]);
    TCC_RETURN_IF_ERROR(CopyStrided(from, y.View(rest, ContiguousStrides(rest), static_cast<int64_t>(i) * block)));
  }
  return One(std::move(y));
}

}  // namespace tcc::reference
