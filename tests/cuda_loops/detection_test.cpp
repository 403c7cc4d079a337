// What data decides how much there is of: NonZero, Compress and non-maximum suppression on the simulated CUDA device.
#include <array>
#include <cmath>

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
Tensor Scalar(DType dtype, double value) {
  Tensor tensor = *Tensor::Allocate(dtype, {1});
  if (IsFloat(dtype))
    StoreDouble(tensor.data(), dtype, 0, value);
  else
    StoreInt(tensor.data(), dtype, 0, static_cast<int64_t>(value));
  return tensor;
}
constexpr char kSymbol[] = "attributes {tcc.symbols = [#tcc.symbol<\"count\", 0, 100000000, 1>]}";

TEST(CudaSelect, Nonzero) {
  SimRunner runner;
  const std::pair<const char*, DType> types[] = {
      {"f32", DType::kF32}, {"f16", DType::kF16}, {"bf16", DType::kBF16}, {"ui16", DType::kU16}, {"i1", DType::kBool}};
  const std::vector<int64_t> shapes[] = {{1}, {0, 3}, {2, 3, 171}, {1025}, {7, 300}};
  size_t number = 0;
  for (auto [name, dtype] : types) {
    const std::vector<int64_t>& dims = shapes[number++ % 5];
    Tensor x = RandomTensor(DType::kI64, dims, 1, -1, 2), converted = *Tensor::Allocate(dtype, dims);
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const int64_t value = LoadInt(x.data(), DType::kI64, i);
      if (IsFloat(dtype))
        StoreDouble(converted.data(), dtype, i, static_cast<double>(value));
      else
        StoreInt(converted.data(), dtype, i, dtype == DType::kBool ? value > 0 : value);
    }
    const std::string rank = std::to_string(dims.size());
    runner.Add(
        absl::Substitute("func.func @f(%x: $0) -> $1 $2 {\n%y = tcc.library \"nonzero\"(%x) {} : ($0) -> $1\n"
                         "return %y : $1\n}",
                         Type(name, dims), "tensor<" + rank + "x?xi64, #tcc.extents<" + rank + ", s0>>", kSymbol),
        {{.inputs = {converted}}});
  }
  runner.Check();
}

TEST(CudaSelect, Compress) {
  SimRunner runner;
  for (auto [element, dtype] : {std::pair<const char*, DType>{"f16", DType::kF16}, {"i64", DType::kI64}}) {
    const Tensor x = RandomTensor(dtype, {3, 41, 5}, 1), flat = RandomTensor(dtype, {1300}, 1);
    runner.Add(absl::Substitute(R"(
      func.func @f(%x: $0, %c: $1) -> $2 $3 {
        %y = tcc.library "compress"(%x, %c) {axis = 1 : i64} : ($0, $1) -> $2
        return %y : $2
      })",
                                Type(element, {3, 41, 5}), Type("i1", {41}),
                                absl::Substitute("tensor<3x?x5x$0, #tcc.extents<3, s0, 5>>", element), kSymbol),
               {{.inputs = {x, RandomTensor(DType::kBool, {41}, 2)}}});
    // A condition that is shorter; one that is longer, and holds there, is an error.
    runner.Add(absl::Substitute(R"(
      func.func @f(%x: $0, %c: $1) -> $2 $3 {
        %y = tcc.library "compress"(%x, %c) {axis = 0 : i64} : ($0, $1) -> $2
        return %y : $2
      })",
                                Type(element, {1300}), Type("i1", {1100}),
                                absl::Substitute("tensor<?x$0, #tcc.extents<s0>>", element), kSymbol),
               {{.inputs = {flat, RandomTensor(DType::kBool, {1100}, 3)}}});
  }
  Tensor all = RandomTensor(DType::kBool, {9}, 1, 1, 2);
  runner.Add(absl::Substitute(R"(
    func.func @f(%x: $0, %c: $1) -> $2 $3 {
      %y = tcc.library "compress"(%x, %c) {axis = 0 : i64} : ($0, $1) -> $2
      return %y : $2
    })",
                              Type("f32", {7}), Type("i1", {9}), "tensor<?xf32, #tcc.extents<s0>>", kSymbol),
             {{.inputs = {RandomTensor(DType::kF32, {7}, 1), all}, .error = kTccIndexOutOfRange}});
  runner.Check();
}

