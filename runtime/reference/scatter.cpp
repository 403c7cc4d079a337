#include "runtime/reference/indexing.h"

namespace tcc::reference {
namespace {

// Calls f with the combiner of `kind` as a lambda (T old, T update) -> T.
template <typename T, typename F>
absl::Status WithCombiner(const std::string& kind, F f) {
  const auto assign = [](const T&, const T& update) { return update; };
  if constexpr (std::is_same_v<T, std::string>) {
    if (kind == "assign") return f(assign);
    return absl::UnimplementedError(absl::StrCat("kind '", kind, "' is not supported for strings"));
  } else {
    if (kind == "assign") return f(assign);
    if constexpr (std::is_same_v<T, Bool>) {
      if (kind == "add" || kind == "max") return f([](T a, T b) -> T { return a || b; });
      if (kind == "mul" || kind == "min") return f([](T a, T b) -> T { return a && b; });
    } else {
      if (kind == "add") return f([](T a, T b) { return WrapAdd(a, b); });
      if (kind == "mul") return f([](T a, T b) { return WrapMul(a, b); });
      if constexpr (!kIsComplex<T>) {
        if (kind == "max") return f([](T a, T b) { return MaxOf(a, b); });
        if (kind == "min") return f([](T a, T b) { return MinOf(a, b); });
      }
    }
    return Invalid("kind '", kind, "' is none of assign, add, mul, max, min");
  }
}

absl::StatusOr<Tensor> CopyOf(const Call& call) {
  TCC_RETURN_IF_ERROR(CheckDType(call.inputs[2], call.inputs[0].dtype(), "updates"));
  return call.inputs[0].Clone();
}

constexpr auto kTypes = [] { return Numbers() + Bools() + Strings() + Complexes(); };

}  // namespace

// Updates of one element are combined in row-major order of the indices.
Results ScatterElements(const Call& call) {
  const Tensor& x = call.inputs[0];
  const Tensor& indices = call.inputs[1];
  const Tensor& updates = call.inputs[2];
  TCC_ASSIGN_OR_RETURN(const int axis, AxisAttribute(call, "axis", x.rank()));
  TCC_ASSIGN_OR_RETURN(const std::string kind, call.attributes.String("kind"));
  TCC_RETURN_IF_ERROR(CheckIndexedDims(x, indices, axis));
  TCC_RETURN_IF_ERROR(CheckSameDims(indices, updates));
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> list, NormalizedIndices(indices, x.dim(axis), axis));
  TCC_ASSIGN_OR_RETURN(Tensor y, CopyOf(call));
  Dims others = y.strides();
  others[axis] = 0;
  const int64_t stride = y.strides()[axis];
  const Dims packed = ContiguousStrides(indices.dims());
  TCC_RETURN_IF_ERROR(Dispatch(kTypes(), x.dtype(), [&]<typename T>() {
    return WithCombiner<T>(kind, [&](auto combine) -> absl::Status {
      T* ys = y.data_as<T>();
      const T* us = updates.data_as<T>();
      for (Runs runs(indices.dims(), {others, updates.strides(), packed}); runs.more(); runs.Next()) {
        for (int64_t i = 0; i < runs.length(); ++i) {
          T& target = ys[runs.offset(0) + i * runs.step(0) + list[runs.offset(2) + i * runs.step(2)] * stride];
          target = combine(target, us[runs.offset(1) + i * runs.step(1)]);
        }
      }
      return absl::OkStatus();
    });
  }));
  return One(std::move(y));
}

Results ScatterNd(const Call& call) {
  const Tensor& x = call.inputs[0];
  const Tensor& indices = call.inputs[1];
  const Tensor& updates = call.inputs[2];
  TCC_ASSIGN_OR_RETURN(const std::string kind, call.attributes.String("kind"));
  TCC_ASSIGN_OR_RETURN(Tensor y, CopyOf(call));
  TCC_ASSIGN_OR_RETURN(const TupleIndices tuples, ReadTuples(y, indices, 0));
  const Extents rest = Extents(y.dims()).subspan(tuples.width);
  Dims expected(indices.dims().begin(), indices.dims().end() - 1);
  expected.insert(expected.end(), rest.begin(), rest.end());
  if (updates.dims() != expected) {
    return Invalid("updates must have extents ", DimsText(expected), ", got ", DimsText(updates.dims()));
  }
  if (updates.num_elements() == 0) return One(std::move(y));
  TCC_ASSIGN_OR_RETURN(const Tensor packed, updates.Contiguous());
  const int64_t block = Product(rest);
  TCC_RETURN_IF_ERROR(Dispatch(kTypes(), x.dtype(), [&]<typename T>() {
    return WithCombiner<T>(kind, [&](auto combine) -> absl::Status {
      const T* us = packed.data_as<T>();
      for (int64_t offset : tuples.offsets) {
        T* ys = y.data_as<T>() + offset;  // y is row-major: the rest of its axes is one block
        for (int64_t i = 0; i < block; ++i) ys[i] = combine(ys[i], us[i]);
        us += block;
      }
      return absl::OkStatus();
    });
  }));
  return One(std::move(y));
}

}  // namespace tcc::reference
