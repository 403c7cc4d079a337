#include "runtime/reference/convert.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <complex>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "runtime/reference/support.h"

namespace tcc::reference {
namespace {

// Elements pass through one of these wide types, which hold every value of the dtypes of their class exactly.
using Complex = std::complex<double>;
constexpr int64_t kBlock = 512;

// Reads n elements `step` apart as Wide. Sub-byte types are unpacked before.
template <typename Stored, typename Wide>
void Load(const void* data, int64_t offset, int64_t step, int64_t n, Wide* wide) {
  const Stored* source = static_cast<const Stored*>(data) + offset;
  for (int64_t i = 0; i < n; ++i) wide[i] = static_cast<Wide>(source[i * step]);
}

template <typename Wide, typename To>
To ToInteger(Wide value) {
  if constexpr (std::is_same_v<Wide, double>) {
    if (std::isnan(value)) return 0;
    // The bounds as doubles; the upper one is exact as "max + 1".
    constexpr double kUpper = 2.0 * static_cast<double>(uint64_t{1} << (std::numeric_limits<To>::digits - 1));
    constexpr double kLower = static_cast<double>(std::numeric_limits<To>::min());
    if (value >= kUpper) return std::numeric_limits<To>::max();
    if (value <= kLower) return std::numeric_limits<To>::min();
  }
  return static_cast<To>(value);
}

// A packed integer of `bits` bits: the low bits of the truncated number, also of a float beyond its range (as the
// ONNX node tests have it; NaN and what no int64 holds go through ToInteger).
template <typename Wide>
uint8_t ToField(Wide value, int bits) {
  return static_cast<uint8_t>(static_cast<uint64_t>(ToInteger<Wide, int64_t>(value)) & ((1u << bits) - 1));
}

std::string ToText(double value, bool single) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-INF" : "INF";
  char buffer[64];
  const auto end = single ? std::to_chars(buffer, buffer + sizeof(buffer), static_cast<float>(value)).ptr
                          : std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  return std::string(buffer, end);
}

template <typename Wide, typename To>
void StoreAs(const Wide* wide, int64_t n, To* to) {
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_integral_v<To>) {
      to[i] = ToInteger<Wide, To>(wide[i]);
    } else if constexpr (std::is_same_v<To, Bool>) {
      to[i] = wide[i] != 0;
    } else {
      to[i] = static_cast<To>(wide[i]);
    }
  }
}
template <typename Wide, typename To>
void StoreSmallFloat(const Wide* wide, int64_t n, To* to, bool saturate) {
  for (int64_t i = 0; i < n; ++i) to[i] = saturate ? To::Saturating(wide[i]) : To(wide[i]);
}

// Writes n real numbers to elements offset.. of a contiguous y.
template <typename Wide>
absl::Status Store(const Wide* wide, int64_t n, const Tensor& y, int64_t offset, DType from,
                   const ConvertOptions& options) {
  const DType to = y.dtype();
  auto* bytes = static_cast<uint8_t*>(y.data());
  switch (to) {
    case DType::kF16:
      StoreSmallFloat(wide, n, y.data_as<F16>() + offset, false);
      return absl::OkStatus();
    case DType::kBF16:
      StoreSmallFloat(wide, n, y.data_as<BF16>() + offset, false);
      return absl::OkStatus();
    case DType::kF8E4M3FN:
      StoreSmallFloat(wide, n, y.data_as<F8E4M3FN>() + offset, options.saturate);
      return absl::OkStatus();
    case DType::kF8E4M3FNUZ:
      StoreSmallFloat(wide, n, y.data_as<F8E4M3FNUZ>() + offset, options.saturate);
      return absl::OkStatus();
    case DType::kF8E5M2:
      StoreSmallFloat(wide, n, y.data_as<F8E5M2>() + offset, options.saturate);
      return absl::OkStatus();
    case DType::kF8E5M2FNUZ:
      StoreSmallFloat(wide, n, y.data_as<F8E5M2FNUZ>() + offset, options.saturate);
      return absl::OkStatus();
    case DType::kF8E8M0:
      for (int64_t i = 0; i < n; ++i) {
        y.data_as<F8E8M0>()[offset + i] = F8E8M0::From(wide[i], options.scale_rounding, options.saturate);
      }
      return absl::OkStatus();
    case DType::kF4E2M1:
      for (int64_t i = 0; i < n; ++i) StorePacked<4>(bytes, offset + i, F4E2M1(wide[i]).bits);
      return absl::OkStatus();
    case DType::kI4:
    case DType::kU4:
      for (int64_t i = 0; i < n; ++i) StorePacked<4>(bytes, offset + i, ToField(wide[i], 4));
      return absl::OkStatus();
    case DType::kI2:
    case DType::kU2:
      for (int64_t i = 0; i < n; ++i) StorePacked<2>(bytes, offset + i, ToField(wide[i], 2));
      return absl::OkStatus();
    case DType::kString:
      for (int64_t i = 0; i < n; ++i) {
        std::string& text = y.data_as<std::string>()[offset + i];
        if constexpr (std::is_same_v<Wide, double>) {
          text = ToText(wide[i], from != DType::kF64);
        } else {
          text = from == DType::kBool ? (wide[i] ? "True" : "False") : std::to_string(wide[i]);
        }
      }
      return absl::OkStatus();
    default:
      return Dispatch(Numbers() + Bools() + Complexes(), to, [&]<typename To>() -> absl::Status {
        StoreAs(wide, n, y.data_as<To>() + offset);
        return absl::OkStatus();
      });
  }
}

