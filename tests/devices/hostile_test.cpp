// Plans for devices that no compiler makes: an error, whatever they say, and nothing else.
#include <functional>
#include <limits>

#include "nlohmann/json.hpp"
#include "runtime/plan_json.h"
#include "tests/devices/device_test.h"

namespace tcc::devices {
namespace {

using testing::HasSubstr;

// AddScale with something wrong; the second is launched with what is wrong there.
Plan With(const std::function<void(Plan&, plan::DeviceLaunch&)>& change) {
  Plan plan = AddScale();
  change(plan, std::get<plan::DeviceLaunch>(plan.body.instructions[6]));
  return plan;
}

class HostilePlans : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { device_ = Make(GetParam()); }
  void TearDown() override {
    EXPECT_EQ(device_->counters().bytes, 0);
    EXPECT_EQ(device_->counters().modules, 0);
    EXPECT_EQ(device_->counters().streams, 0);
  }
  // Of preparing it, or of running it, also recorded.
  std::string ErrorOf(const Plan& plan) {
    const auto prepared = PrepareOn(device_, plan);
    if (!prepared.ok()) return std::string(prepared.status().message());
    std::string text;
    for (const int recordings : {0, 1}) {
      ExecutionContext context(*prepared, nullptr, recordings);
      for (int i = 0; i < 3; ++i) {
        const auto outputs = context.Run({Vector({1, 2}), Vector({3, 4})}, {2});
        if (i > 0 || recordings > 0) EXPECT_EQ(text, std::string(outputs.status().message()));
        text = std::string(outputs.status().message());
      }
    }
    return text;
  }
  std::shared_ptr<ComputeDevice> device_;
};

// The second launch has a tensor map.
template <typename Change>
Plan WithMap(Change change) {
  return With([&](Plan&, plan::DeviceLaunch& launch) {
    launch.tensor_maps = {{1, 4, {Operand::Imm(8), Operand::Imm(4)}, {Operand::Imm(8)}, {8, 4}, 0}};
    change(launch.tensor_maps[0]);
  });
}

TEST_P(HostilePlans, AreErrors) {
  const int64_t huge = int64_t{1} << 40, most = std::numeric_limits<int64_t>::max();
  const auto with = [](auto change) { return With(change); };
  using Launch = plan::DeviceLaunch;
  const std::pair<Plan, std::string> plans[] = {
      {AddScale(), ""},
      // Numbers that are out of range.
      {with([](Plan&, Launch& l) { l.function = 2; }), "no such function"},
      {with([](Plan&, Launch& l) { l.function = -1; }), "no such function"},
      {with([](Plan&, Launch& l) { l.buffers[0] = 7; }), "buffer: value 7 of 7"},
      {with([](Plan&, Launch& l) { l.buffers[1] = -1; }), "buffer: value -1 of 7"},
      {with([](Plan&, Launch& l) { l.scalars[0] = Operand::Reg(2); }), "register 2 of 2"},
      {with([](Plan&, Launch& l) { l.grid[1] = Operand::Reg(-1); }), "register -1 of 2"},
      {with([](Plan&, Launch& l) { l.shared_bytes = Operand::Reg(9); }), "register 9 of 2"},
      // Launches that no device takes, known beforehand and not.
      {with([](Plan&, Launch& l) { l.grid[0] = Operand::Imm(-1); }), "grid is -1"},
      {with([](Plan&, Launch& l) { l.block = {0, 1, 1}; }), "a block has an extent of 0"},
      {with([](Plan&, Launch& l) { l.block = {-5, 1, 1}; }), "a block has an extent of -5"},
      {with([](Plan&, Launch& l) { l.block = {1024, 2, 1}; }), "a block has 2048 threads"},
      {with([](Plan&, Launch& l) { l.block = {1, 1, 65}; }), "node 'm' (Mul): "},
      {with([](Plan&, Launch& l) { l.shared_bytes = Operand::Imm(-1); }), "shared memory is -1"},
      {with([&](Plan&, Launch& l) { l.grid[0] = Operand::Imm(huge); }), "node 'm' (Mul): "},
      {with([&](Plan&, Launch& l) { l.grid[2] = Operand::Imm(most); }), "a grid of 4 x 1 x 9223372036854775807 blocks"},
      {with([&](Plan&, Launch& l) { l.shared_bytes = Operand::Imm(huge); }),
       "takes 1099511627776 bytes of shared memory"},
      {with([](Plan& p, Launch& l) {
         std::get<plan::Compute>(p.body.instructions[0]) = {1, IntOp::kSub, Operand::Imm(0), Operand::Imm(7)};
         l.grid[0] = Operand::Reg(1);
         p.slot_bytes = {Operand::Imm(512)};
       }),
       "node 'm' (Mul): a grid of -7 blocks"},
      {with([](Plan& p, Launch& l) {
         std::get<plan::Compute>(p.body.instructions[0]) = {1, IntOp::kSub, Operand::Imm(0), Operand::Imm(7)};
         l.shared_bytes = Operand::Reg(1);
         p.slot_bytes = {Operand::Imm(512)};
       }),
       ": -7 bytes of shared memory"},
      {with([](Plan&, Launch& l) { l.counters = Operand::Imm(1); }), ""},
      {with([](Plan&, Launch& l) { l.counters = Operand::Imm(-1); }), "counters is -1"},
      {with([&](Plan&, Launch& l) { l.counters = Operand::Imm(most); }),
       "node 'm' (Mul): a launch with 9223372036854775807 counters"},
      {with([](Plan& p, Launch& l) {
         std::get<plan::Compute>(p.body.instructions[0]) = {1, IntOp::kSub, Operand::Imm(0), Operand::Imm(7)};
         l.counters = Operand::Reg(1);
         p.slot_bytes = {Operand::Imm(512)};
       }),
       "node 'm' (Mul): a launch with -7 counters"},
      // Values that are not where they are used, or nowhere.
      {with([](Plan&, Launch& l) { l.buffers[1] = 0; }), "value 0 is on the host, must be on the device"},
      {with([](Plan& p, Launch&) { p.body.instructions[1] = plan::Transfer{0, 2, Space::kDevice}; }), "value 0 is on "},
      {with([](Plan& p, Launch&) { p.body.instructions[1] = plan::Transfer{2, 2, Space::kDevice}; }), "is read before"},
      {with([](Plan& p, Launch&) { p.body.instructions[1] = plan::Transfer{2, 6, Space::kDevice}; }), "is read before"},
      {with([](Plan& p, Launch&) { p.body.instructions[1] = plan::Transfer{2, 7, Space::kDevice}; }), "value 7 of 7"},
      {with([](Plan& p, Launch&) { p.body.instructions.pop_back(); }), "value 6 is read before it is set"},
      {with([](Plan& p, Launch&) { p.body.instructions[7] = plan::Transfer{6, 5, Space::kDevice}; }), ""},
      {with([](Plan& p, Launch&) { p.body.instructions[7] = plan::Move{6, 4}; }), ""},
      {with([](Plan& p, Launch&) { p.body.instructions[7] = plan::ReadElement{1, 5, 0}; }), "is on the device"},
      // Memory that is not there.
      {with([](Plan& p, Launch&) { p.slot_bytes = {Operand::Imm(4)}; }), "does not fit into slot 0 of 4 bytes"},
      {with([&](Plan& p, Launch&) { p.slot_bytes = {Operand::Imm(most)}; }), "memory slot 0 of 9223372036854775807"},
      {with([&](Plan& p, Launch&) { p.slot_bytes = {Operand::Imm(int64_t{1} << 55)}; }),
       "the plan takes 32768.0 TiB on"},
      {with([](Plan& p, Launch&) { std::get<plan::Allocate>(p.body.instructions[3]).offset = 64; }), "multiple of 256"},
      {with([](Plan& p, Launch&) { std::get<plan::Allocate>(p.body.instructions[3]).offset = int64_t{1} << 40; }),
       "does not fit"},
      {with([&](Plan& p, Launch&) {
         std::get<plan::Allocate>(p.body.instructions[5]).dims = {Operand::Imm(huge), Operand::Imm(huge)};
       }),
       "overflow"},
      {with([&](Plan& p, Launch&) { std::get<plan::Allocate>(p.body.instructions[5]).dims = {Operand::Imm(most)}; }),
       "too large"},
      {with([](Plan& p, Launch&) { std::get<plan::Allocate>(p.body.instructions[5]).dtype = DType::kString; }),
       "strings cannot live on a device"},
      {with(
           [](Plan& p, Launch&) { p.body.instructions[7] = plan::View{6, 5, {Operand::Imm(9)}, {}, Operand::Imm(0)}; }),
       "lies outside its source"},
      {with([](Plan& p, Launch&) {
         p.body.instructions[7] = plan::View{6, 5, {Operand::Imm(2)}, {Operand::Imm(-1)}, Operand::Imm(0)};
       }),
       "lies outside its source"},
      // Tensor maps.
      {WithMap([](plan::TensorMap& map) { map.buffer = 3; }), "a tensor map of no buffer"},
      {WithMap([](plan::TensorMap& map) { map.buffer = -1; }), "a tensor map of no buffer"},
      {WithMap([](plan::TensorMap& map) { map.element_bytes = 3; }), "elements of 3 bytes"},
      {WithMap([](plan::TensorMap& map) { map.strides.clear(); }), "2 to 5 extents"},
      {WithMap([](plan::TensorMap& map) { map.box = {8, 4, 1}; }), "2 to 5 extents"},
      {WithMap([](plan::TensorMap& map) { map.box = {8, 257}; }), "box has an extent of 257"},
      {WithMap([](plan::TensorMap& map) { map.box = {3, 4}; }), "lines of 12 bytes"},
      {WithMap([](plan::TensorMap& map) { map.swizzle = 16; }), "pieces of 16 bytes"},
      {WithMap([](plan::TensorMap& map) {
         map.box = {64, 4};
         map.swizzle = 128;
       }),
       "lines of 256 bytes"},
      {WithMap([](plan::TensorMap& map) { map.extents[1] = Operand::Reg(5); }), "register 5 of 2"},
      {WithMap([](plan::TensorMap& map) { map.strides[0] = Operand::Imm(-4); }), "stride of a tensor map is -4"},
  };
  for (size_t i = 0; i < std::size(plans); ++i) {
    const auto& [plan, message] = plans[i];
    const std::string error = ErrorOf(plan);
    EXPECT_EQ(error.empty(), message.empty()) << i << ": " << error;
    EXPECT_THAT(error, HasSubstr(message)) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, HostilePlans, testing::Values("null", "fake-cuda"), [](const auto& info) {
  std::string name = info.param;
  std::erase(name, '-');
  return name;
});

// Each number and register of a plan's text in turn is another one. What then can still be read is run: nothing may
// come of it but an error. (On the device that runs nothing: whether kernels get what they expect no plan can tell.)
TEST(HostilePlanTexts, NumbersThatAreOthers) {
  Plan plan = AddScale();
  plan.body.instructions.insert(plan.body.instructions.end() - 1,
                                plan::View{4, 5, {Operand::Reg(0)}, {Operand::Imm(1)}, Operand::Imm(0)});
  std::get<plan::DeviceLaunch>(plan.body.instructions[4]).reports_errors = true;
  const nlohmann::json original = nlohmann::json::parse(PlanToJson(plan)), flat = original.flatten();
  const nlohmann::json others[] = {-1,
                                   0,
                                   1,
                                   3,
                                   5,
                                   1025,
                                   int64_t{1} << 31,
                                   int64_t{1} << 62,
                                   std::numeric_limits<int64_t>::min(),
                                   "r0",
                                   "r1",
                                   "r2",
                                   "r-1",
                                   "host",
                                   "device",
                                   nullptr,
                                   0.5,
                                   nlohmann::json::array()};
  const auto device = MakeNullDevice({int64_t{1} << 20});
  int read = 0, ran = 0;
  for (const auto& [path, value] : flat.items()) {
    const nlohmann::json::json_pointer where(path);
    for (const nlohmann::json& other : others) {
      nlohmann::json changed = original;
      changed[where] = other;
      const absl::StatusOr<Plan> parsed = PlanFromJson(changed.dump());
      if (!parsed.ok()) continue;
      ++read;
      const auto prepared = PrepareOn(device, *parsed);
      if (!prepared.ok()) continue;
      for (const int recordings : {0, 1}) {
        ExecutionContext context(*prepared, nullptr, recordings);
        for (int i = 0; i < 3; ++i) ran += context.Run({Vector({1, 2}), Vector({3, 4})}, {2}).ok();
      }
    }
  }
  EXPECT_GT(read, 50);
  EXPECT_GT(ran, 50);
  EXPECT_EQ(device->counters().bytes, 0);
  EXPECT_EQ(device->counters().streams, 0);
  EXPECT_EQ(device->counters().graphs, 0);
}

// A package that was cut off, or altered, anywhere is none.
TEST(HostilePackages, CutOffOrAltered) {
  const TempFolder folder;
  PackageBuilder builder;
  builder.specialisations = {ExampleOf("cuda", "sm_80", AddScale())};
  for (KernelImage& image : builder.specialisations[0].images) image.binaries = {{"sm_80", "a binary"}};
  ASSERT_TRUE(builder.Write(folder / "m.tcc").ok());
  const std::string bytes = ReadFile(folder / "m.tcc");
  const auto opens = [&](const std::string& text) {
    WriteFile(folder / "other.tcc", text);
    return Package::Open(folder / "other.tcc").ok();
  };
  EXPECT_TRUE(opens(bytes));
  for (size_t size = 0; size < bytes.size(); size += 97) EXPECT_FALSE(opens(bytes.substr(0, size))) << size;
  for (const char* part : {"a binary", "// ...", "\"function\""}) {
    std::string altered = bytes;
    const size_t at = altered.find(part);
    ASSERT_NE(at, std::string::npos) << part;
    altered[at + 1] ^= 1;
    EXPECT_FALSE(opens(altered)) << part;
  }
}

}  // namespace
}  // namespace tcc::devices
