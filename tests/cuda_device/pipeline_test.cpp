// Named barriers, mbarriers and copies in bulk.
#include <numeric>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/cuda_device/device_test.h"

namespace tcc::sim {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Pipeline : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (GetParam() != Where::kGpu || Gpu() == nullptr || Gpu()->kind() != devices::Kind::kCuda) return;
    if (Gpu()->properties().compute_capability < 90)
      GTEST_SKIP() << "mbarriers and bulk copies are of compute capability 9.0";
  }
  Kernels kernels_{"pipeline", GetParam()};
};

TEST_P(Pipeline, NamedBarriers) {
  Buffer<int> out(128);
  ASSERT_EQ(kernels_.Run("relay", {3}, {128}, out.get()), absl::OkStatus());
  for (int i = 0; i < 128; ++i) EXPECT_EQ(out[i], (i % 32 ^ (i / 32 % 2)) + i / 32);
}

TEST_P(Pipeline, StagesBetweenWarps) {
  for (const int tiles : {1, 2, 3, 7}) {
    Buffer<float> x(static_cast<size_t>(tiles) * 64), out(64);
    for (int i = 0; i < tiles * 64; ++i) x[i] = static_cast<float>(i);
    ASSERT_EQ(kernels_.Run("staged_sum", {1}, {96}, x.get(), out.get(), tiles), absl::OkStatus());
    for (int i = 0; i < 64; ++i) {
      float sum = 0;
      for (int t = 0; t < tiles; ++t) sum += static_cast<float>(64 * t + 63 - i);
      ASSERT_EQ(out[i], sum);
    }
  }
}

TEST_P(Pipeline, BulkStore) {
  Buffer<int> x(32, 4), y(32, 0);
  ASSERT_EQ(kernels_.Run("bulk_copy", {1}, {32}, x.get(), y.get()), absl::OkStatus());
  for (int i = 0; i < 32; ++i) EXPECT_EQ(y[i], 5);
}

TCC_DEVICE_TESTS(Pipeline);

TEST(PipelineFaults, AreReported) {
  Kernels kernels("pipeline", Where::kChecked);
  Buffer<float> x(64, 1.0f), y(64);
  const auto message = [&](const char* kernel, unsigned threads, auto... args) {
    const absl::Status status = kernels.Run(kernel, {1}, {threads}, args...);
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << kernel;
    EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat("pipeline.cu:", LineOf("pipeline", kernel))));
    return std::string(status.message());
  };
  EXPECT_THAT(message("missing_mbarrier_wait", 64, x.get(), y.get()),
              HasSubstr("race: reads 4 bytes of shared memory"));
  EXPECT_THAT(message("missing_bytes", 64, x.get(), y.get()),
              AllOf(HasSubstr("no thread can go on"), HasSubstr("the phase of parity 0 of an mbarrier")));
  EXPECT_THAT(message("overwritten_stage", 64, x.get(), y.get()), HasSubstr("race: reads 4 bytes of shared memory"));
  EXPECT_THAT(message("missing_bulk_wait", 32, y.get()), HasSubstr("returns before its bulk copies"));
}

}  // namespace
}  // namespace tcc::sim
