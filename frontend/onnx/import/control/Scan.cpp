// https://onnx.ai/onnx/operators/onnx__Scan.html: a loop over slices of its inputs. In op set 8 it ran over a batch of
// sequences: a loop around the loop.
#include "frontend/onnx/import/Conversions.h"
#include "frontend/onnx/import/GraphImporter.h"
#include "frontend/onnx/import/control/LoopBody.h"
#include "onnx/onnx-ml.pb.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tcc::onnx {

// Final states, then scan outputs along a new first axis. `reversed`: which of `scanned` are read from their end.
static Values loopOverSlices(NodeBuilder &b, const Values &initial, const Values &scanned, ArrayRef<int64_t> axes,
                             ArrayRef<int64_t> reversed) {
  AffineExpr steps = b.extent(scanned[0], axes[0]);
  Value trips = b.extentsTensor(steps, /*scalar=*/true);
  size_t first = b.numInputs() - scanned.size();
  for (auto [i, x] : llvm::enumerate(scanned)) {
    AffineExpr other = b.extent(x, axes[i]);
    std::optional<int64_t> difference = ir::getConstant(ir::simplifyExtent(other - steps));
    std::string fault =
        llvm::formatv("scans inputs of different lengths: give input {0} (along axis {1}) as many slices "
                      "as input {2} (along axis {3})",
                      first + i, axes[i], first, axes[0]);
    b.check(!difference || *difference == 0, fault);
    // Only the run can tell.
    if (!difference)
      trips = b.libraryOne("check_equal", {trips, b.extentsTensor(other, /*scalar=*/true)}, {b.str("message", fault)},
                           b.tensorType({}, b.i64Type()));
  }
  const bool never = ir::getConstant(steps) == 0;
  const ::onnx::GraphProto &body = b.graphAttr("body");
  return buildLoop(b, trips, {}, initial, [&](OpBuilder &inner, Value iteration, ValueRange carried) {
    Emitter emitter(inner, b.loc, b.function);
    std::vector<Item> arguments;
    for (Value v : carried)
      arguments.push_back(Item(v));
    for (auto [i, x] : llvm::enumerate(scanned)) {
      if (never) {
        // There is no slice to read: only its type counts.
        Exprs slice = emitter.extents(x);
        slice.erase(slice.begin() + axes[i]);
        arguments.push_back(Item(emitter.full(slice, emitter.like(x, 0))));
        continue;
      }
      Value at = iteration;
      if (reversed[i])
        at = emitter.sub(emitter.sub(trips, iteration), 1.0);
      arguments.push_back(Item(emitter.gather(x, at, axes[i])));
    }
    Values yielded{emitter.scalarInt(b.i1Type(), 1)};
    for (const Item &item : b.graph.importSubgraph(body, inner, arguments, b)) {
      b.check(item.kind == Item::Kind::Tensor, "the body returns a sequence or optional, which is not supported");
      yielded.push_back(item.tensor);
    }
    return yielded;
  });
}

static Ints listAttr(NodeBuilder &b, StringRef name, size_t count) {
  Ints values = b.intsAttr(name).value_or(Ints(count, 0));
  b.check(values.size() == count, "attribute '" + name + "' must have " + Twine(count) + " entries");
  return values;
}

void convertScanBatch(NodeBuilder &b) {
  b.check(b.numInputs() > 0, "has no inputs");
  int64_t scanInputs = b.requiredInt("num_scan_inputs"), given = static_cast<int64_t>(b.numInputs()) - 1;
  b.check(scanInputs >= 1 && scanInputs <= given, "attribute 'num_scan_inputs' is out of range");
  b.check(!b.has(0), "sequences of different lengths (input 'sequence_lens') are not supported");
  Ints reversed = listAttr(b, "directions", scanInputs), axes(scanInputs, 0);
  Values operands;
  for (int64_t i = 0; i < given; ++i) {
    operands.push_back(b.input(1 + i));
    int64_t least = i < given - scanInputs ? 1 : 2;
    b.check(b.rank(operands[i]) >= least, "input " + Twine(1 + i) + " needs a rank of at least " + Twine(least));
  }
  Value batch = b.extentsTensor(b.extent(operands.back(), 0), /*scalar=*/true);
  Values results = buildLoop(b, batch, {}, {}, [&](OpBuilder &inner, Value iteration, ValueRange) {
    OpBuilder::InsertionGuard guard(b.builder);
    b.builder.restoreInsertionPoint(inner.saveInsertionPoint());
    Values states, scanned, yielded{b.scalarInt(b.i1Type(), 1)};
    for (auto [i, x] : llvm::enumerate(operands))
      (static_cast<int64_t>(i) < given - scanInputs ? states : scanned).push_back(b.gather(x, iteration, 0));
    llvm::append_range(yielded, loopOverSlices(b, states, scanned, axes, reversed));
    return yielded;
  });
  for (size_t i = 0; i < std::min(results.size(), b.numOutputs()); ++i)
    b.result(i, Item(results[i]));
}

void convertScanLoop(NodeBuilder &b) {
  int64_t scanInputs = b.requiredInt("num_scan_inputs");
  b.check(scanInputs >= 1 && scanInputs <= static_cast<int64_t>(b.numInputs()),
          "attribute 'num_scan_inputs' is out of range");
  size_t states = b.numInputs() - scanInputs;
  b.check(b.numOutputs() >= states, "has fewer outputs than states");
  size_t scanOutputs = b.numOutputs() - states;
  Ints inputAxes = listAttr(b, "scan_input_axes", scanInputs),
       inputDirections = listAttr(b, "scan_input_directions", scanInputs),
       outputAxes = listAttr(b, "scan_output_axes", scanOutputs),
       outputDirections = listAttr(b, "scan_output_directions", scanOutputs);
  Values initial, scanned;
  for (size_t i = 0; i < states; ++i)
    initial.push_back(b.input(i));
  for (int64_t i = 0; i < scanInputs; ++i) {
    scanned.push_back(b.input(states + i));
    inputAxes[i] = b.normalizeAxis(inputAxes[i], b.rank(scanned[i]));
  }
  Values results = loopOverSlices(b, initial, scanned, inputAxes, inputDirections);
  for (size_t i = 0; i < std::min(results.size(), b.numOutputs()); ++i) {
    Value y = results[i];
    if (i >= states) {
      int64_t rank = b.rank(y), axis = b.normalizeAxis(outputAxes[i - states], rank);
      if (outputDirections[i - states]) {
        Exprs starts(rank, b.expr(0));
        Ints steps(rank, 1);
        starts[0] = b.extent(y, 0) - 1;
        steps[0] = -1;
        y = b.slice(y, starts, steps, b.extents(y));
      }
      Ints permutation;
      for (int64_t k = 1; k < rank; ++k)
        permutation.push_back(k);
      permutation.insert(permutation.begin() + axis, 0);
      y = b.transpose(y, permutation);
    }
    b.result(i, Item(y));
  }
}

} // namespace tcc::onnx
