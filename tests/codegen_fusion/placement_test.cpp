// Which values of a plan are on the device, and what is copied between host and device.
#include "codegen/plan/Placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/Target.h"
#include "codegen/plan/Liveness.h"
#include "codegen/plan/Plan.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "runtime/plan_json.h"
#include "runtime/plan_spaces.h"

namespace tcc::codegen {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// One launch of the device a kernel, over its first result.
class FakeDevice : public Target {
 public:
  bool canCompile(mlir::Operation*) override { return true; }
  mlir::FailureOr<KernelCode> addKernel(mlir::Operation* op, ConstantInputs) override {
    auto kernel = mlir::cast<ir::KernelOp>(op);
    KernelCode code;
    LaunchSpec launch;
    launch.function = "k" + std::to_string(count++);
    const size_t buffers = kernel.getInputs().size() + kernel.getNumResults();
    for (size_t i = 0; i < buffers; ++i) launch.buffers.push_back(static_cast<int32_t>(i));
    DeviceLaunch device;
    device.block = {128, 1, 1};
    device.grid[0] = ir::product(op->getContext(), ir::getExtents(kernel.getResult(0).getType())).ceilDiv(128);
    device.reportsErrors = true;
    device.counters = device.grid[0];
    launch.device = device;
    code.launches.push_back(launch);
    if (inPlace) code.inPlace.push_back({0, 0});
    code.schedule = "fake";
    return code;
  }
  // Of NonZero, which finds out how much it writes, and of scans.
  bool hasLibraryKernel(mlir::Operation* op) override { return mlir::isa<ir::LibraryOp, ir::ScanOp>(op); }
  mlir::FailureOr<KernelCode> addLibraryKernel(mlir::Operation* op) override {
    KernelCode code;
    LaunchSpec launch;
    launch.function = "l" + std::to_string(count++);
    launch.buffers = {0, 1};
    launch.device = DeviceLaunch();
    if (mlir::isa<ir::LibraryOp>(op)) {
      const mlir::AffineExpr one = mlir::getAffineConstantExpr(1, op->getContext());
      code.temporaryBytes = {one * 40, one * 8};
      code.found = 1;
      code.capacities = {one * 10};
      launch.buffers.append({2, 3});
    }
    code.launches.push_back(launch);
    code.schedule = "device library";
    return code;
  }
  llvm::Expected<CodeBundle> finish() override { return CodeBundle(); }
  bool inPlace = false;
  int count = 0;
};

class PlacementTest : public ::testing::Test {
 protected:
  PlacementTest() {
    context.loadDialect<ir::TCCDialect, mlir::func::FuncDialect>();
    context.getDiagEngine().registerHandler([&](mlir::Diagnostic& diagnostic) { errors += diagnostic.str() + "\n"; });
  }
  // Every plan built here is checked: spaces agree, and each instruction finds its operands where it needs them.
  Plan build(const std::string& text, FakeDevice* given = nullptr) {
    FakeDevice own;
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << errors;
    if (!module) return {};
    auto result = buildPlan(*module->getOps<mlir::func::FuncOp>().begin(), given != nullptr ? given : &own);
    EXPECT_TRUE(succeeded(result)) << errors;
    if (failed(result)) return {};
    EXPECT_TRUE(ValidatePlan(result->plan).ok()) << ValidatePlan(result->plan).ToString();
    const absl::StatusOr<PlanSpaces> spaces = FindSpaces(result->plan);
    EXPECT_TRUE(spaces.ok()) << spaces.status();
    if (!spaces.ok()) return {};
    EXPECT_EQ(spaces->values, result->spaces);
    check(result->plan.body, spaces->values);
    for (ValueId output : result->plan.outputs) EXPECT_EQ(spaces->of(output), Space::kHost);
    return result->plan;
  }
  void check(const Block& block, const std::vector<Space>& spaces) {
    const auto expect = [&](ValueId value, Space space) {
      if (value != kNoValue) EXPECT_EQ(spaces[static_cast<size_t>(value)], space) << "value " << value;
    };
    for (const Instruction& instruction : block.instructions) {
      if (const auto* launch = std::get_if<plan::DeviceLaunch>(&instruction)) {
        for (ValueId value : launch->buffers) expect(value, Space::kDevice);
      } else if (const auto* library = std::get_if<plan::Library>(&instruction)) {
        for (ValueId value : library->inputs) expect(value, Space::kHost);
      } else if (const auto* transfer = std::get_if<plan::Transfer>(&instruction)) {
        expect(transfer->result, transfer->to);
        EXPECT_NE(spaces[static_cast<size_t>(transfer->source)], transfer->to);
      } else if (const auto* branch = std::get_if<plan::If>(&instruction)) {
        expect(branch->condition, Space::kHost);
      } else if (const auto* loop = std::get_if<plan::Loop>(&instruction)) {
        for (ValueId value : {loop->condition, loop->trip_count, loop->iteration}) expect(value, Space::kHost);
        for (const auto& scan : loop->scan_outputs) expect(scan.element, Space::kHost);
      } else if (const auto* element = std::get_if<plan::ReadElement>(&instruction)) {
        expect(element->source, Space::kHost);
      }
      if (const std::vector<Block>* nested = nestedBlocks(instruction))
        for (const Block& inner : *nested) check(inner, spaces);
    }
  }
  template <typename T>
  static std::vector<T> all(const Block& block) {
    std::vector<T> found;
    for (const Instruction& instruction : block.instructions) {
      if (const T* match = std::get_if<T>(&instruction)) found.push_back(*match);
      if (const std::vector<Block>* nested = nestedBlocks(instruction))
        for (const Block& inner : *nested)
          for (T& match : all<T>(inner)) found.push_back(match);
    }
    return found;
  }
  // "t" a transfer to the device, "h" one to the host, "l" a library call, "k" a kernel of the device, "v" a view,
  // "m" a move, "{...}" a block of a branch or loop.
  static std::string shape(const Block& block) {
    std::string text;
    for (const Instruction& instruction : block.instructions) {
      if (const auto* transfer = std::get_if<plan::Transfer>(&instruction))
        text += transfer->to == Space::kDevice ? 't' : 'h';
      if (std::holds_alternative<plan::Library>(instruction)) text += 'l';
      if (std::holds_alternative<plan::DeviceLaunch>(instruction)) text += 'k';
      if (std::holds_alternative<plan::View>(instruction)) text += 'v';
      if (std::holds_alternative<plan::Move>(instruction)) text += 'm';
      if (const std::vector<Block>* nested = nestedBlocks(instruction))
        for (const Block& inner : *nested) text += "{" + shape(inner) + "}";
    }
    return text;
  }
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string errors;
};

// A kernel that is one op's: %result = kernel(%operand...).
std::string kernel(const std::string& result, const std::vector<std::string>& operands, const std::string& type) {
  std::string names, types, arguments;
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::string comma = i == 0 ? "" : ", ";
    names += comma + operands[i];
    types += comma + type;
    arguments += comma + "%p" + std::to_string(i) + ": " + type;
  }
  return result + " = tcc.kernel(" + names + ") [\"" + result.substr(1) + "\"] : (" + types + ") -> " + type +
         " {\n^bb0(" + arguments + "):\n  tcc.yield %p0 : " + type + "\n}\n";
}

