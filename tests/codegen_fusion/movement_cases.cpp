// Ops that move elements, and those that sample them.
#include "tests/codegen_fusion/fusion_test.h"

namespace tcc::codegen {
namespace {

std::vector<Case> movementCases() {
  return {
      {"broadcast", single("broadcast", "", "tensor<3x1xf32>", "tensor<2x3x5xf32>")},
      {"transpose",
       single("transpose", "{permutation = array<i64: 2, 0, 1>}", "tensor<2x3x5xf32>", "tensor<5x2x3xf32>")},
      {"slice", single("slice", "{starts = #tcc.extents<1, 4>, steps = array<i64: 1, -2>}", "tensor<3x5xf32>",
                       "tensor<2x3xf32>")},
      {"pad", single("pad", "{low = #tcc.extents<1, 2>, high = #tcc.extents<0, 3>, mode = #tcc.pad_mode<constant>}",
                     "tensor<3x5xf32>", "tensor<4x10xf32>")},
      {"pad_crop",
       single("pad", "{low = #tcc.extents<-1, 2>, high = #tcc.extents<0, -3>, mode = #tcc.pad_mode<constant>}",
              "tensor<3x5xf32>", "tensor<2x4xf32>")},
      {"pad_reflect",
       single("pad", "{low = #tcc.extents<2, 0>, high = #tcc.extents<1, 4>, mode = #tcc.pad_mode<reflect>}",
              "tensor<3x5xf32>", "tensor<6x9xf32>")},
      {"pad_edge", single("pad", "{low = #tcc.extents<2, 0>, high = #tcc.extents<7, 1>, mode = #tcc.pad_mode<edge>}",
                          "tensor<3x5xf32>", "tensor<12x6xf32>")},
      {"pad_wrap", single("pad", "{low = #tcc.extents<2, 0>, high = #tcc.extents<2, 1>, mode = #tcc.pad_mode<wrap>}",
                          "tensor<3x5xf32>", "tensor<7x6xf32>")},
      {"concat", R"(func.func @f(%x: tensor<2x3xf32>, %y: tensor<2x1xf32>, %z: tensor<2x4xf32>) -> tensor<2x8xf32> {
        %r = tcc.concat %x, %y, %z {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
        return %r : tensor<2x8xf32> })"},
      {"iota", R"(func.func @f() -> tensor<3x4xf32> {
        %r = tcc.iota {axis = 1 : i64} : () -> tensor<3x4xf32>
        return %r : tensor<3x4xf32> })"},
      {"gather",
       R"(func.func @f(%x: tensor<3x6x2xf32>, %i: tensor<4x5xi64>) -> tensor<3x4x5x2xf32> {
        %r = tcc.gather %x, %i {axis = 1 : i64} : (tensor<3x6x2xf32>, tensor<4x5xi64>) -> tensor<3x4x5x2xf32>
        return %r : tensor<3x4x5x2xf32> })",
       {},
       1,
       {0, 6}},
      {"gather_elements",
       R"(func.func @f(%x: tensor<3x6xf32>, %i: tensor<2x6xi32>) -> tensor<2x6xf32> {
        %r = tcc.gather_elements %x, %i {axis = 0 : i64} : (tensor<3x6xf32>, tensor<2x6xi32>) -> tensor<2x6xf32>
        return %r : tensor<2x6xf32> })",
       {},
       1,
       {0, 3}},
      {"gather_nd",
       R"(func.func @f(%x: tensor<2x3x4x5xf32>, %i: tensor<2x7x2xi64>) -> tensor<2x7x5xf32> {
        %r = tcc.gather_nd %x, %i {batch_dims = 1 : i64} : (tensor<2x3x4x5xf32>, tensor<2x7x2xi64>) -> tensor<2x7x5xf32>
        return %r : tensor<2x7x5xf32> })",
       {},
       1,
       {0, 3}},
      {"resize_nearest",
       single("resize",
              "{scales = array<f64: 1.0, 2.0, 3.0>, roi = array<f64>, mode = #tcc.resize_mode<nearest>, coordinate = "
              "#tcc.coordinate<asymmetric>, nearest_mode = #tcc.nearest_mode<floor>, cubic_coeff_a = -0.75, "
              "exclude_outside = false, antialias = false, extrapolation_value = 0.0}",
              "tensor<2x3x4xf32>", "tensor<2x6x12xf32>")},
      {"resize_linear",
       single("resize",
              "{scales = array<f64: 1.0, 1.5, 0.6>, roi = array<f64>, mode = #tcc.resize_mode<linear>, coordinate = "
              "#tcc.coordinate<half_pixel>, nearest_mode = #tcc.nearest_mode<floor>, cubic_coeff_a = -0.75, "
              "exclude_outside = false, antialias = false, extrapolation_value = 0.0}",
              "tensor<2x4x5xf32>", "tensor<2x6x3xf32>"),
       {},
       1},
      {"resize_cubic",
       single("resize",
              "{scales = array<f64: 2.0, 1.0>, roi = array<f64>, mode = #tcc.resize_mode<cubic>, coordinate = "
              "#tcc.coordinate<align_corners>, nearest_mode = #tcc.nearest_mode<floor>, cubic_coeff_a = -0.75, "
              "exclude_outside = false, antialias = false, extrapolation_value = 0.0}",
              "tensor<5x3xf32>", "tensor<10x3xf32>"),
       {},
       1},
  };
}

