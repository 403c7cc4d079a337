// Packages written by released formats stay readable by every reader of the same major format. When the format changes,
// add a file with DISABLED_Write (--gtest_also_run_disabled_tests --gtest_filter='*DISABLED_Write'), and never touch an
// old one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/package.h"
#include "runtime/plan_json.h"
#include "tests/runtime/temp_folder.h"

namespace tcc {
namespace {

using testing::ElementsAre;

// What writes these formats now: packages for the host are as they were in 1.0.
constexpr const char* kHostFile = "golden-1.0.tcc";
constexpr const char* kDeviceFile = "golden-1.1.tcc";

std::string PathOf(const char* file) { return std::string(TCC_TEST_DATA "/") + file; }

// y = n times x stacked, x being the input or, where the condition is false, a constant; z = [n + 1, extent of x].
PackageBuilder Golden() {
  static const float kConstant[4] = {5, 6, 7, 8};
  PackageBuilder builder;
  builder.tcc_version = "0.1.0";
  builder.options = {{"mode", "default"}, {"numerics", "strict"}};
  builder.dumps = {{"0/graph.mlir", "module {}\n"}};
  Specialisation one;
  one.target.arch = "x86_64";
  one.target.features = {"sse2"};
  one.info = {{"kernels", "0"}};
  one.signature.symbols = {{"batch", 2, 64, 2}};
  one.signature.inputs = {{"x", DType::kF32, {Extent::Of(0)}},
                          {"condition", DType::kBool, {}},
                          {"n", DType::kI64, {}},
                          {"left_out", DType::kBF16, {Extent::Constant(3)}},
                          {"mode", DType::kI32, {Extent::Constant(2)}}};
  one.signature.inputs[3].optional = true;
  one.signature.inputs[3].absent = true;
  one.signature.inputs[4].values = {1, -1};
  one.signature.outputs = {{"y", DType::kF32, {Extent(), Extent::Of(0)}}, {"z", DType::kI64, {Extent::Constant(2)}}};
  Plan& plan = one.plan;
  plan.num_values = 9;
  plan.num_registers = 4;
  plan.inputs = {0, 1, 2, kNoValue, kNoValue};
  plan.outputs = {5, 6};
  plan.symbol_registers = {0};
  plan.constants = {{3, DType::kF32, {4}, 0, 16}};
  plan::Loop loop;
  loop.trip_count = 2;
  loop.iteration = 7;
  loop.blocks = {Block{{plan::View{8, 4, {Operand::Reg(0)}, {}, Operand::Imm(0)}}}};
  loop.scan_outputs = {{5, 8, DType::kF32, {Operand::Reg(0)}}};
  plan.body.instructions = {
      plan::If{1,
               {Block{{plan::Move{4, 0}}},
                Block{{plan::View{4, 3, {Operand::Reg(0)}, {Operand::Imm(1)}, Operand::Imm(0)}}}}},
      loop,
      plan::ReadElement{1, 2, 0},
      plan::Compute{2, IntOp::kAdd, Operand::Reg(1), Operand::Imm(1)},
      plan::ReadExtent{3, 0, 0},
      plan::CheckEqual{Operand::Reg(3), Operand::Reg(0), "extents differ"},
      plan::MakeTensor{6, DType::kI64, {2}, {Operand::Reg(2), Operand::Reg(3)}},
      plan::Release{4}};
  one.constants = {{0, {reinterpret_cast<const char*>(kConstant), sizeof(kConstant)}}};
  one.constants_bytes = sizeof(kConstant);
  builder.specialisations = {one};
  return builder;
}

// The same, and y = kernel(x) on a device.
PackageBuilder GoldenDevice() {
  PackageBuilder builder = Golden();
  Specialisation one;
  one.target = {"cuda", "sm_90a", "cuda:sm_90a", {}};
  one.signature.symbols = {{"n", 1, 64, 1}};
  one.signature.inputs = {{"x", DType::kF16, {Extent::Of(0)}}};
  one.signature.outputs = {{"y", DType::kF16, {Extent::Of(0)}}};
  one.plan.num_values = 4;
  one.plan.num_registers = 1;
  one.plan.inputs = {0};
  one.plan.outputs = {3};
  one.plan.symbol_registers = {0};
  one.plan.slot_bytes = {Operand::Imm(512)};
  one.plan.functions = {"kernel"};
  plan::DeviceLaunch launch;
  launch.function = 0;
  launch.buffers = {2, 1};
  launch.scalars = {Operand::Reg(0)};
  launch.grid = {Operand::Reg(0), Operand::Imm(2), Operand::Imm(1)};
  launch.block = {128, 1, 1};
  launch.shared_bytes = Operand::Imm(1024);
  launch.reports_errors = true;
  launch.name = "node 'k' (Gather)";
  launch.copies = true;
  one.plan.body.instructions = {plan::Transfer{1, 0, Space::kDevice},
                                plan::Allocate{2, DType::kF16, {Operand::Reg(0)}, 0, 256, kNoValue, Space::kDevice},
                                launch, plan::Transfer{3, 2, Space::kHost}};
  one.images = {{"kernel", "// source", {{"sm_90a", "cubin"}, {"compute_90", "ptx"}, {"sim", "object"}}}};
  builder.specialisations.push_back(one);
  return builder;
}

TEST(GoldenPackage, DISABLED_Write) { ASSERT_TRUE(GoldenDevice().Write(PathOf(kDeviceFile)).ok()); }

class GoldenPackageTest : public testing::TestWithParam<const char*> {};

TEST_P(GoldenPackageTest, RunsAsItDid) {
  const auto package = Package::Open(std::string(TCC_TEST_DATA "/") + GetParam());
  ASSERT_TRUE(package.ok()) << package.status();
  EXPECT_EQ((*package)->options().at("numerics"), "strict");
  EXPECT_EQ(*(*package)->Dump("0/graph.mlir"), "module {}\n");
  EXPECT_TRUE((*package)->VerifyConstants().ok());
#if defined(__x86_64__)
  const auto run = [&](bool condition) {
    const std::vector<Tensor> inputs = {Tensor::Vector<float>({1, 2}), Tensor::Scalar<bool>(condition),
                                        Tensor::Scalar<int64_t>(2), Tensor(), Tensor::Vector<int32_t>({1, -1})};
    std::vector<int64_t> symbols;
    const auto selected = (*package)->Select(inputs, &symbols);
    EXPECT_TRUE(selected.ok()) << selected.status();
    ExecutionContext context(*Package::Prepare(*package, 0));
    return *context.Run(inputs, symbols);
  };
  const auto outputs = run(true);
  EXPECT_EQ(DebugString(outputs[0]), "f32[2,2] {1, 2, 1, 2}");
  EXPECT_EQ(DebugString(outputs[1]), "i64[2] {3, 2}");
  EXPECT_EQ(DebugString(run(false)[0]), "f32[2,2] {5, 6, 5, 6}");
#endif
}

INSTANTIATE_TEST_SUITE_P(Formats, GoldenPackageTest, testing::Values(kHostFile, kDeviceFile));

TEST(GoldenPackage, DevicesAreReadAsTheyWereWritten) {
  const auto package = Package::Open(PathOf(kDeviceFile));
  ASSERT_TRUE(package.ok()) << package.status();
  const Specialisation written = GoldenDevice().specialisations[1];
  EXPECT_EQ((*package)->target(1), written.target);
  const auto plan = (*package)->ReadPlan(1);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(PlanToJson(*plan), PlanToJson(written.plan));
  ASSERT_EQ((*package)->images(1).size(), 1u);
  const KernelImageView& image = (*package)->images(1)[0];
  EXPECT_EQ(image.symbol, "kernel");
  EXPECT_EQ(image.source, "// source");
  EXPECT_EQ(image.binaries, KernelImageView(written.images[0]).binaries);
}

// A change of what the writer makes is a change of the format: it needs a new minor or major.
TEST(GoldenPackage, TheWriterStillWritesThisFormat) {
  const TempFolder folder;
  ASSERT_TRUE(Golden().Write(folder / "host.tcc").ok());
  ASSERT_TRUE(GoldenDevice().Write(folder / "device.tcc").ok());
  EXPECT_TRUE(ReadFile(folder / "host.tcc") == ReadFile(PathOf(kHostFile)) &&
              ReadFile(folder / "device.tcc") == ReadFile(PathOf(kDeviceFile)))
      << "the format has changed: raise kPackageMinor (older readers do not mind) or kPackageMajor, and add a golden "
         "file";
}

}  // namespace
}  // namespace tcc
