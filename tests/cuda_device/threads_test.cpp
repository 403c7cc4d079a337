// Indices, shuffles, votes, barriers and memory shared by threads.
#include <numeric>

#include "tests/cuda_device/device_test.h"

namespace tcc::sim {
namespace {

class Threads : public DeviceTest {
 protected:
  Kernels kernels_{"threads", GetParam()};
};

TEST_P(Threads, Indices) {
  const Dim grid = {3, 2, 2}, block = {5, 3, 4};
  Buffer<int> out(12 * 60, -1);
  ASSERT_EQ(kernels_.Run("write_indices", grid, block, out.get()), absl::OkStatus());
  for (int i = 0; i < 12 * 60; ++i) ASSERT_EQ(out[i], i / 60 * 1000 + i % 60);
}

// PTX ISA, shfl.sync: the source lane, or the lane itself where that lies outside of the group of `width` lanes (for
// xor: above its end).
TEST_P(Threads, Shuffles) {
  Buffer<int> out(32);
  for (const int width : {32, 16, 8, 2}) {
    for (const int argument : {0, 1, 3, 7, 16, 31}) {
      for (int which = 0; which < 4; ++which) {
        ASSERT_EQ(kernels_.Run("shuffle", {1}, {32}, out.get(), which, argument, width), absl::OkStatus());
        for (int lane = 0; lane < 32; ++lane) {
          const int first = lane / width * width, last = first + width - 1;
          int source = lane;
          if (which == 0) source = first + argument % width;
          if (which == 1 && lane - argument >= first) source = lane - argument;
          if (which == 2 && lane + argument <= last) source = lane + argument;
          if (which == 3 && (lane ^ argument) <= last) source = lane ^ argument;
          ASSERT_EQ(out[lane], 100 + source) << which << " by " << argument << " in " << width << ", lane " << lane;
        }
      }
    }
  }
}

TEST_P(Threads, ShufflesOfPartsOfAWarp) {
  Buffer<int> out(32);
  ASSERT_EQ(kernels_.Run("shuffle_parts", {1}, {32}, out.get()), absl::OkStatus());
  for (int lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], lane % 2 == 0 ? 4 : 16);
}

TEST_P(Threads, Votes) {
  Buffer<unsigned> out(128);
  ASSERT_EQ(kernels_.Run("votes", {1}, {32}, out.get()), absl::OkStatus());
  unsigned thirds = 0;
  for (int lane = 0; lane < 32; lane += 3) thirds |= 1u << lane;
  for (int lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(out[lane], thirds);
    EXPECT_EQ(out[32 + lane], 1u);
    EXPECT_EQ(out[64 + lane], 1u);
    EXPECT_EQ(out[96 + lane], 0xffu << (lane / 8 * 8));
  }
}

TEST_P(Threads, BarriersThatReduce) {
  Buffer<int> out(96);
  ASSERT_EQ(kernels_.Run("barrier_reductions", {1}, {96}, out.get()), absl::OkStatus());
  // 0, 5, ..., 95: twenty; not all are below 64; thread 95 is there.
  for (int i = 0; i < 96; ++i) EXPECT_EQ(out[i], 20 * 100 + 0 + 1);
}

TEST_P(Threads, DynamicSharedMemory) {
  std::vector<float> values(7 * 96);
  std::iota(values.begin(), values.end(), 0.0f);
  Buffer<float> x(values), y(values.size());
  LaunchOptions options;
  options.threads = 2;
  ASSERT_EQ(kernels_.RunWith("reverse", {7}, {96}, 96 * sizeof(float), options, x.get(), y.get()), absl::OkStatus());
  for (int i = 0; i < 7 * 96; ++i) ASSERT_EQ(y[i], static_cast<float>(i / 96 * 96 + 95 - i % 96));
}

TEST_P(Threads, WarpsThatSynchroniseAlone) {
  std::vector<int> values(128 * 32);
  std::iota(values.begin(), values.end(), 0);
  Buffer<int> x(values), y(values.size());
  ASSERT_EQ(kernels_.Run("transpose_in_warp", {1}, {128}, x.get(), y.get()), absl::OkStatus());
  for (int w = 0; w < 4; ++w) {
    for (int i = 0; i < 32; ++i) {
      for (int j = 0; j < 32; ++j) ASSERT_EQ(y[(w * 32 + i) * 32 + j], (w * 32 + j) * 32 + i);
    }
  }
}

TEST_P(Threads, TheLastBlockSeesWhatOthersPublished) {
  Buffer<float> x(size_t{64} * 100, 1.0f), parts(100), out(1);
  Buffer<unsigned> done(1, 0u);
  ASSERT_EQ(kernels_.Run("sum_by_last_block", {100}, {64}, x.get(), parts.get(), done.get(), out.get()),
            absl::OkStatus());
  EXPECT_EQ(out[0], 6400.0f);
}

TEST_P(Threads, StoresOfOneValueAreNoRace) {
  Buffer<int> index(32, 9);
  Buffer<long long> error(1, 0);
  ASSERT_EQ(kernels_.Run("report", {2}, {32}, index.get(), 5, error.get()), absl::OkStatus());
  EXPECT_EQ(error[0], 1);
}

TCC_DEVICE_TESTS(Threads);

}  // namespace
}  // namespace tcc::sim
