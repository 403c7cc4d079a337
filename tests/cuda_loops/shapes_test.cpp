// Results whose extents are data, on the simulated CUDA device against the reference: every kind of element, extents of
// 0 and 1, what lists may leave out, and lists that are wrong.
#include <limits>

#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "runtime/dispatch.h"
#include "runtime/kernel_abi.h"
#include "sim_runner.h"

namespace tcc::codegen {
namespace {

const std::pair<const char*, DType> kMoved[] = {
    {"f32", DType::kF32}, {"i64", DType::kI64}, {"f16", DType::kF16},           {"i1", DType::kBool},
    {"ui8", DType::kU8},  {"f64", DType::kF64}, {"f8E4M3FN", DType::kF8E4M3FN}, {"bf16", DType::kBF16}};

std::string Type(const std::string& element, const std::vector<int64_t>& dims) {
  return absl::StrCat("tensor<", absl::StrJoin(dims, "x"), dims.empty() ? "" : "x", element, ">");
}
// The result's extents are symbols after `before` others.
std::string Found(const std::string& element, int rank, int before = 0) {
  std::string text = "tensor<", symbols;
  for (int i = 0; i < rank; ++i) {
    text += "?x";
    absl::StrAppend(&symbols, i == 0 ? "" : ", ", "s", before + i);
  }
  return text + element + ", #tcc.extents<" + symbols + ">>";
}
std::string Symbols(int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    absl::StrAppend(&text, i == 0 ? "" : ", ", "#tcc.symbol<\"n", i, "\", 0, 1000000, 1>");
  return "attributes {tcc.symbols = [" + text + "]}";
}
Tensor List(const std::vector<int64_t>& values, DType dtype = DType::kI64) {
  Tensor tensor = *Tensor::Allocate(dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) StoreInt(tensor.data(), dtype, static_cast<int64_t>(i), values[i]);
  return tensor;
}

// A call of a library kernel with operands of these types and one result of the rank.
std::string Call(const std::string& kernel, const std::string& config, const std::string& absent,
                 const std::vector<std::string>& types, const std::string& element, int rank) {
  std::vector<std::string> parameters, names;
  for (const std::string& type : types) {
    names.push_back(absl::StrCat("%a", names.size()));
    parameters.push_back(names.back() + ": " + type);
  }
  return absl::Substitute(
      "func.func @f($0) -> $1 $2 {\n%y = tcc.library \"$3\"($4) {$5} $6 : ($7) -> $1\nreturn %y : $1\n}",
      absl::StrJoin(parameters, ", "), Found(element, rank), Symbols(rank), kernel, absl::StrJoin(names, ", "), config,
      absent.empty() ? "" : "{absent = array<i64: " + absent + ">}", absl::StrJoin(types, ", "));
}

TEST(CudaShapes, Slice) {
  SimRunner runner;
  const int64_t most = std::numeric_limits<int64_t>::max(), least = std::numeric_limits<int64_t>::min();
  for (auto [name, dtype] : kMoved) {
    const Tensor x = RandomTensor(dtype, {5, 1, 7}, 1, -9, 9);
    std::vector<SimRunner::Run> runs;
    for (const std::vector<std::vector<int64_t>>& lists :
         std::initializer_list<std::vector<std::vector<int64_t>>>{{{1, 0}, {4, 5}, {0, 2}, {1, 2}},
                                                                  {{-1, most}, {least, least}, {-1, -3}, {-2, -1}},
                                                                  {{3, 2}, {3, 1}, {2, 0}, {1, 1}},
                                                                  {{least, 100}, {most, -100}, {2, 0}, {most, least}}})
      runs.push_back({.inputs = {x, List(lists[0]), List(lists[1]), List(lists[2]), List(lists[3])}});
    if (dtype == DType::kF32)
      for (const std::vector<std::vector<int64_t>>& lists : std::initializer_list<std::vector<std::vector<int64_t>>>{
               {{1, 0}, {4, 5}, {0, 0}, {1, 2}}, {{1, 0}, {4, 5}, {0, 3}, {1, 2}}, {{1, 0}, {4, 5}, {0, 2}, {1, 0}}})
        runs.push_back({.inputs = {x, List(lists[0]), List(lists[1]), List(lists[2]), List(lists[3])},
                        .error = kTccIndexOutOfRange});
    runner.Add(
        Call("dynamic_slice", "", "",
             {Type(name, {5, 1, 7}), "tensor<2xi64>", "tensor<2xi64>", "tensor<2xi64>", "tensor<2xi64>"}, name, 3),
        runs);
  }
  // All axes in front, by steps of one; of no elements; of 32-bit lists.
  runner.Add(
      Call("dynamic_slice", "", "3, 4", {Type("f32", {5, 0, 7}), "tensor<2xi32>", "tensor<2xi32>"}, "f32", 3),
      {{.inputs = {RandomTensor(DType::kF32, {5, 0, 7}, 1), List({-3, 0}, DType::kI32), List({-1, 9}, DType::kI32)}}});
  runner.Add(
      Call("dynamic_slice", "", "3", {Type("f32", {300}), "tensor<1xi64>", "tensor<1xi64>", "tensor<1xi64>"}, "f32", 1),
      {{.inputs = {RandomTensor(DType::kF32, {300}, 1), List({299}), List({-301}), List({-1})}}});
  runner.Check();
}

TEST(CudaShapes, Pad) {
  SimRunner runner;
  size_t number = 0;
  for (const char* mode : {"constant", "reflect", "edge", "wrap"})
    for (int i = 0; i < 2; ++i) {
      const auto [name, dtype] = kMoved[number++];
      const bool constant = mode == std::string("constant");
      std::vector<SimRunner::Run> runs;
      for (const std::vector<int64_t>& pads :
           {std::vector<int64_t>{1, 2, 0, 3}, {-1, 0, 2, -2}, {0, 0, 0, 0}, {2, -4, -3, 3}}) {
        runs.push_back({.inputs = {RandomTensor(dtype, {4, 2, 7}, 1, -9, 9), List(pads)}});
        if (constant) runs.back().inputs.push_back(RandomTensor(dtype, {}, 2, 2, 9));
        runs.back().inputs.push_back(List({0, -1}));
      }
      runs.push_back(runs[0]);
      runs.back().inputs[1] = List({-5, 0, 0, 0});
      runs.back().error = kTccIndexOutOfRange;
      runs.push_back(runs[0]);
      runs.back().inputs.back() = List({0, 0});
      runs.back().error = kTccIndexOutOfRange;
      std::vector<std::string> types = {Type(name, {4, 2, 7}), "tensor<4xi64>", "tensor<2xi64>"};
      if (constant) types.insert(types.begin() + 2, Type(name, {}));
      runner.Add(Call("dynamic_pad", absl::StrCat("mode = \"", mode, "\""), constant ? "" : "2", types, name, 3), runs);
    }
  runner.Add(Call("dynamic_pad", "mode = \"constant\"", "2, 3", {Type("f32", {0}), "tensor<2xi64>"}, "f32", 1),
             {{.inputs = {RandomTensor(DType::kF32, {0}, 1), List({2, 300})}}});
  runner.Check();
}

TEST(CudaShapes, ExpandAndTile) {
  SimRunner runner;
  for (auto [name, dtype] : kMoved) {
    const Tensor x = RandomTensor(dtype, {3, 1}, 1, -9, 9);
    runner.Add(Call("dynamic_expand", "", "", {Type(name, {3, 1}), "tensor<3xi64>"}, name, 3),
               {{.inputs = {x, List({2, 1, 5})}},
                {.inputs = {x, List({0, 3, 100})}},
                {.inputs = {x, List({1, 1, 0})}},
                {.inputs = {x, List({2, 2, 5})}, .error = kTccIndexOutOfRange}});
    runner.Add(Call("dynamic_tile", "", "", {Type(name, {3, 1}), "tensor<2xi64>"}, name, 2),
               {{.inputs = {x, List({2, 100})}},
                {.inputs = {x, List({1, 0})}},
                {.inputs = {x, List({1, -1})}, .error = kTccIndexOutOfRange}});
  }
  runner.Add(Call("dynamic_expand", "", "", {Type("f32", {}), "tensor<1xi64>"}, "f32", 1),
             {{.inputs = {RandomTensor(DType::kF32, {}, 1), List({513})}}});
  runner.Add(Call("dynamic_expand", "", "", {Type("f32", {4, 1}), "tensor<1xi64>"}, "f32", 2),
             {{.inputs = {RandomTensor(DType::kF32, {4, 1}, 1), List({7})}}});
  runner.Add(Call("dynamic_tile", "", "", {Type("f32", {0, 3}), "tensor<2xi64>"}, "f32", 2),
             {{.inputs = {RandomTensor(DType::kF32, {0, 3}, 1), List({7, 2})}}});
  runner.Check();
}

TEST(CudaShapes, Range) {
  SimRunner runner;
  const std::pair<const char*, DType> types[] = {
      {"f32", DType::kF32}, {"f64", DType::kF64}, {"f16", DType::kF16}, {"bf16", DType::kBF16}, {"i8", DType::kI8},
      {"i16", DType::kI16}, {"i32", DType::kI32}, {"i64", DType::kI64}, {"ui8", DType::kU8},    {"ui64", DType::kU64}};
  for (auto [name, dtype] : types) {
    std::vector<SimRunner::Run> runs;
    for (auto [start, limit, delta] : std::initializer_list<std::array<double, 3>>{
             {1, 10, 2}, {0, 100, 0.75}, {5, 5, 1}, {7, 1, 1}, {3, 4, 9}, {100, 3, -3.5}}) {
      if (delta < 0 && IsUnsignedInt(dtype)) continue;
      std::vector<Tensor> inputs;
      for (double value : {start, limit, delta}) {
        inputs.push_back(*Tensor::Allocate(dtype, {}));
        if (IsFloat(dtype))
          StoreDouble(inputs.back().data(), dtype, 0, value);
        else
          StoreInt(inputs.back().data(), dtype, 0, static_cast<int64_t>(value));
      }
      const bool stands = LoadDouble(inputs[2].data(), dtype, 0) != 0 || LoadInt(inputs[2].data(), dtype, 0) != 0;
      runs.push_back({.inputs = inputs, .tolerance = 0, .error = stands ? 0 : kTccIndexOutOfRange});
    }
    const std::string scalar = Type(name, {});
    runner.Add(Call("range", "", "", {scalar, scalar, scalar}, name, 1), runs);
  }
  runner.Check();
}

TEST(CudaShapes, OneHot) {
  SimRunner runner;
  const auto add = [&](const char* name, DType dtype, const std::string& config, const std::string& result,
                       int64_t depth, int64_t error) {
    Tensor on_off = RandomTensor(dtype, {2}, 3, 1, 9), depth_value = *Tensor::Allocate(DType::kI64, {});
    StoreInt(depth_value.data(), DType::kI64, 0, depth);
    runner.Add(
        absl::Substitute("func.func @f(%i: tensor<3x5xi64>, %d: tensor<i64>, %v: $0) -> $1 $2 {\n"
                         "%y = tcc.library \"one_hot\"(%i, %d, %v) {$3} : (tensor<3x5xi64>, tensor<i64>, $0) -> $1\n"
                         "return %y : $1\n}",
                         Type(name, {2}), result, Symbols(1), config),
        {{.inputs = {RandomTensor(DType::kI64, {3, 5}, 1, -9, 9), depth_value, on_off}, .error = error}});
  };
  for (auto [name, dtype] : kMoved)
    add(name, dtype, "axis = 1 : i64", absl::Substitute("tensor<3x?x5x$0, #tcc.extents<3, s0, 5>>", name), 7, 0);
  add("f32", DType::kF32, "", "tensor<3x5x?xf32, #tcc.extents<3, 5, s0>>", 3, 0);
  add("f32", DType::kF32, "axis = 0 : i64", "tensor<?x3x5xf32, #tcc.extents<s0, 3, 5>>", 100, 0);
  add("f32", DType::kF32, "axis = 0 : i64", "tensor<?x3x5xf32, #tcc.extents<s0, 3, 5>>", 0, 0);
  add("f32", DType::kF32, "axis = 0 : i64", "tensor<?x3x5xf32, #tcc.extents<s0, 3, 5>>", -1, kTccIndexOutOfRange);
  runner.Check();
}

}  // namespace
}  // namespace tcc::codegen
