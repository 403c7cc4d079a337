#include "runtime/plan_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nlohmann/json.hpp"

namespace tcc {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

// One of each instruction.
Plan Example() {
  Plan plan;
  plan.num_values = 8;
  plan.num_registers = 4;
  plan.inputs = {0, kNoValue};
  plan.outputs = {2};
  plan.symbol_registers = {0};
  plan.constants = {{7, DType::kF32, {2, 3}, 64, 24}};
  plan.slot_bytes = {Operand::Imm(128), Operand::Reg(1)};
  plan.functions = {"kernel_0"};
  plan::Library library{"reduce",
                        {{"kind", std::string("sum")},
                         {"raw", std::string("\xff\x00", 2)},
                         {"axes", std::vector<int64_t>{0, -1}},
                         {"epsilon", 1e-5},
                         {"limit", std::numeric_limits<double>::infinity()},
                         {"scales", std::vector<double>{1, 0.5}},
                         {"names", std::vector<std::string>{"a", "b"}},
                         {"to", DType::kBF16},
                         {"table", Tensor::Vector<int16_t>({1, -2, 3})}},
                        {{"sizes", {Operand::Reg(2), Operand::Imm(4)}}},
                        {0, kNoValue},
                        {{1, DType::kF32, {Operand::Imm(-1)}}},
                        "node 'r' (ReduceSum)"};
  Block then{{plan::Move{2, 0}}}, otherwise{{plan::Move{2, 1}}};
  plan::Loop loop;
  loop.trip_count = 3;
  loop.condition = 4;
  loop.iteration = 5;
  loop.blocks = {Block{{plan::Move{6, 0}, plan::If{4, {then, otherwise}}}}};
  loop.scan_outputs = {{2, 6, DType::kF32, {Operand::Imm(3)}}};
  plan.body.instructions = {
      plan::Compute{1, IntOp::kCeilDiv, Operand::Reg(0), Operand::Imm(4)},
      plan::Allocate{1, DType::kF32, {Operand::Reg(0), Operand::Imm(3)}, 1, 64},
      plan::Allocate{2, DType::kString, {}, plan::kFreshSlot, 0, /*over=*/7},
      plan::View{3, 1, {Operand::Imm(3)}, {Operand::Imm(-1)}, Operand::Imm(2)},
      plan::Launch{0, {0, 7, 1}, {Operand::Reg(0)}, Operand::Reg(0), 16, Operand::Imm(256), "add"},
      library,
      plan::MakeTensor{5, DType::kI64, {2}, {Operand::Reg(0), Operand::Imm(-5)}},
      plan::ReadExtent{2, 1, 0},
      plan::ReadElement{3, 5, 1},
      plan::CheckEqual{Operand::Reg(2), Operand::Imm(3), "extents differ"},
      plan::If{4, {then, otherwise}},
      loop,
      plan::Release{1},
      plan::Launch{0, {7, 1}, {}, Operand::Imm(1), 1, Operand::Imm(0), "copy", /*copies=*/true}};
  return plan;
}

// y = kernel(x) on a device.
Plan DeviceExample() {
  Plan plan;
  plan.num_values = 5;
  plan.num_registers = 1;
  plan.inputs = {0};
  plan.outputs = {4};
  plan.symbol_registers = {0};
  plan.slot_bytes = {Operand::Imm(1024)};
  plan.functions = {"kernel"};
  plan.body.instructions = {
      plan::Transfer{1, 0, Space::kDevice},
      plan::Allocate{2, DType::kF32, {Operand::Reg(0)}, 0, 256, kNoValue, Space::kDevice},
      plan::View{3, 2, {Operand::Imm(1)}, {}, Operand::Imm(0)},
      plan::DeviceLaunch{0,
                         {1, 3},
                         {Operand::Reg(0)},
                         {Operand::Reg(0), Operand::Imm(1), Operand::Imm(1)},
                         {32, 2, 1},
                         Operand::Imm(64),
                         /*reports_errors=*/true,
                         "gather",
                         /*copies=*/true,
                         /*counters=*/Operand::Reg(0),
                         {{1, 4, {Operand::Imm(8), Operand::Reg(0)}, {Operand::Imm(8)}, {8, 4}, 32}}},
      plan::Transfer{4, 3, Space::kHost}};
  return plan;
}

std::string Error(const Json& json) {
  const auto plan = PlanFromJson(json.dump());
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(plan.status().message());
}

TEST(PlanJson, RoundTrip) {
  const std::string text = PlanToJson(Example());
  const auto plan = PlanFromJson(text);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(PlanToJson(*plan), text);
  const auto& library = std::get<plan::Library>(plan->body.instructions[5]);
  EXPECT_EQ(*library.attributes.String("raw"), std::string("\xff\x00", 2));
  EXPECT_EQ(*library.attributes.Float("limit"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(*library.attributes.Float("epsilon"), 1e-5);
  EXPECT_EQ(DebugString(std::get<Tensor>(library.attributes.values().at("table"))), "i16[3] {1, -2, 3}");
  EXPECT_EQ(std::get<DType>(library.attributes.values().at("to")), DType::kBF16);
  EXPECT_EQ(library.int_lists[0].second[0], Operand::Reg(2));
  const auto& loop = std::get<plan::Loop>(plan->body.instructions[11]);
  EXPECT_EQ(loop.scan_outputs[0].element, 6);
}

TEST(PlanJson, ErrorsSayWhere) {
  Json json = Json::parse(PlanToJson(Example()));
  json["body"][3].erase("source");
  EXPECT_EQ(Error(json), "plan: body[3].source: 'source' is missing");
  json = Json::parse(PlanToJson(Example()));
  json["body"][4]["items"] = "x3";
  EXPECT_THAT(Error(json), HasSubstr("body[4].items: expected an integer or a register"));
  json = Json::parse(PlanToJson(Example()));
  json["body"][11]["blocks"][0][0]["to"] = 8;
  EXPECT_EQ(Error(json), "plan: instruction 11.instruction 0: target: value 8 of 8");
  json = Json::parse(PlanToJson(Example()));
  json["body"][0]["do"] = "jump";
  EXPECT_THAT(Error(json), HasSubstr("unknown instruction 'jump'"));
  json = Json::parse(PlanToJson(Example()));
  json["body"][10]["blocks"].erase(1);
  EXPECT_THAT(Error(json), HasSubstr("an if has two blocks"));
  json = Json::parse(PlanToJson(Example()));
  json["constants"][0]["bytes"] = 20;
  EXPECT_THAT(Error(json), HasSubstr("constant of type f32[2,3] takes 20 bytes"));
}

TEST(PlanJson, DevicesRoundTrip) {
  const std::string text = PlanToJson(DeviceExample());
  const auto plan = PlanFromJson(text);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(PlanToJson(*plan), text);
  EXPECT_EQ(std::get<plan::Allocate>(plan->body.instructions[1]).space, Space::kDevice);
  const auto& launch = std::get<plan::DeviceLaunch>(plan->body.instructions[3]);
  EXPECT_EQ(launch.grid[0], Operand::Reg(0));
  EXPECT_EQ(launch.block, (std::array<int32_t, 3>{32, 2, 1}));
  EXPECT_TRUE(launch.reports_errors);
  EXPECT_EQ(launch.counters, Operand::Reg(0));
  ASSERT_EQ(launch.tensor_maps.size(), 1u);
  EXPECT_EQ(launch.tensor_maps[0].extents, (std::vector<Operand>{Operand::Imm(8), Operand::Reg(0)}));
  EXPECT_EQ(launch.tensor_maps[0].box, (std::vector<int32_t>{8, 4}));
  EXPECT_EQ(launch.tensor_maps[0].swizzle, 32);
  EXPECT_EQ(std::get<plan::Transfer>(plan->body.instructions[4]).to, Space::kHost);
}

TEST(PlanJson, SpacesMustFit) {
  const auto error = [](auto change) {
    Plan plan = DeviceExample();
    change(plan.body.instructions);
    return std::string(ValidatePlan(plan).message());
  };
  using Code = std::vector<Instruction>;
  const auto launch = [](Code& code) -> plan::DeviceLaunch& { return std::get<plan::DeviceLaunch>(code[3]); };
  EXPECT_EQ(error([](Code&) {}), "");
  EXPECT_EQ(error([&](Code& code) { launch(code).buffers = {0, 3}; }),
            "plan: instruction 3: buffer: value 0 is on the host, must be on the device (a transfer is missing)");
  EXPECT_EQ(error([](Code& code) { code.push_back(plan::Launch{0, {3}, {}, Operand::Imm(1), 1, {}, ""}); }),
            "plan: instruction 5: buffer: value 3 is on the device, must be on the host (a transfer is missing)");
  EXPECT_THAT(error([](Code& code) { code.push_back(plan::If{1, {Block(), Block()}}); }),
              HasSubstr("condition: value 1 is on the device"));
  // Values and slots are in one space.
  EXPECT_EQ(error([](Code& code) { code.push_back(plan::Move{0, 1}); }),
            "plan: value 0 is on the host and on the device");
  EXPECT_EQ(error([](Code& code) { code.push_back(plan::Allocate{4, DType::kF32, {}, 0, 0}); }),
            "plan: slot 0 is on the host and on the device");
  EXPECT_THAT(error([](Code& code) { std::get<plan::Allocate>(code[1]).offset = 64; }), HasSubstr("multiple of 256"));
  EXPECT_THAT(error([](Code& code) { std::get<plan::Allocate>(code[1]).over = 0; }), HasSubstr("overwritten"));
  EXPECT_THAT(error([&](Code& code) { launch(code).block = {32, 64, 1}; }), HasSubstr("2048 threads"));
  EXPECT_THAT(error([&](Code& code) { launch(code).block = {0, 1, 1}; }), HasSubstr("extent of 0"));
  EXPECT_THAT(error([&](Code& code) { launch(code).function = 1; }), HasSubstr("no such function"));
  EXPECT_THAT(error([&](Code& code) { launch(code).grid[2] = Operand::Imm(-1); }), HasSubstr("grid is -1"));
  EXPECT_THAT(error([&](Code& code) { launch(code).counters = Operand::Imm(-1); }), HasSubstr("counters is -1"));
  EXPECT_THAT(error([&](Code& code) { launch(code).counters = Operand::Reg(7); }), HasSubstr("register 7 of"));
}

// A carried value is where the loop's body leaves it, also where the body comes later.
TEST(PlanJson, SpacesGoRoundLoops) {
  Plan plan = DeviceExample();
  plan.num_values = 7;
  plan::Loop loop;
  loop.trip_count = 0;
  loop.blocks = {Block{{plan::Launch{0, {5}, {}, Operand::Imm(1), 1, {}, ""}, plan::Move{5, 6}, plan::Move{6, 1}}}};
  plan.body.instructions.emplace_back(loop);
  EXPECT_THAT(std::string(ValidatePlan(plan).message()), HasSubstr("value 5 is on the device"));
}

// Calls f(root, node) after each change of each node of a document.
template <typename F>
void ForEachNode(Json& root, Json& node, F f) {
  f(node);
  if (!node.is_structured()) return;
  for (auto& child : node) ForEachNode(root, child, f);
}

void EveryMissingFieldIsAnError(const Plan& plan, int expected) {
  Json root = Json::parse(PlanToJson(plan));
  int removed = 0;
  ForEachNode(root, root, [&](Json& node) {
    if (!node.is_object()) return;
    const Json before = node;
    for (const auto& [key, value] : before.items()) {
      if (before.contains("epsilon") || (before.value("do", "") == "allocate" && key == "slot") || key == "over" ||
          key == "copies" || key == "space" || key == "reports_errors" || key == "counters" || key == "tensor_maps")
        continue;  // optional
      node.erase(key);
      ++removed;
      EXPECT_FALSE(PlanFromJson(root.dump()).ok()) << key << " of " << before;
      node = before;
    }
  });
  EXPECT_GT(removed, expected);
}

TEST(PlanJson, EveryMissingFieldIsAnError) {
  EveryMissingFieldIsAnError(Example(), 100);
  EveryMissingFieldIsAnError(DeviceExample(), 30);
}

// Every value replaced by ones of other kinds and sizes: an error, or a plan that still passes validation; never a
// crash.
TEST(PlanJson, HostileValues) {
  Json root = Json::parse(PlanToJson(Example()));
  const std::vector<Json> bad = {nullptr,
                                 true,
                                 -1,
                                 -2,
                                 1e300,
                                 INT64_MAX,
                                 UINT64_MAX,
                                 "",
                                 "r",
                                 "r-1",
                                 "r99999999999",
                                 "r3",
                                 Json::array(),
                                 Json::object(),
                                 Json::array({Json::array()})};
  ForEachNode(root, root, [&](Json& node) {
    const Json before = node;
    for (const Json& value : bad) {
      node = value;
      const auto plan = PlanFromJson(root.dump());
      if (plan.ok()) EXPECT_TRUE(ValidatePlan(*plan).ok());
    }
    node = before;
  });
}

TEST(PlanJson, TruncatedText) {
  const std::string text = PlanToJson(Example());
  for (size_t size = 0; size < text.size(); size += 7) EXPECT_FALSE(PlanFromJson(text.substr(0, size)).ok());
  EXPECT_FALSE(PlanFromJson(std::string(100000, '[')).ok());
}

TEST(PlanJson, DeepNestingIsAnError) {
  Plan plan;
  plan.num_values = 1;
  for (int depth = 0; depth < 70; ++depth) {
    Block inner = std::move(plan.body);
    plan.body = Block{{plan::If{0, {std::move(inner), Block{}}}}};
  }
  EXPECT_FALSE(ValidatePlan(plan).ok());
  EXPECT_THAT(std::string(PlanFromJson(PlanToJson(plan)).status().message()), HasSubstr("nested"));
}

}  // namespace
}  // namespace tcc
