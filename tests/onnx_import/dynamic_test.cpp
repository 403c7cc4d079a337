// Extents that only the run knows.
#include "tests/onnx_import/model.h"

namespace tcc::onnx::test {
namespace {

TEST(Dynamic, ReshapeByData) {
  absl::StatusOr<std::vector<Tensor>> y =
      run(node(13, "float[6] x, int64[2] s", "y = Reshape (x, s)"), {count({6}), ints({2}, {3, -1})});
  ASSERT_TRUE(y.ok()) << y.status().message();
  EXPECT_EQ((*y)[0].dims(), Dims({3, 2}));
}

// Which operand has the extent 1 is known only when both have run.
TEST(Dynamic, BroadcastOfTwoUnknownExtents) {
  std::string text =
      "<ir_version: 8, opset_import: [\"\" : 17]>\nmodel (float[a] x, float[b] z) => (float[n] y) {\n"
      "i = NonZero (x)\np = Squeeze (i)\nj = NonZero (z)\nq = Squeeze (j)\n"
      "i0 = Constant <value_ints = [0]> ()\nu = Squeeze (i, i0)\nv = Squeeze (j, i0)\nw = Add (u, v)\ny = Cast <to = "
      "1> (w)\n}";
  // Without the ops that would have to guess a rank.
  text.erase(text.find("p = Squeeze (i)\n"), 16);
  text.erase(text.find("q = Squeeze (j)\n"), 16);
  absl::StatusOr<std::vector<Tensor>> y = run(text, {floats({3}, {1, 1, 1}), floats({3}, {0, 1, 0})});
  ASSERT_TRUE(y.ok()) << y.status().message();
  EXPECT_EQ((*y)[0].dims(), Dims({3}));
  EXPECT_EQ((*y)[0].data_as<float>()[2], 3);
  y = run(text, {floats({3}, {0, 0, 1}), floats({3}, {1, 1, 0})});
  ASSERT_TRUE(y.ok()) << y.status().message();
  EXPECT_EQ((*y)[0].dims(), Dims({2}));
  EXPECT_FALSE(run(text, {floats({3}, {1, 1, 1}), floats({3}, {1, 1, 0})}).ok()) << "3 and 2 do not broadcast";
}

TEST(Dynamic, AxesThatArriveAtRunTimeSpecialise) {
  expect(node(13, "float[2, 3] x, int64[1] a", "y = ReduceSum <keepdims = 0> (x, a)"), {count({2, 3}), ints({1}, {-1})},
         floats({2}, {3, 12}));
}

TEST(Dynamic, SliceByData) {
  absl::StatusOr<std::vector<Tensor>> y = run(node(13, "float[5] x, int64[1] s, int64[1] e", "y = Slice (x, s, e)"),
                                              {count({5}), ints({1}, {1}), ints({1}, {-1})});
  ASSERT_TRUE(y.ok()) << y.status().message();
  EXPECT_EQ((*y)[0].dims(), Dims({3}));
}

}  // namespace
}  // namespace tcc::onnx::test
