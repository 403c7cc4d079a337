// cp.async, ldmatrix and mma.sync against the PTX ISA, whose text is written down here a second time.
#include <bit>
#include <cmath>
#include <random>

#include "runtime/float_types.h"
#include "tests/cuda_device/device_test.h"

namespace tcc::sim {
namespace {

class Tensor : public DeviceTest {
 protected:
  Kernels kernels_{"tensor", GetParam()};
};

TEST_P(Tensor, AsynchronousCopies) {
  Buffer<int> x(128), out(352, -7);
  for (int i = 0; i < 128; ++i) x[i] = 1000 + i;
  ASSERT_EQ(kernels_.Run("async_copies", {1}, {32}, x.get(), out.get()), absl::OkStatus());
  for (int i = 0; i < 128; ++i) {
    EXPECT_EQ(out[i], 1000 + i);
    // Thread t copies 16 bytes, of which it reads t % 5 * 4.
    EXPECT_EQ(out[128 + i], i % 4 < i / 4 % 5 ? 1000 + i : 0) << i;
  }
  for (int i = 0; i < 32; ++i) EXPECT_EQ(out[256 + i], 1000 + i);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(out[288 + i], i % 2 == 0 ? 1000 + i : 0);
}

// "ldmatrix": thread T holds of each matrix the elements (T / 4, 2 * (T % 4)) and the one to its right; rows are given
// by lanes 0-7, 8-15, 16-23, 24-31 for the matrices 0 to 3.
TEST_P(Tensor, LoadMatrices) {
  Buffer<uint16_t> x(256);
  for (int i = 0; i < 256; ++i) x[i] = static_cast<uint16_t>(i);  // matrix * 64 + row * 8 + column
  Buffer<uint32_t> out(14 * 32);
  ASSERT_EQ(kernels_.Run("load_matrices", {1}, {32}, x.get(), out.get()), absl::OkStatus());
  const int matrix_of[] = {0, 0, 1, 0, 1, 2, 3};
  for (int load = 0; load < 14; ++load) {
    const int matrix = matrix_of[load % 7];
    for (int t = 0; t < 32; ++t) {
      const int row = t / 4, column = 2 * (t % 4);
      const bool trans = load >= 7;
      const unsigned first = matrix * 64 + (trans ? column * 8 + row : row * 8 + column);
      const unsigned second = matrix * 64 + (trans ? (column + 1) * 8 + row : row * 8 + column + 1);
      ASSERT_EQ(out[load * 32 + t], second << 16 | first) << "load " << load << " thread " << t;
    }
  }
}

// "Matrix Fragments for mma.m16n8k16 with floating point type", "... mma.m16n8k8" (.tf32), "... mma.m16n8k32"
// (integers): the row and column of element i of a thread's fragment, as the ISA states them.
struct Place {
  int row, column;
};
Place PlaceA(int per_register, int lane, int i) {
  const int group = lane >> 2, thread = lane % 4;
  if (per_register == 2)
    return {i < 2 || (i >= 4 && i < 6) ? group : group + 8, i < 4 ? thread * 2 + (i & 1) : thread * 2 + (i & 1) + 8};
  if (per_register == 4)
    return {i < 4 || (i >= 8 && i < 12) ? group : group + 8, i < 8 ? thread * 4 + (i & 3) : thread * 4 + (i & 3) + 16};
  return {i == 0 || i == 2 ? group : group + 8, i == 0 || i == 1 ? thread : thread + 4};
}
Place PlaceB(int per_register, int lane, int i) {
  const int group = lane >> 2, thread = lane % 4;
  if (per_register == 2) return {i < 2 ? thread * 2 + (i & 1) : thread * 2 + (i & 1) + 8, group};
  if (per_register == 4) return {i < 4 ? thread * 4 + (i & 3) : thread * 4 + (i & 3) + 16, group};
  return {i == 0 ? thread : thread + 4, group};
}
Place PlaceC(int lane, int i) { return {i < 2 ? lane >> 2 : (lane >> 2) + 8, lane % 4 * 2 + (i & 1)}; }

// Every element of A and B is random, so that an element in a wrong place changes the product. Small integers: exact.
template <typename C, typename Encode>
void CheckMma(Kernels& kernels, const std::string& kernel, int per_register, int least_a, int least_b, Encode encode) {
  const int k = 8 * per_register, bits = 32 / per_register;
  std::mt19937 random(k);
  std::vector<int> a(16 * k), b(k * 8), c(16 * 8);
  for (int& v : a) v = std::uniform_int_distribution<int>(least_a, least_a + 15)(random);
  for (int& v : b) v = std::uniform_int_distribution<int>(least_b, least_b + 15)(random);
  for (int& v : c) v = std::uniform_int_distribution<int>(-9, 9)(random);
  Buffer<uint32_t> ra(128, 0u), rb(64, 0u);
  Buffer<C> d(128);
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4 * per_register; ++i) {
      const auto [row, column] = PlaceA(per_register, lane, i);
      ra[lane * 4 + i / per_register] |= encode(a[row * k + column]) << (i % per_register * bits);
    }
    for (int i = 0; i < 2 * per_register; ++i) {
      const auto [row, column] = PlaceB(per_register, lane, i);
      rb[lane * 2 + i / per_register] |= encode(b[row * 8 + column]) << (i % per_register * bits);
    }
    for (int i = 0; i < 4; ++i) {
      const auto [row, column] = PlaceC(lane, i);
      d[lane * 4 + i] = static_cast<C>(c[row * 8 + column]);
    }
  }
  ASSERT_EQ(kernels.Run(kernel, {1}, {32}, ra.get(), rb.get(), d.get()), absl::OkStatus());
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const auto [row, column] = PlaceC(lane, i);
      int sum = c[row * 8 + column];
      for (int j = 0; j < k; ++j) sum += a[row * k + j] * b[j * 8 + column];
      ASSERT_EQ(d[lane * 4 + i], static_cast<C>(sum)) << kernel << " row " << row << " column " << column;
    }
  }
}

