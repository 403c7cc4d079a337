// Packages with kernels for a device, opened and run.
#include "tests/devices/device_test.h"

namespace tcc::devices {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

PackageBuilder Example(const std::string& kind, const std::string& arch) {
  PackageBuilder builder;
  builder.specialisations = {ExampleOf(kind, arch, AddScale())};
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

// Opened for a device: all specialisations that are for one run there.
TEST(DevicePackage, IsOpenedForADevice) {
  const TempFolder folder;
  ASSERT_TRUE(Example("cuda", "sm_90a").Write(folder / "m.tcc").ok());
  const auto package = Package::Open(folder / "m.tcc", {.device = "null"});
  ASSERT_TRUE(package.ok()) << package.status();
  std::vector<int64_t> symbols;
  const auto selected = (*package)->Select({Vector({1, 2}), Vector({3, 4})}, &symbols);
  ASSERT_TRUE(selected.ok()) << selected.status();
  EXPECT_EQ((*Package::Prepare(*package, *selected))->device(), *DeviceFor("null"));
  const auto error_of = [&](const char* device, const CodeTarget& target) {
    return std::string(CheckTarget(target, device).message());
  };
  EXPECT_THAT(error_of("cuda-simulator", {"cuda", "sm_90a", "", {}}),
              HasSubstr("no device 'cuda-simulator': there are cuda:N (a GPU), cuda-sim and null"));
  EXPECT_THAT(error_of("cuda:0", {}), HasSubstr("made for the CPU, and 'cuda:0' was asked for"));
}

// What has no code for the device at hand is compiled from its source, all of it at once.
TEST(DevicePackage, CompilesWhatIsMissing) {
  const TempFolder folder;
  PackageBuilder builder = Example("cuda-sim", "sim");
  for (KernelImage& image : builder.specialisations[0].images) image.binaries = {{"sm_80", "fake"}};
  ASSERT_TRUE(builder.Write(folder / "m.tcc").ok());
  const auto package = *Package::Open(folder / "m.tcc");
  const std::vector<Tensor> inputs = {Vector({1, 2}), Vector({3, 4})};
  std::vector<int64_t> symbols;
  EXPECT_THAT(std::string(package->Select(inputs, &symbols).status().message()), HasSubstr("no code for cuda-sim"));
  int calls = 0;
  RegisterImageCompiler([&](absl::Span<const KernelImageView* const> images,
                            const std::string& arch) -> absl::StatusOr<std::vector<std::string>> {
    if (++calls == 1) return absl::FailedPreconditionError("no compiler");
    EXPECT_EQ(arch, "sim");
    EXPECT_EQ(images.size(), 2u);
    EXPECT_EQ(images[0]->symbol, "add");
    EXPECT_THAT(images[0]->uses, ElementsAre("node 'a' (Add)"));
    return std::vector<std::string>(images.size(), ReadFile(TCC_TEST_KERNELS));
  });
  // The same package, once there is a compiler.
  ASSERT_EQ(*package->Select(inputs, &symbols), 0);
  EXPECT_THAT(std::string(Package::Prepare(package, 0).status().message()),
              HasSubstr("compile for --target=cuda-sim; compiling its source failed: no compiler"));
  const auto plan = Package::Prepare(package, 0);
  RegisterImageCompiler(nullptr);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(calls, 2);
  ExecutionContext context(*plan);
  EXPECT_THAT(Floats((*context.Run(inputs, symbols))[0]), ElementsAre(12, 18));
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