TEST_F(PlacementTest, InputsGoThereOnceAndOutputsComeBack) {
  const std::string t = "tensor<300xf32>";
  const Plan plan = build("func.func @f(%x: " + t + ") -> " + t + " {\n" + kernel("%a", {"%x"}, t) +
                          kernel("%b", {"%a", "%x"}, t) + "return %b : " + t + "\n}");
  EXPECT_EQ(shape(plan.body), "tkkh");
  const auto launches = all<plan::DeviceLaunch>(plan.body);
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[1].buffers[1], launches[0].buffers[0]);
  EXPECT_EQ(launches[0].grid, (std::array<Operand, 3>{Operand::Imm(3), Operand::Imm(1), Operand::Imm(1)}));
  EXPECT_EQ(launches[0].block, (std::array<int32_t, 3>{128, 1, 1}));
  EXPECT_EQ(launches[0].shared_bytes, Operand::Imm(0));
  EXPECT_TRUE(launches[0].reports_errors);
  EXPECT_EQ(launches[0].counters, Operand::Imm(3));
  // Both results are in slots: the output is the copy.
  for (const plan::Allocate& allocate : all<plan::Allocate>(plan.body)) {
    EXPECT_EQ(allocate.space, Space::kDevice);
    EXPECT_GE(allocate.slot, 0);
    EXPECT_EQ(allocate.offset % kDeviceAlignment, 0);
  }
}

