#include "runtime/dtype.h"

#include <array>

namespace tcc {
namespace {

enum class Class : uint8_t { kNone, kBool, kSigned, kUnsigned, kFloat, kComplex, kString };

struct Info {
  std::string_view name;
  int bits;
  Class kind;
};

// Indexed by the value of the enum.
constexpr std::array<Info, 27> kInfo = {{
    {"invalid", 0, Class::kNone},     {"bool", 8, Class::kBool},      {"i8", 8, Class::kSigned},
    {"i16", 16, Class::kSigned},      {"i32", 32, Class::kSigned},    {"i64", 64, Class::kSigned},
    {"u8", 8, Class::kUnsigned},      {"u16", 16, Class::kUnsigned},  {"u32", 32, Class::kUnsigned},
    {"u64", 64, Class::kUnsigned},    {"f16", 16, Class::kFloat},     {"bf16", 16, Class::kFloat},
    {"f32", 32, Class::kFloat},       {"f64", 64, Class::kFloat},     {"f8e4m3fn", 8, Class::kFloat},
    {"f8e4m3fnuz", 8, Class::kFloat}, {"f8e5m2", 8, Class::kFloat},   {"f8e5m2fnuz", 8, Class::kFloat},
    {"f8e8m0", 8, Class::kFloat},     {"f4e2m1", 4, Class::kFloat},   {"i4", 4, Class::kSigned},
    {"u4", 4, Class::kUnsigned},      {"i2", 2, Class::kSigned},      {"u2", 2, Class::kUnsigned},
    {"c64", 64, Class::kComplex},     {"c128", 128, Class::kComplex}, {"string", 0, Class::kString},
}};

const Info& Of(DType dtype) {
  const auto index = static_cast<size_t>(dtype);
  return kInfo[index < kInfo.size() ? index : 0];
}

struct Alias {
  std::string_view name;
  DType dtype;
};

// Spellings of numpy, torch, ONNX (TensorProto) and ml_dtypes.
constexpr Alias kAliases[] = {
    {"boolean", DType::kBool},
    {"int8", DType::kI8},
    {"int16", DType::kI16},
    {"short", DType::kI16},
    {"int32", DType::kI32},
    {"int", DType::kI32},
    {"int64", DType::kI64},
    {"long", DType::kI64},
    {"uint8", DType::kU8},
    {"uint16", DType::kU16},
    {"uint32", DType::kU32},
    {"uint64", DType::kU64},
    {"float16", DType::kF16},
    {"half", DType::kF16},
    {"bfloat16", DType::kBF16},
    {"float32", DType::kF32},
    {"float", DType::kF32},
    {"float64", DType::kF64},
    {"double", DType::kF64},
    {"float8e4m3fn", DType::kF8E4M3FN},
    {"float8_e4m3fn", DType::kF8E4M3FN},
    {"float8e4m3fnuz", DType::kF8E4M3FNUZ},
    {"float8_e4m3fnuz", DType::kF8E4M3FNUZ},
    {"float8e5m2", DType::kF8E5M2},
    {"float8_e5m2", DType::kF8E5M2},
    {"float8e5m2fnuz", DType::kF8E5M2FNUZ},
    {"float8_e5m2fnuz", DType::kF8E5M2FNUZ},
    {"float8e8m0", DType::kF8E8M0},
    {"float8_e8m0fnu", DType::kF8E8M0},
    {"f8e8m0fnu", DType::kF8E8M0},
    {"float4e2m1", DType::kF4E2M1},
    {"float4_e2m1fn", DType::kF4E2M1},
    {"f4e2m1fn", DType::kF4E2M1},
    {"int4", DType::kI4},
    {"uint4", DType::kU4},
    {"int2", DType::kI2},
    {"uint2", DType::kU2},
    {"complex64", DType::kC64},
    {"complex128", DType::kC128},
    {"str", DType::kString},
};

}  // namespace

std::string_view DTypeName(DType dtype) { return Of(dtype).name; }

std::optional<DType> ParseDType(std::string_view name) {
  for (size_t i = 1; i < kInfo.size(); ++i) {
    if (kInfo[i].name == name) return static_cast<DType>(i);
  }
  for (const Alias& alias : kAliases) {
    if (alias.name == name) return alias.dtype;
  }
  return std::nullopt;
}

int DTypeBits(DType dtype) { return Of(dtype).bits; }

size_t DTypeBytes(DType dtype, int64_t count) {
  const auto n = static_cast<size_t>(count);
  if (dtype == DType::kString) return n * sizeof(std::string);
  const int bits = DTypeBits(dtype);
  if (bits >= 8) return n * static_cast<size_t>(bits / 8);
  if (bits == 0) return 0;
  const auto per_byte = static_cast<size_t>(8 / bits);
  return n / per_byte + (n % per_byte != 0);
}

bool IsFloat(DType dtype) { return Of(dtype).kind == Class::kFloat; }
bool IsSignedInt(DType dtype) { return Of(dtype).kind == Class::kSigned; }
bool IsUnsignedInt(DType dtype) { return Of(dtype).kind == Class::kUnsigned; }
bool IsInteger(DType dtype) { return IsSignedInt(dtype) || IsUnsignedInt(dtype); }
bool IsComplex(DType dtype) { return Of(dtype).kind == Class::kComplex; }
bool IsPacked(DType dtype) {
  const int bits = DTypeBits(dtype);
  return bits > 0 && bits < 8;
}

}  // namespace tcc
