// Reductions over warps and blocks.
#include <cmath>
#include <limits>
#include <random>

#include "tests/cuda_device/device_test.h"

namespace tcc::sim {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

class Reduce : public DeviceTest {
 protected:
  Kernels kernels_{"reduce", GetParam()};

  // Small integers: sums and products of powers of two are exact in every type and order.
  template <typename T>
  void CheckAll(const std::string& kernel) {
    std::vector<T> values(128);
    for (int i = 0; i < 128; ++i) values[i] = static_cast<T>(i * 37 % 101 - 50);
    values[5] = static_cast<T>(1);
    Buffer<T> x(values), out(128 * 8);
    ASSERT_EQ(kernels_.Run(kernel, {1}, {128}, x.get(), out.get()), absl::OkStatus());
    T sum = 0, greatest = values[0], least = values[0];
    for (const T v : values) sum += v, greatest = std::max(greatest, v), least = std::min(least, v);
    T before = 0;
    for (int t = 0; t < 128; ++t) {
      before += values[t];
      T warp = 0;
      for (int i = t / 32 * 32; i < t / 32 * 32 + 32; ++i) warp += values[i];
      T eight = values[t / 8 * 8];
      for (int i = t / 8 * 8; i < t / 8 * 8 + 8; ++i) eight = std::max(eight, values[i]);
      const T* mine = out.get() + t * 8;
      ASSERT_EQ(mine[0], sum);
      ASSERT_EQ(mine[2], greatest);
      ASSERT_EQ(mine[3], least);
      ASSERT_EQ(mine[4], warp);
      ASSERT_EQ(mine[5], eight);
      ASSERT_EQ(mine[6], before);
      ASSERT_EQ(mine[7], sum);
    }
    for (int i = 0; i < 128; ++i) x[i] = static_cast<T>(i == 3 || i == 90 ? 2 : i == 127 ? -3 : 1);
    ASSERT_EQ(kernels_.Run(kernel, {1}, {128}, x.get(), out.get()), absl::OkStatus());
    for (int t = 0; t < 128; ++t) ASSERT_EQ(out[t * 8 + 1], T(-12));
  }
};

TEST_P(Reduce, EveryType) {
  CheckAll<float>("reduce_f32");
  CheckAll<double>("reduce_f64");
  CheckAll<int>("reduce_i32");
  CheckAll<long long>("reduce_i64");
}

TEST_P(Reduce, NanIsTheMaximumAndTheMinimum) {
  for (const int place : {0, 1, 31, 32, 127}) {
    Buffer<float> x(128, 1.0f), out(128 * 8);
    x[place] = kNan;
    x[(place + 64) % 128] = kInf;
    ASSERT_EQ(kernels_.Run("reduce_f32", {1}, {128}, x.get(), out.get()), absl::OkStatus());
    for (int t = 0; t < 128; ++t) {
      ASSERT_TRUE(std::isnan(out[t * 8 + 2]));
      ASSERT_TRUE(std::isnan(out[t * 8 + 3]));
    }
  }
}

TEST_P(Reduce, WarpsThatAreNoPowerOfTwo) {
  Buffer<int> x(96), out(96);
  for (int i = 0; i < 96; ++i) x[i] = i;
  ASSERT_EQ(kernels_.Run("reduce_96", {1}, {96}, x.get(), out.get()), absl::OkStatus());
  for (int i = 0; i < 96; ++i) ASSERT_EQ(out[i], 96 * 95 / 2);
}

TEST_P(Reduce, OneAfterTheOther) {
  Buffer<int> x(128, 3), out(128);
  ASSERT_EQ(kernels_.Run("repeated", {1}, {128}, x.get(), out.get(), 4), absl::OkStatus());
  int sum = 0;
  for (int i = 0; i < 4; ++i) sum = 128 * (3 + sum % 7);
  for (int i = 0; i < 128; ++i) ASSERT_EQ(out[i], sum);
}

TEST_P(Reduce, ArgMaxAndArgMin) {
  Buffer<float> x(128, 0.5f);
  Buffer<long long> out(2);
  x[40] = x[41] = x[100] = 2.0f;
  x[50] = x[9] = -2.0f;
  ASSERT_EQ(kernels_.Run("arg_reductions", {1}, {128}, x.get(), out.get()), absl::OkStatus());
  EXPECT_EQ(out[0], 40);  // the first of equals
  EXPECT_EQ(out[1], 9);
  x[99] = x[60] = kNan;
  ASSERT_EQ(kernels_.Run("arg_reductions", {1}, {128}, x.get(), out.get()), absl::OkStatus());
  EXPECT_EQ(out[0], 60);  // NaN before all, the first of them
  EXPECT_EQ(out[1], 60);
}

// Against sums in double: each of the about log2(n) merges and n/128 updates rounds by half a unit in the last place.
TEST_P(Reduce, Welford) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(100.0f, 1.0f);
  for (const int n : {1, 100, 1000}) {
    std::vector<float> values(2 * n);
    for (float& v : values) v = normal(random);
    Buffer<float> x(values), out(6);
    ASSERT_EQ(kernels_.Run("welford", {2}, {128}, x.get(), out.get(), n), absl::OkStatus());
    for (int row = 0; row < 2; ++row) {
      double mean = 0, m2 = 0;
      for (int i = 0; i < n; ++i) mean += values[row * n + i] / n;
      for (int i = 0; i < n; ++i) m2 += (values[row * n + i] - mean) * (values[row * n + i] - mean);
      EXPECT_NEAR(out[3 * row], mean, 1e-4);
      EXPECT_NEAR(out[3 * row + 1], m2 / n, 1e-4);  // of a variance of 1: the mean of 100 costs no digits
      EXPECT_EQ(out[3 * row + 2], static_cast<float>(n));
    }
  }
}

TEST_P(Reduce, OnlineSoftmax) {
  std::mt19937 random(2);
  std::uniform_real_distribution<float> uniform(-20.0f, 20.0f);
  for (const int n : {1, 77, 1000}) {
    std::vector<float> values(2 * n);
    for (float& v : values) v = uniform(random);
    values[n - 1] = -kInf;  // masked; with n = 1 the row is nothing else
    Buffer<float> x(values), y(values.size());
    ASSERT_EQ(kernels_.Run("softmax", {2}, {128}, x.get(), y.get(), n), absl::OkStatus());
    for (int row = 0; row < 2; ++row) {
      double max = -kInf, sum = 0;
      for (int i = 0; i < n; ++i) max = std::max<double>(max, values[row * n + i]);
      for (int i = 0; i < n; ++i) sum += std::exp(values[row * n + i] - max);
      for (int i = 0; i < n; ++i) {
        const double expected = std::exp(values[row * n + i] - max) / sum;
        if (std::isnan(expected)) {
          ASSERT_TRUE(std::isnan(y[row * n + i]));
        } else {
          // exp of a difference of up to 40, itself rounded to 2^-19: relative error 2e-6.
          ASSERT_NEAR(y[row * n + i], expected, 4e-6 * expected + 1e-30);
        }
      }
    }
  }
}

TCC_DEVICE_TESTS(Reduce);

}  // namespace
}  // namespace tcc::sim