TEST_P(Tensor, Mma) {
  CheckMma<float>(kernels_, "m16n8k16_f16", 2, -8, -8, [](int x) { return uint32_t{F16(static_cast<float>(x)).bits}; });
  CheckMma<float>(kernels_, "m16n8k16_bf16", 2, -8, -8,
                  [](int x) { return uint32_t{BF16(static_cast<float>(x)).bits}; });
  // The low 13 bits are not looked at.
  CheckMma<float>(kernels_, "m16n8k8_tf32", 1, -8, -8,
                  [](int x) { return std::bit_cast<uint32_t>(static_cast<float>(x)) | 0x1abc; });
  const auto byte = [](int x) { return static_cast<uint32_t>(x) & 0xff; };
  CheckMma<int>(kernels_, "m16n8k32_s8s8", 4, -128, -120, byte);
  CheckMma<int>(kernels_, "m16n8k32_u8u8", 4, 240, 120, byte);
  CheckMma<int>(kernels_, "m16n8k32_s8u8", 4, -128, 240, byte);
  CheckMma<int>(kernels_, "m16n8k32_u8s8", 4, 240, -128, byte);
}

class Product {
 public:
  Product() : a_(256), b_(128), d_(128) {
    std::mt19937 random(5);
    std::uniform_int_distribution<int> small(-8, 8);
    for (int i = 0; i < 256; ++i) a_[i] = F16(static_cast<float>(va_[i] = small(random))).bits;
    for (int i = 0; i < 128; ++i) b_[i] = F16(static_cast<float>(vb_[i] = small(random))).bits;
  }
  absl::Status Run(Kernels& kernels, const std::string& name) {
    return kernels.Run(name, {1}, {32}, a_.get(), b_.get(), d_.get());
  }
  bool Right() const {
    for (int i = 0; i < 128; ++i) {
      int sum = 0;
      for (int k = 0; k < 16; ++k) sum += va_[i / 8 * 16 + k] * vb_[k * 8 + i % 8];
      if (d_[i] != static_cast<float>(sum)) return false;
    }
    return true;
  }

 private:
  int va_[256], vb_[128];
  Buffer<uint16_t> a_, b_;
  Buffer<float> d_;
};

TEST_P(Tensor, ProductThroughSharedMemory) {
  Product product;
  ASSERT_EQ(product.Run(kernels_, "product_f16"), absl::OkStatus());
  EXPECT_TRUE(product.Right());
}

// Fragments loaded the wrong way give wrong numbers here, as they would on a GPU.
TEST_P(Tensor, WrongFragmentsGiveWrongProducts) {
  Kernels faults("faults", GetParam());
  Product product;
  ASSERT_EQ(product.Run(faults, "wrong_fragments"), absl::OkStatus());
  EXPECT_FALSE(product.Right());
}

// cvt.rna.tf32.f32: to nearest, ties away from zero.
TEST_P(Tensor, RoundToTf32) {
  const std::vector<float> values = {
      1.0f, 1.0f + 0x1p-11f, -1.0f - 0x1p-11f, 1.0f + 0x1p-12f, 1.0f + 0x1p-10f, INFINITY, 3.0f, 0.0f};
  const std::vector<float> expected = {1.0f, 1.0f + 0x1p-10f, -1.0f - 0x1p-10f, 1.0f, 1.0f + 0x1p-10f, INFINITY, 3.0f,
                                       0.0f};
  Buffer<float> x(values);
  Buffer<uint32_t> out(8);
  ASSERT_EQ(kernels_.Run("round_tf32", {1}, {8}, x.get(), out.get()), absl::OkStatus());
  for (int i = 0; i < 8; ++i) EXPECT_EQ(out[i], std::bit_cast<uint32_t>(expected[i])) << values[i];
}

TCC_DEVICE_TESTS(Tensor);

}  // namespace
}  // namespace tcc::sim