TEST_F(PlacementTest, GridsOverSymbolsAreComputed) {
  const std::string t = "tensor<?xf32, #tcc.extents<s0>>";
  const Plan plan =
      build("func.func @f(%x: " + t + ") -> " + t + " attributes {tcc.symbols = [#tcc.symbol<\"n\", 2, 64, 1>]} {\n" +
            kernel("%a", {"%x"}, t) + "return %a : " + t + "\n}");
  const auto launches = all<plan::DeviceLaunch>(plan.body);
  ASSERT_EQ(launches.size(), 1u);
  ASSERT_TRUE(launches[0].grid[0].is_register);
  const auto computes = all<plan::Compute>(plan.body);
  EXPECT_TRUE(std::any_of(computes.begin(), computes.end(), [&](const plan::Compute& compute) {
    return compute.result == launches[0].grid[0].value && compute.op == IntOp::kCeilDiv &&
           compute.rhs == Operand::Imm(128);
  }));
}

TEST_F(PlacementTest, LibraryCallsReadAndWriteOnTheHost) {
  const std::string t = "tensor<4xf32>";
  const Plan plan = build("func.func @f(%x: " + t + ") -> " + t + " {\n%l = tcc.exp %x : " + t + "\n" +
                          kernel("%a", {"%l"}, t) + "%m = tcc.neg %a : " + t + "\n%n = tcc.exp %a : " + t + "\n" +
                          kernel("%b", {"%m", "%n", "%a"}, t) + "return %b : " + t + "\n}");
  // %a is copied back once for its two readers on the host.
  EXPECT_EQ(shape(plan.body), "ltkhllttkh");
}

TEST_F(PlacementTest, LibraryKernelsOfTheDeviceReadAndWriteThere) {
  const std::string t = "tensor<10xf32>";
  const Plan plan =
      build("func.func @f(%x: " + t + ") -> " + t + " {\n" + kernel("%a", {"%x"}, t) +
            "%s = tcc.scan %a {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = "
            "false} : (" +
            t + ") -> " + t + "\n" + kernel("%b", {"%s"}, t) + "return %b : " + t + "\n}");
  EXPECT_EQ(shape(plan.body), "tkkkh");
}

// The number that a library kernel finds out is copied to the host, and its result is that much of its memory.
TEST_F(PlacementTest, WhatALibraryKernelFindsOut) {
  const std::string y = "tensor<1x?xi64, #tcc.extents<1, s0>>";
  const Plan plan =
      build("func.func @f(%x: tensor<10xf32>) -> " + y +
            " attributes {tcc.symbols = [#tcc.symbol<\"n\", 0, 10, 1>]} {\n%y = tcc.library \"nonzero\"(%x) "
            "{} : (tensor<10xf32>) -> " +
            y + "\n" + kernel("%z", {"%y"}, y) + "return %z : " + y + "\n}");
  EXPECT_EQ(shape(plan.body), "tkhvkh");
  const auto reads = all<plan::ReadElement>(plan.body);
  const auto transfers = all<plan::Transfer>(plan.body);
  const auto views = all<plan::View>(plan.body);
  const auto launches = all<plan::DeviceLaunch>(plan.body);
  ASSERT_EQ(reads.size(), 1u);
  ASSERT_EQ(views.size(), 1u);
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(reads[0].source, transfers[1].result);
  EXPECT_EQ(transfers[1].source, launches[0].buffers[3]);
  EXPECT_EQ(views[0].source, launches[0].buffers[1]);
  EXPECT_EQ(views[0].dims, (std::vector<Operand>{Operand::Imm(1), Operand::Reg(reads[0].result)}));
  EXPECT_EQ(launches[1].buffers[0], views[0].result);
}

