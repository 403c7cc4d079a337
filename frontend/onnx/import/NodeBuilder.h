//===- NodeBuilder.h - one ONNX node being converted ------------*- C++ -*-===//
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontend/onnx/import/Emitter.h"
#include "llvm/ADT/StringRef.h"

namespace onnx {
class NodeProto;
class AttributeProto;
class GraphProto;
class TensorProto;
} // namespace onnx

namespace tcc::onnx {

class GraphImporter;

/// What a name of an ONNX graph stands for. Sequences and optionals exist only while importing.
struct Item {
  enum class Kind { Absent, Tensor, Sequence, Optional };
  Kind kind = Kind::Absent;
  mlir::Value tensor;
  std::shared_ptr<const std::vector<Item>> elements; // Sequence: all; Optional: none or one
  mlir::Type elementType;                            // of an empty sequence or optional, where stated

  Item() = default;
  Item(mlir::Value v) : kind(v ? Kind::Tensor : Kind::Absent), tensor(v) {}
  static Item sequence(std::vector<Item> items, mlir::Type elementType = {});
  static Item optional(std::vector<Item> noneOrOne, mlir::Type elementType = {});
};

/// The element type of an ONNX TensorProto.DataType; null for one that does not exist.
mlir::Type elementTypeOf(int32_t onnxDataType, mlir::MLIRContext *context);

class NodeBuilder : public Emitter {
public:
  NodeBuilder(const ::onnx::NodeProto &node, int64_t version, GraphImporter &graph, mlir::OpBuilder &builder,
              mlir::Location loc, mlir::FunctionOpInterface function);

  const ::onnx::NodeProto &node;
  const int64_t version; // op set of the node's domain
  GraphImporter &graph;

  //===--- Operands and results ---===//
  llvm::StringRef op() const;
  size_t numInputs() const;
  size_t numOutputs() const;
  /// Whether optional input i is there: named, and not empty.
  bool has(size_t i) const;
  /// Tensor input i; absent or no tensor is a failure.
  mlir::Value input(size_t i) const;
  mlir::Value optionalInput(size_t i) const { return has(i) ? input(i) : mlir::Value(); }
  Values inputs() const;
  const Item &item(size_t i) const;
  bool wants(size_t i) const; // output i has a name
  /// Nobody wants an output that the node does not name.
  void result(size_t i, Item value) {
    if (i < results.size())
      results[i] = std::move(value);
  }
  void result(mlir::Value value) { result(0, value); }
  std::vector<Item> results;

  /// Integer input i where it is known while importing (constants, symbol expressions).
  std::optional<Exprs> knownInput(size_t i) const { return knownInts(input(i)); }
  /// The same as numbers; a failure names `what` where it is not constant.
  Ints constantInput(size_t i, llvm::StringRef what) const;
  int64_t constantScalarInput(size_t i, llvm::StringRef what) const;
  llvm::SmallVector<double> constantFloatsInput(size_t i, llvm::StringRef what) const;
  /// Integer input i as numbers or symbol expressions.
  Exprs requireKnown(size_t i, llvm::StringRef what) const;

  //===--- Attributes ---===//
  const ::onnx::AttributeProto *attribute(llvm::StringRef name) const;
  bool hasAttr(llvm::StringRef name) const { return attribute(name) != nullptr; }
  int64_t intAttr(llvm::StringRef name, int64_t fallback) const;
  /// The same of a count or an extent: at most 2^30, so that a product of two does not overflow.
  int64_t sizeAttr(llvm::StringRef name, int64_t fallback) const;
  /// A size that must be given.
  int64_t requiredInt(llvm::StringRef name) const;
  double floatAttr(llvm::StringRef name, double fallback) const;
  std::string stringAttr(llvm::StringRef name, llvm::StringRef fallback) const;
  std::optional<Ints> intsAttr(llvm::StringRef name) const;
  std::optional<llvm::SmallVector<double>> floatsAttr(llvm::StringRef name) const;
  std::optional<std::vector<std::string>> stringsAttr(llvm::StringRef name) const;
  const ::onnx::GraphProto &graphAttr(llvm::StringRef name) const;
  mlir::Value tensorAttr(llvm::StringRef name);
  mlir::Type dtypeAttr(llvm::StringRef name, mlir::Type fallback) const;
  mlir::Value constantFrom(const ::onnx::TensorProto &tensor);

  /// Axes of a reduction-like op: attribute in older op sets, input `i` in newer ones; nothing where not given.
  std::optional<Ints> axesAttrOrInput(size_t i) const;
};

} // namespace tcc::onnx
