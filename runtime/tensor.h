// A view of memory with a dtype, extents and strides. Copying a Tensor shares the memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/dtype.h"
#include "runtime/export.h"

namespace tcc {

using Dims = absl::InlinedVector<int64_t, 6>;

// kNull: a device that runs nothing (devices/null_device.h).
enum class DeviceType : uint8_t { kCpu = 0, kCuda = 1, kCudaSim = 2, kNull = 3 };
struct Device {
  DeviceType type = DeviceType::kCpu;
  int index = 0;
  bool operator==(const Device&) const = default;
};

// dtype and extents of a tensor; an extent of -1 is not known.
struct TCC_API TensorType {
  DType dtype = DType::kInvalid;
  Dims dims;
  bool operator==(const TensorType&) const = default;
  std::string ToString() const;  // "f32[1,3,224,224]"
};

// Number of elements; an error (not a wrapped number) where the product overflows int64 or an extent is negative.
TCC_API absl::StatusOr<int64_t> NumElements(absl::Span<const int64_t> dims);
// Row-major strides in elements. An extent of 0 counts as 1, so that strides stay positive.
TCC_API Dims ContiguousStrides(absl::Span<const int64_t> dims);

// Thread safety: as for a shared_ptr; the memory itself is not guarded.
class TCC_API Tensor {
 public:
  Tensor() = default;  // invalid: stands for an absent optional value

  // Owned, uninitialised (strings: empty), 64-byte aligned with 64 bytes of slack behind it, row-major. Errors:
  // negative or overflowing extents, no memory.
  static absl::StatusOr<Tensor> Allocate(DType dtype, absl::Span<const int64_t> dims);
  // Wraps memory of the caller. `strides` in elements; empty means row-major. `deleter` runs when the last copy goes.
  // An invalid tensor (whose deleter has run, and of which Check says why) where an extent is negative, their product
  // overflows or there are not as many strides as extents. `data` may be null where there are no elements.
  static Tensor Wrap(void* data, DType dtype, absl::Span<const int64_t> dims, absl::Span<const int64_t> strides = {},
                     std::function<void()> deleter = nullptr, Device device = {});

  // A rank-0 tensor, and a rank-1 tensor, of a C++ arithmetic type.
  template <typename T>
  static Tensor Scalar(T value);
  template <typename T>
  static Tensor Vector(absl::Span<const T> values);

  bool valid() const { return dtype_ != DType::kInvalid; }
  // Whether it may be used as it is: InvalidArgument for what Wrap or View could not make a tensor of ("is no valid
  // tensor (negative extent -3)"), and for elements without memory ("data is null"). An absent value is fine.
  absl::Status Check() const;
  DType dtype() const { return dtype_; }
  int rank() const { return static_cast<int>(dims_.size()); }
  const Dims& dims() const { return dims_; }
  int64_t dim(int axis) const { return dims_[axis]; }
  const Dims& strides() const { return strides_; }  // in elements; may be 0 (broadcast) or negative (reversed)
  int64_t num_elements() const { return num_elements_; }
  size_t bytes() const { return DTypeBytes(dtype_, num_elements_); }  // of the contiguous form
  Device device() const { return device_; }
  TensorType type() const { return {dtype_, dims_}; }

  bool is_contiguous() const;
  void* data() const { return data_; }  // the element at index (0, ..., 0)
  template <typename T>
  T* data_as() const {
    return static_cast<T*>(data_);
  }

  // Views share the memory. Offsets and strides in elements. Packed dtypes allow contiguous views only.
  // The caller answers for the view's lying inside the tensor (ViewFits).
  Tensor View(absl::Span<const int64_t> dims, absl::Span<const int64_t> strides, int64_t offset) const;
  // Contiguous tensors only: same elements, other extents (their product must be equal).
  Tensor Reshaped(absl::Span<const int64_t> dims) const;
  // Itself if contiguous, otherwise a packed row-major copy.
  absl::StatusOr<Tensor> Contiguous() const;
  // Always a fresh row-major copy.
  absl::StatusOr<Tensor> Clone() const;

  // The owner of the memory, shared by all views; null for memory wrapped without a deleter. (Of an invalid tensor: the
  // reason, for Check.)
  const std::shared_ptr<void>& storage() const { return storage_; }

 private:
  friend Tensor MalformedTensor(const absl::Status& why);

  std::shared_ptr<void> storage_;
  void* data_ = nullptr;
  DType dtype_ = DType::kInvalid;
  Device device_;
  int64_t num_elements_ = 0;
  Dims dims_;
  Dims strides_;
};

template <typename T>
Tensor Tensor::Scalar(T value) {
  static_assert(kDTypeOf<T> != DType::kInvalid);
  Tensor tensor = *Allocate(kDTypeOf<T>, {});
  *tensor.data_as<T>() = std::move(value);
  return tensor;
}

template <typename T>
Tensor Tensor::Vector(absl::Span<const T> values) {
  static_assert(kDTypeOf<T> != DType::kInvalid);
  Tensor tensor = *Allocate(kDTypeOf<T>, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) tensor.data_as<T>()[i] = values[i];
  return tensor;
}

// Whether every element of the view lies in [0, elements) of a contiguous tensor, without wrapping on the way.
TCC_API bool ViewFits(int64_t elements, absl::Span<const int64_t> dims, absl::Span<const int64_t> strides,
                      int64_t offset);
// Copies all elements; both of the same dtype and extents, of any strides (packed dtypes: contiguous), not overlapping.
TCC_API absl::Status CopyElements(const Tensor& from, const Tensor& to);

// Reads a tensor of rank <= 1 and any integer dtype (or bool) as int64.
TCC_API absl::StatusOr<std::vector<int64_t>> ToInt64s(const Tensor& tensor);
// Short text of the first elements, for logs and error messages.
TCC_API std::string DebugString(const Tensor& tensor, int max_elements = 16);

}  // namespace tcc
