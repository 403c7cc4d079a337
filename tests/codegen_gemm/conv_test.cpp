// Convolutions: ranks, layouts, strides, dilations, padding (also negative), groups, depthwise, transposed; static and
// dynamic.
#include <cstdlib>

#include "gtest/gtest.h"
#include "tests/codegen_gemm/conv_case.h"
#include "tests/codegen_gemm/harness.h"

namespace tcc::codegen::testing {
namespace {

void CheckAll(const ConvShape& shape, bool narrow = true) {
  for (bool last : {true, false})
    for (bool dynamic : {false, true})
      for (bool constant : {true, false}) {
        SCOPED_TRACE(std::string(last ? "channels last" : "channels first") + (dynamic ? ", dynamic" : "") +
                     (constant ? ", constant weights" : ""));
        Case test = ConvCase(shape, last, dynamic);
        if (constant) test.constants = {1};
        Check(test);
        if (!narrow) continue;
        test.cpu = "x86-64-v3";
        Check(test);
      }
}

TEST(Conv, OneByOne) {
  CheckAll({2, 19, 37, 1, {5, 7}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}});
  CheckAll({1, 64, 32, 1, {6, 5}, {1, 1}, {2, 2}, {0, 0}, {0, 0}, {1, 1}});
}
TEST(Conv, ThreeByThree) {
  CheckAll({2, 17, 35, 1, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
  CheckAll({1, 16, 8, 1, {9, 20}, {3, 3}, {2, 2}, {1, 0}, {1, 2}, {1, 1}});
}
TEST(Conv, FirstLayer) { CheckAll({1, 3, 33, 1, {23, 37}, {7, 7}, {2, 2}, {3, 3}, {3, 3}, {1, 1}}); }
TEST(Conv, DilatedAndLopsided) { CheckAll({1, 5, 6, 1, {13, 12}, {3, 2}, {1, 3}, {2, 0}, {0, 1}, {2, 4}}); }
TEST(Conv, NegativePaddingCrops) { CheckAll({1, 4, 5, 1, {9, 9}, {2, 3}, {1, 1}, {-1, 1}, {1, -2}, {1, 1}}, false); }
TEST(Conv, Groups) {
  CheckAll({2, 12, 18, 3, {5, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
  CheckAll({1, 4, 8, 4, {5, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, false);
}
TEST(Conv, Depthwise) {
  CheckAll({2, 35, 35, 35, {7, 21}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
  CheckAll({1, 16, 16, 16, {11, 13}, {5, 5}, {2, 2}, {2, 2}, {2, 2}, {1, 1}}, false);
  CheckAll({1, 18, 18, 18, {11, 3}, {7, 7}, {1, 1}, {3, 3}, {3, 3}, {1, 1}}, false);
  CheckAll({1, 8, 8, 8, {9, 30}, {3, 3}, {1, 2}, {2, 2}, {2, 2}, {2, 2}}, false);
}
TEST(Conv, OneAndThreeAxes) {
  CheckAll({2, 6, 9, 1, {31}, {5}, {2}, {2}, {1}, {1}}, false);
  CheckAll({1, 7, 7, 7, {31}, {5}, {1}, {2}, {2}, {1}}, false);
  CheckAll({1, 4, 5, 1, {4, 5, 6}, {3, 2, 3}, {1, 2, 1}, {1, 0, 1}, {1, 1, 1}, {1, 1, 1}}, false);
}
TEST(Conv, ManyChannels) { CheckAll({1, 600, 20, 1, {4, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, false); }
TEST(Conv, Empty) {
  ConvShape shape{1, 3, 4, 1, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  shape.images = 0;
  CheckAll(shape, false);
}
TEST(Conv, Transposed) {
  CheckAll({2, 9, 20, 1, {5, 6}, {4, 4}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {0, 0}}, false);
  CheckAll({1, 6, 8, 2, {4, 5}, {3, 3}, {1, 3}, {1, 0}, {0, 1}, {1, 2}, {0, 0}}, false);
  CheckAll({1, 4, 4, 1, {5, 3}, {2, 2}, {3, 1}, {0, 0}, {0, 0}, {1, 1}, {2, 0}},
           false);  // kernel smaller than the stride
  CheckAll({1, 4, 6, 1, {7}, {3}, {1}, {1}, {1}, {1}, {0}}, false);
}
TEST(Conv, HalfPrecision) {
  for (const char* element : {"f16", "bf16"})
    for (bool last : {true, false}) {
      Case test = ConvCase({1, 20, 24, 1, {5, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, last, false, element);
      test.constants = {1};
      test.tolerance = std::string(element) == "f16" ? 3e-3 : 3e-2;
      Check(test);
      Case depthwise = ConvCase({1, 20, 20, 20, {5, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, last, false, element);
      depthwise.tolerance = test.tolerance;
      Check(depthwise);
    }
}

// The input is padded with ones and doubled on the way in: nothing about it is a plain read.
TEST(Conv, ComputedInput) {
  for (bool last : {true, false}) {
    Extents x = last ? Extents{"1", "6", "7", "5"} : Extents{"1", "5", "6", "7"},
            p = last ? Extents{"1", "8", "7", "5"} : Extents{"1", "5", "8", "7"},
            y = last ? Extents{"1", "8", "7", "9"} : Extents{"1", "9", "8", "7"};
    std::string tx = Type(x, "f32"), tp = Type(p, "f32"), ty = Type(y, "f32"), tw = Type({"9", "5", "3", "3"}, "f32");
    std::string row = last ? "d1" : "d2", map = last ? "(d0, d1 - 1, d2, d3)" : "(d0, d1, d2 - 1, d3)";
    std::string body = "    %p = tcc.loops " + List(p) + " reduce 0 [] {\n    " + BlockArguments(4) +
                       "\n      %one = arith.constant 1.0 : f32\n";
    body += "      %v = tcc.load %a0[affine_map<(d0, d1, d2, d3) -> " + map + ">](" + Arguments(4) +
            ") mask affine_set<(d0, d1, d2, d3) : (" + row + " - 1 >= 0, 6 - " + row +
            " >= 0)> fill %one : f32 : " + tx +
            " -> f32\n      %w = arith.addf %v, %v : f32\n      tcc.yield %w : f32\n    } : " + tp + "\n";
    body +=
        "    %c = tcc.conv %p, %a1 {strides = array<i64: 1, 1>, padding_low = array<i64: 1, 1>, padding_high = "
        "array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = " +
        std::string(last ? "true" : "false") + "} : (" + tp + ", " + tw + ") -> " + ty + "\n";
    Case test{.text = Kernel({tx, tw}, body, "%c", {ty})};
    test.constants = {1};
    Check(test);
  }
}

}  // namespace
}  // namespace tcc::codegen::testing
