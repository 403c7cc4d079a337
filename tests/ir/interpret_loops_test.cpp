// Kernels against what they are made from.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "parse.h"

namespace tcc::ir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class InterpretLoopsTest : public IrTest {};

TEST_F(InterpretLoopsTest, ReductionOverSymbols) {
  const char* text = R"(
func.func @f(%x: tensor<?x3xf32, #tcc.extents<s0, 3>>) -> tensor<?xf32, #tcc.extents<s0>> attributes {tcc.symbols = [#tcc.symbol<"n", 0, 9, 1>]} {
  %y = tcc.kernel(%x) ["squares"] : (tensor<?x3xf32, #tcc.extents<s0, 3>>) -> tensor<?xf32, #tcc.extents<s0>> {
  ^bb0(%a: tensor<?x3xf32, #tcc.extents<s0, 3>>):
    %s = tcc.loops #tcc.extents<s0, 3> reduce 1 [#tcc.reduce_kind<sum>] {
    ^bb0(%i: index, %j: index):
      %v = tcc.load %a[affine_map<(d0, d1)[s0] -> (d0, d1)>](%i, %j) : tensor<?x3xf32, #tcc.extents<s0, 3>> -> f32
      %q = arith.mulf %v, %v : f32
      tcc.yield %q : f32
    } : tensor<?xf32, #tcc.extents<s0>>
    tcc.yield %s : tensor<?xf32, #tcc.extents<s0>>
  }
  return %y : tensor<?xf32, #tcc.extents<s0>>
})";
  EXPECT_THAT(values<float>(run(text, {tensor<float>({2, 3}, {1, 2, 3, 0, -1, 5})})[0]), ElementsAre(14, 26));
  EXPECT_EQ(run(text, {tensor<float>({0, 3}, {})})[0].num_elements(), 0);
}

TEST_F(InterpretLoopsTest, MaskFillAndReversal) {
  const char* text = R"(
func.func @f(%x: tensor<3xf32>) -> tensor<6xf32> {
  %y = tcc.kernel(%x) ["pad"] : (tensor<3xf32>) -> tensor<6xf32> {
  ^bb0(%a: tensor<3xf32>):
    %s = tcc.loops #tcc.extents<6> reduce 0 [] {
    ^bb0(%i: index):
      %fill = arith.constant 9.0 : f32
      %v = tcc.load %a[affine_map<(d0) -> (-d0 + 4)>](%i) mask affine_set<(d0) : (d0 - 2 >= 0, 4 - d0 >= 0)> fill %fill : f32 : tensor<3xf32> -> f32
      tcc.yield %v : f32
    } : tensor<6xf32>
    tcc.yield %s : tensor<6xf32>
  }
  return %y : tensor<6xf32>
})";
  EXPECT_THAT(values<float>(run(text, {tensor<float>({3}, {1, 2, 3})})[0]), ElementsAre(9, 9, 3, 2, 1, 9));
}

TEST_F(InterpretLoopsTest, IndirectIndexAndUnsignedElements) {
  // Unsigned tensors are signless inside a kernel.
  const char* text = R"(
func.func @f(%x: tensor<3xui8>, %i: tensor<2xi64>) -> (tensor<2xui8>, tensor<2xi32>) {
  %y, %w = tcc.kernel(%x, %i) ["gather"] : (tensor<3xui8>, tensor<2xi64>) -> (tensor<2xui8>, tensor<2xi32>) {
  ^bb0(%a: tensor<3xi8>, %b: tensor<2xi64>):
    %s, %t = tcc.loops #tcc.extents<2> reduce 0 [] {
    ^bb0(%k: index):
      %n = tcc.load %b[affine_map<(d0) -> (d0)>](%k) : tensor<2xi64> -> i64
      %at = arith.index_cast %n : i64 to index
      %v = tcc.load %a[affine_map<(d0, d1) -> (d1)>](%k, %at) : tensor<3xi8> -> i8
      %wide = arith.extui %v : i8 to i32
      tcc.yield %v, %wide : i8, i32
    } : tensor<2xi8>, tensor<2xi32>
    tcc.yield %s, %t : tensor<2xi8>, tensor<2xi32>
  }
  return %y, %w : tensor<2xui8>, tensor<2xi32>
})";
  Tensor x = tensor<uint8_t>({3}, {1, 200, 255});
  std::vector<Tensor> results = run(text, {x, tensor<int64_t>({2}, {2, 1})});
  EXPECT_THAT(values<uint8_t>(results[0]), ElementsAre(255, 200));
  EXPECT_THAT(values<int32_t>(results[1]), ElementsAre(255, 200));
  EXPECT_THAT(error(text, {x, tensor<int64_t>({2}, {2, 3})}).message().data(), HasSubstr("reads element [3]"));
}