TEST_F(PlacementTest, ConstantsAreCopiedAtTheStart) {
  const std::string t = "tensor<2xf32>";
  const Plan plan =
      build("func.func @f(%c: tensor<i1>, %x: " + t + ") -> " + t + " {\n%w = tcc.constant dense<[1.0, 2.0]> : " + t +
            "\n%r = tcc.if %c : (tensor<i1>) -> " + t + " {\n" + kernel("%a", {"%x", "%w"}, t) + "tcc.yield %a : " + t +
            "\n} else {\n" + kernel("%b", {"%w", "%x"}, t) + "tcc.yield %b : " + t + "\n}\nreturn %r : " + t + "\n}");
  EXPECT_EQ(shape(plan.body), "t{tkm}{tkm}h");
  const auto* transfer = std::get_if<plan::Transfer>(&plan.body.instructions.front());
  ASSERT_NE(transfer, nullptr);
  EXPECT_EQ(transfer->source, plan.constants[0].value);
  // It is there for the next call.
  for (const plan::Release& release : all<plan::Release>(plan.body)) EXPECT_NE(release.value, transfer->result);
}

TEST_F(PlacementTest, ViewsStayWhereTheirSourceIsUnlessTheyAreStrided) {
  const Plan plan = build(R"(
    func.func @f(%x: tensor<4x6xf32>) -> (tensor<24xf32>, tensor<6x4xf32>, tensor<2x6xf32>) {
      %a = tcc.kernel(%x) ["a"] : (tensor<4x6xf32>) -> tensor<4x6xf32> {
      ^bb0(%p: tensor<4x6xf32>):
        tcc.yield %p : tensor<4x6xf32>
      }
      %flat = tcc.reshape %a : (tensor<4x6xf32>) -> tensor<24xf32>
      %b = tcc.kernel(%flat) ["b"] : (tensor<24xf32>) -> tensor<24xf32> {
      ^bb0(%p: tensor<24xf32>):
        tcc.yield %p : tensor<24xf32>
      }
      %t = tcc.transpose %a {permutation = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
      %c = tcc.kernel(%t) ["c"] : (tensor<6x4xf32>) -> tensor<6x4xf32> {
      ^bb0(%p: tensor<6x4xf32>):
        tcc.yield %p : tensor<6x4xf32>
      }
      %rows = tcc.slice %a {starts = #tcc.extents<1, 0>, steps = array<i64: 1, 1>} : (tensor<4x6xf32>) -> tensor<2x6xf32>
      %d = tcc.kernel(%rows) ["d"] : (tensor<2x6xf32>) -> tensor<2x6xf32> {
      ^bb0(%p: tensor<2x6xf32>):
        tcc.yield %p : tensor<2x6xf32>
      }
      return %b, %c, %d : tensor<24xf32>, tensor<6x4xf32>, tensor<2x6xf32>
    })");
  // The reshape and the rows are read in place; the transposed one goes by way of the host.
  EXPECT_EQ(shape(plan.body), "tkvkhvtkvkhhh");
}

TEST_F(PlacementTest, AReshapedConstantIsReshapedOnTheDevice) {
  const Plan plan = build(R"(
    func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<2x2xf32>) {
      %w = tcc.constant dense<1.0> : tensor<2x2xf32>
      %v = tcc.reshape %w : (tensor<2x2xf32>) -> tensor<4xf32>
      %a = tcc.kernel(%x, %v) ["a"] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
      ^bb0(%p: tensor<4xf32>, %q: tensor<4xf32>):
        tcc.yield %p : tensor<4xf32>
      }
      %b = tcc.kernel(%w) ["b"] : (tensor<2x2xf32>) -> tensor<2x2xf32> {
      ^bb0(%p: tensor<2x2xf32>):
        tcc.yield %p : tensor<2x2xf32>
      }
      return %a, %b : tensor<4xf32>, tensor<2x2xf32>
    })");
  for (const plan::Transfer& transfer : all<plan::Transfer>(plan.body))
    if (transfer.to == Space::kDevice)
      EXPECT_TRUE(transfer.source == plan.constants[0].value || transfer.source == plan.inputs[0]);
}

