// https://onnx.ai/onnx/operators/onnx__Loop.html
#include "frontend/onnx/import/Conversions.h"
#include "frontend/onnx/import/GraphImporter.h"
#include "frontend/onnx/import/control/LoopBody.h"
#include "onnx/onnx-ml.pb.h"

using namespace mlir;

namespace tcc::onnx {

// A loop that carries sequences exists only unrolled; more iterations than this are refused.
static constexpr int64_t kMaxUnrolled = 1024;

static void unroll(NodeBuilder &b, Value tripCount, Value condition) {
  const ::onnx::GraphProto &body = b.graphAttr("body");
  int64_t trips = kMaxUnrolled + 1;
  if (tripCount) {
    std::optional<Ints> known = b.constantInts(tripCount);
    if (!known)
      b.failUnknown(tripCount, "the trip count of a loop that carries a sequence");
    trips = known->front();
  }
  size_t carriedCount = b.numInputs() - 2;
  std::vector<Item> carried;
  carried.reserve(carriedCount);
  for (size_t i = 0; i < carriedCount; ++i)
    carried.push_back(b.item(i + 2));
  std::vector<Values> scans(b.numOutputs() - carriedCount);
  for (int64_t i = 0; i < trips; ++i) {
    if (condition) {
      std::optional<Ints> goesOn = b.constantInts(condition);
      if (!goesOn)
        b.failUnknown(condition, "the condition of a loop that carries a sequence");
      if (!goesOn->front())
        break;
    }
    b.check(i < kMaxUnrolled, "a loop that carries a sequence has more than " + Twine(kMaxUnrolled) + " iterations");
    std::vector<Item> arguments{Item(b.scalarInt(b.i64Type(), i)),
                                condition ? Item(condition) : Item(b.scalarInt(b.i1Type(), 1))};
    llvm::append_range(arguments, carried);
    std::vector<Item> results = b.graph.importSubgraph(body, b.builder, arguments, b);
    b.check(results.size() == 1 + b.numOutputs() && results[0].kind == Item::Kind::Tensor,
            "the body returns too few values");
    if (condition) // without one, the body's is ignored
      condition = b.reshape(results[0].tensor, ArrayRef<int64_t>{});
    carried.assign(results.begin() + 1, results.begin() + 1 + carriedCount);
    for (size_t k = 0; k < scans.size(); ++k) {
      const Item &element = results[1 + carriedCount + k];
      b.check(element.kind == Item::Kind::Tensor, "a scan output must be a tensor");
      scans[k].push_back(b.unsqueeze(element.tensor, {0}));
    }
  }
  for (size_t i = 0; i < carriedCount; ++i)
    b.result(i, carried[i]);
  for (size_t k = 0; k < scans.size(); ++k) {
    b.check(!scans[k].empty(), "no iteration runs, so the scan outputs have no shape");
    b.result(carriedCount + k, Item(b.concat(scans[k], 0)));
  }
}

void convertLoop(NodeBuilder &b) {
  b.check(b.numInputs() >= 2, "needs a trip count and a condition, empty or not");
  size_t carriedCount = b.numInputs() - 2;
  b.check(b.numOutputs() >= carriedCount, "has fewer outputs than carried values");
  auto scalar = [&](size_t i) -> Value {
    Value v = b.optionalInput(i);
    return v ? b.reshape(v, ArrayRef<int64_t>{}) : v;
  };
  Value tripCount = scalar(0), condition = scalar(1);
  Values initial;
  for (size_t i = 0; i < carriedCount; ++i) {
    if (b.item(i + 2).kind != Item::Kind::Tensor) {
      unroll(b, tripCount, condition);
      return;
    }
    initial.push_back(b.input(i + 2));
  }
  const ::onnx::GraphProto &body = b.graphAttr("body");
  Values results =
      buildLoop(b, tripCount, condition, initial, [&](OpBuilder &inner, Value iteration, ValueRange carried) {
        Emitter emitter(inner, b.loc, b.function);
        std::vector<Item> arguments{Item(iteration), Item(emitter.scalarInt(b.i1Type(), 1))};
        for (Value v : carried)
          arguments.push_back(Item(v));
        Values yielded;
        for (const Item &item : b.graph.importSubgraph(body, inner, arguments, b)) {
          b.check(item.kind == Item::Kind::Tensor, "the body returns a sequence or optional, which is not supported");
          yielded.push_back(item.tensor);
        }
        b.check(!yielded.empty() && b.isBool(yielded[0]), "the body must return a bool condition first");
        yielded[0] = emitter.reshape(yielded[0], ArrayRef<int64_t>{});
        return yielded;
      });
  for (size_t i = 0; i < std::min(results.size(), b.numOutputs()); ++i)
    b.result(i, Item(results[i]));
}

} // namespace tcc::onnx