// Boxes of few places and sizes: many overlap, and many scores are equal.
TEST(CudaNms, AgainstTheReference) {
  SimRunner runner;
  for (auto [batches, classes, n] : {std::array<int64_t, 3>{2, 3, 50}, {1, 1, 2500}, {1, 2, 0}})
    for (int center : {0, 1}) {
      if (center && n != 50) continue;
      const Tensor boxes = RandomTensor(DType::kI64, {batches, n, 4}, 1, 0, 30),
                   grades = RandomTensor(DType::kI64, {batches, classes, n}, 2, 0, 40);
      Tensor b = *Tensor::Allocate(DType::kF32, {batches, n, 4}),
             s = *Tensor::Allocate(DType::kF32, {batches, classes, n});
      for (int64_t i = 0; i < b.num_elements(); ++i)
        StoreDouble(b.data(), DType::kF32, i, 0.37 * static_cast<double>(LoadInt(boxes.data(), DType::kI64, i)));
      for (int64_t i = 0; i < s.num_elements(); ++i) {
        const int64_t grade = LoadInt(grades.data(), DType::kI64, i);
        StoreDouble(s.data(), DType::kF32, i, grade == 39 ? std::nan("") : static_cast<double>(grade) / 40);
      }
      runner.Add(absl::Substitute(R"(
        func.func @f(%b: $0, %s: $1, %m: tensor<1xi64>, %i: tensor<1xf32>, %t: tensor<1xf32>) -> $2 $3 {
          %y = tcc.library "non_max_suppression"(%b, %s, %m, %i, %t) {center_point_box = $4 : i64}
              : ($0, $1, tensor<1xi64>, tensor<1xf32>, tensor<1xf32>) -> $2
          return %y : $2
        })",
                                  Type("f32", {batches, n, 4}), Type("f32", {batches, classes, n}),
                                  "tensor<?x3xi64, #tcc.extents<s0, 3>>", kSymbol, center),
                 {{.inputs = {b, s, Scalar(DType::kI64, 20), Scalar(DType::kF32, 0.5), Scalar(DType::kF32, 0.1)}},
                  {.inputs = {b, s, Scalar(DType::kI64, 1000), Scalar(DType::kF32, 0), Scalar(DType::kF32, 0.6)}},
                  {.inputs = {b, s, Scalar(DType::kI64, 0), Scalar(DType::kF32, 0.5), Scalar(DType::kF32, 0)}}});
      if (batches != 1 || classes != 1) continue;
      runner.Add(absl::Substitute(R"(
        func.func @f(%b: $0, %s: $1) -> $2 $3 {
          %y = tcc.library "nms"(%b, %s) {iou_threshold = 0.3 : f64} : ($0, $1) -> $2
          return %y : $2
        })",
                                  Type("f32", {n, 4}), Type("f32", {n}), "tensor<?xi64, #tcc.extents<s0>>", kSymbol),
                 {{.inputs = {b.Reshaped({n, 4}), s.Reshaped({n})}}});
    }
  // Without thresholds and limit nothing is kept.
  runner.Add(
      absl::Substitute(R"(
    func.func @f(%b: $0, %s: $1) -> $2 $3 {
      %y = tcc.library "non_max_suppression"(%b, %s) {center_point_box = 0 : i64} {absent = array<i64: 2, 3, 4>} : ($0, $1) -> $2
      return %y : $2
    })",
                       Type("f32", {1, 5, 4}), Type("f32", {1, 1, 5}), "tensor<?x3xi64, #tcc.extents<s0, 3>>", kSymbol),
      {{.inputs = {RandomTensor(DType::kF32, {1, 5, 4}, 1), RandomTensor(DType::kF32, {1, 1, 5}, 1)}}});
  runner.Check();
}

TEST(CudaRoiAlign, AgainstTheReference) {
  SimRunner runner;
  Tensor rois = RandomTensor(DType::kF32, {5, 4}, 1, 0, 20);
  for (int64_t r = 0; r < 5; ++r)  // corners in order, beyond the image too
    for (int64_t i = 0; i < 2; ++i) rois.data_as<float>()[r * 4 + 2 + i] += rois.data_as<float>()[r * 4 + i];
  const Tensor batches = RandomTensor(DType::kI64, {5}, 2, 0, 2), x = RandomTensor(DType::kF32, {2, 3, 17, 23}, 3);
  Tensor bad = *batches.Clone();
  bad.data_as<int64_t>()[3] = 2;
  for (const char* mode : {"avg", "max"})
    for (int ratio : {0, 2}) {
      const char* coordinates = (ratio == 0) == (*mode == 'a') ? "half_pixel" : "output_half_pixel";
      runner.Add(absl::Substitute(R"(
          func.func @f(%x: $0, %r: $1, %b: $2) -> $3 {
            %y = tcc.library "roi_align"(%x, %r, %b) {mode = "$4", output_height = 3 : i64, output_width = 4 : i64,
                sampling_ratio = $5 : i64, spatial_scale = 0.75 : f64, coordinate_transformation_mode = "$6"}
                : ($0, $1, $2) -> $3
            return %y : $3
          })",
                                  Type("f32", {2, 3, 17, 23}), Type("f32", {5, 4}), Type("i64", {5}),
                                  Type("f32", {5, 3, 3, 4}), mode, ratio, coordinates),
                 {{.inputs = {x, rois, batches}, .tolerance = 1e-6},
                  {.inputs = {x, rois, bad}, .error = kTccIndexOutOfRange}});
    }
  runner.Check();
}

}  // namespace
}  // namespace tcc::codegen
