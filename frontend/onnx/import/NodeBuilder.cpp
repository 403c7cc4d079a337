//===- NodeBuilder.cpp - operands and attributes of one ONNX node ---------===//
#include "frontend/onnx/import/NodeBuilder.h"

#include "frontend/onnx/import/GraphImporter.h"
#include "frontend/onnx/program/Program.h"
#include "ir/ElementTypes.h"
#include "onnx/onnx-ml.pb.h"

using namespace mlir;

namespace tcc::onnx {

Item Item::sequence(std::vector<Item> items, Type elementType) {
  Item result;
  result.kind = Kind::Sequence;
  result.elements = std::make_shared<const std::vector<Item>>(std::move(items));
  result.elementType = elementType;
  return result;
}

Item Item::optional(std::vector<Item> noneOrOne, Type elementType) {
  Item result = sequence(std::move(noneOrOne), elementType);
  result.kind = Kind::Optional;
  return result;
}

NodeBuilder::NodeBuilder(const ::onnx::NodeProto &node, int64_t version, GraphImporter &graph, OpBuilder &builder,
                         Location loc, FunctionOpInterface function)
    : Emitter(builder, loc, function), node(node), version(version), graph(graph) {
  needs = &graph.state.needs;
  results.resize(node.output_size());
  if (results.empty())
    results.resize(1);
}

StringRef NodeBuilder::op() const { return node.op_type(); }
size_t NodeBuilder::numInputs() const { return node.input_size(); }
size_t NodeBuilder::numOutputs() const { return node.output_size(); }

bool NodeBuilder::has(size_t i) const {
  return i < numInputs() && !node.input(i).empty() && item(i).kind != Item::Kind::Absent;
}

bool NodeBuilder::wants(size_t i) const { return i < numOutputs() && !node.output(i).empty(); }

const Item &NodeBuilder::item(size_t i) const {
  static const Item absent;
  if (i >= numInputs() || node.input(i).empty())
    return absent;
  const Item *found = graph.lookup(node.input(i));
  if (!found)
    fail("input '" + node.input(i) + "' is not defined before this node");
  return *found;
}

Value NodeBuilder::input(size_t i) const {
  const Item &found = item(i);
  switch (found.kind) {
  case Item::Kind::Tensor:
    return found.tensor;
  case Item::Kind::Absent:
    fail("input " + Twine(i) + " is missing");
  case Item::Kind::Sequence:
    fail("input " + Twine(i) + " is a sequence where a tensor is needed");
  case Item::Kind::Optional:
    if (found.elements->size() == 1 && found.elements->front().kind == Item::Kind::Tensor)
      return found.elements->front().tensor;
    fail("input " + Twine(i) + " is an empty optional where a tensor is needed");
  }
  llvm_unreachable("all kinds handled");
}

Values NodeBuilder::inputs() const {
  Values result;
  for (size_t i = 0; i < numInputs(); ++i)
    result.push_back(input(i));
  return result;
}

Ints NodeBuilder::constantInput(size_t i, StringRef what) const {
  if (std::optional<Ints> values = constantInts(input(i)))
    return *values;
  failUnknown(input(i), what);
}

SmallVector<double> NodeBuilder::constantFloatsInput(size_t i, StringRef what) const {
  if (std::optional<SmallVector<double>> values = constantFloats(input(i)))
    return *values;
  failUnknown(input(i), what);
}

Exprs NodeBuilder::requireKnown(size_t i, StringRef what) const {
  if (std::optional<Exprs> values = knownInput(i))
    return *values;
  failUnknown(input(i), what);
}

int64_t NodeBuilder::constantScalarInput(size_t i, StringRef what) const {
  Ints values = constantInput(i, what);
  check(values.size() == 1, what + " (input " + Twine(i) + ") must have one element");
  return values[0];
}

const ::onnx::AttributeProto *NodeBuilder::attribute(StringRef name) const {
  for (const ::onnx::AttributeProto &a : node.attribute())
    if (name == a.name())
      return &a;
  return nullptr;
}

namespace {
using Proto = ::onnx::AttributeProto;
const Proto *typed(const NodeBuilder &b, StringRef name, int type, StringRef kind) {
  const Proto *a = b.attribute(name);
  if (a && a->type() != type)
    b.fail("attribute '" + name + "' must be " + kind);
  return a;
}
} // namespace

int64_t NodeBuilder::intAttr(StringRef name, int64_t fallback) const {
  const Proto *a = typed(*this, name, Proto::INT, "an integer");
  return a ? a->i() : fallback;
}

int64_t NodeBuilder::sizeAttr(StringRef name, int64_t fallback) const {
  constexpr int64_t kMost = int64_t(1) << 30;
  int64_t value = intAttr(name, fallback);
  check(-kMost <= value && value <= kMost, "attribute '" + name + "' is " + Twine(value) + ", the most is 2^30");
  return value;
}

int64_t NodeBuilder::requiredInt(StringRef name) const {
  check(hasAttr(name), "attribute '" + name + "' is missing");
  return sizeAttr(name, 0);
}

double NodeBuilder::floatAttr(StringRef name, double fallback) const {
  const Proto *a = typed(*this, name, Proto::FLOAT, "a float");
  return a ? a->f() : fallback;
}

std::string NodeBuilder::stringAttr(StringRef name, StringRef fallback) const {
  const Proto *a = typed(*this, name, Proto::STRING, "a string");
  return a ? a->s() : fallback.str();
}

std::optional<Ints> NodeBuilder::intsAttr(StringRef name) const {
  const Proto *a = typed(*this, name, Proto::INTS, "a list of integers");
  if (!a)
    return std::nullopt;
  return Ints(a->ints().begin(), a->ints().end());
}

std::optional<SmallVector<double>> NodeBuilder::floatsAttr(StringRef name) const {
  const Proto *a = typed(*this, name, Proto::FLOATS, "a list of floats");
  if (!a)
    return std::nullopt;
  return SmallVector<double>(a->floats().begin(), a->floats().end());
}

std::optional<std::vector<std::string>> NodeBuilder::stringsAttr(StringRef name) const {
  const Proto *a = typed(*this, name, Proto::STRINGS, "a list of strings");
  if (!a)
    return std::nullopt;
  return std::vector<std::string>(a->strings().begin(), a->strings().end());
}

const ::onnx::GraphProto &NodeBuilder::graphAttr(StringRef name) const {
  const Proto *a = typed(*this, name, Proto::GRAPH, "a graph");
  check(a != nullptr, "attribute '" + name + "' is missing");
  return a->g();
}

Value NodeBuilder::tensorAttr(StringRef name) {
  const Proto *a = typed(*this, name, Proto::TENSOR, "a tensor");
  return a ? constantFrom(a->t()) : Value();
}

Type NodeBuilder::dtypeAttr(StringRef name, Type fallback) const {
  if (!hasAttr(name))
    return fallback;
  Type result = elementTypeOf(intAttr(name, 0), context());
  check(result != nullptr, "attribute '" + name + "' names no element type: " + Twine(intAttr(name, 0)));
  return result;
}

Type elementTypeOf(int32_t onnxDataType, MLIRContext *context) {
  return ir::getElementType(context, dtypeOf(onnxDataType));
}

std::optional<Ints> NodeBuilder::axesAttrOrInput(size_t i) const {
  if (has(i))
    return constantInput(i, "axes");
  return intsAttr("axes");
}

} // namespace tcc::onnx
