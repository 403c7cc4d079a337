// Values that other systems got wrong (public bug reports, named by their threads), or that the specification derives.
#include "tests/onnx_import/model.h"

namespace tcc::onnx::test {
namespace {

// iree-org/iree#24584
TEST(Slice, BackwardsFromTheLastToAfterTheFirst) {
  expect(
      node(13, "float[n] x",
           "s = Constant <value_ints = [9]> () e = Constant <value_ints = [0]> () a = Constant <value_ints = [0]> () "
           "t = Constant <value_ints = [-1]> () y = Slice (x, s, e, a, t)"),
      {count({10})}, floats({9}, {9, 8, 7, 6, 5, 4, 3, 2, 1}));
}

// microsoft/onnxruntime#11107
TEST(Slice, EndsBeyondAnyAxis) {
  std::string text =
      "s = Constant <value_ints = [-1]> () a = Constant <value_ints = [0]> () t = Constant <value_ints = [-1]> () ";
  expect(
      node(13, "float[n] x", text + "e = Constant <value_ints = [9223372036854775807]> () y = Slice (x, s, e, a, t)"),
      {count({4})}, floats({0}, {}));
  expect(
      node(13, "float[n] x", text + "e = Constant <value_ints = [-9223372036854775807]> () y = Slice (x, s, e, a, t)"),
      {count({4})}, floats({4}, {3, 2, 1, 0}));
}

// By the specification the start of a backward slice is clamped to [0, last]; numpy's stays before the axis.
TEST(Slice, BackwardsFromBeforeTheAxis) {
  std::string text =
      "s = Constant <value_ints = [-3]> () a = Constant <value_ints = [0]> () e = Constant <value_ints = [-5]> () "
      "t = Constant <value_ints = [-2]> () y = Slice (x, s, e, a, t)";
  for (const char* type : {"float[n] x", "float[1] x"}) expect(node(13, type, text), {count({1})}, floats({1}, {0}));
  expect(node(13, "float[0] x", text), {count({0})}, floats({0}, {}));
  expect(node(13, "float[n] x", text), {count({0})}, floats({0}, {}));
  expect(node(13, "float[n] x", text), {count({4})}, floats({1}, {1}));
}

// microsoft/onnxruntime#15203
TEST(Reshape, ZeroCopiesTheExtentAtItsPosition) {
  absl::StatusOr<std::vector<Tensor>> y =
      run(node(13, "float[2, 2, 3, 2] x", "s = Constant <value_ints = [-1, 0, 0]> () y = Reshape (x, s)"),
          {count({2, 2, 3, 2})});
  ASSERT_TRUE(y.ok()) << y.status().message();
  EXPECT_EQ((*y)[0].dims(), Dims({4, 2, 3}));
}

// microsoft/onnxruntime#10463: a batch size baked into the shape
TEST(Reshape, BakedBatchSizeIsAnErrorThatNamesTheNode) {
  expectError(node(13, "float[n, 3] x", "s = Constant <value_ints = [2, 3]> () y = Reshape (x, s)"), {count({4, 3})},
              "cannot reshape 12 elements to 6");
}

TEST(Reshape, ProductsOfExtentsAreBounded) {
  expectError(node(13, "float[3458764513820540928, 24] x", "s = Constant <value_ints = [-1, 6]> () y = Reshape (x, s)"),
              {}, "too large");
}

TEST(Shapes, RanksAreBounded) {
  const char huge[] = "a tensor of rank 137438953472 is not supported";
  for (const char* text : {"y = ConstantOfShape (s)", "y = Expand (x, s)", "y = Reshape (x, s)"})
    expectError(node(13, "float[1] x, int64[137438953472] s", text), {}, huge);
}

TEST(SplitToSequence, LengthsAreBounded) {
  expectError(node(13, "float[137438953472] x", "s = SplitToSequence (x) y = ConcatFromSequence <axis = 0> (s)"), {},
              "a sequence of 137438953472 tensors is not supported");
}

TEST(Reshape, ScalarShapeIsAnError) {
  expectError(node(13, "float[4] x, int64 s", "y = Reshape (x, s)"), {count({4}), ints({}, {4})}, "has no axis 0");
}

// onnx/onnx#6313
TEST(Squeeze, OfAnotherExtentThanOneIsAnError) {
  expectError(node(13, "float[2, 3] x", "a = Constant <value_ints = [0]> () y = Squeeze (x, a)"), {count({2, 3})},
              "cannot squeeze axis 0 of extent 2");
}

// iree-org/iree#24265
TEST(ReduceMax, NegativeAxisAmongOthers) {
  expect(node(13, "float[2, 3, 2] x", "y = ReduceMax <axes = [0, -1], keepdims = 0> (x)"), {count({2, 3, 2})},
         floats({3}, {7, 9, 11}));
}

// microsoft/onnxruntime#681
TEST(Concat, EmptyOperand) {
  expect(node(13, "float[a] x, float[b] z", "y = Concat <axis = 0> (x, z)"), {floats({0}, {}), floats({2}, {4, 5})},
         floats({2}, {4, 5}));
}

// apache/tvm#20217
TEST(GatherND, NegativeIndices) {
  expect(node(13, "float[3, 4] x", "i = Constant <value = int64[2, 2] {-1, -1, 0, -2}> () y = GatherND (x, i)"),
         {count({3, 4})}, floats({2}, {11, 2}));
}
TEST(OneHot, NegativeIndexSetsTheLastSlot) {
  expect(node(11, "int64[1] x",
              "d = Constant <value_int = 5> () v = Constant <value_floats = [0.0, 1.0]> () y = OneHot (x, d, v)"),
         {ints({1}, {-1})}, floats({1, 5}, {0, 0, 0, 0, 1}));
}

// microsoft/onnxruntime#10234
TEST(Gather, IndexOutOfRangeIsAnError) {
  absl::StatusOr<std::vector<Tensor>> y =
      run(node(13, "float[3] x, int64[1] i", "y = Gather (x, i)"), {count({3}), ints({1}, {3})});
  EXPECT_FALSE(y.ok());
}

// microsoft/onnxruntime#29879
TEST(ScatterElements, Multiplies) {
  expect(node(18, "float[1] x",
              "i = Constant <value_ints = [0]> () u = Constant <value_floats = [3.0]> () y = ScatterElements "
              "<reduction = \"mul\"> (x, i, u)"),
         {floats({1}, {2})}, floats({1}, {6}));
}

// apache/tvm#19692, #19437
TEST(CumSum, ExclusiveAndAxisAtRunTime) {
  expect(node(14, "float[4] x", "a = Constant <value_int = 0> () y = CumSum <exclusive = 1> (x, a)"),
         {floats({4}, {1, 2, 3, 4})}, floats({4}, {0, 1, 3, 6}));
  expect(node(14, "float[2, 2] x, int64 a", "y = CumSum (x, a)"), {count({2, 2}), ints({}, {-1})},
         floats({2, 2}, {0, 1, 2, 5}));
}

// openvinotoolkit/openvino#37823
TEST(Softmax, FlattensBeforeOpSet13) {
  Tensor x = floats({2, 3, 4}, std::vector<float>(24, 1));
  expect(node(11, "float[2, 3, 4] x", "y = Softmax <axis = 1> (x)"), {x},
         floats({2, 3, 4}, std::vector<float>(24, 1.f / 12)));
  expect(node(13, "float[2, 3, 4] x", "y = Softmax (x)"), {x}, floats({2, 3, 4}, std::vector<float>(24, 0.25f)));
}

// onnx/onnx#7570
TEST(Div, IntegersTruncate) {
  expect(node(14, "int64[4] x, int64[4] z", "y = Div (x, z)"), {ints({4}, {8, -8, 7, -7}), ints({4}, {-3, 3, -2, 2})},
         ints({4}, {-2, -2, -3, -3}));
}
// apache/tvm#20170, NVIDIA/TensorRT#4702
TEST(Mod, SignAndExactness) {
  expect(node(13, "int64[2] x, int64[2] z", "y = Mod (x, z)"), {ints({2}, {-5, 18542495}), ints({2}, {3, 32})},
         ints({2}, {1, 31}));
  expect(node(13, "float[1] x, float[1] z", "y = Mod <fmod = 1> (x, z)"), {floats({1}, {-5.5}), floats({1}, {3})},
         floats({1}, {-2.5}));
}

// onnx/onnx-mlir#217
TEST(Clip, EmptyMinimumKeepsItsPosition) {
  expect(node(13, "float[3] x", "m = Constant <value_float = 1.0> () y = Clip (x, , m)"), {floats({3}, {-9, 0, 9})},
         floats({3}, {-9, 0, 1}));
}

// iree-org/iree#20803
TEST(Sub, OfItselfPlusOne) {
  expect(node(14, "float[3] x", "one = Constant <value_float = 1.0> () z = Add (x, one) y = Sub (x, z)"), {count({3})},
         floats({3}, {-1, -1, -1}));
}

// Op sets before 7 aligned the second operand at attribute axis.
TEST(Add, BroadcastAtAnAxis) {
  expect(node(6, "float[2, 3, 2] x, float[3] z", "y = Add <broadcast = 1, axis = 1> (x, z)"),
         {count({2, 3, 2}), floats({3}, {0, 100, 200})},
         floats({2, 3, 2}, {0, 1, 102, 103, 204, 205, 6, 7, 108, 109, 210, 211}));
}

// Ratio and mode come with the run: nothing is known while importing.
TEST(Dropout, TrainsWhenTheRunSaysSo) {
  const std::string text =
      "<ir_version: 8, opset_import: [\"\" : 17]>\nmodel (float[n] x, float ratio, int64 train) => (float[n] y, "
      "float[n] "
      "kept) {\n"
      "t = Cast <to = 9> (train)\ny, mask = Dropout <seed = 3> (x, ratio, t)\nkept = Cast <to = 1> (mask)\n}";
  constexpr int64_t kCount = 4000;
  const Tensor x = floats({kCount}, std::vector<float>(kCount, 3));
  auto sums = [&](float ratio, int64_t train) {
    absl::StatusOr<std::vector<Tensor>> y = run(text, {x, floats({}, {ratio}), ints({}, {train})}, true);
    EXPECT_TRUE(y.ok()) << y.status().message();
    int64_t kept = 0;
    for (int64_t i = 0; y.ok() && i < kCount; ++i) {
      const float value = (*y)[0].data_as<float>()[i], mask = (*y)[1].data_as<float>()[i];
      EXPECT_FLOAT_EQ(value, mask == 0 ? 0 : train ? 3 / (1 - ratio) : 3);
      kept += mask == 1;
    }
    return kept;
  };
  EXPECT_EQ(sums(0.75F, 0), kCount);
  EXPECT_EQ(sums(0, 1), kCount);
  EXPECT_NEAR(static_cast<double>(sums(0.75F, 1)), 0.25 * kCount, 0.04 * kCount);
}

TEST(Einsum, DiagonalAndContraction) {
  expect(node(12, "float[3, 3] x", "y = Einsum <equation = \"ii->i\"> (x)"), {count({3, 3})}, floats({3}, {0, 4, 8}));
  expect(node(12, "float[2, 3] x, float[3, 2] z", "y = Einsum <equation = \"ij,jk\"> (x, z)"),
         {count({2, 3}), count({3, 2})}, floats({2, 2}, {10, 13, 28, 40}));
}

}  // namespace
}  // namespace tcc::onnx::test
