// Loads by TMA: boxes of a tensor, zero beyond it, with exchanged pieces; and wgmma of what they bring.
#include <random>

#include "runtime/float_types.h"
#include "tests/cuda_device/device_test.h"

namespace tcc::sim {
namespace {

class Tma : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (GetParam() != Where::kGpu || Gpu() == nullptr || Gpu()->kind() != devices::Kind::kCuda) return;
    if (Gpu()->properties().compute_capability != 90) GTEST_SKIP() << "wgmma is of sm_90a";
  }
  Kernels kernels_{"tma", GetParam()};
};

// Of 16-bit elements, in rows of `pitch` elements.
devices::TensorMap Matrix(int32_t param, int64_t width, int64_t height, int64_t pitch, int32_t box_width,
                          int32_t box_height, int32_t swizzle) {
  devices::TensorMap map = {};
  map.param = param;
  map.element_bytes = 2;
  map.rank = 2;
  map.swizzle = swizzle;
  map.extents = {width, height, 0, 0, 0};
  map.strides = {pitch * 2, 0, 0, 0};
  map.box = {box_width, box_height, 0, 0, 0};
  return map;
}

std::vector<uint16_t> Numbers(size_t count) {
  std::vector<uint16_t> numbers(count);
  for (size_t i = 0; i < count; ++i) numbers[i] = static_cast<uint16_t>(i + 1);
  return numbers;
}

// Where 16 bytes of a box are: lines of `line_bytes`, eight lines of `swizzle` bytes a pattern.
size_t PlaceOf(size_t line, size_t piece, size_t line_bytes, size_t swizzle) {
  const size_t at = line * line_bytes + piece * 16;
  if (swizzle == 0) return at;
  const size_t row = at / 128 % 8;  // of a pattern: 8 lines of 128 bytes, or 4 or 2 of as many that lie side by side
  const size_t pieces = swizzle / 16;
  return at / 16 * 16 / swizzle * swizzle + ((at / 16 % pieces) ^ (row * pieces / 8 % pieces)) * 16;
}

TEST_P(Tma, BoxesAreZeroBeyondTheTensor) {
  constexpr int64_t kWidth = 50, kHeight = 21, kPitch = 56;
  Buffer<uint16_t> x(Numbers(kHeight * kPitch));
  for (const int swizzle : {128, 0}) {
    for (const auto& [x0, y0] : {std::pair{0, 0}, {3, 2}, {48, 15}, {-5, -3}, {64, 0}, {0, 40}}) {
      SCOPED_TRACE(testing::Message() << swizzle << " at " << x0 << ", " << y0);
      constexpr int kBoxWidth = 64, kBoxHeight = 12, kBytes = kBoxWidth * kBoxHeight * 2;
      Buffer<uint8_t> out(kBytes, 0xAA);
      ASSERT_EQ(kernels_.RunMapped("load_2d", {1}, {64}, 2048,
                                   {Matrix(0, kWidth, kHeight, kPitch, kBoxWidth, kBoxHeight, swizzle)}, x.get(),
                                   out.get(), kBytes, x0, y0),
                absl::OkStatus());
      for (int line = 0; line < kBoxHeight; ++line) {
        for (int column = 0; column < kBoxWidth; ++column) {
          const int c = x0 + column, r = y0 + line;
          const bool there = c >= 0 && c < kWidth && r >= 0 && r < kHeight;
          const size_t place = PlaceOf(line, column / 8, kBoxWidth * 2, swizzle) + column % 8 * 2;
          ASSERT_EQ(out[place] | out[place + 1] << 8, there ? x[static_cast<size_t>(r * kPitch + c)] : 0)
              << line << ", " << column;
        }
      }
    }
  }
}

TEST_P(Tma, BoxesOfThreeAxes) {
  // Two slices of 3 rows of 16 of a tensor of 3 x 4 x 24.
  Buffer<uint16_t> x(Numbers(3 * 4 * 24));
  devices::TensorMap map = Matrix(0, 20, 4, 24, 16, 3, 0);
  map.rank = 3;
  map.extents[2] = 3;
  map.strides[1] = 4 * 24 * 2;
  map.box[2] = 2;
  constexpr int kBytes = 2 * 3 * 16 * 2;
  Buffer<uint8_t> out(kBytes, 0xAA);
  ASSERT_EQ(kernels_.RunMapped("load_3d", {1}, {64}, 2048, {map}, x.get(), out.get(), kBytes, 8, 2, 2),
            absl::OkStatus());
  for (int z = 0; z < 2; ++z) {
    for (int y = 0; y < 3; ++y) {
      for (int i = 0; i < 16; ++i) {
        const bool there = z + 2 < 3 && y + 2 < 4 && i + 8 < 20;
        const size_t place = static_cast<size_t>((z * 3 + y) * 16 + i) * 2;
        const size_t from = static_cast<size_t>((z + 2) * 4 + y + 2) * 24 + i + 8;
        ASSERT_EQ(out[place] | out[place + 1] << 8, there ? x[from] : 0) << z << ", " << y << ", " << i;
      }
    }
  }
}

