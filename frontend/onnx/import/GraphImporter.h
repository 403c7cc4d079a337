//===- GraphImporter.h - walks graphs and their subgraphs -------*- C++ -*-===//
#pragma once

#include "frontend/onnx/import/NodeBuilder.h"
#include "llvm/ADT/StringMap.h"

namespace tcc::onnx {

class Program;

/// What all graphs of one import share.
struct ImportState {
  const Program &program;
  mlir::FunctionOpInterface function;
  Needs needs;
  int64_t nodes = 0; ///< imported so far, those of bodies each time
};

/// One scope of names. Thread safety: none.
class GraphImporter {
public:
  GraphImporter(ImportState &state, const GraphImporter *outer) : state(state), outer(outer) {}

  const Item *lookup(llvm::StringRef name) const;
  /// Fails when the name is taken in this scope or an outer one (ONNX forbids shadowing).
  void define(llvm::StringRef name, Item item, const Emitter &where);
  /// Initializers become constants where they are not defined yet.
  void importInitializers(const ::onnx::GraphProto &graph, mlir::OpBuilder &builder, mlir::Location loc);
  void importNodes(const ::onnx::GraphProto &graph, mlir::OpBuilder &builder);
  /// Imports a body in a scope of its own at the builder's insertion point; `where` is the node that owns it.
  std::vector<Item> importSubgraph(const ::onnx::GraphProto &graph, mlir::OpBuilder &builder,
                                   llvm::ArrayRef<Item> arguments, const Emitter &where) const;

  ImportState &state;

private:
  void importNode(const ::onnx::NodeProto &node, mlir::OpBuilder &builder);

  const GraphImporter *outer;
  llvm::StringMap<Item> names;
};

/// "node 'conv1' (Conv)", or with the name of the first output where the node has none.
mlir::Location nodeLocation(const ::onnx::NodeProto &node, mlir::MLIRContext *context);
/// Element type and tensor constant of a model tensor; null after a diagnostic at `loc`.
mlir::Value importTensor(const Program &program, const ::onnx::TensorProto &tensor, Emitter &emitter);

} // namespace tcc::onnx
