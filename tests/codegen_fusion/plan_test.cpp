// Plans built from parsed functions, with and without a (made up) target.
#include "codegen/plan/Plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/Target.h"
#include "codegen/plan/Liveness.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "runtime/plan_json.h"

namespace tcc::codegen {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// One launch a kernel; the first result may overwrite the first input.
class FakeTarget : public Target {
 public:
  bool canCompile(mlir::Operation*) override { return true; }
  mlir::FailureOr<KernelCode> addKernel(mlir::Operation* op, ConstantInputs constants) override {
    auto kernel = mlir::cast<ir::KernelOp>(op);
    KernelCode code;
    LaunchSpec launch;
    launch.function = "k" + std::to_string(count++);
    size_t buffers = kernel.getInputs().size() + kernel.getNumResults();
    for (size_t i = 0; i < buffers; ++i) launch.buffers.push_back(static_cast<int32_t>(i));
    launch.items = ir::getExtents(kernel.getResult(0).getType()).front();
    code.launches.push_back(launch);
    if (inPlace) code.inPlace.push_back({0, 0});
    if (copies) code.copies.push_back({0, 0});
    code.schedule = "fake";
    return code;
  }
  llvm::Expected<CodeBundle> finish() override { return CodeBundle{"code", {}}; }
  bool inPlace = false;
  bool copies = false;  // that is all a launch does
  int count = 0;
};

class PlanTest : public ::testing::Test {
 protected:
  PlanTest() {
    context.loadDialect<ir::TCCDialect, mlir::func::FuncDialect>();
    context.getDiagEngine().registerHandler([&](mlir::Diagnostic& diagnostic) { errors += diagnostic.str() + "\n"; });
  }
  mlir::FailureOr<PlanResult> build(const std::string& text, Target* target = nullptr, PlanOptions options = {}) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << errors;
    if (!module) return mlir::failure();
    auto function = *module->getOps<mlir::func::FuncOp>().begin();
    mlir::FailureOr<PlanResult> result = buildPlan(function, target, options);
    if (succeeded(result)) {
      EXPECT_TRUE(ValidatePlan(result->plan).ok()) << ValidatePlan(result->plan).ToString();
    }
    return result;
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
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string errors;
};

TEST_F(PlanTest, LibraryCallsAndViews) {
  auto result = build(R"(
    func.func @f(%x: tensor<2x3xf32>) -> tensor<6xf32> {
      %a = tcc.exp %x : tensor<2x3xf32>
      %b = tcc.transpose %a {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
      %c = tcc.neg %b : tensor<3x2xf32>
      %d = tcc.reshape %c : (tensor<3x2xf32>) -> tensor<6xf32>
      return %d : tensor<6xf32>
    })");
  ASSERT_TRUE(succeeded(result)) << errors;
  auto views = all<plan::View>(result->plan.body);
  ASSERT_EQ(views.size(), 2u);
  EXPECT_EQ(views[0].strides, (std::vector<Operand>{Operand::Imm(1), Operand::Imm(3)}));
  EXPECT_THAT(views[1].strides, IsEmpty());
  auto calls = all<plan::Library>(result->plan.body);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].op, "exp");
  EXPECT_EQ(result->explain.size(), 2u);
}

