// Sequences are lists of values while importing: positions and lengths must be known then.
#include "frontend/onnx/import/Conversions.h"
#include "frontend/onnx/import/GraphImporter.h"

using namespace mlir;

namespace tcc::onnx {

static const std::vector<Item> &sequence(NodeBuilder &b, size_t i) {
  const Item *item = &b.item(i);
  if (item->kind == Item::Kind::Optional && item->elements->size() == 1)
    item = &item->elements->front();
  if (item->kind != Item::Kind::Sequence)
    b.fail("input " + Twine(i) + " must be a sequence");
  return *item->elements;
}

// `least` is -size; the end itself is a position only to insert at.
static size_t position(NodeBuilder &b, size_t input, size_t size, bool allowEnd) {
  int64_t at = b.constantScalarInput(input, "the position in the sequence"), n = size;
  b.check(at >= -n && at <= n - (allowEnd ? 0 : 1),
          "position " + Twine(at) + " is outside a sequence of " + Twine(n) + " elements");
  return at < 0 ? at + n : at;
}

void convertSequenceEmpty(NodeBuilder &b) { b.result(0, Item::sequence({}, b.dtypeAttr("dtype", b.f32Type()))); }

void convertSequenceConstruct(NodeBuilder &b) {
  std::vector<Item> items;
  for (Value v : b.inputs())
    items.push_back(v);
  b.result(0, Item::sequence(std::move(items)));
}

void convertSequenceInsert(NodeBuilder &b) {
  std::vector<Item> items = sequence(b, 0);
  size_t at = b.has(2) ? position(b, 2, items.size(), /*allowEnd=*/true) : items.size();
  items.insert(items.begin() + at, b.input(1));
  b.result(0, Item::sequence(std::move(items)));
}

void convertSequenceErase(NodeBuilder &b) {
  std::vector<Item> items = sequence(b, 0);
  b.check(!items.empty(), "erases from an empty sequence");
  size_t at = b.has(1) ? position(b, 1, items.size(), /*allowEnd=*/false) : items.size() - 1;
  items.erase(items.begin() + at);
  b.result(0, Item::sequence(std::move(items)));
}

void convertSequenceAt(NodeBuilder &b) {
  const std::vector<Item> &items = sequence(b, 0);
  b.result(0, items[position(b, 1, items.size(), /*allowEnd=*/false)]);
}

void convertSequenceLength(NodeBuilder &b) { b.result(b.scalarInt(b.i64Type(), sequence(b, 0).size())); }

void convertConcatFromSequence(NodeBuilder &b) {
  const std::vector<Item> &items = sequence(b, 0);
  b.check(!items.empty(), "concatenates an empty sequence");
  bool newAxis = b.intAttr("new_axis", 0) != 0;
  int64_t rank = b.rank(items[0].tensor) + (newAxis ? 1 : 0), axis = b.normalizeAxis(b.requiredInt("axis"), rank);
  Values parts;
  for (const Item &item : items) {
    b.check(b.rank(item.tensor) == rank - (newAxis ? 1 : 0), "the elements have different ranks");
    parts.push_back(newAxis ? b.unsqueeze(item.tensor, {axis}) : item.tensor);
  }
  b.result(b.concat(parts, axis));
}

// A sequence exists only while importing, as so many values.
static constexpr int64_t kMaxSplit = 1 << 16;

void convertSplitToSequence(NodeBuilder &b) {
  Value x = b.input(0);
  int64_t axis = b.normalizeAxis(b.intAttr("axis", 0), b.rank(x)), extent = b.requireExtent(x, axis, "the split");
  bool keep = true;
  Ints sizes;
  auto checkCount = [&](int64_t count) {
    b.check(count <= kMaxSplit,
            "a sequence of " + Twine(count) + " tensors is not supported; the most is " + Twine(kMaxSplit));
  };
  if (!b.has(1)) {
    checkCount(extent);
    sizes.assign(extent, 1);
    keep = b.intAttr("keepdims", 1) != 0;
  } else if (Ints given = b.constantInput(1, "the sizes"); b.rank(b.input(1)) == 0) {
    b.check(given.front() > 0, "the size must be positive");
    checkCount(extent / given.front());
    for (int64_t start = 0; start < extent; start += given.front())
      sizes.push_back(std::min(given.front(), extent - start));
  } else {
    sizes = given;
  }
  std::vector<Item> items;
  int64_t start = 0;
  for (int64_t size : sizes) {
    b.check(size >= 0 && size <= extent - start, "the sizes exceed the extent");
    Value part = b.sliceAxis(x, axis, start, size);
    items.push_back(keep ? part : b.squeeze(part, {axis}));
    start += size;
  }
  b.check(start == extent, "the sizes do not add up to the extent");
  b.result(0, Item::sequence(std::move(items)));
}

// The body once for each element; tensors beside sequences go to every call.
void convertSequenceMap(NodeBuilder &b) {
  const ::onnx::GraphProto &body = b.graphAttr("body");
  size_t count = sequence(b, 0).size();
  std::vector<std::vector<Item>> outputs(b.numOutputs());
  for (size_t i = 0; i < count; ++i) {
    std::vector<Item> arguments;
    for (size_t k = 0; k < b.numInputs(); ++k) {
      if (b.item(k).kind != Item::Kind::Sequence) {
        arguments.push_back(b.item(k));
        continue;
      }
      b.check(sequence(b, k).size() == count, "the sequences have different lengths");
      arguments.push_back(sequence(b, k)[i]);
    }
    std::vector<Item> results = b.graph.importSubgraph(body, b.builder, arguments, b);
    for (size_t k = 0; k < outputs.size() && k < results.size(); ++k)
      outputs[k].push_back(results[k]);
  }
  for (size_t k = 0; k < outputs.size(); ++k)
    b.result(k, Item::sequence(std::move(outputs[k])));
}

} // namespace tcc::onnx
