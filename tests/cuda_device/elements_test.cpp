// Vectors, conversions and atomics.
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "runtime/float_types.h"
#include "tests/cuda_device/device_test.h"

namespace tcc::sim {
namespace {

class Elements : public DeviceTest {
 protected:
  Kernels kernels_{"elements", GetParam()};
};

TEST_P(Elements, VectorsOfEverySize) {
  std::vector<unsigned char> bytes(2048);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 7 + i / 256);
  Buffer<unsigned char> x(bytes), y(2048, 0);
  ASSERT_EQ(kernels_.Run("copy_vec_sizes", {1}, {64}, x.get(), y.get()), absl::OkStatus());
  const auto copied = [](size_t i) { return i < 192 || (i >= 256 && i < 2048); };
  for (size_t i = 0; i < bytes.size(); ++i) ASSERT_EQ(y[i], copied(i) ? bytes[i] : 0) << i;
}

TEST_P(Elements, VectorsOfHalves) {
  Buffer<uint16_t> x(1000), y(1000, uint16_t{0});
  for (int i = 0; i < 1000; ++i) x[i] = F16(static_cast<float>(i)).bits;
  ASSERT_EQ(kernels_.Run("copy_vec16", {4}, {32}, x.get(), y.get(), 1000), absl::OkStatus());
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(y[i], F16(2.0f * static_cast<float>(i)).bits);
}

TEST_P(Elements, Floats16) {
  std::vector<uint16_t> bits(65536);
  std::iota(bits.begin(), bits.end(), uint16_t{0});
  Buffer<uint16_t> x(bits), f16_back(65536), bf16_back(65536);
  Buffer<float> f16(65536), bf16(65536);
  ASSERT_EQ(kernels_.Run("from_16", {256}, {256}, x.get(), f16.get(), bf16.get()), absl::OkStatus());
  ASSERT_EQ(kernels_.Run("to_16", {256}, {256}, f16.get(), f16_back.get(), bf16_back.get()), absl::OkStatus());
  for (int i = 0; i < 65536; ++i) {
    // Sign, exponent and mantissa as IEEE 754 has them.
    const int exponent = i >> 10 & 31, mantissa = i & 1023;
    double expected = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    if (exponent == 31) expected = mantissa != 0 ? NAN : INFINITY;
    if (i >> 15) expected = -expected;
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(f16[i]));
      ASSERT_EQ(f16_back[i] & 0x7c00, 0x7c00);
      ASSERT_NE(f16_back[i] & 0x3ff, 0);
    } else {
      ASSERT_EQ(f16[i], static_cast<float>(expected));
      ASSERT_EQ(f16_back[i], i);
    }
    ASSERT_EQ(std::bit_cast<uint32_t>(bf16[i]), static_cast<uint32_t>(i) << 16);
  }
}

// Halfway cases go to the even neighbour; what is beyond the greatest number and half a unit is infinite.
TEST_P(Elements, RoundingTo16Bits) {
  const std::vector<float> values = {1.0f + 0x1p-11f,
                                     1.0f + 3 * 0x1p-11f,
                                     std::nextafter(1.0f + 0x1p-11f, 2.0f),
                                     65519.0f,
                                     65520.0f,
                                     0x1p-25f,
                                     0x1.8p-25f,
                                     -0x1p-14f,
                                     1.0f + 0x1p-8f,
                                     1.0f + 3 * 0x1p-8f,
                                     std::nextafter(1.0f + 0x1p-8f, 2.0f),
                                     3.4e38f,
                                     std::numeric_limits<float>::max(),
                                     0x1p-149f,
                                     NAN,
                                     -INFINITY};
  const uint16_t f16[] = {0x3c00, 0x3c02, 0x3c01, 0x7bff, 0x7c00, 0x0000, 0x0001, 0x8400,
                          0x3c04, 0x3c0c, 0x3c04, 0x7c00, 0x7c00, 0x0000, 0,      0xfc00};
  const uint16_t bf16[] = {0x3f80, 0x3f80, 0x3f80, 0x4780, 0x4780, 0x3300, 0x3340, 0xb880,
                           0x3f80, 0x3f82, 0x3f81, 0x7f80, 0x7f80, 0x0000, 0,      0xff80};
  Buffer<float> x(values);
  Buffer<uint16_t> f(16), b(16);
  ASSERT_EQ(kernels_.Run("to_16", {1}, {16}, x.get(), f.get(), b.get()), absl::OkStatus());
  for (int i = 0; i < 16; ++i) {
    if (std::isnan(values[i])) {
      EXPECT_GT(f[i] & 0x7fff, 0x7c00);
      EXPECT_GT(b[i] & 0x7fff, 0x7f80);
      continue;
    }
    EXPECT_EQ(f[i], f16[i]) << values[i];
    EXPECT_EQ(b[i], i == 11 ? 0x7f80 : bf16[i]) << values[i];
  }
}