TEST_F(InterpretLoopsTest, BoundsCheck) {
  const char* text = R"(
func.func @f(%x: tensor<?xf32, #tcc.extents<s0>>, %i: tensor<1xi64>) -> tensor<1xf32> attributes {tcc.symbols = [#tcc.symbol<"n", 0, 9, 1>]} {
  %y = tcc.kernel(%x, %i) ["gather"] : (tensor<?xf32, #tcc.extents<s0>>, tensor<1xi64>) -> tensor<1xf32> {
  ^bb0(%a: tensor<?xf32, #tcc.extents<s0>>, %b: tensor<1xi64>):
    %s = tcc.loops #tcc.extents<1> reduce 0 [] {
    ^bb0(%k: index):
      %n = tcc.load %b[affine_map<(d0) -> (d0)>](%k) : tensor<1xi64> -> i64
      %raw = arith.index_cast %n : i64 to index
      %at = tcc.bounds_check %raw below #tcc.extents<s0>
      %v = tcc.load %a[affine_map<(d0) -> (d0)>](%at) : tensor<?xf32, #tcc.extents<s0>> -> f32
      tcc.yield %v : f32
    } : tensor<1xf32>
    tcc.yield %s : tensor<1xf32>
  }
  return %y : tensor<1xf32>
})";
  Tensor x = tensor<float>({3}, {1, 2, 3});
  EXPECT_THAT(values<float>(run(text, {x, tensor<int64_t>({1}, {2})})[0]), ElementsAre(3));
  EXPECT_THAT(values<float>(run(text, {x, tensor<int64_t>({1}, {-3})})[0]), ElementsAre(1));
  EXPECT_THAT(error(text, {x, tensor<int64_t>({1}, {3})}).message().data(),
              HasSubstr("index 3 is out of range for extent 3"));
  EXPECT_EQ(error(text, {x, tensor<int64_t>({1}, {-4})}).code(), absl::StatusCode::kOutOfRange);
}

/// One scalar op on f32/i32 operands, as a kernel over one element.
std::string scalarKernel(const std::string& body, const std::string& type) {
  return "func.func @f(%x: tensor<1x" + type + ">, %y: tensor<1x" + type + ">) -> tensor<1x" + type + R"(> {
  %r = tcc.kernel(%x, %y) ["op"] : (tensor<1x)" +
         type + ">, tensor<1x" + type + ">) -> tensor<1x" + type + R"(> {
  ^bb0(%p: tensor<1x)" +
         type + ">, %q: tensor<1x" + type + R"(>):
    %s = tcc.loops #tcc.extents<1> reduce 0 [] {
    ^bb0(%i: index):
      %a = tcc.load %p[affine_map<(d0) -> (d0)>](%i) : tensor<1x)" +
         type + "> -> " + type + R"(
      %b = tcc.load %q[affine_map<(d0) -> (d0)>](%i) : tensor<1x)" +
         type + "> -> " + type + "\n" + body + R"(
      tcc.yield %c : )" +
         type + R"(
    } : tensor<1x)" +
         type + R"(>
    tcc.yield %s : tensor<1x)" +
         type + R"(>
  }
  return %r : tensor<1x)" +
         type + R"(>
})";
}

TEST_F(InterpretLoopsTest, IntegersWrapAndDivide) {
  auto on = [&](const std::string& op, int32_t a, int32_t b) {
    return values<int32_t>(run(scalarKernel("%c = " + op + " %a, %b : i32", "i32"),
                               {tensor<int32_t>({1}, {a}), tensor<int32_t>({1}, {b})})[0])[0];
  };
  constexpr int32_t kMin = std::numeric_limits<int32_t>::min(), kMax = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(on("arith.addi", kMax, 1), kMin);
  EXPECT_EQ(on("arith.muli", 1 << 20, 1 << 20), 0);
  EXPECT_EQ(on("arith.divsi", -7, 2), -3);
  EXPECT_EQ(on("arith.divsi", kMin, -1), kMin);
  EXPECT_EQ(on("arith.floordivsi", -7, 2), -4);
  EXPECT_EQ(on("arith.ceildivsi", 7, 2), 4);
  EXPECT_EQ(on("arith.remsi", -7, 2), -1);
  EXPECT_EQ(on("arith.divui", -1, 2), kMax);
  EXPECT_EQ(on("arith.shrui", -1, 28), 15);
  EXPECT_EQ(on("arith.shrsi", -16, 2), -4);
  EXPECT_EQ(on("arith.maxui", -1, 5), -1);
  EXPECT_EQ(on("arith.maxsi", -1, 5), 5);
  Tensor zero = tensor<int32_t>({1}, {0});
  EXPECT_THAT(error(scalarKernel("%c = arith.divsi %a, %b : i32", "i32"), {zero, zero}).message().data(),
              HasSubstr("division by zero"));
}

