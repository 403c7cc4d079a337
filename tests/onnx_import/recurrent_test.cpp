// Recurrent layers step by step against the library kernel, which is what a layer with sequence lengths becomes.
#include <random>

#include "tests/onnx_import/model.h"

namespace tcc::onnx::test {
namespace {

struct Layer {
  std::string op;
  int64_t gates = 1;
  std::string attributes = {};
  int64_t directions = 1;
  bool batch_first = false;
  bool peepholes = false;
};

constexpr int64_t kBatch = 3, kInputs = 5, kHidden = 4;

Tensor random(const std::vector<int64_t>& dims, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(-1, 1);
  int64_t count = 1;
  for (int64_t d : dims) count *= d;
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(distribution(generator));
  return floats(dims, values);
}

void check(const Layer& layer, int64_t steps, bool dynamic) {
  SCOPED_TRACE(layer.op + " " + layer.attributes + ", steps: " + std::to_string(steps) + (dynamic ? ", dynamic" : ""));
  const int64_t width = layer.gates * kHidden;
  const bool cell = layer.op == "LSTM";
  auto order = [&](int64_t first, int64_t second, int64_t last) {
    return layer.batch_first ? std::vector<int64_t>{second, first, last} : std::vector<int64_t>{first, second, last};
  };
  std::vector<Tensor> inputs{random(order(steps, kBatch, kInputs), 1), random({layer.directions, width, kInputs}, 2),
                             random({layer.directions, width, kHidden}, 3), random({layer.directions, 2 * width}, 4),
                             random(order(layer.directions, kBatch, kHidden), 5)};
  std::string declared =
                  "float[i0, i1, i2] x, float[w0, w1, w2] w, float[r0, r1, r2] r, float[b0, b1] b, float[h0, h1, h2] h",
              names = "h", outputs = "y, yh";
  if (cell) {
    inputs.push_back(random(order(layer.directions, kBatch, kHidden), 6));
    declared += ", float[c0, c1, c2] c";
    names += ", c";
    outputs += ", yc";
  }
  if (layer.peepholes) {
    inputs.push_back(random({layer.directions, 3 * kHidden}, 7));
    declared += ", float[p0, p1] p";
    names += ", p";
  }
  auto text = [&](bool lengths) {
    return "<ir_version: 8, opset_import: [\"\" : 14]>\nmodel (" + declared + ", int64[n] lens) => (float y, float yh" +
           (cell ? ", float yc" : "") + ") {\n" + outputs + " = " + layer.op +
           " <hidden_size = " + std::to_string(kHidden) + (layer.batch_first ? ", layout = 1" : "") +
           (layer.attributes.empty() ? "" : ", " + layer.attributes) + "> (x, w, r, b, " + (lengths ? "lens" : "") +
           ", " + names + ")\n}";
  };
  inputs.push_back(ints({kBatch}, std::vector<int64_t>(kBatch, steps)));
  absl::StatusOr<std::vector<Tensor>> want = run(text(true), inputs);
  ASSERT_TRUE(want.ok()) << want.status().message();
  // The extents of weights are known, those of the data may not be.
  std::string ir;
  absl::StatusOr<std::vector<Tensor>> have =
      run(text(false), inputs, dynamic, {}, {.open = {kBatch, steps}, .ir = &ir});
  ASSERT_TRUE(have.ok()) << have.status().message();
  // Else the library kernel would be compared with itself.
  ASSERT_EQ(ir.find("tcc.library"), std::string::npos) << ir;
  for (size_t i = 0; i < want->size(); ++i) {
    ASSERT_EQ((*want)[i].dims(), (*have)[i].dims()) << "output " << i;
    const Tensor expected = *(*want)[i].Contiguous(), actual = *(*have)[i].Contiguous();
    for (int64_t k = 0; k < expected.num_elements(); ++k)
      ASSERT_NEAR(expected.data_as<float>()[k], actual.data_as<float>()[k], 2e-6) << "output " << i << " " << k;
  }
}

void checkSteps(const Layer& layer) {
  for (int64_t steps : {1, 3, 7}) check(layer, steps, /*dynamic=*/false);  // unrolled, and as a loop
  check(layer, 7, /*dynamic=*/true);
}

TEST(Recurrent, Lstm) {
  checkSteps({.op = "LSTM", .gates = 4});
  checkSteps(
      {.op = "LSTM", .gates = 4, .attributes = "direction = \"bidirectional\"", .directions = 2, .peepholes = true});
  checkSteps({.op = "LSTM", .gates = 4, .attributes = "direction = \"reverse\"", .batch_first = true});
  checkSteps({.op = "LSTM", .gates = 4, .attributes = "input_forget = 1, clip = 0.3", .peepholes = true});
  checkSteps({.op = "LSTM",
              .gates = 4,
              .attributes = "activations = [\"HardSigmoid\", \"Softsign\", \"ScaledTanh\"], activation_alpha = [0.3, "
                            "0.7], activation_beta = [0.4, 1.5]"});
}

TEST(Recurrent, Gru) {
  checkSteps({.op = "GRU", .gates = 3});
  checkSteps({.op = "GRU", .gates = 3, .attributes = "linear_before_reset = 1, clip = 0.4"});
  checkSteps({.op = "GRU",
              .gates = 3,
              .attributes = "linear_before_reset = 1, direction = \"bidirectional\"",
              .directions = 2,
              .batch_first = true});
  checkSteps(
      {.op = "GRU", .gates = 3, .attributes = "direction = \"reverse\", activations = [\"Sigmoid\", \"Softplus\"]"});
}

TEST(Recurrent, Rnn) {
  for (const char* activation : {"Tanh", "Relu", "Affine", "LeakyRelu", "ThresholdedRelu", "Elu"})
    checkSteps({.op = "RNN", .attributes = "activations = [\"" + std::string(activation) + "\"]"});
  checkSteps({.op = "RNN", .attributes = "direction = \"bidirectional\"", .directions = 2});
}

TEST(Recurrent, UnknownActivationIsAnError) {
  expectError(
      "<ir_version: 8, opset_import: [\"\" : 14]>\nmodel (float[2, 1, 3] x, float[1, 4, 3] w, float[1, 4, 4] r) => "
      "(float y) {\ny = RNN <hidden_size = 4, activations = [\"Step\"]> (x, w, r)\n}",
      {count({2, 1, 3}), count({1, 4, 3}), count({1, 4, 4})}, "activation 'Step' is not known");
}

TEST(Recurrent, HiddenSizeThatIsNotThatOfTheWeightsIsAnError) {
  for (const char* size : {"5", "4611686018427387904", "-1"})
    for (const char* op : {"LSTM", "GRU", "RNN"})
      expectError(std::string("<ir_version: 8, opset_import: [\"\" : 14]>\nmodel (float[2, 1, 3] x, float[1, w, 3] w, "
                              "float[1, w, 4] r) => (float y) {\ny = ") +
                      op + " <hidden_size = " + size + "> (x, w, r)\n}",
                  {count({2, 1, 3}), count({1, 16, 3}), count({1, 16, 4})}, "hidden");
}

}  // namespace
}  // namespace tcc::onnx::test
