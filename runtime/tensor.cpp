#include "runtime/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_join.h"
#include "runtime/dispatch.h"
#include "runtime/float_types.h"
#include "runtime/status.h"

namespace tcc {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kSlack = 64;  // kernels may read up to a vector past the last element

bool RowMajor(absl::Span<const int64_t> dims, absl::Span<const int64_t> strides) {
  int64_t expected = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] == 0) return true;
    if (dims[i] != 1 && strides[i] != expected) return false;
    expected *= dims[i];
  }
  return true;
}

// A strided copy as nested loops, neighbouring axes merged where both sides allow.
struct CopyLoop {
  Dims dims, from_strides, to_strides;

  CopyLoop(const Tensor& from, const Tensor& to) {
    for (int axis = 0; axis < from.rank(); ++axis) {
      const int64_t extent = from.dim(axis), f = from.strides()[axis], t = to.strides()[axis];
      if (extent == 1) continue;
      if (!dims.empty() && from_strides.back() == f * extent && to_strides.back() == t * extent) {
        dims.back() *= extent;
        from_strides.back() = f;
        to_strides.back() = t;
      } else {
        dims.push_back(extent);
        from_strides.push_back(f);
        to_strides.push_back(t);
      }
    }
    if (dims.empty()) {
      dims.push_back(1);
      from_strides.push_back(1);
      to_strides.push_back(1);
    }
  }

  template <typename T>
  void Run(const T* from, T* to) const {
    const size_t inner = dims.size() - 1;
    const int64_t count = dims[inner], f = from_strides[inner], t = to_strides[inner];
    Dims index(dims.size(), 0);
    while (true) {
      if constexpr (std::is_trivially_copyable_v<T>) {
        if (f == 1 && t == 1) {
          std::memcpy(to, from, sizeof(T) * static_cast<size_t>(count));
        } else {
          for (int64_t i = 0; i < count; ++i) to[i * t] = from[i * f];
        }
      } else {
        for (int64_t i = 0; i < count; ++i) to[i * t] = from[i * f];
      }
      size_t axis = inner;
      while (axis > 0) {
        --axis;
        from += from_strides[axis];
        to += to_strides[axis];
        if (++index[axis] < dims[axis]) break;
        from -= from_strides[axis] * dims[axis];
        to -= to_strides[axis] * dims[axis];
        index[axis] = 0;
        if (axis == 0) return;
      }
      if (inner == 0) return;
    }
  }
};

absl::Status OtherRank(absl::Span<const int64_t> dims, absl::Span<const int64_t> strides) {
  return absl::InvalidArgumentError(absl::StrCat(dims.size(), " extents and ", strides.size(), " strides"));
}

struct Bytes16 {
  uint64_t words[2];
};

}  // namespace

// Invalid, with a reason for Check.
Tensor MalformedTensor(const absl::Status& why) {
  Tensor tensor;
  tensor.storage_ = std::make_shared<std::string>(why.message());
  return tensor;
}

std::string TensorType::ToString() const {
  const auto one = [](std::string* out, int64_t extent) {
    extent < 0 ? absl::StrAppend(out, "?") : absl::StrAppend(out, extent);
  };
  const std::string_view name = DTypeName(dtype);
  return absl::StrCat(absl::string_view(name.data(), name.size()), "[", absl::StrJoin(dims, ",", one), "]");
}

absl::StatusOr<int64_t> NumElements(absl::Span<const int64_t> dims) {
  int64_t count = 1;
  bool overflow = false, zero = false;
  for (const int64_t extent : dims) {
    if (extent < 0) return absl::InvalidArgumentError(absl::StrCat("negative extent ", extent));
    zero |= extent == 0;
    overflow |= __builtin_mul_overflow(count, extent, &count);
  }
  if (zero) return 0;
  if (overflow) return absl::InvalidArgumentError(absl::StrCat("extents overflow: [", absl::StrJoin(dims, ","), "]"));
  return count;
}

Dims ContiguousStrides(absl::Span<const int64_t> dims) {
  Dims strides(dims.size(), 1);
  uint64_t stride = 1;  // wraps only where NumElements is an error
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>(std::max<int64_t>(dims[i], 1));
  }
  return strides;
}

