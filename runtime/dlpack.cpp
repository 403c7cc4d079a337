#include "runtime/dlpack.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/status.h"

// The layout that DLPack's documentation fixes (version 1.1 and, for the unversioned struct, all before it).
struct DLManagedTensor {
  struct Tensor {
    void* data;
    struct {
      int32_t type, id;
    } device;
    int32_t rank;
    struct {
      uint8_t code, bits;
      uint16_t lanes;
    } dtype;
    int64_t* shape;
    int64_t* strides;
    uint64_t byte_offset;
  };
  Tensor tensor;
  void* manager;
  void (*deleter)(DLManagedTensor* self);
};
struct DLManagedTensorVersioned {
  struct {
    uint32_t major, minor;
  } version;
  void* manager;
  void (*deleter)(DLManagedTensorVersioned* self);
  uint64_t flags;
  DLManagedTensor::Tensor tensor;
};
static_assert(sizeof(DLManagedTensor::Tensor) == 48 && sizeof(DLManagedTensor) == 64 &&
              sizeof(DLManagedTensorVersioned) == 80 && offsetof(DLManagedTensorVersioned, tensor) == 32);

namespace tcc {
namespace {

using DLTensor = DLManagedTensor::Tensor;

constexpr int32_t kHost = 1;
constexpr int32_t kCuda = 2;
// Devices whose memory the host can read as its own.
constexpr int32_t kPinnedHost[] = {3, 11};

struct TypeCode {
  uint8_t code, bits;
  DType dtype;
};
constexpr TypeCode kTypes[] = {
    {0, 8, DType::kI8},          {0, 16, DType::kI16},    {0, 32, DType::kI32},        {0, 64, DType::kI64},
    {1, 8, DType::kU8},          {1, 16, DType::kU16},    {1, 32, DType::kU32},        {1, 64, DType::kU64},
    {2, 16, DType::kF16},        {2, 32, DType::kF32},    {2, 64, DType::kF64},        {4, 16, DType::kBF16},
    {5, 64, DType::kC64},        {5, 128, DType::kC128},  {6, 8, DType::kBool},        {10, 8, DType::kF8E4M3FN},
    {11, 8, DType::kF8E4M3FNUZ}, {12, 8, DType::kF8E5M2}, {13, 8, DType::kF8E5M2FNUZ}, {14, 8, DType::kF8E8M0},
};

// A larger rank is damage.
constexpr int32_t kMostDims = 64;

absl::StatusOr<Tensor> Wrap(const DLTensor& from, std::function<void()> deleter) {
  bool host = from.device.type == kHost;
  for (const int32_t type : kPinnedHost) host |= from.device.type == type;
  const bool cuda = from.device.type == kCuda && from.device.id >= 0;
  if (!host && !cuda) {
    return absl::InvalidArgumentError(absl::StrCat("DLPack: the tensor is on a device of type ", from.device.type,
                                                   ", only memory of the host and of CUDA devices is taken"));
  }
  const Device device = cuda ? Device{DeviceType::kCuda, from.device.id} : Device{};
  DType dtype = DType::kInvalid;
  for (const TypeCode& type : kTypes) {
    if (type.code == from.dtype.code && type.bits == from.dtype.bits && from.dtype.lanes == 1) dtype = type.dtype;
  }
  if (dtype == DType::kInvalid) {
    return absl::InvalidArgumentError(absl::StrCat("DLPack: dtype code ", from.dtype.code, " of ", from.dtype.bits,
                                                   " bits and ", from.dtype.lanes, " lanes is not supported"));
  }
  if (from.rank < 0 || from.rank > kMostDims || (from.rank > 0 && from.shape == nullptr)) {
    return absl::InvalidArgumentError(absl::StrCat("DLPack: a rank of ", from.rank));
  }
  const absl::Span<const int64_t> dims(from.shape, static_cast<size_t>(from.rank));
  TCC_ASSIGN_OR_RETURN(const int64_t count, NumElements(dims));
  if (count > 0 && from.data == nullptr) return absl::InvalidArgumentError("DLPack: the tensor has no memory");
  absl::Span<const int64_t> strides;
  if (from.strides != nullptr) strides = absl::MakeConstSpan(from.strides, static_cast<size_t>(from.rank));
  return Tensor::Wrap(static_cast<char*>(from.data) + from.byte_offset, dtype, dims, strides, std::move(deleter),
                      device);
}

template <typename Managed>
absl::StatusOr<Tensor> From(Managed* managed) {
  if (managed == nullptr) return absl::InvalidArgumentError("DLPack: no tensor");
  return Wrap(managed->tensor, [managed] {
    if (managed->deleter != nullptr) managed->deleter(managed);
  });
}

template <typename Managed>
struct Holder {
  Tensor tensor;
  Managed managed;
};

template <typename Managed>
absl::StatusOr<Managed*> To(const Tensor& tensor) {
  if (!tensor.valid()) return absl::InvalidArgumentError("DLPack: an invalid tensor");
  const bool cuda = tensor.device().type == DeviceType::kCuda;
  if (tensor.device() != Device{} && !cuda) {
    return absl::InvalidArgumentError("DLPack: the tensor is on a device that DLPack has no name for");
  }
  const TypeCode* found = nullptr;
  for (const TypeCode& type : kTypes) {
    if (type.dtype == tensor.dtype()) found = &type;
  }
  // (The unversioned struct is older than these floats.)
  if (found == nullptr || (std::is_same_v<Managed, DLManagedTensor> && found->code > 6)) {
    return absl::InvalidArgumentError(
        absl::StrCat("DLPack: there is no ", std::string(DTypeName(tensor.dtype())), " in this version"));
  }
  auto holder = std::make_unique<Holder<Managed>>();
  holder->tensor = tensor;
  Managed& managed = holder->managed;
  managed = {};
  managed.manager = holder.get();
  managed.deleter = [](Managed* self) { delete static_cast<Holder<Managed>*>(self->manager); };
  DLTensor& to = managed.tensor;
  to.data = tensor.data();
  to.device.type = cuda ? kCuda : kHost;
  to.device.id = cuda ? tensor.device().index : 0;
  to.rank = tensor.rank();
  to.dtype = {found->code, found->bits, 1};
  to.shape = const_cast<int64_t*>(holder->tensor.dims().data());
  to.strides = const_cast<int64_t*>(holder->tensor.strides().data());
  return &holder.release()->managed;
}

}  // namespace

absl::StatusOr<Tensor> FromDLPack(DLManagedTensor* managed) { return From(managed); }

absl::StatusOr<Tensor> FromDLPack(DLManagedTensorVersioned* managed) {
  if (managed != nullptr && managed->version.major != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("DLPack: version ", managed->version.major, ".", managed->version.minor, ", only 1.x is known"));
  }
  return From(managed);
}

absl::StatusOr<DLManagedTensor*> ToDLPack(const Tensor& tensor) { return To<DLManagedTensor>(tensor); }

absl::StatusOr<DLManagedTensorVersioned*> ToDLPackVersioned(const Tensor& tensor) {
  TCC_ASSIGN_OR_RETURN(DLManagedTensorVersioned * managed, To<DLManagedTensorVersioned>(tensor));
  managed->version = {1, 1};
  return managed;
}

}  // namespace tcc