std::vector<Case> gridSampleCases() {
  std::vector<Case> cases;
  for (const char* mode : {"nearest", "linear", "cubic"})
    for (const char* padding : {"zeros", "border", "reflection"})
      for (const char* align : {"true", "false"}) {
        std::string attributes = std::string("{mode = #tcc.grid_mode<") + mode + ">, padding = #tcc.grid_padding<" +
                                 padding + ">, align_corners = " + align + "}";
        auto text = [&](const std::string& symbols, const std::string& x, const std::string& grid,
                        const std::string& y) {
          return "func.func @f(%x: " + x + ", %g: " + grid + ") -> " + y + symbols + " { %r = tcc.grid_sample %x, %g " +
                 attributes + " : (" + x + ", " + grid + ") -> " + y + " return %r : " + y + " }";
        };
        std::string name = std::string("grid_sample_") + mode + "_" + padding + "_" + align;
        cases.push_back({name, text("", "tensor<2x3x5x7xf32>", "tensor<2x3x11x2xf32>", "tensor<2x3x3x11xf32>"), {}, 1});
        cases.push_back(
            {name + "_f64_line", text("", "tensor<1x2x1xf64>", "tensor<1x13x1xf64>", "tensor<1x2x13xf64>"), {}, 1});
        cases.push_back(
            {name + "_dynamic",
             text(" attributes {tcc.symbols = [#tcc.symbol<\"h\", 1, 64, 1>, #tcc.symbol<\"q\", 0, 64, 1>]}",
                  "tensor<2x3x?x7xf32, #tcc.extents<2, 3, s0, 7>>", "tensor<2x?x4x2xf32, #tcc.extents<2, s1, 4, 2>>",
                  "tensor<2x3x?x4xf32, #tcc.extents<2, 3, s1, 4>>"),
             {5, 3},
             1});
        if (std::string(mode) == "cubic") continue;
        cases.push_back({name + "_volume",
                         text("", "tensor<1x2x3x4x5xf16>", "tensor<1x2x2x7x3xf16>", "tensor<1x2x2x2x7xf16>"),
                         {},
                         1});
      }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Movement, FusionTest, ::testing::ValuesIn(movementCases()), nameOfCase);
INSTANTIATE_TEST_SUITE_P(GridSample, FusionTest, ::testing::ValuesIn(gridSampleCases()), nameOfCase);

}  // namespace
}  // namespace tcc::codegen
