#include "runtime/dispatch.h"

namespace tcc {

int64_t LoadInt(const void* data, DType dtype, int64_t index) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  int64_t value = 0;
  switch (dtype) {
    case DType::kBool:
      return bytes[index] != 0;
    case DType::kI4:
      return SignExtend<4>(LoadPacked<4>(bytes, index));
    case DType::kU4:
      return LoadPacked<4>(bytes, index);
    case DType::kI2:
      return SignExtend<2>(LoadPacked<2>(bytes, index));
    case DType::kU2:
      return LoadPacked<2>(bytes, index);
    default:
      DispatchInteger(dtype, [&]<typename T>() -> absl::Status {
        value = static_cast<int64_t>(static_cast<const T*>(data)[index]);
        return absl::OkStatus();
      }).IgnoreError();
      return value;
  }
}

double LoadDouble(const void* data, DType dtype, int64_t index) {
  if (dtype == DType::kU64) return static_cast<double>(static_cast<const uint64_t*>(data)[index]);
  if (!IsFloat(dtype)) return static_cast<double>(LoadInt(data, dtype, index));
  if (dtype == DType::kF4E2M1) {
    return static_cast<double>(F4E2M1::FromBits(LoadPacked<4>(static_cast<const uint8_t*>(data), index)));
  }
  double value = 0;
  DispatchFloat(dtype, [&]<typename T>() -> absl::Status {
    value = static_cast<double>(static_cast<const T*>(data)[index]);
    return absl::OkStatus();
  }).IgnoreError();
  return value;
}

void StoreInt(void* data, DType dtype, int64_t index, int64_t value) {
  auto* bytes = static_cast<uint8_t*>(data);
  switch (dtype) {
    case DType::kBool:
      bytes[index] = value != 0;
      return;
    case DType::kI4:
    case DType::kU4:
      return StorePacked<4>(bytes, index, static_cast<uint8_t>(value));
    case DType::kI2:
    case DType::kU2:
      return StorePacked<2>(bytes, index, static_cast<uint8_t>(value));
    case DType::kF4E2M1:
      return StorePacked<4>(bytes, index, F4E2M1(value).bits);
    default:
      DispatchNumber(dtype, [&]<typename T>() -> absl::Status {
        static_cast<T*>(data)[index] = static_cast<T>(value);
        return absl::OkStatus();
      }).IgnoreError();
  }
}

void StoreDouble(void* data, DType dtype, int64_t index, double value) {
  if (dtype == DType::kF4E2M1) {
    return StorePacked<4>(static_cast<uint8_t*>(data), index, F4E2M1(value).bits);
  }
  DispatchFloat(dtype, [&]<typename T>() -> absl::Status {
    static_cast<T*>(data)[index] = static_cast<T>(value);
    return absl::OkStatus();
  }).IgnoreError();
}

}  // namespace tcc