absl::StatusOr<Tensor> Tensor::Allocate(DType dtype, absl::Span<const int64_t> dims) {
  if (dtype == DType::kInvalid) return absl::InvalidArgumentError("a tensor needs a dtype");
  TCC_ASSIGN_OR_RETURN(const int64_t count, NumElements(dims));
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.num_elements_ = count;
  tensor.dims_.assign(dims.begin(), dims.end());
  tensor.strides_ = ContiguousStrides(dims);
  const auto too_large = [&] {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for ", tensor.type().ToString()));
  };
  // The largest element takes 32 bytes.
  if (count > std::numeric_limits<int64_t>::max() / 64) return too_large();
  const size_t bytes = DTypeBytes(dtype, count);
  const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment + kSlack;
  void* memory = std::aligned_alloc(kAlignment, rounded);
  if (memory == nullptr) return too_large();
  tensor.data_ = memory;
  if (dtype == DType::kString) {
    auto* strings = static_cast<std::string*>(memory);
    std::uninitialized_default_construct_n(strings, count);
    tensor.storage_ = std::shared_ptr<void>(memory, [count](void* p) {
      std::destroy_n(static_cast<std::string*>(p), count);
      std::free(p);
    });
  } else {
    tensor.storage_ = std::shared_ptr<void>(memory, [](void* p) { std::free(p); });
  }
  return tensor;
}

Tensor Tensor::Wrap(void* data, DType dtype, absl::Span<const int64_t> dims, absl::Span<const int64_t> strides,
                    std::function<void()> deleter, Device device) {
  Tensor tensor;
  if (deleter) {
    tensor.storage_ = std::shared_ptr<void>(data, [deleter = std::move(deleter)](void*) { deleter(); });
  }
  const absl::StatusOr<int64_t> count = NumElements(dims);
  if (dtype == DType::kInvalid) return Tensor();
  if (!count.ok()) return MalformedTensor(count.status());
  if (!strides.empty() && strides.size() != dims.size()) return MalformedTensor(OtherRank(dims, strides));
  tensor.data_ = data;
  tensor.dtype_ = dtype;
  tensor.device_ = device;
  tensor.num_elements_ = *count;
  tensor.dims_.assign(dims.begin(), dims.end());
  if (strides.empty()) {
    tensor.strides_ = ContiguousStrides(dims);
  } else {
    tensor.strides_.assign(strides.begin(), strides.end());
  }
  return tensor;
}

absl::Status Tensor::Check() const {
  if (!valid()) {
    if (storage_ == nullptr) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("is no valid tensor (", *static_cast<const std::string*>(storage_.get()), ")"));
  }
  // (Memory of a device may begin at 0, for all we know.)
  if (num_elements_ > 0 && data_ == nullptr && device_ == Device{}) return absl::InvalidArgumentError("data is null");
  return absl::OkStatus();
}

bool Tensor::is_contiguous() const { return num_elements_ == 0 || RowMajor(dims_, strides_); }

Tensor Tensor::View(absl::Span<const int64_t> dims, absl::Span<const int64_t> strides, int64_t offset) const {
  const absl::StatusOr<int64_t> count = NumElements(dims);
  if (!valid()) return *this;
  if (!count.ok()) return MalformedTensor(count.status());
  if (dims.size() != strides.size()) return MalformedTensor(OtherRank(dims, strides));
  Tensor view;
  view.storage_ = storage_;
  view.dtype_ = dtype_;
  view.device_ = device_;
  view.num_elements_ = *count;
  view.dims_.assign(dims.begin(), dims.end());
  view.strides_.assign(strides.begin(), strides.end());
  if (dtype_ == DType::kString) {
    view.data_ = static_cast<std::string*>(data_) + offset;
  } else {
    // Packed: the offset is a whole number of bytes.
    view.data_ = static_cast<char*>(data_) + offset * DTypeBits(dtype_) / 8;
  }
  return view;
}

Tensor Tensor::Reshaped(absl::Span<const int64_t> dims) const { return View(dims, ContiguousStrides(dims), 0); }

absl::StatusOr<Tensor> Tensor::Contiguous() const {
  if (!valid() || is_contiguous()) return *this;
  return Clone();
}

absl::StatusOr<Tensor> Tensor::Clone() const {
  TCC_ASSIGN_OR_RETURN(Tensor copy, Allocate(dtype_, dims_));
  TCC_RETURN_IF_ERROR(CopyElements(*this, copy));
  return copy;
}

bool ViewFits(int64_t elements, absl::Span<const int64_t> dims, absl::Span<const int64_t> strides, int64_t offset) {
  if (dims.size() != strides.size() || offset < 0) return false;
  bool empty = false;
  for (const int64_t dim : dims) {
    if (dim < 0) return false;
    empty |= dim == 0;
  }
  // The other extents, and the strides, may be anything.
  if (empty) return offset <= elements;
  int64_t low = offset, high = offset;
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t span;
    if (__builtin_mul_overflow(dims[i] - 1, strides[i], &span)) return false;
    int64_t& end = span < 0 ? low : high;
    if (__builtin_add_overflow(end, span, &end)) return false;
  }
  return low >= 0 && high < elements;
}

