// Element types of tensors: one enum covers every ONNX and torch type.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/export.h"

namespace tcc {

// The numeric values are stored in packages: append, never renumber.
enum class DType : uint8_t {
  kInvalid = 0,
  kBool = 1,  // one byte, 0 or 1
  kI8 = 2,
  kI16 = 3,
  kI32 = 4,
  kI64 = 5,
  kU8 = 6,
  kU16 = 7,
  kU32 = 8,
  kU64 = 9,
  kF16 = 10,
  kBF16 = 11,
  kF32 = 12,
  kF64 = 13,
  kF8E4M3FN = 14,
  kF8E4M3FNUZ = 15,
  kF8E5M2 = 16,
  kF8E5M2FNUZ = 17,
  kF8E8M0 = 18,
  kF4E2M1 = 19,  // packed, two a byte, low nibble first
  kI4 = 20,      // packed likewise
  kU4 = 21,      // packed likewise
  kI2 = 22,      // packed, four a byte, low bits first
  kU2 = 23,      // packed likewise
  kC64 = 24,     // two float32: real, imaginary
  kC128 = 25,
  kString = 26,  // std::string elements, host only
};

// The name used on the command line, in packages and in logs ("f32", "bf16", "u8", "bool", ...); "invalid" for
// kInvalid.
TCC_API std::string_view DTypeName(DType dtype);
// The inverse of DTypeName; also accepts numpy's and ONNX's spellings ("float32", "float", "int64", "uint8", ...).
TCC_API std::optional<DType> ParseDType(std::string_view name);

// Bits an element takes in memory; 0 for kInvalid and kString.
TCC_API int DTypeBits(DType dtype);
// Bytes that `count` contiguous elements take (packed types round up); sizeof(std::string) each for kString.
TCC_API size_t DTypeBytes(DType dtype, int64_t count);

TCC_API bool IsFloat(DType dtype);  // f16, bf16, f32, f64, f8*, f4
TCC_API bool IsSignedInt(DType dtype);
TCC_API bool IsUnsignedInt(DType dtype);
TCC_API bool IsInteger(DType dtype);  // signed or unsigned, not bool
TCC_API bool IsComplex(DType dtype);
TCC_API bool IsPacked(DType dtype);  // several elements a byte

// The dtype of a C++ type; kInvalid for one that has none. float_types.h adds the storage structs of f16, bf16, f8*,
// ...; dispatch.h goes the other way, from a dtype at run time to its C++ type.
template <typename T>
inline constexpr DType kDTypeOf = DType::kInvalid;
template <>
inline constexpr DType kDTypeOf<bool> = DType::kBool;
template <>
inline constexpr DType kDTypeOf<int8_t> = DType::kI8;
template <>
inline constexpr DType kDTypeOf<int16_t> = DType::kI16;
template <>
inline constexpr DType kDTypeOf<int32_t> = DType::kI32;
template <>
inline constexpr DType kDTypeOf<int64_t> = DType::kI64;
template <>
inline constexpr DType kDTypeOf<long long> = DType::kI64;
template <>
inline constexpr DType kDTypeOf<uint8_t> = DType::kU8;
template <>
inline constexpr DType kDTypeOf<uint16_t> = DType::kU16;
template <>
inline constexpr DType kDTypeOf<uint32_t> = DType::kU32;
template <>
inline constexpr DType kDTypeOf<uint64_t> = DType::kU64;
template <>
inline constexpr DType kDTypeOf<unsigned long long> = DType::kU64;
template <>
inline constexpr DType kDTypeOf<float> = DType::kF32;
template <>
inline constexpr DType kDTypeOf<double> = DType::kF64;
template <>
inline constexpr DType kDTypeOf<std::complex<float>> = DType::kC64;
template <>
inline constexpr DType kDTypeOf<std::complex<double>> = DType::kC128;
template <>
inline constexpr DType kDTypeOf<std::string> = DType::kString;

}  // namespace tcc
