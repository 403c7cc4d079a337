#include "tests/onnx_import/model.h"

namespace tcc::onnx::test {
namespace {

// Quantco/spox#163
TEST(Loop, CarriesAGrowingTensor) {
  std::string text =
      "<ir_version: 8, opset_import: [\"\" : 17]>\nmodel (int64 n) => (int64[m] y) {\n"
      "start = Constant <value_ints: ints = []> ()\n"
      "y = Loop (n, , start) <body = body (int64 i, bool c, int64[k] before) => (bool go_on, int64[m] after) {\n"
      "go_on = Identity (c)\none = Constant <value_ints = [1]> ()\nafter = Concat <axis = 0> (before, one) }>\n}";
  expect(text, {ints({}, {5})}, ints({5}, {1, 1, 1, 1, 1}));
  expect(text, {ints({}, {0})}, ints({0}, {}));
}

// NVIDIA/TensorRT#2846
TEST(If, BranchesOfDifferentRank) {
  std::string text =
      "<ir_version: 8, opset_import: [\"\" : 17]>\nmodel (float[a, b] x) => (float y) {\n"
      "s = Shape (x)\nzero = Constant <value_int = 0> ()\none = Constant <value_int = 1> ()\n"
      "e = Gather (s, zero)\nc = Equal (e, one)\n"
      "y = If (c) <then_branch = t () => (float p) { axes = Constant <value_ints = [0]> () p = Squeeze (x, axes) },"
      " else_branch = f () => (float q) { q = Identity (x) }>\n}";
  expect(text, {count({1, 3})}, floats({3}, {0, 1, 2}));
  expect(text, {count({2, 2})}, count({2, 2}));
}

// A model for two sizes: the branch that is not taken does not fit the input, so the condition becomes part of the
// specialisation.
TEST(If, TheBranchNotTakenNeedNotFit) {
  std::string text =
      "<ir_version: 8, opset_import: [\"\" : 17]>\nmodel (float[a, 4] x, int64 rate) => (float[m] y) {\n"
      "high = Constant <value_int = 16000> ()\nc = Equal (rate, high)\n"
      "y = If (c) <then_branch = t () => (float p) { axes = Constant <value_ints = [0]> () p = Squeeze (x, axes) },"
      " else_branch = f () => (float q) { other = Constant <value_floats = [1.0, 2.0]> () q = MatMul (x, other) }>\n}";
  expect(text, {count({1, 4}), ints({}, {16000})}, floats({4}, {0, 1, 2, 3}));
  expectError(text, {count({1, 4}), ints({}, {8000})}, "matrix product");
}

TEST(If, DecidedByData) {
  std::string text =
      "<ir_version: 8, opset_import: [\"\" : 17]>\nmodel (float[n] x) => (float[m] y) {\n"
      "total = ReduceSum <keepdims = 0> (x)\nlimit = Constant <value_float = 4.0> ()\nc = Greater (total, limit)\n"
      "y = If (c) <then_branch = t () => (float p) { p = Concat <axis = 0> (x, x) },"
      " else_branch = f () => (float q) { q = Neg (x) }>\n}";
  expect(text, {floats({2}, {3, 4})}, floats({4}, {3, 4, 3, 4}));
  expect(text, {floats({2}, {1, 2})}, floats({2}, {-1, -2}));
}

// openvinotoolkit/openvino#35770
// A hundred iterations of a hundred: the bound counts what is imported, not what the file holds.
TEST(Loop, UnrollingIsBounded) {
  LoadOptions load;
  load.limits.nodes = 1000;
  expectError(node(17, "float[1] x", R"(
      n = Constant <value = int64 {100}> ()
      e = SequenceEmpty ()
      s = Loop <body = outer (int64 i, bool c, seq(float[1]) a) => (bool d, seq(float[1]) b) {
        d = Identity (c)
        b = Loop <body = inner (int64 j, bool f, seq(float[1]) p) => (bool g, seq(float[1]) q) {
          g = Identity (f)
          q = Identity (p)
        }> (n, , a)
      }> (n, , e)
      t = SequenceInsert (s, x)
      y = ConcatFromSequence <axis = 0> (t))"),
              {floats({1}, {1})}, "unrolling loops gives more than 1000 nodes", load);
}

TEST(Sequence, EmptyInsertConcat) {
  expect(node(13, "float[2] x",
              "e = SequenceEmpty () s = SequenceInsert (e, x) t = SequenceInsert (s, x) y = ConcatFromSequence <axis = "
              "0> (t)"),
         {floats({2}, {1, 2})}, floats({4}, {1, 2, 1, 2}));
}

TEST(Scan, RunsOverSlices) {
  std::string text =
      "<ir_version: 8, opset_import: [\"\" : 17]>\nmodel (float[2] s, float[n, 2] x) => (float[2] last, float[n, 2] "
      "all) {\n"
      "last, all = Scan <num_scan_inputs = 1, body = body (float[2] a, float[2] b) => (float[2] c, float[2] d) {\n"
      "c = Add (a, b)\nd = Identity (c) }> (s, x)\n}";
  for (bool dynamic : {false, true}) {
    absl::StatusOr<std::vector<Tensor>> y = run(text, {floats({2}, {0, 0}), count({3, 2})}, dynamic);
    ASSERT_TRUE(y.ok()) << y.status().message();
    EXPECT_EQ((*y)[0].data_as<float>()[1], 9);
    EXPECT_EQ((*y)[1].dims(), Dims({3, 2}));
  }
}

// There is no slice to read: the states come out as they went in.
TEST(Scan, OverNothing) {
  for (const char* attributes : {"", "scan_input_directions = [1, 0], ", "scan_output_directions = [1], "}) {
    const std::string text =
        std::string(
            "<ir_version: 8, opset_import: [\"\" : 17]>\nmodel (float[2] s, float[n, 2] x, bool[n] z) => (float[2] "
            "last, float[n, 2] all) {\n"
            "last, all = Scan <") +
        attributes +
        "num_scan_inputs = 2, body = body (float[2] a, float[2] b, bool f) => (float[2] c, float[2] d) {\n" +
        "c = Add (a, b)\nd = Where (f, b, c) }> (s, x, z)\n}";
    absl::StatusOr<std::vector<Tensor>> y =
        run(text, {floats({2}, {3, 4}), floats({0, 2}, {}), *Tensor::Allocate(DType::kBool, {0})});
    ASSERT_TRUE(y.ok()) << y.status().message();
    EXPECT_EQ((*y)[0].data_as<float>()[0], 3);
    EXPECT_EQ((*y)[0].data_as<float>()[1], 4);
    EXPECT_EQ((*y)[1].dims(), Dims({0, 2}));
  }
}

// Op set 8: a batch of sequences, an optional input before them.
TEST(Scan, InputsOfDifferentLengthsAreAnError) {
  std::string text =
      "<ir_version: 8, opset_import: [\"\" : 17]>\nmodel (float[2] s, float[n, 2] x, float[m, 2] y) => (float[2] last, "
      "float[k, 2] all) {\n"
      "last, all = Scan <num_scan_inputs = 2, scan_input_directions = [0, REVERSED], body = body (float[2] a, float[2] "
      "b, "
      "float[2] c) => (float[2] d, float[2] e) {\nd = Add (a, b)\ne = Identity (c) }> (s, x, y)\n}";
  for (const char* reversed : {"0", "1"}) {
    std::string directed = text;
    directed.replace(directed.find("REVERSED"), 8, reversed);
    for (bool dynamic : {false, true})
      for (int64_t other : {3, 5}) {
        absl::StatusOr<std::vector<Tensor>> y =
            run(directed, {floats({2}, {0, 0}), count({4, 2}), count({other, 2})}, dynamic);
        ASSERT_FALSE(y.ok()) << dynamic << " " << other;
        // What, where, and what to do.
        for (const char* part :
             {dynamic ? "(Scan)" : "", "scans inputs of different lengths", "give input 2 (along axis 0)"})
          EXPECT_NE(y.status().message().find(part), absl::string_view::npos) << dynamic << y.status();
      }
    // Equal ones may be two symbols.
    absl::StatusOr<std::vector<Tensor>> y = run(directed, {floats({2}, {0, 0}), count({4, 2}), count({4, 2})}, true);
    ASSERT_TRUE(y.ok()) << y.status();
    EXPECT_EQ((*y)[0].data_as<float>()[0], 12);
  }
}
TEST(Scan, BatchesOfOpset8) {
  std::string text =
      "<ir_version: 3, opset_import: [\"\" : 8]>\nmodel (float[b, 2] s, float[b, n, 2] x) => (float[b, 2] last, "
      "float[b, n, 2] all) {\n"
      "last, all = Scan <num_scan_inputs = 1, directions = [DIRECTION], body = body (float[2] a, float[2] e) => "
      "(float[2] c, float[2] d) {\n"
      "c = Add (a, e)\nd = Identity (c) }> (, s, x)\n}";
  for (bool reversed : {false, true})
    for (bool dynamic : {false, true}) {
      std::string directed = text;
      directed.replace(directed.find("DIRECTION"), 9, reversed ? "1" : "0");
      absl::StatusOr<std::vector<Tensor>> y = run(directed, {count({2, 2}), count({2, 3, 2})}, dynamic);
      ASSERT_TRUE(y.ok()) << y.status().message();
      // The sequences are (0,1)(2,3)(4,5) and (6,7)(8,9)(10,11); the states start at (0,1) and (2,3).
      const std::vector<float> last{6, 10, 26, 30};
      EXPECT_EQ(std::vector<float>((*y)[0].data_as<float>(), (*y)[0].data_as<float>() + 4), last);
      ASSERT_EQ((*y)[1].dims(), Dims({2, 3, 2}));
      EXPECT_EQ((*y)[1].data_as<float>()[6], reversed ? 12 : 8);
    }
}

// What fails in the run is told as what fails in the import: by the node.
TEST(Errors, OfTheRunNameTheNode) {
  const std::string text = node(18, "float[3] x, int64[2] p", "n = Neg (x) y = Pad <mode = \"reflect\"> (n, p)");
  absl::StatusOr<std::vector<Tensor>> y = run(text, {count({3}), ints({2}, {5, 0})});
  ASSERT_FALSE(y.ok());
  EXPECT_NE(y.status().message().find("node 'Pad_1' (Pad): tcc.library: "), absl::string_view::npos) << y.status();
  EXPECT_EQ(y.status().message().find("loc("), absl::string_view::npos) << y.status();
}

}  // namespace
}  // namespace tcc::onnx::test