// The four 8-bit formats, as OCP's and ONNX's tables define them.
struct Format {
  int exponent_bits, mantissa_bits, bias;
  bool finite, fnuz;
};
constexpr Format kFormats[] = {
    {4, 3, 7, true, false}, {4, 3, 8, true, true}, {5, 2, 15, false, false}, {5, 2, 16, true, true}};

double Value(const Format& f, int bits) {
  const int exponent = (bits & 127) >> f.mantissa_bits, mantissa = bits & ((1 << f.mantissa_bits) - 1);
  const int top = (1 << f.exponent_bits) - 1, ones = (1 << f.mantissa_bits) - 1;
  if (f.fnuz) {
    if (bits == 128) return NAN;
  } else if (f.finite) {
    if (exponent == top && mantissa == ones) return NAN;
  } else if (exponent == top) {
    return mantissa != 0 ? NAN : bits >= 128 ? -INFINITY : INFINITY;
  }
  const double magnitude = exponent == 0
                               ? std::ldexp(mantissa, 1 - f.bias - f.mantissa_bits)
                               : std::ldexp((1 << f.mantissa_bits) + mantissa, exponent - f.bias - f.mantissa_bits);
  return bits >= 128 ? -magnitude : magnitude;
}

TEST_P(Elements, Floats8ToFloat) {
  Buffer<float> out(1024);
  ASSERT_EQ(kernels_.Run("from_8", {1}, {256}, out.get()), absl::OkStatus());
  for (int f = 0; f < 4; ++f) {
    for (int bits = 0; bits < 256; ++bits) {
      const double expected = Value(kFormats[f], bits);
      const float got = out[256 * f + bits];
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(got)) << f << " " << bits;
      } else {
        ASSERT_EQ(got, static_cast<float>(expected)) << f << " " << bits;
        ASSERT_EQ(std::signbit(got), std::signbit(expected) && (expected != 0 || !kFormats[f].fnuz))
            << f << " " << bits;
      }
    }
  }
}

TEST_P(Elements, FloatToFloats8) {
  // All numbers of all formats, the middles between neighbours, and what is just beside those.
  std::vector<float> values = {NAN,     INFINITY, -INFINITY, 0.0f,   -0.0f,  1e9f,   -1e9f,    1e-30f,
                               -1e-30f, 464.0f,   465.0f,    240.0f, 248.0f, 247.9f, 61440.0f, 61439.0f};
  for (const Format& f : kFormats) {
    for (int bits = 0; bits < 127; ++bits) {
      const double a = Value(f, bits), b = Value(f, bits + 1);
      if (!std::isfinite(a) || !std::isfinite(b)) continue;
      const auto middle = static_cast<float>((a + b) / 2);
      for (const float v :
           {static_cast<float>(a), middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e9f)}) {
        values.push_back(v);
        values.push_back(-v);
      }
    }
  }
  while (values.size() % 64 != 0) values.push_back(1.0f);
  const int n = static_cast<int>(values.size());
  Buffer<float> x(values);
  Buffer<uint8_t> out(4 * values.size());
  for (const int saturate : {0, 1}) {
    ASSERT_EQ(kernels_.Run("to_8", {static_cast<unsigned>(n / 64)}, {64}, x.get(), out.get(), n, saturate),
              absl::OkStatus());
    for (int f = 0; f < 4; ++f) {
      const Format& format = kFormats[f];
      double greatest = 0;
      for (int bits = 0; bits < 128; ++bits) {
        if (const double v = Value(format, bits); std::isfinite(v)) greatest = std::max(greatest, v);
      }
      const int mantissa = format.mantissa_bits;
      for (int i = 0; i < n; ++i) {
        const double v = values[i], got = Value(format, out[f * n + i]);
        if (std::isnan(v)) {
          ASSERT_TRUE(std::isnan(got));
          continue;
        }
        // Rounded as if the exponent had no end.
        const int exponent = std::max(v == 0 || !std::isfinite(v) ? -1000 : std::ilogb(v), 1 - format.bias);
        double rounded =
            std::isfinite(v) ? std::ldexp(std::nearbyint(std::ldexp(v, mantissa - exponent)), exponent - mantissa) : v;
        if (std::abs(rounded) > greatest) {
          if (saturate != 0 && !(format.fnuz && std::isinf(v))) {
            rounded = std::copysign(greatest, v);
          } else if (format.finite) {
            ASSERT_TRUE(std::isnan(got)) << f << " " << v;
            continue;
          } else {
            rounded = std::copysign(INFINITY, v);
          }
        }
        ASSERT_EQ(got, rounded) << f << " " << v << " saturate " << saturate;
      }
    }
  }
}

