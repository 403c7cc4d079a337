// Top-k on the simulated CUDA device against the reference: sorted, ties by index, NaN the largest, every dtype, lines
// that are empty, short, one beyond a chunk and several chunks long, along any axis, with a k that is data.
#include <cmath>
#include <limits>

#include "absl/strings/substitute.h"
#include "runtime/dispatch.h"
#include "runtime/kernel_abi.h"
#include "sim_runner.h"

namespace tcc::codegen {
namespace {

std::string Type(const std::string& element, const std::vector<int64_t>& dims) {
  std::string text = "tensor<";
  for (int64_t dim : dims) text += std::to_string(dim) + "x";
  return text + element + ">";
}

// Few different values, so that most have equals; of floats also zeros of both signs, infinities and NaN.
Tensor Repetitive(DType dtype, const std::vector<int64_t>& dims, unsigned seed) {
  Tensor x = RandomTensor(DType::kI64, dims, seed, -6, 7);
  Tensor y = *Tensor::Allocate(dtype, dims);
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const int64_t value = LoadInt(x.data(), DType::kI64, i);
    if (!IsFloat(dtype)) {
      StoreInt(y.data(), dtype, i, dtype == DType::kBool ? value > 0 : value);
      continue;
    }
    const double inf = std::numeric_limits<double>::infinity();
    StoreDouble(y.data(), dtype, i,
                value == 6    ? std::nan("")
                : value == 5  ? inf
                : value == -6 ? -inf
                : value == -5 ? -0.0
                              : value / 2.0);
  }
  return y;
}

std::string TopK(const std::string& x, const std::string& values, const std::string& indices, int axis, bool largest) {
  return absl::Substitute(R"(
    func.func @f(%x: $0) -> ($1, $2) {
      %v, %i = tcc.top_k %x {axis = $3 : i64, largest = $4} : ($0) -> ($1, $2)
      return %v, %i : $1, $2
    })",
                          x, values, indices, axis, largest ? "true" : "false");
}

TEST(CudaTopK, EveryType) {
  SimRunner runner;
  const std::pair<const char*, DType> types[] = {
      {"f32", DType::kF32},  {"f64", DType::kF64},  {"f16", DType::kF16}, {"bf16", DType::kBF16}, {"i8", DType::kI8},
      {"i16", DType::kI16},  {"i32", DType::kI32},  {"i64", DType::kI64}, {"ui8", DType::kU8},    {"ui16", DType::kU16},
      {"ui32", DType::kU32}, {"ui64", DType::kU64}, {"i1", DType::kBool}};
  bool largest = false;
  for (auto [name, dtype] : types) {
    largest = !largest;
    runner.Add(TopK(Type(name, {3, 61}), Type(name, {3, 7}), Type("i64", {3, 7}), 1, largest),
               {{.inputs = {Repetitive(dtype, {3, 61}, 1)}}});
  }
  runner.Check();
}

TEST(CudaTopK, LengthsAndAxes) {
  SimRunner runner;
  for (auto [n, k] : {std::pair<int64_t, int64_t>{1, 1}, {64, 64}, {65, 5}, {257, 257}, {2049, 30}, {4999, 4999}})
    for (bool largest : {true, false})
      runner.Add(TopK(Type("f32", {2, n}), Type("f32", {2, k}), Type("i64", {2, k}), 1, largest),
                 {{.inputs = {Repetitive(DType::kF32, {2, n}, static_cast<unsigned>(n))}}});
  runner.Add(TopK(Type("f32", {2, 37, 3}), Type("f32", {2, 11, 3}), Type("i64", {2, 11, 3}), 1, true),
             {{.inputs = {Repetitive(DType::kF32, {2, 37, 3}, 1)}}});
  runner.Add(TopK(Type("i64", {1300, 2}), Type("i64", {9, 2}), Type("i64", {9, 2}), 0, false),
             {{.inputs = {Repetitive(DType::kI64, {1300, 2}, 1)}}});
  runner.Add(TopK(Type("f32", {0, 5}), Type("f32", {0, 2}), Type("i64", {0, 2}), 1, true),
             {{.inputs = {Repetitive(DType::kF32, {0, 5}, 1)}}});
  runner.Check();
}

// One text for all lengths: passes of merging that a line does not need have no blocks. A k that is more than there is
// fails the call.
TEST(CudaTopK, DynamicExtents) {
  SimRunner runner;
  std::vector<SimRunner::Run> runs;
  for (int64_t n : {4, 5, 2048, 2049, 4097, 9001})
    runs.push_back({.inputs = {Repetitive(DType::kF32, {2, n}, 3)}, .symbols = {n}});
  runs.push_back({.inputs = {Repetitive(DType::kF32, {2, 3}, 3)}, .symbols = {3}, .error = kTccIndexOutOfRange});
  const std::string x = "tensor<2x?xf32, #tcc.extents<2, s0>>";
  runner.Add(absl::Substitute(R"(
    func.func @f(%x: $0) -> ($1, $2) attributes {tcc.symbols = [#tcc.symbol<"n", 0, 10000, 1>]} {
      %v, %i = tcc.top_k %x {axis = 1 : i64, largest = true} : ($0) -> ($1, $2)
      return %v, %i : $1, $2
    })",
                              x, Type("f32", {2, 4}), Type("i64", {2, 4})),
             runs);
  EXPECT_EQ(runner.codes().back().launches.size(), 5u);
  runner.Check();
}

TEST(CudaTopK, AKFromData) {
  SimRunner runner;
  const auto k = [](int64_t value) {
    Tensor tensor = *Tensor::Allocate(DType::kI64, {1});
    StoreInt(tensor.data(), DType::kI64, 0, value);
    return tensor;
  };
  for (int64_t n : {50, 2500}) {
    const Tensor x = Repetitive(DType::kF32, {2, n, 2}, 5);
    runner.Add(absl::Substitute(R"(
      func.func @f(%x: $0, %k: tensor<1xi64>) -> ($1, $2) attributes {tcc.symbols = [#tcc.symbol<"k", 0, 100000, 1>]} {
        %v, %i = tcc.library "dynamic_top_k"(%x, %k) {axis = 1 : i64, largest = true} : ($0, tensor<1xi64>) -> ($1, $2)
        return %v, %i : $1, $2
      })",
                                Type("f32", {2, n, 2}), "tensor<2x?x2xf32, #tcc.extents<2, s0, 2>>",
                                "tensor<2x?x2xi64, #tcc.extents<2, s0, 2>>"),
               {{.inputs = {x, k(0)}},
                {.inputs = {x, k(1)}},
                {.inputs = {x, k(n)}},
                {.inputs = {x, k(n + 1)}, .error = kTccIndexOutOfRange},
                {.inputs = {x, k(-1)}, .error = kTccIndexOutOfRange}});
  }
  runner.Check();
}

}  // namespace
}  // namespace tcc::codegen
