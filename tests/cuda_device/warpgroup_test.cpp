// wgmma: tiles in shared memory, rows of 128 bytes with exchanged pieces.
#include <random>

#include "runtime/float_types.h"
#include "tests/cuda_device/device_test.h"

namespace tcc::sim {
namespace {

class Warpgroup : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (GetParam() != Where::kGpu || Gpu() == nullptr || Gpu()->kind() != devices::Kind::kCuda) return;
    if (Gpu()->properties().compute_capability != 90) GTEST_SKIP() << "wgmma is of sm_90a";
  }
  Kernels kernels_{"warpgroup", GetParam()};

  template <typename Float>
  void Check(const std::string& kernel, int n) {
    std::mt19937 random(n);
    std::uniform_int_distribution<int> small(-4, 4);
    std::vector<int> a(64 * 64), b(n * 64);
    Buffer<uint16_t> da(a.size()), db(b.size());
    Buffer<float> d(64 * n, -1.0f);
    for (size_t i = 0; i < a.size(); ++i) da[i] = Float(a[i] = small(random)).bits;
    for (size_t i = 0; i < b.size(); ++i) db[i] = Float(b[i] = small(random)).bits;
    ASSERT_EQ(kernels_.RunWith(kernel, {1}, {128}, (64 + n) * 128, LaunchOptions(), da.get(), db.get(), d.get()),
              absl::OkStatus());
    for (int i = 0; i < 64; ++i) {
      for (int j = 0; j < n; ++j) {
        int sum = 0;
        for (int k = 0; k < 64; ++k) sum += a[i * 64 + k] * b[j * 64 + k];
        ASSERT_EQ(d[i * n + j], static_cast<float>(sum)) << kernel << " row " << i << " column " << j;
      }
    }
  }
};

TEST_P(Warpgroup, Products) {
  Check<F16>("product_64_f16", 64);
  Check<BF16>("product_128_bf16", 128);
  Check<F16>("product_256_f16", 256);
}

TCC_DEVICE_TESTS(Warpgroup);

}  // namespace
}  // namespace tcc::sim
