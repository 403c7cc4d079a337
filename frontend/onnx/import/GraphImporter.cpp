//===- GraphImporter.cpp - walks graphs and their subgraphs ---------------===//
#include "frontend/onnx/import/GraphImporter.h"

#include "frontend/onnx/import/Registry.h"
#include "frontend/onnx/program/Program.h"
#include "onnx/onnx-ml.pb.h"

using namespace mlir;

namespace tcc::onnx {

Location nodeLocation(const ::onnx::NodeProto &node, MLIRContext *context) {
  std::string name = node.name();
  if (name.empty() && node.output_size() > 0)
    name = node.output(0);
  std::string text = "node '" + name + "' (" + node.op_type() + ")";
  return NameLoc::get(StringAttr::get(context, text));
}

const Item *GraphImporter::lookup(StringRef name) const {
  for (const GraphImporter *scope = this; scope; scope = scope->outer)
    if (auto it = scope->names.find(name); it != scope->names.end())
      return &it->second;
  return nullptr;
}

void GraphImporter::define(StringRef name, Item item, const Emitter &where) {
  if (name.empty())
    return;
  if (lookup(name))
    where.fail("defines '" + name + "', which is defined already here or in an outer graph; rename one of them");
  // More than any memory holds; and conversions may add to extents and multiply them by small numbers without a look.
  constexpr int64_t kMostElements = int64_t(1) << 48;
  if (item.kind == Item::Kind::Tensor)
    for (int64_t extent : Emitter::type(item.tensor).getShape())
      if (extent > kMostElements)
        where.fail("'" + name + "' has an axis of " + Twine(extent) + " elements, which is too large");
  names[name] = std::move(item);
}

Value importTensor(const Program &program, const ::onnx::TensorProto &tensor, Emitter &emitter) {
  absl::StatusOr<Tensor> data = program.tensor(tensor);
  if (!data.ok())
    emitter.fail(std::string(data.status().message()));
  return emitter.tensor(*data);
}

Value NodeBuilder::constantFrom(const ::onnx::TensorProto &tensor) {
  return importTensor(graph.state.program, tensor, *this);
}

void GraphImporter::importInitializers(const ::onnx::GraphProto &graph, OpBuilder &builder, Location loc) {
  for (const ::onnx::TensorProto &tensor : graph.initializer()) {
    if (names.contains(tensor.name()))
      continue;
    Location here = NameLoc::get(builder.getStringAttr("initializer '" + tensor.name() + "'"));
    Emitter emitter(builder, here, state.function);
    define(tensor.name(), importTensor(state.program, tensor, emitter), emitter);
  }
  for (const ::onnx::SparseTensorProto &sparse : graph.sparse_initializer()) {
    if (names.contains(sparse.values().name()))
      continue;
    Location here = NameLoc::get(builder.getStringAttr("initializer '" + sparse.values().name() + "'"));
    Emitter emitter(builder, here, state.function);
    absl::StatusOr<Tensor> data = state.program.tensor(sparse);
    if (!data.ok())
      emitter.fail(std::string(data.status().message()));
    define(sparse.values().name(), emitter.tensor(*data), emitter);
  }
}

void GraphImporter::importNode(const ::onnx::NodeProto &node, OpBuilder &builder) {
  Location loc = nodeLocation(node, builder.getContext());
  int64_t version = state.program.opsetVersion(node);
  const Conversion *conversion = findConversion(node.domain(), node.op_type(), version);
  NodeBuilder b(node, version, *this, builder, loc, state.function);
  // Loops within loops unroll to the product of their trip counts.
  const int64_t limit = state.program.limits().nodes;
  if (++state.nodes > limit)
    b.fail("unrolling loops gives more than " + Twine(limit) + " nodes");
  if (!conversion)
    b.fail("op '" + node.op_type() + "' is not supported");
  conversion->convert(b);
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty())
      continue;
    if (b.results[i].kind == Item::Kind::Absent)
      b.fail("output " + Twine(i) + " of " + node.op_type() + " is not supported");
    // (Of a declared range of extents often a single one is left after some strides.)
    if (b.results[i].kind == Item::Kind::Tensor)
      b.results[i].tensor = b.withKnownExtents(b.results[i].tensor);
    define(node.output(i), std::move(b.results[i]), b);
  }
}

void GraphImporter::importNodes(const ::onnx::GraphProto &graph, OpBuilder &builder) {
  for (const ::onnx::NodeProto &node : graph.node())
    importNode(node, builder);
}

std::vector<Item> GraphImporter::importSubgraph(const ::onnx::GraphProto &graph, OpBuilder &builder,
                                                ArrayRef<Item> arguments, const Emitter &where) const {
  GraphImporter inner(state, this);
  if (static_cast<size_t>(graph.input_size()) != arguments.size())
    where.fail("its body '" + graph.name() + "' takes " + Twine(graph.input_size()) + " inputs, not " +
               Twine(arguments.size()));
  for (auto [input, item] : llvm::zip_equal(graph.input(), arguments))
    inner.define(input.name(), item, where);
  inner.importInitializers(graph, builder, where.loc);
  inner.importNodes(graph, builder);
  std::vector<Item> results;
  for (const ::onnx::ValueInfoProto &output : graph.output()) {
    const Item *item = inner.lookup(output.name());
    if (!item)
      where.fail("its body '" + graph.name() + "' does not define its output '" + output.name() + "'");
    results.push_back(*item);
  }
  return results;
}

} // namespace tcc::onnx
