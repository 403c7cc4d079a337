// Conversions between all element types that kernels know, against the reference: all bit patterns of the narrow ones,
// and numbers around every tie of theirs.
#include <cmath>
#include <limits>

#include "runtime/dispatch.h"
#include "runtime/reference/convert.h"
#include "tests/cuda_device/device_test.h"

namespace tcc::sim {
namespace {

constexpr int kFirst = static_cast<int>(DType::kBool), kLast = static_cast<int>(DType::kU2);

class Narrow : public DeviceTest {
 protected:
  Kernels kernels_{"narrow", GetParam()};
};

// Every number of a type of at most 16 bits.
Tensor AllBits(DType dtype) {
  const int bits = DTypeBits(dtype);
  Tensor x = *Tensor::Allocate(dtype, {dtype == DType::kBool ? 2 : int64_t{1} << bits});
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    if (bits == 16)
      x.data_as<uint16_t>()[i] = static_cast<uint16_t>(i);
    else if (bits == 8)
      x.data_as<uint8_t>()[i] = static_cast<uint8_t>(i);
    else if (bits == 4)
      StorePacked<4>(x.data_as<uint8_t>(), i, static_cast<uint8_t>(i));
    else
      StorePacked<2>(x.data_as<uint8_t>(), i, static_cast<uint8_t>(i));
  }
  return x;
}

double Load(const Tensor& x, int64_t i) {
  return IsFloat(x.dtype()) ? LoadDouble(x.data(), x.dtype(), i) : static_cast<double>(LoadInt(x.data(), x.dtype(), i));
}

// Numbers of a narrow type, those between two of them (ties), those next to these, near and far; bounds and beyond.
std::vector<double> AroundTies(DType narrow) {
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<double> values = {0.0,   -0.0, inf,   -inf,    std::nan(""), 1e30,   -1e30,
                                1e-30, 3e38, 1e300, -1e-300, 9.3e18,       1.9e19, 1e-38};
  const Tensor all = AllBits(narrow);
  for (int64_t i = 0; i < all.num_elements(); ++i) {
    const double a = Load(all, i), b = Load(all, (i + 1) % all.num_elements());
    if (!std::isfinite(a) || !std::isfinite(b)) continue;
    const double tie = (a + b) / 2, scale = std::abs(a) + std::abs(b);
    for (double value : {a, tie, tie + 1e-4 * scale, tie - 1e-4 * scale, tie * (1 + 0x1p-40), tie * (1 - 0x1p-40),
                         std::ldexp(tie, 40), std::ldexp(tie, 40) + 1, std::ldexp(tie, 40) - 1, std::ldexp(a, 20)})
      values.push_back(value);
  }
  return values;
}

Tensor Filled(DType dtype, const std::vector<double>& values) {
  Tensor x = *Tensor::Allocate(dtype, {static_cast<int64_t>(values.size())});
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const double value = values[static_cast<size_t>(i)];
    if (IsFloat(dtype))
      StoreDouble(x.data(), dtype, i, value);
    else
      StoreInt(x.data(), dtype, i,
               value >= 9e18 && value < 1.8e19 ? static_cast<int64_t>(static_cast<uint64_t>(value))
               : std::abs(value) < 9e18        ? static_cast<int64_t>(value)
                                               : -9);
  }
  return x;
}

TEST_P(Narrow, EveryTypeToEveryOther) {
  int compared = 0;
  for (int from = kFirst; from <= kLast; ++from) {
    for (int to = kFirst; to <= kLast; ++to) {
      const auto source = static_cast<DType>(from), target = static_cast<DType>(to);
      if (from == to) continue;
      const Tensor x = source == DType::kBool ? Filled(source, {1, 0, 1})
                       : DTypeBits(source) <= 8
                           ? AllBits(source)
                           : Filled(source, AroundTies(DTypeBits(target) <= 8 ? target : DType::kF8E4M3FN));
      for (int saturate : {1, 0}) {
        reference::ConvertOptions options;
        options.saturate = saturate != 0;
        const Tensor expected = *reference::ConvertDType(x, target, options);
        const int64_t count = x.num_elements();
        Buffer<uint8_t> in(DTypeBytes(source, count)), out(DTypeBytes(target, count), uint8_t{0xff});
        memcpy(in.get(), x.data(), in.size());
        ASSERT_EQ(kernels_.Run("cast_" + std::to_string(from), {static_cast<unsigned>(count / 64 + 1)}, {64}, in.get(),
                               out.get(), static_cast<int>(count), saturate, to),
                  absl::OkStatus());
        const Tensor y = Tensor::Wrap(out.get(), target, expected.dims(), ContiguousStrides(expected.dims()), [] {});
        for (int64_t i = 0; i < count; ++i, ++compared) {
          const double have = Load(y, i), want = Load(expected, i);
          if (std::isnan(have) && std::isnan(want)) continue;
          ASSERT_TRUE(have == want && std::signbit(have) == std::signbit(want))
              << DTypeName(source) << " " << Load(x, i) << " to " << DTypeName(target)
              << (saturate != 0 ? "" : ", unsaturated") << ": " << have << " and not " << want;
          if (DTypeBits(target) == 64 && !IsFloat(target))
            ASSERT_EQ(LoadInt(y.data(), target, i), LoadInt(expected.data(), target, i));
        }
      }
    }
  }
  EXPECT_GT(compared, 100000);
}

// The rest of a byte that several elements share is zero, and nothing is written behind it.
TEST_P(Narrow, OddNumbersOfPackedElements) {
  for (int count : {0, 1, 2, 3, 5, 7, 9}) {
    Buffer<float> x(static_cast<size_t>(count > 0 ? count : 1), -1.0f);
    for (auto [to, bits] : {std::pair{DType::kI4, 4}, {DType::kF4E2M1, 4}, {DType::kI2, 2}}) {
      Buffer<uint8_t> y(16, uint8_t{0xaa});
      ASSERT_EQ(kernels_.Run("cast_" + std::to_string(static_cast<int>(DType::kF32)), {1}, {64}, x.get(), y.get(),
                             count, 1, static_cast<int>(to)),
                absl::OkStatus());
      const int one = to == DType::kF4E2M1 ? 10 : (1 << bits) - 1;
      for (int byte = 0; byte < 16; ++byte) {
        int expected = 0;
        for (int k = 0; k < 8 / bits; ++k)
          if (byte * (8 / bits) + k < count) expected |= one << (k * bits);
        ASSERT_EQ(y[static_cast<size_t>(byte)], byte * (8 / bits) < count ? expected : 0xaa) << count;
      }
    }
  }
}

TCC_DEVICE_TESTS(Narrow);

}  // namespace
}  // namespace tcc::sim