TEST_F(PlacementTest, BranchesLeaveTheirResultInOnePlace) {
  const std::string t = "tensor<4xf32>";
  const auto text = [&](const std::string& other) {
    return "func.func @f(%c: tensor<i1>, %x: " + t + ") -> " + t + " {\n%r = tcc.if %c : (tensor<i1>) -> " + t +
           " {\n" + kernel("%a", {"%x"}, t) + "tcc.yield %a : " + t + "\n} else {\n" + other + "}\n" +
           kernel("%b", {"%r"}, t) + "return %b : " + t + "\n}";
  };
  // An input and the result of a library kernel go to the device in their branch.
  EXPECT_EQ(shape(build(text("tcc.yield %x : " + t + "\n")).body), "{tkm}{tm}kh");
  EXPECT_EQ(shape(build(text("%l = tcc.exp %x : " + t + "\ntcc.yield %l : " + t + "\n")).body), "{tkm}{ltm}kh");
  // Where no branch is of the device, nothing goes there before it is read there.
  const Plan host =
      build("func.func @f(%c: tensor<i1>, %x: " + t + ") -> " + t + " {\n%r = tcc.if %c : (tensor<i1>) -> " + t +
            " {\n%l = tcc.exp %x : " + t + "\ntcc.yield %l : " + t + "\n} else {\ntcc.yield %x : " + t + "\n}\n" +
            kernel("%b", {"%r"}, t) + "return %b : " + t + "\n}");
  EXPECT_EQ(shape(host.body), "{lm}{m}tkh");
}

TEST_F(PlacementTest, ACopyMadeInABranchIsNotThereAfterIt) {
  const std::string t = "tensor<4xf32>";
  const Plan plan = build("func.func @f(%c: tensor<i1>, %x: " + t + ") -> (" + t + ", " + t +
                          ") {\n%r = tcc.if %c : (tensor<i1>) -> " + t + " {\n" + kernel("%a", {"%x"}, t) +
                          "tcc.yield %a : " + t + "\n} else {\ntcc.yield %x : " + t + "\n}\n" +
                          kernel("%b", {"%x"}, t) + "return %b, %r : " + t + ", " + t + "\n}");
  EXPECT_EQ(shape(plan.body), "{tkm}{tm}tkhh");
}

TEST_F(PlacementTest, CarriedValuesStayOnTheDevice) {
  const std::string t = "tensor<4xf32>";
  const Plan plan =
      build("func.func @f(%n: tensor<i64>, %x: " + t + ", %y: " + t + ") -> " + t +
            " {\n%r = tcc.loop trip %n : tensor<i64> carry (%x) : (" + t + ") -> " + t +
            " {\n^bb0(%i: tensor<i64>, %v: " + t + "):\n%t = tcc.constant dense<true> : tensor<i1>\n" +
            kernel("%w", {"%v", "%y"}, t) + "tcc.yield %t, %w : tensor<i1>, " + t + "\n}\nreturn %r : " + t + "\n}");
  // %y does not change in the loop: it is copied in front of it.
  EXPECT_EQ(shape(plan.body), "tmt{km}h");
}

