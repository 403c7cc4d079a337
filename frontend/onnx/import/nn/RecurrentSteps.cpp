//===- RecurrentSteps.cpp - LSTM, GRU and RNN as matrix products and loops -===//
#include "frontend/onnx/import/nn/RecurrentSteps.h"

#include "frontend/onnx/import/control/LoopBody.h"
#include "runtime/reference/activation.h"

using namespace mlir;

namespace tcc::onnx {
namespace {

// More steps than this are a loop.
constexpr int64_t kMaxUnrolled = 4;

using reference::Activation;

// One direction of a layer. Gates lie one after another, `hidden` columns each.
struct Direction {
  NodeBuilder &b;
  const RecurrentLayer &layer;
  ArrayRef<Activation> activations;
  Value r;             // [hidden, gates * hidden]
  Value recurrentBias; // [gates * hidden], of a GRU with linear_before_reset; else part of x
  Value peepholes;     // [3 * hidden] or null

  Value columns(Value x, int64_t gate, int64_t count = 1) const {
    return b.sliceAxis(x, b.rank(x) - 1, gate * layer.hidden, count * layer.hidden);
  }
  /// The clip is for what goes into gates.
  Value activate(size_t which, Value x, bool clipped = true) const;
  Values step(Value x, ValueRange state) const;

private:
  Values lstm(Value x, Value h, Value c) const;
  Value gru(Value x, Value h) const;
};

Value Direction::activate(size_t which, Value x, bool clipped) const {
  if (clipped && layer.clip > 0)
    x = b.min(b.max(x, -layer.clip), layer.clip);
  const Activation &f = activations[which];
  auto below = [&](double bound) { return b.compare(x, b.like(x, bound), ir::Predicate::Lt); };
  switch (f.kind) {
  case Activation::Kind::kSigmoid:
    return b.unary<ir::SigmoidOp>(x);
  case Activation::Kind::kTanh:
    return b.unary<ir::TanhOp>(x);
  case Activation::Kind::kRelu:
    return b.max(x, 0.0);
  case Activation::Kind::kAffine:
    return b.add(b.mul(x, f.alpha), f.beta);
  case Activation::Kind::kLeakyRelu:
    return b.select(below(0), b.mul(x, f.alpha), x);
  case Activation::Kind::kThresholdedRelu:
    return b.select(b.compare(x, b.like(x, f.alpha), ir::Predicate::Gt), x, b.like(x, 0));
  case Activation::Kind::kScaledTanh:
    return b.mul(b.unary<ir::TanhOp>(b.mul(x, f.beta)), f.alpha);
  case Activation::Kind::kHardSigmoid:
    return b.min(b.max(b.add(b.mul(x, f.alpha), f.beta), 0.0), 1.0);
  case Activation::Kind::kElu:
    return b.select(below(0), b.mul(b.unary<ir::Expm1Op>(x), f.alpha), x);
  case Activation::Kind::kSoftsign:
    return b.div(x, b.add(b.unary<ir::AbsOp>(x), 1.0));
  case Activation::Kind::kSoftplus:
    // without overflow
    return b.add(b.max(x, 0.0), b.unary<ir::Log1pOp>(b.unary<ir::ExpOp>(b.unary<ir::NegOp>(b.unary<ir::AbsOp>(x)))));
  }
  llvm_unreachable("unknown activation");
}

// Gates in the order i, o, f, c; peepholes in the order i, o, f.
Values Direction::lstm(Value x, Value h, Value c) const {
  Value gates = b.add(x, b.matmul(h, r));
  auto gate = [&](int64_t k, Value cell) {
    Value value = columns(gates, k);
    return activate(0, peepholes ? b.add(value, b.mul(columns(peepholes, k), cell)) : value);
  };
  Value input = gate(0, c);
  Value forget = layer.inputForget ? b.sub(b.like(input, 1), input) : gate(2, c);
  Value next = b.add(b.mul(forget, c), b.mul(input, activate(1, columns(gates, 3))));
  Value output = gate(1, next);
  return {b.mul(output, activate(2, next, /*clipped=*/false)), next};
}

// Gates in the order z, r, h.
Value Direction::gru(Value x, Value h) const {
  Value z, inner;
  if (layer.linearBeforeReset) {
    Value recurrent = b.matmul(h, r);
    if (recurrentBias)
      recurrent = b.add(recurrent, recurrentBias);
    z = activate(0, b.add(columns(x, 0), columns(recurrent, 0)));
    Value reset = activate(0, b.add(columns(x, 1), columns(recurrent, 1)));
    inner = b.mul(reset, columns(recurrent, 2));
  } else {
    Value recurrent = b.matmul(h, columns(r, 0, 2));
    z = activate(0, b.add(columns(x, 0), columns(recurrent, 0)));
    Value reset = activate(0, b.add(columns(x, 1), columns(recurrent, 1)));
    inner = b.matmul(b.mul(reset, h), columns(r, 2));
  }
  Value candidate = activate(1, b.add(columns(x, 2), inner));
  return b.add(b.mul(b.sub(b.like(z, 1), z), candidate), b.mul(z, h));
}

Values Direction::step(Value x, ValueRange state) const {
  if (layer.kernel == "lstm")
    return lstm(x, state[0], state[1]);
  if (layer.kernel == "gru")
    return {gru(x, state[0])};
  return {activate(0, b.add(x, b.matmul(state[0], r)))};
}

// The activations of all directions.
std::vector<Activation> readActivations(NodeBuilder &b, const RecurrentLayer &layer) {
  auto list = [&](StringRef name) {
    auto values = b.floatsAttr(name).value_or(SmallVector<double>{});
    return std::vector<double>(values.begin(), values.end());
  };
  absl::StatusOr<std::vector<Activation>> activations =
      reference::ParseActivations(b.stringsAttr("activations").value_or(std::vector<std::string>{}),
                                  reference::DefaultActivations(layer.kernel.str()), layer.directions,
                                  list("activation_alpha"), list("activation_beta"));
  b.check(activations.ok(), std::string(activations.status().message()));
  return *activations;
}

// Entry d of an operand's first axis.
Value entry(NodeBuilder &b, Value x, int64_t d) {
  Exprs rest = b.extents(x);
  rest.erase(rest.begin());
  return b.reshape(b.sliceAxis(x, 0, d, 1), rest);
}

struct DirectionResult {
  Value y;       // [steps, batch, hidden]
  Values states; // [batch, hidden]
};

// xs [steps, batch, gates * hidden].
DirectionResult run(const Direction &direction, Value xs, Values states, bool reversed) {
  NodeBuilder &b = direction.b;
  AffineExpr steps = b.extent(xs, 0);
  if (auto count = ir::getConstant(steps); count && *count <= kMaxUnrolled) {
    Values outputs;
    for (int64_t t = 0; t < *count; ++t) {
      states = direction.step(entry(b, xs, reversed ? *count - 1 - t : t), states);
      outputs.push_back(b.unsqueeze(states[0], {0}));
    }
    if (reversed)
      std::reverse(outputs.begin(), outputs.end());
    return {b.concat(outputs, 0), states};
  }
  Value trips = b.extentsTensor(steps, /*scalar=*/true);
  Values results = buildLoop(b, trips, {}, states, [&](OpBuilder &inner, Value iteration, ValueRange carried) {
    OpBuilder::InsertionGuard guard(b.builder);
    b.builder.restoreInsertionPoint(inner.saveInsertionPoint());
    Value at = reversed ? b.sub(b.sub(trips, iteration), 1.0) : iteration;
    Values yielded{b.scalarInt(b.i1Type(), 1)};
    llvm::append_range(yielded, direction.step(b.gather(xs, at, 0), carried));
    yielded.push_back(yielded[1]);
    return yielded;
  });
  Value y = results.pop_back_val();
  if (reversed) {
    Exprs starts(3, b.expr(0));
    starts[0] = b.extent(y, 0) - 1;
    y = b.slice(y, starts, {-1, 1, 1}, b.extents(y));
  }
  return {y, results};
}

} // namespace

Values convertToSteps(NodeBuilder &b, const RecurrentLayer &layer) {
  Value x = b.input(0), w = b.input(1), r = b.input(2);
  Value bias = b.optionalInput(3), peepholes = layer.kernel == "lstm" ? b.optionalInput(7) : Value();
  // Before anything is computed with a size that a file gives.
  if (b.extent(r, 2) != b.expr(layer.hidden))
    return {};
  Type element = b.elementType(x);
  int64_t gates = layer.kernel == "lstm" ? 4 : layer.kernel == "gru" ? 3 : 1, width = gates * layer.hidden;
  // Half floats would round the state at every step. Lengths of their own, and operands whose extents only the run can
  // compare, are for the library kernel too.
  if ((!element.isF32() && !element.isF64()) || b.has(4) || b.rank(w) != 3)
    return {};
  if (layer.batchFirst)
    x = b.transpose(x, {1, 0, 2});
  AffineExpr steps = b.extent(x, 0), batch = b.extent(x, 1), inputs = b.extent(x, 2),
             directions = b.expr(layer.directions);
  auto fits = [&](Value v, const Exprs &extents) {
    return !v || (b.elementType(v) == element && b.extents(v) == extents);
  };
  if (ir::getConstant(steps) == 0 || !fits(w, {directions, b.expr(width), inputs}) ||
      !fits(r, {directions, b.expr(width), b.expr(layer.hidden)}) || !fits(bias, {directions, b.expr(2 * width)}) ||
      !fits(peepholes, {directions, b.expr(3 * layer.hidden)}))
    return {};
  Exprs stateExtents{directions, batch, b.expr(layer.hidden)};
  SmallVector<Value> initial;
  for (size_t input : {5, 6}) {
    if (input == 6 && layer.kernel != "lstm")
      break;
    Value state = b.optionalInput(input);
    if (state && layer.batchFirst && b.rank(state) == 3)
      state = b.transpose(state, {1, 0, 2});
    if (!fits(state, stateExtents))
      return {};
    initial.push_back(state ? state : b.full(stateExtents, b.scalar(element, 0)));
  }
  std::vector<Activation> activations = readActivations(b, layer);
  size_t perDirection = activations.size() / layer.directions;
  Values ys;
  SmallVector<Values> states(initial.size());
  for (int64_t d = 0; d < layer.directions; ++d) {
    Direction direction{b, layer, ArrayRef(activations).slice(d * perDirection, perDirection), {}, {}, {}};
    direction.r = b.transposeLast(entry(b, r, d));
    if (peepholes)
      direction.peepholes = entry(b, peepholes, d);
    Value xs = b.matmul(b.reshape(x, {ir::simplifyExtent(steps * batch), inputs}), b.transposeLast(entry(b, w, d)));
    if (bias) {
      Value both = entry(b, bias, d), ofInput = b.sliceAxis(both, 0, 0, width),
            ofState = b.sliceAxis(both, 0, width, width);
      if (layer.kernel == "gru" && layer.linearBeforeReset)
        direction.recurrentBias = ofState;
      else
        ofInput = b.add(ofInput, ofState);
      xs = b.add(xs, ofInput);
    }
    xs = b.reshape(xs, {steps, batch, b.expr(width)});
    Values start;
    for (Value state : initial)
      start.push_back(entry(b, state, d));
    DirectionResult result = run(direction, xs, start, layer.directions == 2 ? d == 1 : layer.reversed);
    ys.push_back(b.unsqueeze(result.y, {1}));
    for (auto [all, state] : llvm::zip_equal(states, result.states))
      all.push_back(b.unsqueeze(state, {0}));
  }
  Values results{b.concat(ys, 1)};
  for (const Values &all : states)
    results.push_back(b.concat(all, 0));
  if (layer.batchFirst) {
    results[0] = b.transpose(results[0], {2, 0, 1, 3});
    for (size_t i = 1; i < results.size(); ++i)
      results[i] = b.transpose(results[i], {1, 0, 2});
  }
  return results;
}

} // namespace tcc::onnx