// A product of a and b, each in memory along k or along its rows, smaller than the tile: the rest is zero.
template <typename Float>
void CheckProduct(Kernels& kernels, const std::string& kernel, int n, bool rows_a, bool rows_b) {
  SCOPED_TRACE(kernel);
  constexpr int kM = 61, kK = 50;
  const int columns = n - 3;
  std::mt19937 random(n);
  std::uniform_int_distribution<int> small(-4, 4);
  std::vector<int> a(kM * kK), b(columns * kK);
  for (int& value : a) value = small(random);
  for (int& value : b) value = small(random);
  // Lines are padded to 16 bytes; what is there is not read.
  const auto pack = [](const std::vector<int>& values, int rows, bool along_rows) {
    const int lines = along_rows ? kK : rows, width = along_rows ? rows : kK, pitch = (width + 7) / 8 * 8;
    std::vector<uint16_t> packed(static_cast<size_t>(lines * pitch), 0x7fff);
    for (int row = 0; row < rows; ++row)
      for (int k = 0; k < kK; ++k)
        packed[static_cast<size_t>(along_rows ? k * pitch + row : row * pitch + k)] =
            Float(static_cast<float>(values[static_cast<size_t>(row * kK + k)])).bits;
    return packed;
  };
  const auto map = [](int32_t param, int rows, bool along_rows, int box_rows) {
    const int width = along_rows ? rows : kK;
    return Matrix(param, width, along_rows ? kK : rows, (width + 7) / 8 * 8, 64, along_rows ? 64 : box_rows, 128);
  };
  Buffer<uint16_t> da(pack(a, kM, rows_a)), db(pack(b, columns, rows_b));
  Buffer<float> d(static_cast<size_t>(64 * n), -1.0f);
  ASSERT_EQ(kernels.RunMapped(kernel, {1}, {128}, static_cast<size_t>(64 + n) * 128,
                              {map(0, kM, rows_a, 64), map(1, columns, rows_b, 64)}, da.get(), db.get(), d.get()),
            absl::OkStatus());
  for (int i = 0; i < 64; ++i) {
    for (int j = 0; j < n; ++j) {
      int sum = 0;
      for (int k = 0; k < kK && i < kM && j < columns; ++k)
        sum += a[static_cast<size_t>(i * kK + k)] * b[static_cast<size_t>(j * kK + k)];
      ASSERT_EQ(d[static_cast<size_t>(i * n + j)], static_cast<float>(sum)) << "row " << i << " column " << j;
    }
  }
}

TEST_P(Tma, ProductsOfTilesThatLieEitherWay) {
  CheckProduct<F16>(kernels_, "product_k_k", 128, false, false);
  CheckProduct<BF16>(kernels_, "product_rows_k", 64, true, false);
  CheckProduct<F16>(kernels_, "product_k_rows", 256, false, true);
  CheckProduct<BF16>(kernels_, "product_rows_rows", 128, true, true);
}

TCC_DEVICE_TESTS(Tma);

// What the simulator finds.
class TmaFaults : public testing::Test {
 protected:
  std::string Error(const std::string& kernel, int64_t bytes, const devices::TensorMap& map, int announced) {
    Kernels kernels("tma", Where::kChecked);
    Buffer<uint16_t> x(static_cast<size_t>(bytes / 2));
    Buffer<uint8_t> out(4096);
    return std::string(kernels
                           .RunMapped(kernel, {1}, {kernel == "load_misplaced" ? 32u : 64u}, 4096, {map}, x.get(),
                                      out.get(), announced, 0, 0)
                           .message());
  }
};
TEST_F(TmaFaults, AreReported) {
  const devices::TensorMap whole = Matrix(0, 64, 8, 64, 64, 8, 128);
  EXPECT_EQ(Error("load_2d", 1024, whole, 1024), "");
  // The map says more than there is.
  EXPECT_NE(Error("load_2d", 1024 - 16, whole, 1024), "");
  // Bytes that never come.
  EXPECT_NE(Error("load_2d", 1024, whole, 1040), "");
  EXPECT_NE(Error("load_misplaced", 1024, whole, 1024).find("not a multiple of 1024"), std::string::npos);
}

// What is read before it was waited for is not there.
TEST_F(TmaFaults, ReadTooSoon) {
  Kernels kernels("tma", Where::kChecked);
  Buffer<uint16_t> x(512, 0x1111);
  Buffer<uint8_t> out(64);
  ASSERT_EQ(kernels.RunMapped("load_unawaited", {1}, {64}, 1024, {Matrix(0, 64, 8, 64, 64, 8, 128)}, x.get(), out.get(),
                              1024, 0, 0),
            absl::OkStatus());
  EXPECT_NE(out[40], 0x11);
}

}  // namespace
}  // namespace tcc::sim