template <typename Wide>
using Loader = void (*)(const void*, int64_t, int64_t, int64_t, Wide*);

template <typename Wide>
absl::StatusOr<Tensor> Through(const Tensor& x, DType to, Loader<Wide> load, const ConvertOptions& options) {
  TCC_ASSIGN_OR_RETURN(Tensor y, IsPacked(to) ? Zeros(to, x.dims()) : Tensor::Allocate(to, x.dims()));
  Wide block[kBlock];
  int64_t written = 0;
  for (Runs runs(x.dims(), {x.strides()}); runs.more(); runs.Next()) {
    for (int64_t begin = 0; begin < runs.length(); begin += kBlock) {
      const int64_t n = std::min(kBlock, runs.length() - begin);
      load(x.data(), runs.offset(0) + begin * runs.step(0), runs.step(0), n, block);
      TCC_RETURN_IF_ERROR(Store(block, n, y, written, x.dtype(), options));
      written += n;
    }
  }
  return y;
}

template <int kBits>
void LoadSignedField(const void* data, int64_t offset, int64_t step, int64_t n, int64_t* wide) {
  const auto* fields = static_cast<const uint8_t*>(data) + offset;
  for (int64_t i = 0; i < n; ++i) wide[i] = SignExtend<kBits>(fields[i * step]);
}

absl::StatusOr<Tensor> FromComplex(const Tensor& x, DType to, const ConvertOptions& options) {
  if (!IsComplex(to)) {
    const bool single = x.dtype() == DType::kC64;
    Dims strides = x.strides();
    for (int64_t& s : strides) s *= 2;
    const Tensor real = Tensor::Wrap(x.data(), single ? DType::kF32 : DType::kF64, x.dims(), strides);
    return ConvertDType(real, to, options);
  }
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(to, x.dims()));
  int64_t written = 0;
  Complex block[kBlock];
  const auto load = x.dtype() == DType::kC64 ? Load<std::complex<float>, Complex> : Load<Complex, Complex>;
  for (Runs runs(x.dims(), {x.strides()}); runs.more(); runs.Next()) {
    for (int64_t begin = 0; begin < runs.length(); begin += kBlock) {
      const int64_t n = std::min(kBlock, runs.length() - begin);
      load(x.data(), runs.offset(0) + begin * runs.step(0), runs.step(0), n, block);
      if (to == DType::kC64) {
        StoreAs(block, n, y.data_as<std::complex<float>>() + written);
      } else {
        StoreAs(block, n, y.data_as<Complex>() + written);
      }
      written += n;
    }
  }
  return y;
}

absl::StatusOr<Tensor> FromStrings(const Tensor& x, DType to, const ConvertOptions& options) {
  TCC_ASSIGN_OR_RETURN(Tensor packed, x.Contiguous());
  TCC_ASSIGN_OR_RETURN(Tensor y, IsPacked(to) ? Zeros(to, x.dims()) : Tensor::Allocate(to, x.dims()));
  for (int64_t i = 0; i < packed.num_elements(); ++i) {
    const std::string& raw = packed.data_as<std::string>()[i];
    const std::string text(absl::StripAsciiWhitespace(raw));
    const char* begin = text.c_str();
    char* end = nullptr;
    bool good = !text.empty();
    if (IsFloat(to) || IsComplex(to)) {
      const double value = std::strtod(begin, &end);  // reads "NaN", "INF", "-inf" as well
      // Through float first only where the target is float32: one rounding from the text.
      const double once = to == DType::kF32 ? static_cast<double>(std::strtof(begin, nullptr)) : value;
      TCC_RETURN_IF_ERROR(Store(&once, 1, y, i, x.dtype(), options));
    } else {
      errno = 0;
      const int64_t value = std::strtoll(begin, &end, 10);
      if (errno == ERANGE && to == DType::kU64) {
        errno = 0;
        const uint64_t large = std::strtoull(begin, &end, 10);
        TCC_RETURN_IF_ERROR(Store(&large, 1, y, i, x.dtype(), options));
      } else if (good && *end != 0) {  // "3.7" to an integer: as the float it is
        const double real = std::strtod(begin, &end);
        TCC_RETURN_IF_ERROR(Store(&real, 1, y, i, x.dtype(), options));
      } else {
        TCC_RETURN_IF_ERROR(Store(&value, 1, y, i, x.dtype(), options));
      }
      good = good && errno != ERANGE;
    }
    if (!good || end == nullptr || *end != 0) {
      return Invalid("string '", raw.substr(0, 40), "' is not a number that ", DTypeText(to), " can hold");
    }
  }
  return y;
}

}  // namespace

