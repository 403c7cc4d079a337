#include "runtime/reference/support.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_join.h"
#include "runtime/reference/convert.h"

namespace tcc::reference {

std::string DimsText(Extents dims) { return absl::StrCat("[", absl::StrJoin(dims, ","), "]"); }

Runs::Runs(Extents dims, std::initializer_list<Extents> strides) : operands_(static_cast<int>(strides.size())) {
  // Nothing to walk, and products of the other extents may be out of range.
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) {
    more_ = false;
    return;
  }
  const int rank = static_cast<int>(dims.size());
  for (int axis = 0; axis < rank; ++axis) {
    if (dims[axis] == 1) continue;
    bool merge = !dims_.empty();
    int operand = 0;
    for (Extents s : strides) {
      if (merge && strides_[operand].back() != s[axis] * dims[axis]) merge = false;
      ++operand;
    }
    operand = 0;
    for (Extents s : strides) {
      if (merge) {
        strides_[operand].back() = s[axis];
      } else {
        strides_[operand].push_back(s[axis]);
      }
      ++operand;
    }
    if (merge) {
      dims_.back() *= dims[axis];
    } else {
      dims_.push_back(dims[axis]);
    }
  }
  if (dims_.empty()) return;  // one element
  length_ = dims_.back();
  dims_.pop_back();
  for (int operand = 0; operand < operands_; ++operand) {
    steps_[operand] = strides_[operand].back();
    strides_[operand].pop_back();
  }
  index_.assign(dims_.size(), 0);
}

void Runs::Next() {
  for (int axis = static_cast<int>(dims_.size()) - 1; axis >= 0; --axis) {
    for (int operand = 0; operand < operands_; ++operand) offsets_[operand] += strides_[operand][axis];
    if (++index_[axis] < dims_[axis]) return;
    index_[axis] = 0;
    for (int operand = 0; operand < operands_; ++operand) offsets_[operand] -= strides_[operand][axis] * dims_[axis];
  }
  more_ = false;
}

Counter::Counter(Extents dims) : dims_(dims.begin(), dims.end()), index_(dims.size(), 0) {
  for (int64_t d : dims) more_ = more_ && d > 0;
}

void Counter::Next() {
  for (int axis = static_cast<int>(dims_.size()) - 1; axis >= 0; --axis) {
    if (++index_[axis] < dims_[axis]) return;
    index_[axis] = 0;
  }
  more_ = false;
}

int64_t Counter::Offset(Extents strides) const {
  int64_t offset = 0;
  for (size_t axis = 0; axis < index_.size(); ++axis) offset += index_[axis] * strides[axis];
  return offset;
}

absl::Status CopyStrided(const Tensor& from, const Tensor& to) {
  return DispatchWidth(from.dtype(), [&]<typename T>() -> absl::Status {
    const T* source = from.data_as<T>();
    T* target = to.data_as<T>();
    for (Runs runs(from.dims(), {from.strides(), to.strides()}); runs.more(); runs.Next()) {
      const T* s = source + runs.offset(0);
      T* t = target + runs.offset(1);
      const int64_t n = runs.length(), ds = runs.step(0), dt = runs.step(1);
      if (ds == 1 && dt == 1) {
        std::copy_n(s, n, t);
      } else {
        for (int64_t i = 0; i < n; ++i) t[i * dt] = s[i * ds];
      }
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<Tensor> Zeros(DType dtype, Extents dims) {
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(dtype, dims));
  if (dtype != DType::kString && y.bytes() != 0) std::memset(y.data(), 0, y.bytes());
  return y;
}

absl::StatusOr<TensorType> ResultType(const Call& call, size_t i) {
  if (i >= call.results.size()) return Invalid("the type of result ", i, " must be given");
  return call.results[i];
}

absl::StatusOr<TensorType> KnownResultType(const Call& call, size_t i) {
  TCC_ASSIGN_OR_RETURN(TensorType type, ResultType(call, i));
  for (int64_t d : type.dims) {
    if (d < 0) return Invalid("the extents of result ", i, " must be known, got ", DimsText(type.dims));
  }
  return type;
}

DType ResultDType(const Call& call, size_t i, DType fallback) {
  return i < call.results.size() && call.results[i].dtype != DType::kInvalid ? call.results[i].dtype : fallback;
}

absl::StatusOr<int> Axis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) return OutOfRange("axis ", axis, " is out of range for rank ", rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}
absl::StatusOr<int> AxisAttribute(const Call& call, const char* name, int rank) {
  TCC_ASSIGN_OR_RETURN(int64_t axis, call.attributes.Int(name));
  return Axis(axis, rank);
}
absl::StatusOr<int> AxisAttribute(const Call& call, const char* name, int rank, int64_t fallback) {
  return Axis(call.attributes.IntOr(name, fallback), rank);
}
absl::StatusOr<bool> Flag(const Call& call, const char* name) {
  TCC_ASSIGN_OR_RETURN(int64_t value, call.attributes.Int(name));
  return value != 0;
}

absl::Status CheckRank(const Tensor& x, int rank, const char* what) {
  if (x.rank() == rank) return absl::OkStatus();
  return Invalid(what, " must have rank ", rank, ", got extents ", DimsText(x.dims()));
}
absl::Status CheckSameDims(const Tensor& a, const Tensor& b) {
  if (a.dims() == b.dims()) return absl::OkStatus();
  return Invalid("operands must have equal extents, got ", DimsText(a.dims()), " and ", DimsText(b.dims()));
}
absl::Status CheckDType(const Tensor& x, DType dtype, const char* what) {
  if (x.dtype() == dtype) return absl::OkStatus();
  return Invalid(what, " must be ", DTypeText(dtype), ", got ", DTypeText(x.dtype()));
}

absl::StatusOr<int64_t> CheckedMul(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) return OutOfRange(a, " * ", b, " overflows");
  return result;
}
absl::StatusOr<int64_t> CheckedAdd(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_add_overflow(a, b, &result)) return OutOfRange(a, " + ", b, " overflows");
  return result;
}