// The runtime counts a view's strides in its source's row-major elements: a view of a view must look into what that one
// looks into.
TEST_F(PlanTest, AViewOfAViewLooksIntoItsBase) {
  auto result = build(R"(
    func.func @f(%x: tensor<8x8xf32>) -> tensor<4x4xf32> {
      %a = tcc.exp %x : tensor<8x8xf32>
      %b = tcc.slice %a {starts = #tcc.extents<1, 0>, steps = array<i64: 2, 1>} : (tensor<8x8xf32>) -> tensor<4x8xf32>
      %c = tcc.slice %b {starts = #tcc.extents<0, 1>, steps = array<i64: 1, 2>} : (tensor<4x8xf32>) -> tensor<4x4xf32>
      %d = tcc.neg %c : tensor<4x4xf32>
      return %d : tensor<4x4xf32>
    })");
  ASSERT_TRUE(succeeded(result)) << errors;
  auto views = all<plan::View>(result->plan.body);
  ASSERT_EQ(views.size(), 2u);
  EXPECT_EQ(views[1].source, views[0].source);
  EXPECT_EQ(views[1].strides, (std::vector<Operand>{Operand::Imm(16), Operand::Imm(2)}));
  EXPECT_EQ(views[1].offset, Operand::Imm(9));
}

TEST_F(PlanTest, OutputsNeverShareInputsConstantsOrEachOther) {
  auto result = build(R"(
    func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<2xf32>, tensor<4xf32>, tensor<4xf32>) {
      %c = tcc.constant dense<[1.0, 2.0]> : tensor<2xf32>
      %a = tcc.exp %x : tensor<4xf32>
      return %x, %c, %a, %a : tensor<4xf32>, tensor<2xf32>, tensor<4xf32>, tensor<4xf32>
    })");
  ASSERT_TRUE(succeeded(result)) << errors;
  std::vector<ValueId> outputs = result->plan.outputs;
  EXPECT_EQ(std::set<ValueId>(outputs.begin(), outputs.end()).size(), 4u);
  int copies = 0;
  for (const plan::Library& call : all<plan::Library>(result->plan.body)) copies += call.op == "copy";
  EXPECT_EQ(copies, 3);
}

TEST_F(PlanTest, EqualConstantsAreStoredOnce) {
  auto result = build(R"(
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      %c = tcc.constant dense<[1.0, 2.0]> : tensor<2xf32>
      %d = tcc.constant dense_resource<blob> : tensor<2xf32>
      %a = tcc.add %x, %c : tensor<2xf32>
      %b = tcc.add %a, %d : tensor<2xf32>
      return %b : tensor<2xf32>
    }
    {-# dialect_resources: { builtin: { blob: "0x040000000000803F00000040" } } #-})");
  ASSERT_TRUE(succeeded(result)) << errors;
  EXPECT_EQ(result->plan.constants.size(), 1u);
  EXPECT_EQ(result->constants.size(), 1u);
}

TEST_F(PlanTest, ExpressionsOverSymbolsAreComputedOnceAtTheStart) {
  auto result = build(R"(
    func.func @f(%x: tensor<?x4xf32, #tcc.extents<s0, 4>>) -> tensor<?xf32, #tcc.extents<s0 * 4>>
        attributes {tcc.symbols = [#tcc.symbol<"n", 2, 64, 1>]} {
      %a = tcc.exp %x : tensor<?x4xf32, #tcc.extents<s0, 4>>
      %b = tcc.reshape %a : (tensor<?x4xf32, #tcc.extents<s0, 4>>) -> tensor<?xf32, #tcc.extents<s0 * 4>>
      %c = tcc.neg %b : tensor<?xf32, #tcc.extents<s0 * 4>>
      return %c : tensor<?xf32, #tcc.extents<s0 * 4>>
    })");
  ASSERT_TRUE(succeeded(result)) << errors;
  EXPECT_EQ(all<plan::Compute>(result->plan.body).size(), 1u);
  EXPECT_EQ(result->plan.symbol_registers, std::vector<RegisterId>{0});
}

TEST_F(PlanTest, AFreshSymbolIsReadAfterTheOpThatDeterminesIt) {
  auto result = build(R"(
    func.func @f(%x: tensor<4xf32>) -> tensor<1x?xi64, #tcc.extents<1, s0>>
        attributes {tcc.symbols = [#tcc.symbol<"nonzero", 0, 4, 1>]} {
      %a = tcc.library "non_zero"(%x) {} : (tensor<4xf32>) -> tensor<1x?xi64, #tcc.extents<1, s0>>
      %b = tcc.neg %a : tensor<1x?xi64, #tcc.extents<1, s0>>
      return %b : tensor<1x?xi64, #tcc.extents<1, s0>>
    })");
  ASSERT_TRUE(succeeded(result)) << errors;
  auto calls = all<plan::Library>(result->plan.body);
  EXPECT_EQ(calls[0].results[0].dims[1], Operand::Imm(-1));
  EXPECT_EQ(calls[1].results[0].dims[1], Operand::Reg(0));
  EXPECT_EQ(all<plan::ReadExtent>(result->plan.body).size(), 1u);
  EXPECT_THAT(result->plan.symbol_registers, IsEmpty());
}

TEST_F(PlanTest, HoistedExtentsAreComputedAfterTheOpThatDeterminesThem) {
  // Folding moves tcc.extents to the top of the block, like a constant.
  auto result = build(R"(
    func.func @f(%x: tensor<4xf32>) -> (tensor<1x?xi64, #tcc.extents<1, s0>>, tensor<1xi64>)
        attributes {tcc.symbols = [#tcc.symbol<"nonzero", 0, 4, 1>]} {
      %n = tcc.extents {value = #tcc.extents<s0 + 1>} : () -> tensor<1xi64>
      %a = tcc.library "non_zero"(%x) {} : (tensor<4xf32>) -> tensor<1x?xi64, #tcc.extents<1, s0>>
      %b = tcc.neg %n : tensor<1xi64>
      return %a, %b : tensor<1x?xi64, #tcc.extents<1, s0>>, tensor<1xi64>
    })");
  ASSERT_TRUE(succeeded(result)) << errors;
  EXPECT_EQ(all<plan::MakeTensor>(result->plan.body).size(), 1u);
}

TEST_F(PlanTest, TheResultOfAnIfLivesUntilItsLastReader) {
  auto result = build(R"(
    func.func @f(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
      %r = tcc.if %c : (tensor<i1>) -> tensor<4xf32> {
        %a = tcc.constant dense<1.0> : tensor<4xf32>
        tcc.yield %a : tensor<4xf32>
      } else {
        %b = tcc.constant dense<2.0> : tensor<4xf32>
        tcc.yield %b : tensor<4xf32>
      }
      %s = tcc.neg %r : tensor<4xf32>
      return %s : tensor<4xf32>
    })");
  ASSERT_TRUE(succeeded(result)) << errors;
  for (const auto& branch : all<plan::If>(result->plan.body))
    for (const Block& block : branch.blocks)
      for (const Instruction& instruction : block.instructions)
        EXPECT_FALSE(std::holds_alternative<plan::Release>(instruction));
  EXPECT_EQ(all<plan::Release>(result->plan.body).size(), 1u);
}

TEST_F(PlanTest, AnUnboundSymbolIsAnError) {
  auto result = build(R"(
    func.func @f(%x: tensor<4xf32>) -> tensor<1xi64> attributes {tcc.symbols = [#tcc.symbol<"n", 0, 4, 1>]} {
      %a = tcc.extents {value = #tcc.extents<s0 + 1>} : () -> tensor<1xi64>
      return %a : tensor<1xi64>
    })");
  EXPECT_TRUE(failed(result));
  EXPECT_THAT(errors, HasSubstr("no earlier op"));
}

TEST_F(PlanTest, BranchesMoveTheirResults) {
  auto result = build(R"(
    func.func @f(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
      %r = tcc.if %c : (tensor<i1>) -> tensor<4xf32> {
        %a = tcc.exp %x : tensor<4xf32>
        tcc.yield %a : tensor<4xf32>
      } else {
        tcc.yield %x : tensor<4xf32>
      }
      %b = tcc.neg %r : tensor<4xf32>
      return %b : tensor<4xf32>
    })");
  ASSERT_TRUE(succeeded(result)) << errors;
  EXPECT_EQ(all<plan::If>(result->plan.body).size(), 1u);
  EXPECT_EQ(all<plan::Move>(result->plan.body).size(), 2u);
}

TEST_F(PlanTest, CarriedValuesThatChangeExtentRebindTheirSymbol) {
  auto result = build(R"(
    func.func @f(%n: tensor<i64>, %x: tensor<1xf32>) -> tensor<?xf32, #tcc.extents<s1>>
        attributes {tcc.symbols = [#tcc.symbol<"in", 0, 100, 1>, #tcc.symbol<"out", 0, 100, 1>]} {
      %r = tcc.loop trip %n : tensor<i64> carry (%x) : (tensor<1xf32>) -> tensor<?xf32, #tcc.extents<s1>> {
      ^bb0(%i: tensor<i64>, %v: tensor<?xf32, #tcc.extents<s0>>):
        %t = tcc.constant dense<true> : tensor<i1>
        %w = tcc.concat %v, %x {axis = 0 : i64} : (tensor<?xf32, #tcc.extents<s0>>, tensor<1xf32>) -> tensor<?xf32, #tcc.extents<s0 + 1>>
        tcc.yield %t, %w : tensor<i1>, tensor<?xf32, #tcc.extents<s0 + 1>>
      }
      %b = tcc.neg %r : tensor<?xf32, #tcc.extents<s1>>
      return %b : tensor<?xf32, #tcc.extents<s1>>
    })");
  ASSERT_TRUE(succeeded(result)) << errors;
  auto loops = all<plan::Loop>(result->plan.body);
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<plan::ReadExtent>(loops[0].blocks[0].instructions.front()));
  EXPECT_EQ(all<plan::ReadExtent>(result->plan.body).size(), 2u);
}

// A chain of kernels with a skip connection: k0 -> k1 -> ... each reads its predecessor and, every third, an early
// value.
std::string chain(int length, const std::string& type, const std::string& symbols) {
  std::string text = "func.func @f(%v0: " + type + ") -> " + type + " attributes {tcc.symbols = [" + symbols + "]} {\n";
  for (int i = 1; i <= length; ++i) {
    std::string skip = "%v" + std::to_string(i >= 4 && i % 3 == 0 ? i - 3 : i - 1), last = "%v" + std::to_string(i - 1);
    text += "%v" + std::to_string(i) + " = tcc.kernel(" + last + ", " + skip + ") [\"op\"] : (" + type + ", " + type +
            ") -> " + type + " {\n^bb0(%a: " + type + ", %b: " + type + "):\n  tcc.yield %a : " + type + "\n}\n";
  }
  return text + "return %v" + std::to_string(length) + " : " + type + "\n}";
}

std::vector<int64_t> sizesOf(const PlanResult& result, const std::vector<int64_t>& symbolValues) {
  std::vector<int64_t> sizes;
  for (const ValueInfo& info : result.values) {
    int64_t size = -1;
    if (info.bytes) {
      mlir::SmallVector<mlir::AffineExpr> values;
      for (int64_t value : symbolValues) values.push_back(mlir::getAffineConstantExpr(value, info.bytes.getContext()));
      size = *ir::getConstant(mlir::simplifyAffineExpr(info.bytes.replaceSymbols(values), 0, 0));
    }
    sizes.push_back(size);
  }
  return sizes;
}

TEST_F(PlanTest, StaticMemoryIsReusedAndNeverOverlaps) {
  for (bool inPlace : {false, true}) {
    FakeTarget target;
    target.inPlace = inPlace;
    auto result = build(chain(20, "tensor<100xf32>", ""), &target);
    ASSERT_TRUE(succeeded(result)) << errors;
    EXPECT_EQ(findOverlap(result->plan, sizesOf(*result, {}), result->values), "");
    ASSERT_EQ(result->plan.slot_bytes.size(), 1u);
    EXPECT_LE(result->plan.slot_bytes[0].value, 5 * 512);
    EXPECT_EQ(result->codeObject, "code");
    EXPECT_EQ(all<plan::Launch>(result->plan.body).size(), 20u);
  }
}

TEST_F(PlanTest, TheCheckerFindsOverlaps) {
  FakeTarget target;
  auto result = build(chain(5, "tensor<100xf32>", ""), &target);
  ASSERT_TRUE(succeeded(result)) << errors;
  for (Instruction& instruction : result->plan.body.instructions)
    if (auto* allocate = std::get_if<plan::Allocate>(&instruction)) allocate->offset = 0;
  EXPECT_NE(findOverlap(result->plan, sizesOf(*result, {}), result->values), "");
}

TEST_F(PlanTest, DynamicSizesShareSlots) {
  FakeTarget target;
  auto result = build(chain(20, "tensor<?x3xf32, #tcc.extents<s0, 3>>", "#tcc.symbol<\"n\", 2, 64, 1>"), &target);
  ASSERT_TRUE(succeeded(result)) << errors;
  EXPECT_EQ(findOverlap(result->plan, sizesOf(*result, {7}), result->values), "");
  EXPECT_LE(result->plan.slot_bytes.size(), 5u);
}

TEST_F(PlanTest, InPlaceTakesOverMemoryOnlyAtTheLastUse) {
  FakeTarget target;
  target.inPlace = true;
  // Both operands are the same value: it may be read at other indices, so nothing is overwritten.
  auto result = build(chain(2, "tensor<100xf32>", ""), &target);
  ASSERT_TRUE(succeeded(result)) << errors;
  EXPECT_THAT(all<plan::View>(result->plan.body), IsEmpty());
  std::string text = R"(
    func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
      %a = tcc.kernel(%x) ["a"] : (tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%p: tensor<8xf32>):
        tcc.yield %p : tensor<8xf32>
      }
      %b = tcc.kernel(%a) ["b"] : (tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%p: tensor<8xf32>):
        tcc.yield %p : tensor<8xf32>
      }
      %c = tcc.kernel(%b, %a) ["c"] : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%p: tensor<8xf32>, %q: tensor<8xf32>):
        tcc.yield %p : tensor<8xf32>
      }
      return %c : tensor<8xf32>
    })";
  result = build(text, &target);
  ASSERT_TRUE(succeeded(result)) << errors;
  // %b may not overwrite %a, which %c reads; %c overwrites %b, which therefore is no arena memory: it is the output.
  auto views = all<plan::View>(result->plan.body);
  ASSERT_EQ(views.size(), 1u);
  EXPECT_EQ(views[0].result, result->plan.outputs[0]);
}

TEST_F(PlanTest, ALaunchThatOnlyCopiesGoesWithTheCopy) {
  FakeTarget target;
  target.inPlace = target.copies = true;
  std::string text = R"(
    func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
      %a = tcc.kernel(%x) ["a"] : (tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%p: tensor<8xf32>):
        tcc.yield %p : tensor<8xf32>
      }
      %b = tcc.kernel(%a) ["b"] : (tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%p: tensor<8xf32>):
        tcc.yield %p : tensor<8xf32>
      }
      return %b : tensor<8xf32>
    })";
  auto result = build(text, &target);
  ASSERT_TRUE(succeeded(result)) << errors;
  // The input is not overwritten: the first copy stays.
  auto launches = all<plan::Launch>(result->plan.body);
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].name, "a");
  // Unless the caller gives the input away.
  EXPECT_TRUE(launches[0].copies);
  EXPECT_EQ(all<plan::Allocate>(result->plan.body)[0].over, result->plan.inputs[0]);
  EXPECT_EQ(all<plan::View>(result->plan.body).size(), 1u);
}

TEST_F(PlanTest, AKernelWithoutATargetIsAnError) {
  EXPECT_TRUE(failed(build(chain(1, "tensor<4xf32>", ""))));
  EXPECT_THAT(errors, HasSubstr("library calls only"));
}

}  // namespace
}  // namespace tcc::codegen