DType WideDType(DType dtype) {
  switch (dtype) {
    case DType::kI4:
    case DType::kI2:
      return DType::kI8;
    case DType::kU4:
    case DType::kU2:
      return DType::kU8;
    case DType::kF64:
      return dtype;
    default:
      return IsFloat(dtype) ? DType::kF32 : dtype;
  }
}

absl::StatusOr<Tensor> UnpackFields(const Tensor& x) {
  if (!x.is_contiguous()) return Invalid("packed tensors must be contiguous");
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(DType::kU8, x.dims()));
  const auto* from = x.data_as<uint8_t>();
  auto* to = y.data_as<uint8_t>();
  const bool four = DTypeBits(x.dtype()) == 4;
  for (int64_t i = 0; i < x.num_elements(); ++i) to[i] = four ? LoadPacked<4>(from, i) : LoadPacked<2>(from, i);
  return y;
}

absl::StatusOr<Tensor> PackFields(const Tensor& bytes, DType packed) {
  TCC_ASSIGN_OR_RETURN(Tensor x, bytes.Contiguous());
  TCC_ASSIGN_OR_RETURN(Tensor y, Zeros(packed, x.dims()));
  const auto* from = x.data_as<uint8_t>();
  auto* to = y.data_as<uint8_t>();
  const bool four = DTypeBits(packed) == 4;
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    if (four) {
      StorePacked<4>(to, i, from[i]);
    } else {
      StorePacked<2>(to, i, from[i]);
    }
  }
  return y;
}

absl::StatusOr<Tensor> ConvertDType(const Tensor& x, DType to, const ConvertOptions& options) {
  if (x.dtype() == to) return x.Contiguous();
  if (to == DType::kInvalid) return Invalid("no dtype to convert to");
  if (x.dtype() == DType::kString) return FromStrings(x, to, options);
  if (IsComplex(x.dtype())) return FromComplex(x, to, options);
  Tensor source = x;
  if (IsPacked(x.dtype())) {
    TCC_ASSIGN_OR_RETURN(source, UnpackFields(x));
  }
  switch (x.dtype()) {
    case DType::kF32:
      return Through<double>(x, to, Load<float, double>, options);
    case DType::kF64:
      return Through<double>(x, to, Load<double, double>, options);
    case DType::kF16:
      return Through<double>(x, to, Load<F16, double>, options);
    case DType::kBF16:
      return Through<double>(x, to, Load<BF16, double>, options);
    case DType::kF8E4M3FN:
      return Through<double>(x, to, Load<F8E4M3FN, double>, options);
    case DType::kF8E4M3FNUZ:
      return Through<double>(x, to, Load<F8E4M3FNUZ, double>, options);
    case DType::kF8E5M2:
      return Through<double>(x, to, Load<F8E5M2, double>, options);
    case DType::kF8E5M2FNUZ:
      return Through<double>(x, to, Load<F8E5M2FNUZ, double>, options);
    case DType::kF8E8M0:
      return Through<double>(x, to, Load<F8E8M0, double>, options);
    case DType::kF4E2M1:
      return Through<double>(source, to, Load<F4E2M1, double>, options);
    case DType::kI4:
      return Through<int64_t>(source, to, LoadSignedField<4>, options);
    case DType::kI2:
      return Through<int64_t>(source, to, LoadSignedField<2>, options);
    case DType::kU64:
      return Through<uint64_t>(x, to, Load<uint64_t, uint64_t>, options);
    default:
      return Dispatch(Types<Bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t>(), source.dtype(),
                      [&]<typename From>() { return Through<int64_t>(source, to, Load<From, int64_t>, options); });
  }
}

}  // namespace tcc::reference