Tensor PermutedView(const Tensor& x, Extents permutation) {
  Dims dims, strides;
  for (int64_t axis : permutation) {
    dims.push_back(x.dim(static_cast<int>(axis)));
    strides.push_back(x.strides()[axis]);
  }
  return x.View(dims, strides, 0);
}

absl::StatusOr<Tensor> BroadcastView(const Tensor& x, Extents dims) {
  const int rank = static_cast<int>(dims.size());
  const int shift = rank - x.rank();
  if (shift < 0) return Invalid("extents ", DimsText(x.dims()), " do not broadcast to ", DimsText(dims));
  Dims strides(rank, 0);
  for (int axis = 0; axis < x.rank(); ++axis) {
    const int64_t have = x.dim(axis), want = dims[axis + shift];
    if (have != want && have != 1) {
      return Invalid("extents ", DimsText(x.dims()), " do not broadcast to ", DimsText(dims));
    }
    strides[axis + shift] = have == want ? x.strides()[axis] : 0;
  }
  TCC_RETURN_IF_ERROR(NumElements(dims).status());
  return x.View(dims, strides, 0);
}

absl::StatusOr<Dims> BroadcastDims(Extents a, Extents b) {
  Dims dims(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t da = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t db = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (da != db && da != 1 && db != 1) {
      return Invalid("extents ", DimsText(a), " and ", DimsText(b), " do not broadcast together");
    }
    dims[dims.size() - 1 - i] = da == 1 ? db : da;
  }
  return dims;
}

absl::StatusOr<Tensor> ReshapedTo(const Tensor& x, Extents dims) {
  TCC_ASSIGN_OR_RETURN(int64_t count, NumElements(dims));
  if (count != x.num_elements()) {
    return Invalid(x.num_elements(), " elements of extents ", DimsText(x.dims()), " do not fit extents ",
                   DimsText(dims));
  }
  TCC_ASSIGN_OR_RETURN(Tensor packed, x.Contiguous());
  return packed.Reshaped(dims);
}

absl::StatusOr<std::vector<int64_t>> Int64List(const Tensor& x, const char* what) {
  if (!x.valid()) return Invalid(what, " is missing");
  auto list = ToInt64s(x);
  if (!list.ok()) return WithContext(what, list.status());
  return list;
}

absl::StatusOr<int64_t> Int64Scalar(const Tensor& x, const char* what) {
  if (!x.valid()) return Invalid(what, " is missing");
  if (x.num_elements() != 1) return Invalid(what, " must be one number, got extents ", DimsText(x.dims()));
  TCC_ASSIGN_OR_RETURN(Tensor flat, ReshapedTo(x, {}));
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> values, Int64List(flat, what));
  return values[0];
}

absl::StatusOr<double> DoubleScalar(const Tensor& x, const char* what) {
  if (!x.valid()) return Invalid(what, " is missing");
  if (x.num_elements() != 1) return Invalid(what, " must be one number, got extents ", DimsText(x.dims()));
  TCC_ASSIGN_OR_RETURN(std::vector<double> values, ToVector<double>(x));
  return values[0];
}

template <typename T>
absl::StatusOr<std::vector<T>> ToVector(const Tensor& x) {
  TCC_ASSIGN_OR_RETURN(Tensor wide, ConvertDType(x, DTypeOf<T>()));
  const T* data = wide.data_as<T>();
  return std::vector<T>(data, data + wide.num_elements());
}
template absl::StatusOr<std::vector<float>> ToVector(const Tensor&);
template absl::StatusOr<std::vector<double>> ToVector(const Tensor&);
template absl::StatusOr<std::vector<int64_t>> ToVector(const Tensor&);
template absl::StatusOr<std::vector<std::string>> ToVector(const Tensor&);

}  // namespace tcc::reference
