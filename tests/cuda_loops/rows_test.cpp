// Softmax and normalisations on the simulated CUDA device: one launch, by a warp or a block for each row.
#include <cmath>
#include <limits>

#include "absl/strings/substitute.h"
#include "sim_runner.h"

namespace tcc::codegen {
namespace {

std::string Type(const std::string& element, const std::vector<int64_t>& dims) {
  std::string text = "tensor<";
  for (int64_t dim : dims) text += std::to_string(dim) + "x";
  return text + element + ">";
}

TEST(CudaRows, Softmax) {
  SimRunner runner;
  for (auto [m, n] :
       {std::pair<int64_t, int64_t>{64, 1}, {64, 5}, {70, 33}, {64, 128}, {20, 768}, {3, 1000}, {20, 5000}}) {
    const std::string t = Type("f32", {m, n});
    runner.Add("func.func @f(%x: " + t + ") -> " + t + " {\n%y = tcc.softmax %x {axis = 1 : i64} : (" + t + ") -> " +
                   t + "\nreturn %y : " + t + "\n}",
               {{.inputs = {RandomTensor(DType::kF32, {m, n}, 1, -9, 9)}, .offset = 1}});
  }
  // Along another axis than the last.
  const std::string t = Type("f16", {3, 40, 17});
  runner.Add("func.func @f(%x: " + t + ") -> " + t + " {\n%y = tcc.softmax %x {axis = 1 : i64} : (" + t + ") -> " + t +
                 "\nreturn %y : " + t + "\n}",
             {{.inputs = {RandomTensor(DType::kF16, {3, 40, 17}, 1)}, .tolerance = 2e-3}});
  runner.Check();
}

// One element a row that all threads of the row compute: its result cannot take the place of what they read.
TEST(CudaRows, ElementsOfARowInPlace) {
  SimRunner runner;
  runner.Add(
      "func.func @f(%x: tensor<6x1000xf32>, %a: tensor<6x1xf32>) -> tensor<6x1xf32> {\n"
      "%s = tcc.reduce %x {kind = #tcc.reduce_kind<sum>, axes = array<i64: 1>, keep_dims = true} : "
      "(tensor<6x1000xf32>) -> tensor<6x1xf32>\n"
      "%y = tcc.add %a, %s : tensor<6x1xf32>\nreturn %y : tensor<6x1xf32>\n}",
      {{.inputs = {RandomTensor(DType::kF32, {6, 1000}, 1), RandomTensor(DType::kF32, {6, 1}, 2)}, .tolerance = 1e-5}});
  ASSERT_EQ(runner.codes().size(), 1u);
  EXPECT_TRUE(runner.codes()[0].inPlace.empty());
  runner.Check();
}

// Rows that no block can keep are read twice: maximum and sum in one pass.
TEST(CudaRows, LongSoftmax) {
  SimRunner runner;
  const int64_t m = 16, n = 100003;
  const std::string t = Type("f32", {m, n}), d = "tensor<?x?xf32, #tcc.extents<s0, s1>>";
  runner.Add("func.func @f(%x: " + t + ") -> " + t + " {\n%y = tcc.softmax %x {axis = 1 : i64} : (" + t + ") -> " + t +
                 "\nreturn %y : " + t + "\n}",
             {{.inputs = {RandomTensor(DType::kF32, {m, n}, 1, -9, 90)}, .tolerance = 1e-6}});
  EXPECT_EQ(runner.codes().back().launches.size(), 1u);
  // Infinities and NaN; nothing but -inf; elements that are far apart. As the reference, which looks for the maximum
  // first.
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<SimRunner::Run> runs;
  for (const std::vector<float>& values : {std::vector<float>{1, inf, 2},
                                           {-inf, -inf, -inf},
                                           {-inf, 3, -inf},
                                           {inf, inf, 1},
                                           {1, std::nanf(""), 2},
                                           {-200, 200, 0},
                                           {5, 5, -inf},
                                           {-inf, -inf, inf}})
    for (int64_t rows : {1, 9}) {
      Tensor x = *Tensor::Allocate(DType::kF32, {rows, 301});
      for (int64_t i = 0; i < x.num_elements(); ++i) x.data_as<float>()[i] = values[(i / 3 + i) % 3];
      runs.push_back({.inputs = {x}, .symbols = {rows, 301}});
    }
  runs.push_back({.inputs = {RandomTensor(DType::kF32, {20, 1}, 2)}, .symbols = {20, 1}});
  for (const char* op : {"softmax", "log_softmax"})
    runner.Add(
        "func.func @f(%x: " + d + ") -> " + d +
            " attributes {tcc.symbols = [#tcc.symbol<\"m\", 0, 100000000, 1>, #tcc.symbol<\"n\", 1, 100000000, 1>]} "
            "{\n%y = tcc." +
            op + " %x {axis = 1 : i64} : (" + d + ") -> " + d + "\nreturn %y : " + d + "\n}",
        runs);
  runner.Check();
}

TEST(CudaRows, LayerNormWithScale) {
  SimRunner runner;
  for (auto [m, n] : {std::pair<int64_t, int64_t>{40, 33}, {64, 128}, {20, 1024}, {17, 2051}}) {
    runner.Add(
        absl::Substitute(R"(
      func.func @f(%x: $0, %w: $1) -> $0 {
        %n = tcc.layer_norm %x {axis = 1 : i64, epsilon = 1.0e-5} : ($0) -> $0
        %b = tcc.broadcast %w : ($1) -> $0
        %y = tcc.mul %n, %b : $0
        return %y : $0
      })",
                         Type("f32", {m, n}), Type("f32", {1, n})),
        {{.inputs = {RandomTensor(DType::kF32, {m, n}, 1), RandomTensor(DType::kF32, {1, n}, 2)}, .tolerance = 1e-4}});
    EXPECT_EQ(runner.codes().back().launches.size(), 1u);
  }
  runner.Check();
}

TEST(CudaRows, DynamicRows) {
  SimRunner runner;
  const std::string t = "tensor<?x?xf32, #tcc.extents<s0, s1>>";
  std::vector<SimRunner::Run> runs;
  for (auto [m, n] : {std::pair<int64_t, int64_t>{0, 5}, {3, 1}, {40, 33}, {5, 1500}})
    runs.push_back({.inputs = {RandomTensor(DType::kF32, {m, n}, 1)}, .symbols = {m, n}});
  runner.Add(
      "func.func @f(%x: " + t + ") -> " + t +
          " attributes {tcc.symbols = [#tcc.symbol<\"m\", 0, 100000000, 1>, #tcc.symbol<\"n\", 1, 100000000, 1>]} "
          "{\n%y = tcc.softmax %x {axis = 1 : i64} : (" +
          t + ") -> " + t + "\nreturn %y : " + t + "\n}",
      runs);
  runner.Check();
}

}  // namespace
}  // namespace tcc::codegen
