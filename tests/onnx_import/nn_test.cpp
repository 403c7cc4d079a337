// Convolution, pooling, resizing: geometry that other systems got wrong.
#include "tests/onnx_import/model.h"

namespace tcc::onnx::test {
namespace {

Dims dimsOf(const std::string& text, const std::vector<Tensor>& inputs, bool dynamic = false) {
  absl::StatusOr<std::vector<Tensor>> y = run(text, inputs, dynamic);
  EXPECT_TRUE(y.ok()) << y.status().message();
  return y.ok() ? (*y)[0].dims() : Dims();
}

// microsoft/onnxruntime#28291: ties (4.5, 14.5) go up; ONNX's reference evaluator and ONNX Runtime 1.32 agree.
TEST(Resize, NearestColumnsRoundPreferCeil) {
  expect(node(13, "float[1, 1, 1, 20] x",
              "r = Constant <value_floats: floats = []> () s = Constant <value_ints = [1, 1, 1, 6]> () "
              "y = Resize <mode = \"nearest\", coordinate_transformation_mode = \"half_pixel\", nearest_mode = "
              "\"round_prefer_ceil\"> (x, r, , s)"),
         {count({1, 1, 1, 20})}, floats({1, 1, 1, 6}, {1, 5, 8, 11, 15, 18}));
}

TEST(Resize, SizesThatArriveAtRunTime) {
  absl::StatusOr<std::vector<Tensor>> y = run(
      node(13, "float[1, 1, 2, 2] x, int64[4] s", "r = Constant <value_floats: floats = []> () y = Resize (x, r, , s)"),
      {count({1, 1, 2, 2}), ints({4}, {1, 1, 4, 4})});
  ASSERT_TRUE(y.ok()) << y.status().message();
  EXPECT_EQ((*y)[0].dims(), Dims({1, 1, 4, 4}));
}

// microsoft/onnxscript#3037
TEST(Conv, SameUpperWithDilation) {
  std::string text = node(11, "float[1, 1, h, w] x, float[1, 1, 3, 3] k",
                          "y = Conv <auto_pad = \"SAME_UPPER\", dilations = [2, 2]> (x, k)");
  for (bool dynamic : {false, true})
    EXPECT_EQ(dimsOf(text, {count({1, 1, 22, 27}), count({1, 1, 3, 3})}, dynamic), Dims({1, 1, 22, 27}));
}

TEST(Conv, SameUpperWithStrideAndSymbolicExtents) {
  std::string text =
      node(11, "float[1, 1, n] x, float[1, 1, 3] k", "y = Conv <auto_pad = \"SAME_UPPER\", strides = [2]> (x, k)");
  Tensor ones = floats({1, 1, 3}, {1, 1, 1});
  expect(text, {count({1, 1, 5}), ones}, floats({1, 1, 3}, {1, 6, 7}));
  expect(text, {count({1, 1, 6}), ones}, floats({1, 1, 3}, {3, 9, 9}));
}

// microsoft/onnxruntime#11927
// Arithmetic with what a file says must not overflow: each attribute of each windowed op.
TEST(Window, SizesBeyondAnyWindowAreRefused) {
  const std::string huge = "4611686018427387904", weights = "w = Constant <value = float[1, 1, 1] {1.0}> () y = ";
  const std::vector<std::string> attributes = {"strides = [" + huge + "]", "dilations = [" + huge + "]",
                                               "pads = [" + huge + ", " + huge + "]", "pads = [-" + huge + ", 0]"};
  for (const char* op : {"Conv", "ConvTranspose"}) {
    for (const std::string& attribute : attributes)
      expectError(node(22, "float[1, 1, 3] x", weights + op + " <" + attribute + "> (x, w)"), {count({1, 1, 3})},
                  "2^30");
  }
  expectError(node(22, "float[1, 1, 3] x", weights + "ConvTranspose <output_shape = [" + huge + "]> (x, w)"),
              {count({1, 1, 3})}, "2^30");
  for (const char* op : {"MaxPool", "AveragePool"})
    expectError(node(22, "float[1, 1, 3] x", std::string("y = ") + op + " <kernel_shape = [" + huge + "]> (x)"),
                {count({1, 1, 3})}, "2^30");
}

TEST(ConvTranspose, SameUpperWithOutputPadding) {
  EXPECT_EQ(
      dimsOf(node(11, "float[1, 2, 3, 3] x, float[2, 1, 3, 3] w",
                  "y = ConvTranspose <auto_pad = \"SAME_UPPER\", strides = [2, 2], output_padding = [1, 1]> (x, w)"),
             {count({1, 2, 3, 3}), count({2, 1, 3, 3})}),
      Dims({1, 1, 6, 6}));
}

TEST(NN, StringsWhereNumbersAreTakenAreErrors) {
  for (const char* body : {"y = MaxPool <kernel_shape = [2]> (x)", "y = BitCast <to = 2> (x)", "y = ReduceL2 (x)",
                           "y = LayerNormalization (x, x)", "y = Pow (x, x)", "y = DequantizeLinear (x, x)",
                           "y = BatchNormalization (x, c, c, c, c)"})
    expectError(node(26, "string[1, 1, 5] x, string[1] c", body), {}, "");
  expectError(node(22, "string[1, 1, 5] x", "y = MaxPool <kernel_shape = [2]> (x)"), {},
              "does not take elements of this type");
}

TEST(DequantizeLinear, ScalarWithSeveralScalesIsAnError) {
  expectError(node(21, "int8 x, float[3] s", "y = DequantizeLinear (x, s)"), {}, "a scalar has no axis");
  expectError(node(21, "float x, float[3] s", "y = QuantizeLinear (x, s)"), {}, "a scalar has no axis");
}

TEST(NN, SizesInAttributesAreBounded) {
  for (const char* body :
       {"y = DepthToSpace <blocksize = 1125899906842624> (x)", "y = SpaceToDepth <blocksize = 1125899906842624> (x)",
        "y = Conv <group = 1125899906842624> (x, x)", "y = LRN <size = 1125899906842624> (x)"})
    expectError(node(22, "float[1, 4, 2, 2] x", body), {}, "2^30");
}

// Outputs beyond those a node names are dropped, not written past the end.
TEST(NN, FewerOutputsThanTheOpHas) {
  const char* domain =
      "<ir_version: 8, opset_import: [\"\" : 17, \"ai.onnx.preview.training\" : 1]> g (float[2] x) => ";
  const auto y = run(std::string(domain) +
                         "(float[2] y) { r = Constant <value = float {0.5}> () t = Constant <value = int64 {0}> () "
                         "y = ai.onnx.preview.training.Momentum <alpha = 0.5, beta = 0.5, norm_coefficient = 0.0, "
                         "mode = \"standard\"> (r, t, x, x, x, x, x, x) }",
                     {floats({2}, {1, 2})});
  ASSERT_TRUE(y.ok()) << y.status().message();
  EXPECT_EQ((*y)[0].dims(), Dims({2}));
}

TEST(NN, ExtentsAreBounded) {
  for (const char* body : {"y = AveragePool <auto_pad = \"SAME_UPPER\", kernel_shape = [2], strides = [4]> (x)",
                           "y = Relu (x)", "y = Concat <axis = 2> (x, x)"})
    expectError(node(22, "float[1, 1, 9223372036854775806] x", body), {}, "which is too large");
}

// Added to the scores like one of floats; the keys it does not reach are excluded.
TEST(Attention, MaskOfIntegers) {
  const Tensor q = floats({1, 1, 1, 1}, {1}), k = floats({1, 1, 3, 1}, {0, 0, 9}), v = floats({1, 1, 3, 1}, {1, 2, 50});
  expect(node(23, "float[1, 1, 1, 1] q, float[1, 1, 3, 1] k, float[1, 1, 3, 1] v",
              "m = Constant <value = int64[1, 2] {0, 100}> () y = Attention (q, k, v, m)"),
         {q, k, v}, floats({1, 1, 1, 1}, {2}));
}

TEST(NN, NumbersAnIntegerCannotHoldAreErrors) {
  expectError(node(2, "int64[1] x", "y = Pad <pads = [1, 1], value = 1.0e30> (x)"), {}, "cannot hold");
  expectError(node(18, "float[1, 1, 1099511627776, 1] x",
                   "none = Constant <value_floats = [1.0]> () "
                   "s = Constant <value_ints = [1, 1, 1099511627776, 4611686018427387904]> () "
                   "y = Resize <keep_aspect_ratio_policy = \"not_smaller\"> (x, , , s)"),
              {}, "too large");
}

// apache/tvm#18594
TEST(AveragePool, CeilModeStartsNoWindowBeyondTheInput) {
  std::string text =
      node(11, "float[1, 1, 17, 17] x",
           "y = AveragePool <kernel_shape = [2, 2], strides = [2, 2], pads = [1, 1, 1, 1], ceil_mode = 1> (x)");
  expect(text, {floats({1, 1, 17, 17}, std::vector<float>(289, 1))}, floats({1, 1, 9, 9}, std::vector<float>(81, 1)));
}

// A kernel larger than the padded input has one window where it starts inside.
TEST(Pools, CeilModeOfAKernelLargerThanTheInput) {
  struct Case {
    int extent, kernel, stride, low, high, dilation, windows;
  };
  constexpr Case cases[] = {{2, 3, 3, 0, 0, 1, 1}, {2, 3, 2, 0, 0, 1, 1}, {1, 3, 3, 0, 0, 1, 1}, {1, 2, 2, 0, 0, 1, 1},
                            {3, 2, 2, 0, 0, 3, 1}, {2, 4, 3, 0, 0, 1, 1}, {1, 4, 8, 1, 1, 1, 1}, {1, 3, 3, 0, 0, 2, 0},
                            {2, 3, 1, 0, 0, 1, 0}, {2, 5, 2, 1, 0, 1, 0}, {5, 3, 3, 0, 0, 1, 2}, {4, 2, 2, 1, 1, 1, 3},
                            {7, 3, 2, 1, 1, 2, 3}, {6, 3, 4, 0, 2, 1, 2}};
  for (const Case& c : cases) {
    auto numbers = [](int a, int count) {
      std::string text = std::to_string(a);
      for (int i = 1; i < count; ++i) text += ", " + std::to_string(a);
      return "[" + text + "]";
    };
    for (int axes = 1; axes <= 3; ++axes) {
      for (const std::string op : {"MaxPool", "AveragePool", "LpPool", "Indices"}) {
        std::string pads = numbers(c.low, axes), high = numbers(c.high, axes);
        pads.back() = ',';
        std::string attributes =
            " <kernel_shape = " + numbers(c.kernel, axes) + ", strides = " + numbers(c.stride, axes) +
            ", dilations = " + numbers(c.dilation, axes) + ", pads = " + pads + high.substr(1) + ", ceil_mode = 1> (x)";
        std::string text = op == "Indices" ? "v, y = MaxPool" + attributes : "y = " + op + attributes;
        Dims dims{1, 1}, expected{1, 1};
        dims.resize(2 + axes, c.extent);
        expected.resize(2 + axes, c.windows);
        SCOPED_TRACE(text + " of " + std::to_string(c.extent));
        std::string type = "float[1, 1";
        for (int axis = 0; axis < axes; ++axis) type += ", " + std::to_string(c.extent);
        EXPECT_EQ(dimsOf(node(22, type + "] x", text), {count({dims.begin(), dims.end()})}), expected);
        if (c.windows > 0)
          EXPECT_EQ(dimsOf(node(22, type + "] x", text), {count({dims.begin(), dims.end()})}, /*dynamic=*/true),
                    expected);
      }
    }
  }
}

// microsoft/onnxruntime#11828
TEST(Pad, ReflectionUpToTheLimit) {
  std::string limit =
      node(13, "float[3] x", "p = Constant <value_ints = [2, 2]> () y = Pad <mode = \"reflect\"> (x, p)");
  expect(limit, {count({3})}, floats({7}, {2, 1, 0, 1, 2, 1, 0}));
  expectError(node(13, "float[3] x", "p = Constant <value_ints = [3, 0]> () y = Pad <mode = \"reflect\"> (x, p)"),
              {count({3})}, "wider than axis 0 allows");
}

TEST(BatchNormalization, FoldsToScaleAndShift) {
  expect(node(15, "float[1, 2, 2] x",
              "s = Constant <value_floats = [1.0, 2.0]> () b = Constant <value_floats = [0.0, 1.0]> () m = Constant "
              "<value_floats = [0.0, 2.0]> () "
              "v = Constant <value_floats = [1.0, 4.0]> () y = BatchNormalization <epsilon = 0.0> (x, s, b, m, v)"),
         {count({1, 2, 2})}, floats({1, 2, 2}, {0, 1, 1, 2}));
}

}  // namespace
}  // namespace tcc::onnx::test