TEST_F(InterpretLoopsTest, FloatsRoundToTheirTypeAndKeepNan) {
  auto on = [&](const std::string& op, float a, float b) {
    return values<float>(
        run(scalarKernel("%c = " + op + " : f32", "f32"), {tensor<float>({1}, {a}), tensor<float>({1}, {b})})[0])[0];
  };
  float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(on("arith.addf %a, %b", 16777216.0f, 1.0f), 16777216.0f);
  EXPECT_TRUE(std::isnan(on("arith.maximumf %a, %b", nan, 1)));
  EXPECT_EQ(on("arith.maxnumf %a, %b", nan, 1), 1);
  EXPECT_TRUE(std::signbit(on("arith.minimumf %a, %b", 0.0f, -0.0f)));
  EXPECT_EQ(on("math.exp %a", 1, 0), std::exp(1.0f));
  EXPECT_EQ(on("math.roundeven %a", 2.5f, 0), 2);
  EXPECT_EQ(on("math.powf %a, %b", 2, 10), 1024);
  std::string half = "%h = arith.truncf %a : f32 to f16\n%c = arith.extf %h : f16 to f32";
  EXPECT_EQ(values<float>(run(scalarKernel(half, "f32"), {tensor<float>({1}, {2049}), tensor<float>({1}, {0})})[0])[0],
            2048);
  std::string bits =
      "%h = arith.bitcast %a : f32 to i32\n%one = arith.constant 1 : i32\n%n = arith.addi %h, %one : i32\n%c = "
      "arith.bitcast %n : i32 to f32";
  EXPECT_EQ(values<float>(run(scalarKernel(bits, "f32"), {tensor<float>({1}, {1}), tensor<float>({1}, {0})})[0])[0],
            std::nextafter(1.0f, 2.0f));
  std::string select = "%l = arith.cmpf olt, %a, %b : f32\n%c = arith.select %l, %a, %b : f32";
  EXPECT_EQ(values<float>(run(scalarKernel(select, "f32"), {tensor<float>({1}, {nan}), tensor<float>({1}, {3})})[0])[0],
            3);
}

TEST_F(InterpretLoopsTest, ReductionKinds) {
  const char* text = R"(
func.func @f(%x: tensor<?xi8, #tcc.extents<s0>>) -> (tensor<i8>, tensor<i8>, tensor<i8>, tensor<i8>) attributes {tcc.symbols = [#tcc.symbol<"n", 0, 99, 1>]} {
  %y:4 = tcc.kernel(%x) ["all"] : (tensor<?xi8, #tcc.extents<s0>>) -> (tensor<i8>, tensor<i8>, tensor<i8>, tensor<i8>) {
  ^bb0(%a: tensor<?xi8, #tcc.extents<s0>>):
    %s:4 = tcc.loops #tcc.extents<s0> reduce 1 [#tcc.reduce_kind<sum>, #tcc.reduce_kind<prod>, #tcc.reduce_kind<max>, #tcc.reduce_kind<min>] {
    ^bb0(%i: index):
      %v = tcc.load %a[affine_map<(d0)[s0] -> (d0)>](%i) : tensor<?xi8, #tcc.extents<s0>> -> i8
      tcc.yield %v, %v, %v, %v : i8, i8, i8, i8
    } : tensor<i8>, tensor<i8>, tensor<i8>, tensor<i8>
    tcc.yield %s#0, %s#1, %s#2, %s#3 : tensor<i8>, tensor<i8>, tensor<i8>, tensor<i8>
  }
  return %y#0, %y#1, %y#2, %y#3 : tensor<i8>, tensor<i8>, tensor<i8>, tensor<i8>
})";
  auto on = [&](std::vector<int8_t> x) {
    std::vector<int> result;
    for (const Tensor& t : run(text, {tensor<int8_t>({static_cast<int64_t>(x.size())}, x)}))
      result.push_back(values<int8_t>(t)[0]);
    return result;
  };
  EXPECT_THAT(on({100, 100, -3}), ElementsAre(-59, -48, 100, -3));
  EXPECT_THAT(on({}), ElementsAre(0, 1, -128, 127));
}

}  // namespace
}  // namespace tcc::ir
