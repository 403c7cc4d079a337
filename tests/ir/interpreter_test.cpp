#include "ir/Interpreter.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "parse.h"

namespace tcc::ir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class InterpreterTest : public IrTest {};

constexpr const char* kRowSums = R"(
func.func @f(%x: tensor<?x?xf32, #tcc.extents<s0, s1>>) -> tensor<?xf32, #tcc.extents<s0>>
    attributes {tcc.symbols = [#tcc.symbol<"n", 1, 4, 1>, #tcc.symbol<"m", 0, 100, 2>]} {
  %y = tcc.reduce %x {kind = #tcc.reduce_kind<sum>, axes = array<i64: 1>, keep_dims = false} : (tensor<?x?xf32, #tcc.extents<s0, s1>>) -> tensor<?xf32, #tcc.extents<s0>>
  return %y : tensor<?xf32, #tcc.extents<s0>>
})";

TEST_F(InterpreterTest, SymbolsComeFromTheInputs) {
  EXPECT_THAT(values<float>(run(kRowSums, {tensor<float>({2, 2}, {1, 2, 3, 4})})[0]), ElementsAre(3, 7));
  EXPECT_THAT(values<float>(run(kRowSums, {tensor<float>({3, 0}, {})})[0]), ElementsAre(0, 0, 0));
}

TEST_F(InterpreterTest, RangesOfSymbolsAreChecked) {
  EXPECT_THAT(error(kRowSums, {tensor<float>({5, 2}, std::vector<float>(10))}).message().data(),
              HasSubstr("extent 5 of axis 0"));
  EXPECT_THAT(error(kRowSums, {tensor<float>({1, 3}, std::vector<float>(3))}).message().data(),
              HasSubstr("multiples of 2"));
  EXPECT_THAT(error(kRowSums, {tensor<double>({1, 2}, {1, 2})}).message().data(), HasSubstr("dtype"));
  EXPECT_THAT(error(kRowSums, {}).message().data(), HasSubstr("1 tensors are needed"));
  EXPECT_FALSE(error(kRowSums, {Tensor()}).ok());
}

TEST_F(InterpreterTest, StridedInputs) {
  Tensor x = tensor<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_THAT(values<float>(run(kRowSums, {x.View({4, 2}, {1, 4}, 0)})[0]), ElementsAre(6, 8, 10, 12));
}

TEST_F(InterpreterTest, EqualSymbolsMustAgree) {
  const char* text = R"(
func.func @f(%x: tensor<?xf32, #tcc.extents<s0>>, %y: tensor<?xf32, #tcc.extents<s0>>) -> tensor<?xf32, #tcc.extents<s0>>
    attributes {tcc.symbols = [#tcc.symbol<"n", 1, 9, 1>]} {
  %z = tcc.add %x, %y : tensor<?xf32, #tcc.extents<s0>>
  return %z : tensor<?xf32, #tcc.extents<s0>>
})";
  EXPECT_THAT(values<float>(run(text, {tensor<float>({2}, {1, 2}), tensor<float>({2}, {3, 4})})[0]), ElementsAre(4, 6));
  EXPECT_THAT(error(text, {tensor<float>({2}, {1, 2}), tensor<float>({3}, {3, 4, 5})}).message().data(),
              HasSubstr("tensor 1: axis 0 has extent 3, but s0 is 2"));
}

TEST_F(InterpreterTest, BranchesWithDifferentExtents) {
  const char* text = R"(
func.func @f(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<?xf32, #tcc.extents<s0>>
    attributes {tcc.symbols = [#tcc.symbol<"r", 0, 9, 1>]} {
  %y = tcc.if %c : (tensor<i1>) -> tensor<?xf32, #tcc.extents<s0>> {
    tcc.yield %x : tensor<4xf32>
  } else {
    %half = tcc.slice %x {starts = #tcc.extents<1>, steps = array<i64: 2>} : (tensor<4xf32>) -> tensor<2xf32>
    tcc.yield %half : tensor<2xf32>
  }
  %z = tcc.add %y, %y : tensor<?xf32, #tcc.extents<s0>>
  return %z : tensor<?xf32, #tcc.extents<s0>>
})";
  Tensor x = tensor<float>({4}, {1, 2, 3, 4});
  EXPECT_THAT(values<float>(run(text, {tensor<bool>({}, {true}), x})[0]), ElementsAre(2, 4, 6, 8));
  EXPECT_THAT(values<float>(run(text, {tensor<bool>({}, {false}), x})[0]), ElementsAre(4, 8));
}

TEST_F(InterpreterTest, ExtentsAboveTheOpThatBindsTheirSymbol) {
  // As folding leaves it.
  std::vector<Tensor> results = run(R"(
func.func @f(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<1xi64> attributes {tcc.symbols = [#tcc.symbol<"r", 0, 9, 1>]} {
  %count = tcc.extents {value = #tcc.extents<s0>} : () -> tensor<1xi64>
  %y = tcc.if %c : (tensor<i1>) -> tensor<?xf32, #tcc.extents<s0>> {
    tcc.yield %x : tensor<4xf32>
  } else {
    %half = tcc.slice %x {starts = #tcc.extents<1>, steps = array<i64: 2>} : (tensor<4xf32>) -> tensor<2xf32>
    tcc.yield %half : tensor<2xf32>
  }
  %n = tcc.add %count, %count : tensor<1xi64>
  return %n : tensor<1xi64>
})",
                                    {tensor<bool>({}, {false}), tensor<float>({4}, {1, 2, 3, 4})});
  EXPECT_THAT(values<int64_t>(results[0]), ElementsAre(4));
}

TEST_F(InterpreterTest, LoopWhoseCarriedValueGrows) {
  const char* text = R"(
func.func @f(%n: tensor<i64>) -> (tensor<?xi64, #tcc.extents<s1>>, tensor<?xi64, #tcc.extents<s2>>)
    attributes {tcc.symbols = [#tcc.symbol<"inside", 0, 99, 1>, #tcc.symbol<"after", 0, 99, 1>, #tcc.symbol<"scan", 0, 99, 1>]} {
  %start = tcc.constant dense<[]> : tensor<0xi64>
  %true = tcc.constant dense<true> : tensor<i1>
  %list, %scan = tcc.loop trip %n : tensor<i64> carry(%start) : (tensor<0xi64>) -> (tensor<?xi64, #tcc.extents<s1>>, tensor<?xi64, #tcc.extents<s2>>) {
  ^bb0(%i: tensor<i64>, %l: tensor<?xi64, #tcc.extents<s0>>):
    %one = tcc.reshape %i : (tensor<i64>) -> tensor<1xi64>
    %longer = tcc.concat %l, %one {axis = 0 : i64} : (tensor<?xi64, #tcc.extents<s0>>, tensor<1xi64>) -> tensor<?xi64, #tcc.extents<s0 + 1>>
    %square = tcc.mul %i, %i : tensor<i64>
    tcc.yield %true, %longer, %square : tensor<i1>, tensor<?xi64, #tcc.extents<s0 + 1>>, tensor<i64>
  }
  return %list, %scan : tensor<?xi64, #tcc.extents<s1>>, tensor<?xi64, #tcc.extents<s2>>
})";
  std::vector<Tensor> results = run(text, {tensor<int64_t>({}, {4})});
  EXPECT_THAT(values<int64_t>(results[0]), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(values<int64_t>(results[1]), ElementsAre(0, 1, 4, 9));
  results = run(text, {tensor<int64_t>({}, {0})});
  EXPECT_EQ(results[0].num_elements(), 0);
  EXPECT_EQ(results[1].num_elements(), 0);
}

TEST_F(InterpreterTest, ErrorsNameTheOp) {
  const char* text = R"(
func.func @f(%x: tensor<3xf32>, %i: tensor<i64>) -> tensor<f32> {
  %y = tcc.gather %x, %i {axis = 0 : i64} : (tensor<3xf32>, tensor<i64>) -> tensor<f32> loc("node7")
  return %y : tensor<f32>
})";
  Tensor x = tensor<float>({3}, {1, 2, 3});
  EXPECT_THAT(values<float>(run(text, {x, tensor<int64_t>({}, {-1})})[0]), ElementsAre(3));
  absl::Status status = error(text, {x, tensor<int64_t>({}, {3})});
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(status.message().data(), HasSubstr("node7"));
  EXPECT_THAT(status.message().data(), HasSubstr("tcc.gather"));
}

TEST_F(InterpreterTest, Observer) {
  mlir::func::FuncOp function = parse(R"(
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = tcc.neg %x : tensor<2xf32>
  %b = tcc.abs %a : tensor<2xf32>
  return %b : tensor<2xf32>
})");
  std::vector<std::string> seen;
  InterpretOptions options;
  options.observe = [&](mlir::Operation* op, absl::Span<const Tensor> results) {
    seen.push_back(op->getName().getStringRef().str() + " " + std::to_string(results[0].data_as<float>()[0]));
  };
  ASSERT_TRUE(interpret(function, {tensor<float>({2}, {1, 2})}, options).ok());
  EXPECT_THAT(seen, ElementsAre("tcc.neg -1.000000", "tcc.abs 1.000000"));
}

}  // namespace
}  // namespace tcc::ir
