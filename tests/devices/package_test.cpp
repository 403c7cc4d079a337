// Packages with kernels for a device, opened and run.
#include "runtime/package.h"

#include "tests/devices/device_test.h"

namespace tcc::devices {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

PackageBuilder Example(const std::string& kind, const std::string& arch) {
  PackageBuilder builder;
  Specialisation one;
  one.target = {kind, arch, "", {}};
  one.signature.symbols = {{"n", 1, 128, 1}};
  one.signature.inputs = {{"a", DType::kF32, {Extent::Of(0)}}, {"b", DType::kF32, {Extent::Of(0)}}};
  one.signature.outputs = {{"y", DType::kF32, {Extent::Of(0)}}};
  one.plan = AddScale();
  for (const KernelImageView& image : Images()) {
    one.images.push_back({image.symbol, std::string(image.source), {}});
    for (const auto& [name, bytes] : image.binaries) one.images.back().binaries[name] = bytes;
  }
  builder.specialisations = {one};
  return builder;
}

TEST(DevicePackage, RunsOnTheSimulator) {
  const TempFolder folder;
  ASSERT_TRUE(Example("cuda-sim", "sim").Write(folder / "m.tcc").ok());
  const auto package = Package::Open(folder / "m.tcc");
  ASSERT_TRUE(package.ok()) << package.status();
  std::vector<int64_t> symbols;
  const auto selected = (*package)->Select({Vector({1, 2}), Vector({3, 4})}, &symbols);
  ASSERT_TRUE(selected.ok()) << selected.status();
  const auto plan = Package::Prepare(*package, *selected);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ExecutionContext context(*plan);
  EXPECT_THAT(Floats((*context.Run({Vector({1, 2}), Vector({3, 4})}, symbols))[0]), ElementsAre(12, 18));
}

// A device of the caller's choice.
TEST(DevicePackage, RunsWhereItIsTold) {
  const TempFolder folder;
  ASSERT_TRUE(Example("cuda", "sm_90a").Write(folder / "m.tcc").ok());
  PreparedPlan::Options options;
  options.device = MakeNullDevice();
  const auto plan = Package::Prepare(*Package::Open(folder / "m.tcc"), 0, options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ((*plan)->device(), options.device);
}

TEST(DevicePackage, SaysWhyItDoesNotRun) {
  const TempFolder folder;
  PackageBuilder builder = Example("cuda-sim", "sim");
  for (KernelImage& image : builder.specialisations[0].images) image.binaries.erase("sim");
  ASSERT_TRUE(builder.Write(folder / "m.tcc").ok());
  std::vector<int64_t> symbols;
  const auto selected = (*Package::Open(folder / "m.tcc"))->Select({Vector({1, 2}), Vector({3, 4})}, &symbols);
  EXPECT_EQ(selected.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(selected.status().message()),
              HasSubstr("no code for cuda-sim (a simulated CUDA device, sim), there is some for sm_80"));
  const absl::Status no_gpu = CheckTarget({"cuda", "sm_90a", "", {}});
  if (!no_gpu.ok()) EXPECT_THAT(std::string(no_gpu.message()), HasSubstr("made for cuda (sm_90a): "));
}

}  // namespace
}  // namespace tcc::devices
