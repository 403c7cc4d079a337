// Resizes by data, Unique, maxima with their places, Fourier transforms, deformable convolutions and determinants on
// the simulated CUDA device against the reference.
#include <array>
#include <cmath>

#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "runtime/dispatch.h"
#include "runtime/kernel_abi.h"
#include "sim_runner.h"

namespace tcc::codegen {
namespace {

std::string Type(const std::string& element, const std::vector<int64_t>& dims) {
  return absl::StrCat("tensor<", absl::StrJoin(dims, "x"), dims.empty() ? "" : "x", element, ">");
}
std::string Symbols(int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    absl::StrAppend(&text, i == 0 ? "" : ", ", "#tcc.symbol<\"n", i, "\", 0, 1000000, 1>");
  return "attributes {tcc.symbols = [" + text + "]}";
}
Tensor Floats(const std::vector<double>& values) {
  Tensor tensor = *Tensor::Allocate(DType::kF32, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) tensor.data_as<float>()[i] = static_cast<float>(values[i]);
  return tensor;
}
Tensor Integers(const std::vector<int64_t>& values) {
  Tensor tensor = *Tensor::Allocate(DType::kI64, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.data_as<int64_t>());
  return tensor;
}

// Extents that vary, and what is no table: many taps, integers, regions.
TEST(CudaLongTail, ResizeByScalesThatAreKnown) {
  SimRunner runner;
  runner.AllowStack(16);
  const auto add = [&](const std::string& element, DType dtype, const std::string& config, const std::string& roi,
                       const std::vector<std::pair<int64_t, int64_t>>& sizes) {
    const std::string from = absl::Substitute("tensor<2x?x?x$0, #tcc.extents<2, s0, s1>>", element),
                      to = absl::Substitute("tensor<2x?x?x$0, #tcc.extents<2, s0 * 2, s1 * 3 floordiv 2>>", element);
    std::vector<SimRunner::Run> runs;
    for (const auto& [h, w] : sizes)
      runs.push_back({.inputs = {RandomTensor(dtype, {2, h, w}, 1, -90, 90)}, .symbols = {h, w}});
    runner.Add(
        absl::Substitute("func.func @f(%x: $0) -> $1 $2 {\n%y = tcc.resize %x {scales = array<f64: 1.0, 2.0, 1.5>, "
                         "roi = array<f64$3>, $4} : ($0) -> $1\nreturn %y : $1\n}",
                         from, to, Symbols(2), roi, config),
        runs);
  };
  const auto config = [](const std::string& mode, const std::string& coordinate, const std::string& nearest,
                         bool antialias = false, double extrapolation = 0) {
    return absl::Substitute(
        "mode = #tcc.resize_mode<$0>, coordinate = #tcc.coordinate<$1>, nearest_mode = #tcc.nearest_mode<$2>, "
        "cubic_coeff_a = -0.75 : f64, exclude_outside = false, antialias = $3, extrapolation_value = $4 : f64",
        mode, coordinate, nearest, antialias ? "true" : "false", absl::StrCat(extrapolation, ".5"));
  };
  add("f32", DType::kF32, config("nearest", "asymmetric", "floor"), "", {{3, 5}, {1, 1}, {0, 4}});
  add("f16", DType::kF16, config("linear", "half_pixel", "round_prefer_floor"), "", {{3, 5}, {7, 2}});
  add("f64", DType::kF64, config("cubic", "align_corners", "round_prefer_floor", true), "", {{4, 9}});
  add("ui8", DType::kU8, config("linear", "pytorch_half_pixel", "ceil"), "", {{4, 9}});
  add("f32", DType::kF32, config("linear", "tf_crop_and_resize", "floor", false, 7),
      ": 0.0, 0.25, -0.5, 1.0, 1.0, 1.25", {{5, 6}});
  runner.Check();
}

TEST(CudaLongTail, Resize) {
  SimRunner runner;
  runner.AllowStack(16);
  // `list`: scales, sizes, or roi and scales; absent are the others.
  const auto add = [&](const std::string& element, const std::string& config, const std::string& absent,
                       const std::string& lists, const std::vector<int64_t>& dims,
                       const std::vector<SimRunner::Run>& runs) {
    std::string symbols, extents;
    for (size_t i = 0; i < dims.size(); ++i) {
      absl::StrAppend(&symbols, i == 0 ? "" : ", ", "s", i);
      extents += "?x";
    }
    const std::string result = absl::Substitute("tensor<$0$1, #tcc.extents<$2>>", extents, element, symbols);
    const bool crops = lists.find(',') != std::string::npos;
    runner.Add(absl::Substitute(
                   "func.func @f(%x: $0, $1) -> $2 $3 {\n%y = tcc.library \"dynamic_resize\"(%x, %a$4) {$5} {absent = "
                   "array<i64: $6>} : ($0, $7) -> $2\nreturn %y : $2\n}",
                   Type(element, dims), crops ? "%a: tensor<4xf32>, %b: tensor<2xf32>" : "%a: " + lists, result,
                   Symbols(static_cast<int>(dims.size())), crops ? ", %b" : "", config, absent, lists),
               runs);
  };
  const auto x = [](DType dtype, const std::vector<int64_t>& dims) { return RandomTensor(dtype, dims, 1, -90, 90); };
  const std::string scales = "1, 3", sizes = "1, 2", two = "tensor<2xf32>", two_sizes = "tensor<2xi64>";
  const Tensor image = x(DType::kF32, {5, 7});
  size_t number = 0;
  const char* coordinates[] = {"half_pixel",    "half_pixel_symmetric", "pytorch_half_pixel",
                               "align_corners", "asymmetric",           "tf_half_pixel_for_nn"};
  for (const char* coordinate : coordinates)
    for (int half = 0; half < 2; ++half) {
      const char* mode = std::array{"nearest", "linear", "cubic"}[(number * 2 + number / 3) % 3];
      const char* nearest[] = {"floor", "ceil", "round_prefer_ceil", "round_prefer_floor"};
      add("f32",
          absl::Substitute("mode = \"$0\", coordinate = \"$1\", nearest_mode = \"$2\", cubic_coeff_a = -0.5, "
                           "exclude_outside = $3, antialias = $4",
                           mode, coordinate, nearest[number / 3], number % 2,
                           number % 3 == 1 && mode != std::string("nearest") ? 1 : 0),
          scales, two, {5, 7},
          {{.inputs = {image, Floats({0.6, 1.7})}},
           {.inputs = {image, Floats({1, 0.1})}},
           {.inputs = {image, Floats({2, 0.5})}},
           {.inputs = {image, Floats({0, 3})}},
           {.inputs = {image, Floats({-1, 3})}, .error = kTccIndexOutOfRange}});
      ++number;
    }
  for (const char* policy : {"stretch", "not_larger", "not_smaller"})
    add("f16",
        absl::Substitute("mode = \"linear\", coordinate = \"half_pixel\", axes = array<i64: -1, 0>, "
                         "keep_aspect_ratio_policy = \"$0\"",
                         policy),
        sizes, two_sizes, {4, 1, 9},
        {{.inputs = {x(DType::kF16, {4, 1, 9}), Integers({13, 5})}},
         {.inputs = {x(DType::kF16, {4, 1, 9}), Integers({1, 1})}},
         {.inputs = {x(DType::kF16, {4, 1, 9}), Integers({-1, 5})}, .error = kTccIndexOutOfRange}});
  for (const char* mode : {"nearest", "linear"})
    add("f64",
        absl::Substitute("mode = \"$0\", coordinate = \"tf_crop_and_resize\", extrapolation_value = 7.5 : f64", mode),
        "3", "tensor<4xf32>, tensor<2xf32>", {5, 6},
        {{.inputs = {x(DType::kF64, {5, 6}), Floats({0.1, -0.5, 0.8, 1.5}), Floats({1.5, 2})}}});
  for (auto [name, dtype, mode] :
       {std::tuple{"i64", DType::kI64, "nearest"}, {"ui8", DType::kU8, "cubic"}, {"i8", DType::kI8, "cubic"}})
    add(name, absl::Substitute("mode = \"$0\", coordinate = \"half_pixel\", axes = array<i64: 0, 1>", mode), scales,
        two, {3, 8}, {{.inputs = {RandomTensor(dtype, {3, 8}, 1, 0, 120), Floats({2, 1.5})}}});
  runner.Check();
}

TEST(CudaLongTail, Unique) {
  SimRunner runner;
  const auto add = [&](const std::string& element, const std::string& config, const std::string& result,
                       const std::string& inverse, const Tensor& x) {
    const std::string index = "tensor<?xi64, #tcc.extents<s0>>";
    runner.Add(
        absl::Substitute(
            "func.func @f(%x: $0) -> ($1, $2, $3, $2) $4 {\n%y, %i, %v, %c = tcc.library \"unique\"(%x) {$5} : ($0) -> "
            "($1, $2, $3, $2)\nreturn %y, %i, %v, %c : $1, $2, $3, $2\n}",
            Type(element, {x.dims().begin(), x.dims().end()}), result, index, inverse, Symbols(1), config),
        {{.inputs = {x}, .tolerance = 0}});
  };
  const std::pair<const char*, DType> types[] = {{"f32", DType::kF32}, {"bf16", DType::kBF16}, {"f64", DType::kF64},
                                                 {"i8", DType::kI8},   {"ui64", DType::kU64},  {"i1", DType::kBool}};
  size_t number = 0;
  for (auto [name, dtype] : types) {
    const int64_t count = std::array{1025, 300, 5000, 0, 77, 1}[number];
    Tensor x = RandomTensor(dtype, {1, count}, 3, IsUnsignedInt(dtype) ? 0 : -20, 20);
    if (IsFloat(dtype))
      for (int64_t i = 0; i < count; i += 7)
        StoreDouble(x.data(), dtype, i, i % 3 == 0 ? std::nan("") : i % 3 == 1 ? -0.0 : 0.0);
    if (IsFloat(dtype))
      for (int64_t i = 1; i < count; i += 2)
        StoreDouble(x.data(), dtype, i, std::floor(LoadDouble(x.data(), dtype, i)));
    add(name, absl::StrCat("sorted = ", number++ % 2, " : i64"),
        absl::Substitute("tensor<?x$0, #tcc.extents<s0>>", name), Type("i64", {count}), x);
  }
  add("f32", "axis = 1 : i64, sorted = 1 : i64", "tensor<3x?x2xf32, #tcc.extents<3, s0, 2>>", "tensor<70xi64>", [] {
    Tensor x = RandomTensor(DType::kF32, {3, 70, 2}, 4, 0, 1);
    for (int64_t i = 0; i < x.num_elements(); ++i) x.data_as<float>()[i] = std::floor(x.data_as<float>()[i] * 1.3f);
    x.data_as<float>()[11] = x.data_as<float>()[12] = std::nanf("");
    return x;
  }());
  add("i32", "axis = -2 : i64, sorted = 0 : i64", "tensor<?x3xi32, #tcc.extents<s0, 3>>", "tensor<400xi64>",
      RandomTensor(DType::kI32, {400, 3}, 5, 0, 3));
  runner.Check();
}

TEST(CudaLongTail, MaxPoolIndices) {
  SimRunner runner;
  const std::pair<const char*, DType> types[] = {
      {"f32", DType::kF32}, {"f16", DType::kF16}, {"i8", DType::kI8}, {"ui8", DType::kU8}, {"f64", DType::kF64}};
  size_t number = 0;
  for (auto [name, dtype] : types) {
    const bool column = number++ % 2 == 1;
    Tensor x = RandomTensor(dtype, {2, 3, 7, 6}, 1, IsUnsignedInt(dtype) ? 0 : -3, 3);
    if (IsFloat(dtype)) StoreDouble(x.data(), dtype, 5, std::nan(""));
    runner.Add(absl::Substitute("func.func @f(%x: $0) -> ($1, $2) {\n%y, %i = tcc.max_pool_indices %x {kernel = "
                                "array<i64: 3, 2>, strides = "
                                "array<i64: 2, 1>, padding_low = array<i64: 1, 1>, padding_high = array<i64: 2, 0>, "
                                "dilations = array<i64: 1, 2>, "
                                "ceil_mode = false, column_major = $3} : ($0) -> ($1, $2)\nreturn %y, %i : $1, $2\n}",
                                Type(name, {2, 3, 7, 6}), Type(name, {2, 3, 4, 5}), Type("i64", {2, 3, 4, 5}),
                                column ? "true" : "false"),
               {{.inputs = {x}, .tolerance = 0}});
  }
  const char* varying = "tensor<1x1x?xf32, #tcc.extents<1, 1, s0>>";
  runner.Add(
      absl::Substitute(
          "func.func @f(%x: $0) -> ($0, $1) $2 {\n%y, %i = tcc.max_pool_indices %x {kernel = array<i64: 3>, strides = "
          "array<i64: 1>, "
          "padding_low = array<i64: 1>, padding_high = array<i64: 1>, dilations = array<i64: 1>, ceil_mode = false, "
          "column_major = false} : ($0) -> ($0, $1)\nreturn %y, %i : $0, $1\n}",
          varying, "tensor<1x1x?xi64, #tcc.extents<1, 1, s0>>",
          "attributes {tcc.symbols = [#tcc.symbol<\"n\", 1, 9000, 1>]}"),
      {{.inputs = {RandomTensor(DType::kF32, {1, 1, 1}, 1)}, .symbols = {1}},
       {.inputs = {RandomTensor(DType::kF32, {1, 1, 600}, 1)}, .symbols = {600}}});
  runner.Check();
}

TEST(CudaLongTail, IntegersMaxPool) {
  SimRunner runner;
  runner.Add(
      absl::Substitute(
          "func.func @f(%x: $0) -> $1 {\n%y = tcc.max_pool %x {kernel = array<i64: 2>, strides = array<i64: 2>, "
          "padding_low = array<i64: 1>, "
          "padding_high = array<i64: 1>, dilations = array<i64: 1>, ceil_mode = false} : ($0) -> $1\nreturn %y : $1\n}",
          Type("ui8", {2, 3, 9}), Type("ui8", {2, 3, 5})),
      {{.inputs = {RandomTensor(DType::kU8, {2, 3, 9}, 1, 0, 255)}}});
  runner.Check();
}

TEST(CudaLongTail, IntegerPowers) {
  SimRunner runner;
  for (auto [name, dtype] : {std::pair{"i32", DType::kI32},
                             {"i8", DType::kI8},
                             {"ui16", DType::kU16},
                             {"i64", DType::kI64},
                             {"ui64", DType::kU64}}) {
    const double low = IsUnsignedInt(dtype) ? 0 : -4;
    runner.Add(absl::Substitute("func.func @f(%x: $0, %e: $0) -> $0 {\n%y = tcc.pow %x, %e : $0\nreturn %y : $0\n}",
                                Type(name, {300})),
               {{.inputs = {RandomTensor(dtype, {300}, 1, low, 5), RandomTensor(dtype, {300}, 2, low, 70)}}});
  }
  runner.Check();
}

TEST(CudaLongTail, Ngrams) {
  SimRunner runner;
  const auto add = [&](const std::string& mode, int least, int most, int skips, const std::string& weights,
                       const std::vector<int64_t>& dims, DType dtype) {
    std::vector<int64_t> results(dims.begin(), dims.end() - 1);
    results.push_back(8);
    const std::string x = Type(dtype == DType::kI64 ? "i64" : "i32", dims), y = Type("f32", results);
    runner.Add(
        absl::Substitute("func.func @f(%x: $0) -> $1 {\n%y = tcc.library \"tfidf_vectorizer\"(%x) {mode = \"$2\", "
                         "min_gram_length = $3 : i64, "
                         "max_gram_length = $4 : i64, max_skip_count = $5 : i64, ngram_counts = array<i64: 0, 4>, "
                         "ngram_indexes = array<i64: 0, 1, 7, 3, 4, 5, 4, 2>, pool_int64s = array<i64: 2, 3, 5, 3, 5, "
                         "3, 5, 5, 7, 2, 2, 2>$6} : "
                         "($0) -> $1\nreturn %y : $1\n}",
                         x, y, mode, least, most, skips, weights),
        {{.inputs = {RandomTensor(dtype, dims, 1, 2, 8)}, .tolerance = 0}});
  };
  add("TF", 1, 2, 0, "", {3, 40}, DType::kI64);
  add("IDF", 1, 1, 5, ", weights = array<f64: 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 0.1>", {40}, DType::kI32);
  add("TFIDF", 2, 2, 5, ", weights = array<f64: 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 0.1>", {2, 3}, DType::kI64);
  add("TF", 2, 2, 0, "", {2, 0}, DType::kI64);
  runner.Check();
}

TEST(CudaLongTail, Fourier) {
  SimRunner runner;
  const auto add = [&](const std::string& element, DType dtype, const std::vector<int64_t>& in,
                       const std::vector<int64_t>& out, int axis, bool inverse, bool onesided, int64_t length,
                       double tolerance) {
    const std::string x = Type(element, in), y = Type(element, out);
    runner.Add(
        absl::Substitute("func.func @f(%x: $0) -> $1 {\n$5%y = tcc.library \"dft\"(%x$6) {axis = $2 : i64, inverse = "
                         "$3 : i64, onesided = $4 : "
                         "i64} : ($0$7) -> $1\nreturn %y : $1\n}",
                         x, y, axis, inverse ? 1 : 0, onesided ? 1 : 0,
                         length == 0 ? "" : absl::StrCat("%n = tcc.constant dense<", length, "> : tensor<i64>\n"),
                         length == 0 ? "" : ", %n", length == 0 ? "" : ", tensor<i64>"),
        {{.inputs = {RandomTensor(dtype, in, 1)}, .tolerance = tolerance}});
  };
  add("f32", DType::kF32, {2, 17, 3, 2}, {2, 17, 3, 2}, 1, false, false, 0, 1e-5);
  add("f32", DType::kF32, {2, 16, 1}, {2, 9, 2}, -2, false, true, 0, 1e-5);
  add("f64", DType::kF64, {1, 15, 2}, {1, 15, 2}, 1, true, false, 0, 1e-12);
  add("f32", DType::kF32, {2, 9, 2}, {2, 16, 1}, 1, true, true, 0, 1e-5);
  add("f16", DType::kF16, {3, 1, 2}, {3, 1, 2}, 1, false, false, 0, 1e-3);
  runner.Add(
      "func.func @f(%x: tensor<2x100x1xf32>, %w: tensor<16xf32>) -> tensor<2x13x9x2xf32> {\n%s = tcc.constant dense<7> "
      ": tensor<i64>\n"
      "%n = tcc.constant dense<16> : tensor<i64>\n"
      "%y = tcc.library \"stft\"(%x, %s, %w, %n) {onesided = 1 : i64} : (tensor<2x100x1xf32>, tensor<i64>, "
      "tensor<16xf32>, tensor<i64>) -> "
      "tensor<2x13x9x2xf32>\nreturn %y : tensor<2x13x9x2xf32>\n}",
      {{.inputs = {RandomTensor(DType::kF32, {2, 100, 1}, 1), RandomTensor(DType::kF32, {16}, 2)}}});
  runner.Check();
}

TEST(CudaLongTail, DeformableConvolution) {
  SimRunner runner;
  for (auto [name, dtype, tolerance] : {std::tuple{"f32", DType::kF32, 1e-5}, {"f16", DType::kF16, 2e-3}}) {
    const std::string types = absl::StrJoin({Type(name, {2, 4, 7, 6}), Type(name, {6, 2, 3, 2}),
                                             Type(name, {2, 24, 4, 3}), Type(name, {6}), Type(name, {2, 12, 4, 3})},
                                            ", ");
    const std::string result = Type(name, {2, 6, 4, 3});
    runner.Add(absl::Substitute("func.func @f(%x: $0, %w: $1, %o: $2, %b: $3, %m: $4) -> $5 {\n%y = tcc.library "
                                "\"deform_conv\"(%x, %w, %o, %b, %m) "
                                "{strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 0>, dilations = array<i64: 1, "
                                "1>, group = 2 : i64, "
                                "offset_group = 2 : i64} : ($6) -> $5\nreturn %y : $5\n}",
                                Type(name, {2, 4, 7, 6}), Type(name, {6, 2, 3, 2}), Type(name, {2, 24, 4, 3}),
                                Type(name, {6}), Type(name, {2, 12, 4, 3}), result, types),
               {{.inputs = {RandomTensor(dtype, {2, 4, 7, 6}, 1), RandomTensor(dtype, {6, 2, 3, 2}, 2),
                            RandomTensor(dtype, {2, 24, 4, 3}, 3), RandomTensor(dtype, {6}, 4),
                            RandomTensor(dtype, {2, 12, 4, 3}, 5)},
                 .tolerance = tolerance}});
  }
  runner.Add(
      "func.func @f(%x: tensor<1x1x4x4xf32>, %w: tensor<1x1x2x2xf32>, %o: tensor<1x8x3x3xf32>) -> tensor<1x1x3x3xf32> "
      "{\n"
      "%y = tcc.library \"deform_conv\"(%x, %w, %o) {} : (tensor<1x1x4x4xf32>, tensor<1x1x2x2xf32>, "
      "tensor<1x8x3x3xf32>) -> tensor<1x1x3x3xf32>\n"
      "return %y : tensor<1x1x3x3xf32>\n}",
      {{.inputs = {RandomTensor(DType::kF32, {1, 1, 4, 4}, 1), RandomTensor(DType::kF32, {1, 1, 2, 2}, 2),
                   RandomTensor(DType::kF32, {1, 8, 3, 3}, 3)}}});
  runner.Check();
}

TEST(CudaLongTail, Determinants) {
  SimRunner runner;
  const auto add = [&](const char* name, DType dtype, const std::vector<int64_t>& dims, double tolerance,
                       bool singular = false) {
    Tensor x = RandomTensor(dtype, dims, 1);
    if (singular)
      for (int64_t i = 0; i < x.num_elements(); ++i) StoreDouble(x.data(), dtype, i, static_cast<double>(i));
    const std::string result = Type(name, {dims.begin(), dims.end() - 2});
    runner.Add(absl::Substitute(
                   "func.func @f(%x: $0) -> $1 {\n%y = tcc.library \"det\"(%x) {} : ($0) -> $1\nreturn %y : $1\n}",
                   Type(name, dims), result),
               {{.inputs = {x}, .tolerance = tolerance}});
  };
  add("f32", DType::kF32, {3, 2, 5, 5}, 1e-5);
  add("f64", DType::kF64, {150, 150}, 1e-9);
  add("f16", DType::kF16, {7, 1, 1}, 0);
  add("f32", DType::kF32, {2, 3, 3}, 1e-5, true);
  add("f32", DType::kF32, {3, 0, 0}, 0);
  add("f32", DType::kF32, {0, 3, 3}, 0);
  runner.Check();
}

}  // namespace
}  // namespace tcc::codegen