TEST_F(PlacementTest, WhatALoopChangesIsCopiedInEachIteration) {
  const std::string t = "tensor<4xf32>";
  // The carried value is read by a library kernel, and by a kernel: each needs it elsewhere.
  const Plan plan = build(
      "func.func @f(%n: tensor<i64>, %x: " + t + ") -> " + t +
      " {\n%r = tcc.loop trip %n : tensor<i64> carry (%x) : (" + t + ") -> " + t +
      " {\n^bb0(%i: tensor<i64>, %v: " + t + "):\n%t = tcc.constant dense<true> : tensor<i1>\n%l = tcc.exp %v : " + t +
      "\n" + kernel("%w", {"%v", "%l"}, t) + "tcc.yield %t, %w : tensor<i1>, " + t + "\n}\nreturn %r : " + t + "\n}");
  EXPECT_EQ(shape(plan.body), "tm{hltkm}h");
}

TEST_F(PlacementTest, ConditionsAndStackedElementsAreOnTheHost) {
  const Plan plan = build(R"(
    func.func @f(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<?x4xf32, #tcc.extents<s0, 4>>
        attributes {tcc.symbols = [#tcc.symbol<"n", 0, 100, 1>]} {
      %r:2 = tcc.loop while %c : tensor<i1> carry (%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<?x4xf32, #tcc.extents<s0, 4>>) {
      ^bb0(%i: tensor<i64>, %v: tensor<4xf32>):
        %next = tcc.kernel(%c) ["next"] : (tensor<i1>) -> tensor<i1> {
        ^bb0(%p: tensor<i1>):
          tcc.yield %p : tensor<i1>
        }
        %w = tcc.kernel(%v) ["w"] : (tensor<4xf32>) -> tensor<4xf32> {
        ^bb0(%p: tensor<4xf32>):
          tcc.yield %p : tensor<4xf32>
        }
        tcc.yield %next, %w, %w : tensor<i1>, tensor<4xf32>, tensor<4xf32>
      }
      return %r#1 : tensor<?x4xf32, #tcc.extents<s0, 4>>
    })");
  EXPECT_EQ(all<plan::Loop>(plan.body).size(), 1u);
}

TEST_F(PlacementTest, InPlaceOnlyWithinOneSpace) {
  const std::string t = "tensor<100xf32>";
  FakeDevice device;
  device.inPlace = true;
  const Plan plan = build("func.func @f(%x: " + t + ") -> " + t + " {\n" + kernel("%a", {"%x"}, t) +
                              kernel("%b", {"%a"}, t) + "return %b : " + t + "\n}",
                          &device);
  // %b takes the place of %a. The caller's %x is not given away by a copy of it.
  EXPECT_EQ(shape(plan.body), "tkvkh");
  for (const plan::Allocate& allocate : all<plan::Allocate>(plan.body)) EXPECT_EQ(allocate.over, kNoValue);
}

TEST_F(PlacementTest, AnOutputTwiceIsTwoTensors) {
  const std::string t = "tensor<4xf32>";
  const Plan plan = build("func.func @f(%x: " + t + ") -> (" + t + ", " + t + ", " + t + ") {\n" +
                          kernel("%a", {"%x"}, t) + "return %a, %a, %x : " + t + ", " + t + ", " + t + "\n}");
  EXPECT_EQ(std::set<ValueId>(plan.outputs.begin(), plan.outputs.end()).size(), 3u);
}

TEST_F(PlacementTest, PlansOfTheHostAreLeftAlone) {
  const Plan plan = build(R"(
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %a = tcc.exp %x : tensor<4xf32>
      return %a : tensor<4xf32>
    })");
  EXPECT_EQ(shape(plan.body), "l");
  EXPECT_THAT(all<plan::Transfer>(plan.body), IsEmpty());
}

}  // namespace
}  // namespace tcc::codegen