TEST_P(Elements, FloatsToIntegersSaturate) {
  const std::vector<float> values = {1.9f,  -1.9f, 3e9f,     -3e9f,     1e19f,         -1e19f,
                                     2e19f, NAN,   INFINITY, -INFINITY, 2147483648.0f, 4294967296.0f};
  const size_t n = values.size();
  Buffer<float> x(values);
  Buffer<int32_t> i32(n);
  Buffer<uint32_t> u32(n);
  Buffer<int64_t> i64(n);
  Buffer<uint64_t> u64(n);
  ASSERT_EQ(
      kernels_.Run("to_integers", {1}, {static_cast<unsigned>(n)}, x.get(), i32.get(), u32.get(), i64.get(), u64.get()),
      absl::OkStatus());
  const auto expected = [](float v, auto least, auto greatest) {
    using T = decltype(least);
    if (std::isnan(v)) return T(0);
    if (static_cast<double>(v) >= static_cast<double>(greatest)) return greatest;
    if (static_cast<double>(v) <= static_cast<double>(least)) return least;
    return static_cast<T>(v);
  };
  for (size_t i = 0; i < n; ++i) {
    EXPECT_EQ(i32[i], expected(values[i], INT32_MIN, INT32_MAX)) << values[i];
    EXPECT_EQ(u32[i], expected(values[i], uint32_t{0}, UINT32_MAX)) << values[i];
    EXPECT_EQ(i64[i], expected(values[i], INT64_MIN, INT64_MAX)) << values[i];
    EXPECT_EQ(u64[i], expected(values[i], uint64_t{0}, UINT64_MAX)) << values[i];
  }
}

// 96 threads in 3 blocks on 2 host threads. Small numbers: exact in every type and order.
template <typename T, typename Encode>
void CheckAtomics(Kernels& kernels, const std::string& kernel, T greatest, T least, Encode encode) {
  std::vector<T> values(96, encode(0));
  values[17] = encode(1);
  values[90] = encode(2);
  values[3] = encode(-3);  // wraps in unsigned types
  for (int i = 40; i < 60; ++i) values[i] = encode(1);
  Buffer<T> x(values);
  Buffer<T> out(std::vector<T>{encode(0), encode(-1), encode(1), encode(1)});
  LaunchOptions options;
  options.threads = 2;
  ASSERT_EQ(kernels.RunWith(kernel, {3}, {32}, 0, options, x.get(), out.get()), absl::OkStatus());
  EXPECT_EQ(out[0], encode(20)) << kernel;
  EXPECT_EQ(out[1], encode(0)) << kernel;
  EXPECT_EQ(out[2], greatest) << kernel;
  EXPECT_EQ(out[3], least) << kernel;
  for (int i = 0; i < 96; ++i) x[i] = encode(i == 50 ? 3 : i == 95 ? 2 : 1);
  out[1] = encode(5);
  ASSERT_EQ(kernels.RunWith(kernel, {3}, {32}, 0, options, x.get(), out.get()), absl::OkStatus());
  EXPECT_EQ(out[1], encode(30)) << kernel;
}

template <typename T>
T Same(int x) {
  return static_cast<T>(x);
}

TEST_P(Elements, Atomics) {
  CheckAtomics<float>(kernels_, "atomics_f32", 2, -3, Same<float>);
  CheckAtomics<double>(kernels_, "atomics_f64", 2, -3, Same<double>);
  const auto half = [](int x) { return F16(static_cast<float>(x)).bits; };
  CheckAtomics<uint16_t>(kernels_, "atomics_f16", half(2), half(-3), half);
  const auto bf16 = [](int x) { return BF16(static_cast<float>(x)).bits; };
  CheckAtomics<uint16_t>(kernels_, "atomics_bf16", bf16(2), bf16(-3), bf16);
  CheckAtomics<int8_t>(kernels_, "atomics_i8", 2, -3, Same<int8_t>);
  CheckAtomics<uint8_t>(kernels_, "atomics_u8", 253, 0, Same<uint8_t>);
  CheckAtomics<int16_t>(kernels_, "atomics_i16", 2, -3, Same<int16_t>);
  CheckAtomics<int32_t>(kernels_, "atomics_i32", 2, -3, Same<int32_t>);
  CheckAtomics<uint32_t>(kernels_, "atomics_u32", 0xfffffffdu, 0, Same<uint32_t>);
  CheckAtomics<int64_t>(kernels_, "atomics_i64", 2, -3, Same<int64_t>);
  CheckAtomics<uint64_t>(kernels_, "atomics_u64", ~uint64_t{2}, 0, Same<uint64_t>);
}

TEST_P(Elements, AtomicMaximumOfNan) {
  Buffer<float> x(32, 1.0f), out(4, 0.0f);
  x[7] = NAN;
  ASSERT_EQ(kernels_.Run("atomics_f32", {1}, {32}, x.get(), out.get()), absl::OkStatus());
  EXPECT_TRUE(std::isnan(out[2]));
  EXPECT_TRUE(std::isnan(out[3]));
}

TCC_DEVICE_TESTS(Elements);

}  // namespace
}  // namespace tcc::sim
