// LSTM, GRU and RNN: step by step in generated code, or library kernels, which take ONNX's operands and attributes as
// they are.
#include "frontend/onnx/import/Conversions.h"
#include "frontend/onnx/import/nn/RecurrentSteps.h"

using namespace mlir;

namespace tcc::onnx {

static void convertRecurrent(NodeBuilder &b, StringRef kernel, size_t maxInputs, size_t maxOutputs) {
  Value x = b.input(0), recurrence = b.input(2);
  b.check(b.rank(x) == 3 && b.rank(recurrence) == 3, "needs X and R of rank 3");
  std::string direction = b.stringAttr("direction", "forward");
  b.check(direction == "forward" || direction == "reverse" || direction == "bidirectional",
          "attribute 'direction' must be forward, reverse or bidirectional, not '" + direction + "'");
  int64_t hidden = b.sizeAttr("hidden_size", 0), layout = b.intAttr("layout", 0);
  if (hidden == 0)
    hidden = b.requireExtent(recurrence, 2, "the hidden size");
  constexpr int64_t kMostHidden = int64_t{1} << 31;
  b.check(hidden >= 0 && hidden <= kMostHidden, "a hidden size of " + Twine(hidden) + " is out of range");
  std::optional<int64_t> columns = ir::getConstant(b.extent(recurrence, 2));
  b.check(!columns || *columns == hidden,
          "attribute 'hidden_size' is " + Twine(hidden) + ", but R has " + Twine(columns.value_or(0)) + " columns");
  RecurrentLayer layer{kernel, hidden, direction == "bidirectional" ? 2 : 1, direction == "reverse", layout != 0};
  layer.clip = b.floatAttr("clip", 0);
  layer.inputForget = b.intAttr("input_forget", 0) != 0;
  layer.linearBeforeReset = b.intAttr("linear_before_reset", 0) != 0;
  if (Values results = convertToSteps(b, layer); !results.empty()) {
    for (size_t i = 0; i < std::min(b.numOutputs(), results.size()); ++i)
      b.result(i, results[i]);
    return;
  }
  SmallVector<NamedAttribute> config{b.i64("hidden_size", hidden), b.str("direction", direction),
                                     b.i64("layout", layout)};
  if (std::optional<std::vector<std::string>> activations = b.stringsAttr("activations")) {
    SmallVector<StringRef> refs(activations->begin(), activations->end());
    config.push_back(b.attr("activations", b.builder.getStrArrayAttr(refs)));
  }
  for (StringRef name : {"activation_alpha", "activation_beta"})
    if (auto values = b.floatsAttr(name))
      config.push_back(b.f64s(name, *values));
  if (b.hasAttr("clip"))
    config.push_back(b.f64("clip", b.floatAttr("clip", 0)));
  if (kernel == "lstm")
    config.push_back(b.i64("input_forget", b.intAttr("input_forget", 0)));
  if (kernel == "gru")
    config.push_back(b.i64("linear_before_reset", b.intAttr("linear_before_reset", 0)));
  Values inputs;
  for (size_t i = 0; i < maxInputs; ++i)
    inputs.push_back(b.optionalInput(i));
  AffineExpr steps = b.extent(x, layout ? 1 : 0), batch = b.extent(x, layout ? 0 : 1);
  AffineExpr directions = b.expr(direction == "bidirectional" ? 2 : 1), size = b.expr(hidden);
  Type element = b.elementType(x);
  Type all = layout ? b.tensorType({batch, steps, directions, size}, element)
                    : b.tensorType({steps, directions, batch, size}, element);
  Type last =
      layout ? b.tensorType({batch, directions, size}, element) : b.tensorType({directions, batch, size}, element);
  SmallVector<Type> types{all, last};
  if (maxOutputs == 3)
    types.push_back(last);
  Values results = b.library(kernel, inputs, config, types);
  for (size_t i = 0; i < std::min(b.numOutputs(), results.size()); ++i)
    b.result(i, results[i]);
}

void convertLSTM(NodeBuilder &b) { convertRecurrent(b, "lstm", 8, 3); }
void convertGRU(NodeBuilder &b) { convertRecurrent(b, "gru", 6, 2); }
void convertRNN(NodeBuilder &b) { convertRecurrent(b, "rnn", 6, 2); }

} // namespace tcc::onnx