absl::Status CopyElements(const Tensor& from, const Tensor& to) {
  TCC_RETURN_IF_ERROR(WithContext("cannot copy from a tensor", from.Check()));
  TCC_RETURN_IF_ERROR(WithContext("cannot copy to a tensor", to.Check()));
  if (from.dtype() != to.dtype() || from.dims() != to.dims()) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot copy ", from.type().ToString(), " to ", to.type().ToString()));
  }
  if (from.device() != Device{} || to.device() != Device{}) {
    return absl::UnimplementedError(
        "a tensor on a device cannot be copied by the host: take outputs without RunOptions::outputs_on_device");
  }
  if (from.num_elements() == 0) return absl::OkStatus();
  const bool contiguous = from.is_contiguous() && to.is_contiguous();
  if (from.dtype() == DType::kString) {
    CopyLoop(from, to).Run(from.data_as<std::string>(), to.data_as<std::string>());
    return absl::OkStatus();
  }
  if (contiguous) {
    std::memcpy(to.data(), from.data(), from.bytes());
    return absl::OkStatus();
  }
  const CopyLoop loop(from, to);
  switch (DTypeBits(from.dtype())) {
    case 8:
      loop.Run(from.data_as<uint8_t>(), to.data_as<uint8_t>());
      break;
    case 16:
      loop.Run(from.data_as<uint16_t>(), to.data_as<uint16_t>());
      break;
    case 32:
      loop.Run(from.data_as<uint32_t>(), to.data_as<uint32_t>());
      break;
    case 64:
      loop.Run(from.data_as<uint64_t>(), to.data_as<uint64_t>());
      break;
    case 128:
      loop.Run(from.data_as<Bytes16>(), to.data_as<Bytes16>());
      break;
    default:
      return absl::InvalidArgumentError("packed tensors have no strided copies");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> ToInt64s(const Tensor& tensor) {
  if (!tensor.valid()) return absl::InvalidArgumentError("an absent tensor has no values");
  if (tensor.rank() > 1 || !(IsInteger(tensor.dtype()) || tensor.dtype() == DType::kBool)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected an integer tensor of rank 0 or 1, got ", tensor.type().ToString()));
  }
  TCC_RETURN_IF_ERROR(tensor.Check());
  if (tensor.device() != Device{}) return absl::InvalidArgumentError("values of a tensor on a device cannot be read");
  const int64_t stride = tensor.rank() == 0 ? 0 : tensor.strides()[0];
  std::vector<int64_t> values(static_cast<size_t>(tensor.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = LoadInt(tensor.data(), tensor.dtype(), static_cast<int64_t>(i) * stride);
  }
  return values;
}

std::string DebugString(const Tensor& tensor, int max_elements) {
  if (const absl::Status status = tensor.Check(); !status.ok()) {
    return absl::StrCat("(", tensor.valid() ? tensor.type().ToString() + ", " : "", status.message(), ")");
  }
  if (!tensor.valid()) return "(absent)";
  std::string text = absl::StrCat(tensor.type().ToString(), " {");
  if (tensor.device() != Device{}) return absl::StrCat(text, "on a device}");
  const int64_t shown = std::min<int64_t>(tensor.num_elements(), max_elements);
  Dims index(tensor.dims().size(), 0);
  for (int64_t i = 0; i < shown; ++i) {
    int64_t offset = 0;
    for (size_t axis = 0; axis < index.size(); ++axis) offset += index[axis] * tensor.strides()[axis];
    if (i > 0) text += ", ";
    const DType dtype = tensor.dtype();
    if (dtype == DType::kString) {
      absl::StrAppend(&text, "\"", tensor.data_as<std::string>()[offset], "\"");
    } else if (dtype == DType::kU64) {
      absl::StrAppend(&text, tensor.data_as<uint64_t>()[offset]);
    } else if (IsInteger(dtype) || dtype == DType::kBool) {
      absl::StrAppend(&text, LoadInt(tensor.data(), dtype, offset));
    } else if (dtype == DType::kC64) {
      const auto z = tensor.data_as<std::complex<float>>()[offset];
      absl::StrAppend(&text, z.real(), "+", z.imag(), "i");
    } else if (dtype == DType::kC128) {
      const auto z = tensor.data_as<std::complex<double>>()[offset];
      absl::StrAppend(&text, z.real(), "+", z.imag(), "i");
    } else {
      absl::StrAppend(&text, LoadDouble(tensor.data(), dtype, offset));
    }
    for (size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < tensor.dim(static_cast<int>(axis))) break;
      index[axis] = 0;
    }
  }
  if (shown < tensor.num_elements()) text += ", ...";
  return text + "}";
}

}  // namespace tcc
