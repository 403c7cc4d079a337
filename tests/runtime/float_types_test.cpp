#include "runtime/float_types.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "runtime/dispatch.h"

namespace tcc {
namespace {

template <typename T>
class SmallFloatTest : public testing::Test {};
using SmallFloats = testing::Types<F16, BF16, F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F4E2M1>;
TYPED_TEST_SUITE(SmallFloatTest, SmallFloats);

template <typename T>
constexpr int kCodes = 2 * static_cast<int>(T::kSignMask);

// Every finite value of the format, ascending.
template <typename T>
std::vector<std::pair<double, T>> FiniteValues() {
  std::vector<std::pair<double, T>> values;
  for (int code = 0; code < kCodes<T>; ++code) {
    const T value = T::FromBits(static_cast<typename T::Storage>(code));
    const auto number = static_cast<double>(value);
    if (std::isfinite(number) && !(number == 0 && std::signbit(number))) values.emplace_back(number, value);
  }
  std::sort(values.begin(), values.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return values;
}

TYPED_TEST(SmallFloatTest, EveryCodeComesBack) {
  for (int code = 0; code < kCodes<TypeParam>; ++code) {
    const auto value = TypeParam::FromBits(static_cast<typename TypeParam::Storage>(code));
    const auto number = static_cast<float>(value);
    if (std::isnan(number)) {
      EXPECT_TRUE(value.is_nan());
      EXPECT_TRUE(TypeParam(number).is_nan());
      continue;
    }
    EXPECT_FALSE(value.is_nan());
    EXPECT_EQ(TypeParam(number).bits, code) << number;
    EXPECT_EQ(TypeParam(static_cast<double>(number)).bits, code) << number;
  }
}

TYPED_TEST(SmallFloatTest, RoundsToNearestEven) {
  const auto values = FiniteValues<TypeParam>();
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    const double low = values[i].first, high = values[i + 1].first, middle = (low + high) / 2;
    const TypeParam even = values[i].second.bits % 2 == 0 ? values[i].second : values[i + 1].second;
    EXPECT_EQ(static_cast<double>(TypeParam(middle)), static_cast<double>(even)) << low << " " << high;
    EXPECT_EQ(static_cast<double>(TypeParam(std::nextafter(middle, low))), low);
    EXPECT_EQ(static_cast<double>(TypeParam(std::nextafter(middle, high))), high);
  }
}

TYPED_TEST(SmallFloatTest, FloatAndDoubleAgree) {
  std::mt19937 random(7);
  for (int i = 0; i < 200000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isnan(value)) continue;
    EXPECT_EQ(TypeParam(value).bits, TypeParam(static_cast<double>(value)).bits) << value;
    EXPECT_EQ(TypeParam::Saturating(value).bits, TypeParam::Saturating(static_cast<double>(value)).bits) << value;
  }
}

TEST(SmallFloat, KnownCodes) {
  EXPECT_EQ(F16(1.0f).bits, 0x3c00);
  EXPECT_EQ(F16(65504.0f).bits, 0x7bff);
  EXPECT_EQ(F16(65519.0f).bits, 0x7bff);
  EXPECT_EQ(F16(65520.0f).bits, 0x7c00);  // ties to even is infinity
  EXPECT_EQ(F16(5.9604645e-8f).bits, 0x0001);
  EXPECT_EQ(F16(2.9802322e-8f).bits, 0x0000);  // half of the smallest: to even
  EXPECT_EQ(F16(-0.0f).bits, 0x8000);
  EXPECT_EQ(F16(1.0 + 1.0 / 2048 + 1e-12).bits, 0x3c01);  // through float this would be a tie, and 1
  EXPECT_EQ(BF16(3.389531389e38f).bits, 0x7f7f);
  EXPECT_EQ(BF16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(BF16(std::bit_cast<float>(1u << 16)).bits, 1);  // a subnormal
  EXPECT_EQ(F8E4M3FN(448.0f).bits, 0x7e);
  EXPECT_EQ(F8E4M3FN(464.0f).bits, 0x7e);
  EXPECT_EQ(F8E4M3FN(465.0f).bits, 0x7f);  // NaN
  EXPECT_EQ(F8E4M3FN(0.001953125f).bits, 0x01);
  EXPECT_EQ(F8E4M3FNUZ(240.0f).bits, 0x7f);
  EXPECT_EQ(F8E4M3FNUZ(-0.0f).bits, 0x00);
  EXPECT_EQ(F8E4M3FNUZ(1000.0f).bits, 0x80);
  EXPECT_EQ(F8E5M2(57344.0f).bits, 0x7b);
  EXPECT_EQ(F8E5M2(61440.0f).bits, 0x7c);
  EXPECT_EQ(F8E5M2FNUZ(57344.0f).bits, 0x7f);
  EXPECT_EQ(F4E2M1(6.0f).bits, 7);
  EXPECT_EQ(F4E2M1(0.25f).bits, 0);
  EXPECT_EQ(F4E2M1(0.75f).bits, 2);
  EXPECT_EQ(F4E2M1(-1e30f).bits, 15);
  EXPECT_EQ(F4E2M1(std::numeric_limits<float>::quiet_NaN()).bits, 8);
}

// The table of ONNX's Cast.
TEST(SmallFloat, Saturation) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(F8E4M3FN::Saturating(1e10f).bits, 0x7e);
  EXPECT_EQ(F8E4M3FN::Saturating(-infinity).bits, 0xfe);
  EXPECT_EQ(F8E4M3FN(infinity).bits, 0x7f);
  EXPECT_EQ(F8E4M3FNUZ::Saturating(-1e10).bits, 0xff);
  EXPECT_EQ(F8E4M3FNUZ::Saturating(infinity).bits, 0x80);
  EXPECT_EQ(F8E5M2::Saturating(infinity).bits, 0x7b);
  EXPECT_EQ(F8E5M2(infinity).bits, 0x7c);
  EXPECT_EQ(F8E5M2FNUZ::Saturating(-infinity).bits, 0x80);
  EXPECT_EQ(F8E5M2FNUZ::Saturating(1e30f).bits, 0x7f);
  EXPECT_TRUE(F8E4M3FN::Saturating(std::numeric_limits<float>::quiet_NaN()).is_nan());
}

TEST(SmallFloat, IntegersRoundOnce) {
  EXPECT_EQ(static_cast<float>(BF16(int64_t{-257})), -256.0f);
  EXPECT_EQ(static_cast<float>(BF16(int64_t{259})), 260.0f);
  // (1 + 2^-8) * 2^62 is a tie; one more is not. Through double that one would be lost.
  const int64_t tie = (int64_t{1} << 62) + (int64_t{1} << 54);
  EXPECT_EQ(BF16(tie).bits + 1, BF16(tie + 1).bits);
  EXPECT_EQ(static_cast<float>(BF16(std::numeric_limits<int64_t>::min())), -9223372036854775808.0f);
  EXPECT_EQ(static_cast<float>(F16(uint8_t{255})), 255.0f);
}

TEST(ScaleType, PowersOfTwo) {
  for (int code = 0; code < 255; ++code) {
    const auto scale = F8E8M0::FromBits(static_cast<uint8_t>(code));
    EXPECT_EQ(static_cast<double>(scale), std::ldexp(1.0, code - 127));
    EXPECT_EQ(static_cast<float>(scale), std::ldexp(1.0f, code - 127));
    EXPECT_EQ(F8E8M0(static_cast<float>(scale)).bits, code);
  }
  EXPECT_TRUE(std::isnan(static_cast<float>(F8E8M0::FromBits(255))));
  EXPECT_EQ(F8E8M0(0.0f).bits, 0);
  EXPECT_EQ(F8E8M0(-1.0f).bits, 255);
  EXPECT_EQ(F8E8M0(1.5f).bits, 128);
  EXPECT_EQ(F8E8M0(1.49f).bits, 127);
  EXPECT_EQ(F8E8M0::From(1.01f, ScaleRounding::kUp, false).bits, 128);
  EXPECT_EQ(F8E8M0::From(1.99f, ScaleRounding::kDown, false).bits, 127);
  EXPECT_EQ(F8E8M0::From(1.0f, ScaleRounding::kUp, false).bits, 127);
  EXPECT_EQ(F8E8M0::From(3e38f, ScaleRounding::kUp, false).bits, 255);
  EXPECT_EQ(F8E8M0::From(3e38f, ScaleRounding::kUp, true).bits, 254);
}

TEST(Packed, FieldsAndSigns) {
  std::vector<uint8_t> bytes(4, 0xff);
  for (int i = 0; i < 8; ++i) StorePacked<4>(bytes.data(), i, static_cast<uint8_t>(i));
  EXPECT_EQ(bytes, (std::vector<uint8_t>{0x10, 0x32, 0x54, 0x76}));
  EXPECT_EQ(LoadPacked<4>(bytes.data(), 5), 5);
  for (int i = 0; i < 16; ++i) StorePacked<2>(bytes.data(), i, static_cast<uint8_t>(i));
  EXPECT_EQ(bytes, (std::vector<uint8_t>(4, 0b11100100)));
  EXPECT_EQ(SignExtend<4>(15), -1);
  EXPECT_EQ(SignExtend<4>(7), 7);
  EXPECT_EQ(SignExtend<2>(2), -2);

  uint8_t data[2] = {};
  for (int i = 0; i < 4; ++i) StoreInt(data, DType::kI4, i, i - 2);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(LoadInt(data, DType::kI4, i), i - 2);
  StoreDouble(data, DType::kF4E2M1, 3, -1.5);
  EXPECT_EQ(LoadDouble(data, DType::kF4E2M1, 3), -1.5);
}

TEST(Dispatch, NamesWhatIsNotCovered) {
  const auto bits = [](DType dtype) {
    return DispatchNumber(dtype, [&]<typename T>() -> absl::Status {
      EXPECT_EQ(sizeof(T) * 8, DTypeBits(dtype));
      EXPECT_EQ(kDTypeOf<T>, dtype);
      return absl::OkStatus();
    });
  };
  for (int i = static_cast<int>(DType::kI8); i <= static_cast<int>(DType::kF8E8M0); ++i) {
    EXPECT_TRUE(bits(static_cast<DType>(i)).ok());
  }
  const absl::Status status = bits(DType::kC64);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(status.message().find("c64"), absl::string_view::npos);
}

TEST(DTypes, NamesParse) {
  for (int i = 1; i <= static_cast<int>(DType::kString); ++i) {
    EXPECT_EQ(ParseDType(DTypeName(static_cast<DType>(i))), static_cast<DType>(i));
  }
  EXPECT_EQ(ParseDType("float"), DType::kF32);
  EXPECT_EQ(ParseDType("uint8"), DType::kU8);
  EXPECT_EQ(ParseDType("float33"), std::nullopt);
  EXPECT_EQ(ParseDType("invalid"), std::nullopt);
  EXPECT_EQ(DTypeBytes(DType::kI4, 7), 4u);
  EXPECT_EQ(DTypeBytes(DType::kU2, 9), 3u);
  EXPECT_EQ(DTypeName(static_cast<DType>(200)), "invalid");
}

}  // namespace
}  // namespace tcc
