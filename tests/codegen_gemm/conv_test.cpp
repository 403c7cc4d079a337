// Convolutions: ranks, layouts, strides, dilations, padding (also negative), groups, depthwise, transposed; static and
// dynamic.
#include <cstdlib>

#include "gtest/gtest.h"
#include "tests/codegen_gemm/harness.h"
#include "tests/codegen_gemm/kernel_text.h"

namespace tcc::codegen::testing {
namespace {

struct Shape {
  int images, channels, out, groups;
  std::vector<int> space, kernel, strides, low, high, dilations;
  std::vector<int> output_padding = {};  // set: transposed
};

std::string Dense(const std::vector<int>& values) {
  std::string text = "array<i64: ";
  for (size_t i = 0; i < values.size(); ++i) text += (i ? ", " : "") + std::to_string(values[i]);
  return text + ">";
}

// With a bias per channel and a residual. `dynamic`: images and spatial extents are symbols.
Case Make(const Shape& shape, bool last, bool dynamic, const std::string& element = "f32") {
  Case test;
  Extents x{std::to_string(shape.images)}, y = x, w;
  auto extent = [](int value) { return std::to_string(value); };
  bool transposed = !shape.output_padding.empty();
  std::vector<std::string> in, out;
  if (dynamic) {
    test.symbols.push_back(shape.images);
    x[0] = y[0] = "s0";
  }
  for (size_t i = 0; i < shape.space.size(); ++i) {
    int s = shape.strides[i], pad = shape.low[i] + shape.high[i], reach = (shape.kernel[i] - 1) * shape.dilations[i];
    std::string symbol = "s" + std::to_string(i + 1);
    if (transposed) {
      int rest = shape.output_padding[i] + reach + 1 - pad;
      int size = s * (shape.space[i] - 1) + rest;
      out.push_back(dynamic ? symbol + " * " + extent(s) + " + " + extent(rest - s) : extent(size));
    } else {
      int size = (shape.space[i] + pad - reach - 1) / s + 1;
      int offset = pad - reach - 1;
      out.push_back(!dynamic ? extent(size)
                    : s == 1 ? symbol + " + " + extent(offset + 1)
                             : "(" + symbol + " + " + extent(offset) + ") floordiv " + extent(s) + " + 1");
    }
    if (dynamic) test.symbols.push_back(shape.space[i]);
    in.push_back(dynamic ? symbol : extent(shape.space[i]));
  }
  auto place = [&](Extents& type, int channels, const std::vector<std::string>& space) {
    if (!last) type.push_back(extent(channels));
    type.insert(type.end(), space.begin(), space.end());
    if (last) type.push_back(extent(channels));
  };
  place(x, shape.channels, in);
  place(y, shape.out, out);
  w = transposed ? Extents{extent(shape.channels), extent(shape.out / shape.groups)}
                 : Extents{extent(shape.out), extent(shape.channels / shape.groups)};
  for (int k : shape.kernel) w.push_back(extent(k));
  std::string tx = Type(x, element), tw = Type(w, element), ty = Type(y, element),
              tb = Type({extent(shape.out)}, element);
  std::string body = std::string("    %c = tcc.conv") + (transposed ? "_transpose" : "") +
                     " %a0, %a1 {strides = " + Dense(shape.strides) + ", padding_low = " + Dense(shape.low) +
                     ", padding_high = " + Dense(shape.high) + ", dilations = " + Dense(shape.dilations) +
                     (transposed ? ", output_padding = " + Dense(shape.output_padding) : "") +
                     ", groups = " + extent(shape.groups) + " : i64, channels_last = " + (last ? "true" : "false") +
                     "} : (" + tx + ", " + tw + ") -> " + ty + "\n";
  size_t rank = y.size();
  std::string dims;
  for (size_t i = 0; i < rank; ++i) dims += (i ? ", d" : "d") + std::to_string(i);
  body += "    %e = tcc.loops " + List(y) + " reduce 0 [] {\n    " + BlockArguments(rank) + "\n";
  body += "      %v = tcc.load %c[" + Identity(rank) + "](" + Arguments(rank) + ") : " + ty + " -> " + element + "\n";
  body += "      %b = tcc.load %a2[affine_map<(" + dims + ") -> (d" + std::to_string(last ? rank - 1 : 1) + ")>](" +
          Arguments(rank) + ") : " + tb + " -> " + element + "\n";
  body += "      %r = tcc.load %a3[" + Identity(rank) + "](" + Arguments(rank) + ") : " + ty + " -> " + element + "\n";
  body += "      %s = arith.addf %v, %b : " + element + "\n      %t = arith.addf %s, %r : " + element +
          "\n      tcc.yield %t : " + element + "\n    } : " + ty + "\n";
  test.text = Kernel({tx, tw, tb, ty}, body, "%e", {ty}, static_cast<int>(test.symbols.size()));
  test.tolerance = 5e-5;
  return test;
}

void CheckAll(const Shape& shape, bool narrow = true) {
  for (bool last : {true, false})
    for (bool dynamic : {false, true})
      for (bool constant : {true, false}) {
        SCOPED_TRACE(std::string(last ? "channels last" : "channels first") + (dynamic ? ", dynamic" : "") +
                     (constant ? ", constant weights" : ""));
        Case test = Make(shape, last, dynamic);
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
  Shape shape{1, 3, 4, 1, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
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
      Case test = Make({1, 20, 24, 1, {5, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, last, false, element);
      test.constants = {1};
      test.tolerance = std::string(element) == "f16" ? 3e-3 : 3e-2;
      Check(test);
      Case depthwise = Make({1, 20, 20, 20, {5, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, last, false, element);
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
