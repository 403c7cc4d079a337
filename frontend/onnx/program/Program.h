//===- Program.h - an ONNX model, read, checked and normalised --*- C++ -*-===//
//
// What the rest of tcc may rely on once a Program exists (everything a file can get wrong is an error of load):
//   * IR version 3 or newer, not newer than ONNX 1.23's; op sets not newer than that either;
//   * subgraphs nest at most Limits::graphDepth deep, and the graph holds no calls of local functions: they are
//   inlined,
//     within Limits;
//   * every graph is in SSA form and sorted: a name is defined once, before its uses, and no subgraph shadows a name;
//   * every node has a name, unique in the model; every attribute has a name and a type, and refers to no function;
//   * tensors (initializers, attributes, anywhere) have a known element type, non-negative extents and exactly the data
//     their type needs; data in other files is mapped, and lies in the folders it may lie in.
//
// Source: https://github.com/onnx/onnx/blob/main/docs/IR.md
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/tensor.h"

namespace onnx {
class GraphProto;
class ModelProto;
class NodeProto;
class SparseTensorProto;
class TensorProto;
} // namespace onnx

namespace tcc::onnx {

class ExternalFiles;
class File;

/// Bounds on what a file may ask for. Exceeding one is an error that names it.
struct Limits {
  int graphDepth = 48;                     ///< subgraphs within subgraphs
  int callDepth = 128;                     ///< local functions calling local functions
  int64_t nodes = 2'000'000;               ///< nodes of all graphs after inlining
  int64_t inlinedBytes = int64_t{1} << 30; ///< protobuf bytes that inlining adds
  int64_t denseBytes = int64_t{4} << 30;   ///< a sparse tensor as a dense one
};

struct LoadOptions {
  /// Folders that external data may lie in, besides the model's own.
  std::vector<std::string> externalDataRoots;
  Limits limits;
  /// Called with the model before functions are inlined; checkModel (Check.h) is meant to be put here.
  absl::Status (*check)(::onnx::ModelProto &model) = nullptr;
};

/// An extent of a graph input or output: a number, a name, or neither.
struct Dim {
  int64_t value = -1;
  std::string param;
};

/// A graph input or output.
struct ValueInfo {
  enum class Kind { Tensor, Sequence, Optional, Map, SparseTensor, Opaque, Unknown };
  std::string name;
  Kind kind = Kind::Unknown;
  /// Element type: of the tensor, or of the tensors in the sequence or optional.
  DType dtype = DType::kInvalid;
  bool hasShape = false;
  std::vector<Dim> dims;
  /// Inputs: an initializer of the same name gives the value where the caller leaves the input out (IR version 4 on).
  bool hasDefault = false;

  std::string toString() const; ///< "x: f32[batch,3,224,224]"
};

/// Thread safety: immutable once loaded.
class Program : public std::enable_shared_from_this<Program> {
public:
  /// Reads a model file. The messages of its errors start with `path` and say what is wrong, where, and what to do.
  static absl::StatusOr<std::shared_ptr<const Program>> load(const std::string &path, const LoadOptions &options = {});
  /// The same from memory; external data is looked for in `folder` (empty: refused).
  static absl::StatusOr<std::shared_ptr<const Program>> parse(std::string_view bytes, const std::string &folder = "",
                                                              const LoadOptions &options = {});
  ~Program();

  const ::onnx::ModelProto &model() const { return *proto; }
  const ::onnx::GraphProto &graph() const;
  const std::string &path() const { return filePath; }

  /// What the caller of the model supplies, in order. For IR version 3, where every initializer is an input too,
  /// without those: they are constants.
  const std::vector<ValueInfo> &inputs() const { return graphInputs; }
  const std::vector<ValueInfo> &outputs() const { return graphOutputs; }

  int64_t irVersion() const;
  const Limits &limits() const { return loadLimits; }
  /// Version of a domain's op set ("" and "ai.onnx" are the same); 0 where the model does not import it.
  int64_t opsetVersion(std::string_view domain) const;
  /// The version that holds for a node: that of the function it comes from, where it was inlined.
  int64_t opsetVersion(const ::onnx::NodeProto &node) const;

  /// The tensor's data without copying where it is stored as such (raw or external data, aligned); it keeps the Program
  /// alive. Otherwise a copy. Any TensorProto of this model.
  absl::StatusOr<Tensor> tensor(const ::onnx::TensorProto &proto) const;
  /// As a dense tensor; an error where that exceeds Limits::denseBytes.
  absl::StatusOr<Tensor> tensor(const ::onnx::SparseTensorProto &proto) const;

  /// Files that external data lies in, as their resolved paths.
  std::vector<std::string> externalFiles() const;
  /// Takes the external data read so far out of this process's memory. Tensors stay as they are: their pages come back
  /// from the file's cache when they are read.
  void dropPages() const;
  /// 128 bits over the model file and its external files, as 32 hexadecimal digits. Reads all of them.
  absl::StatusOr<std::string> contentHash() const;

private:
  Program();
  absl::Status initialize(const LoadOptions &options);

  std::unique_ptr<::onnx::ModelProto> proto;
  std::unique_ptr<ExternalFiles> external;
  std::string filePath;
  Limits loadLimits;
  std::vector<ValueInfo> graphInputs, graphOutputs;
  std::map<std::string, int64_t, std::less<>> opsets;
  std::shared_ptr<const File> file; ///< null for a program parsed from memory
  std::string memoryHash;           ///< its hash, then
};

/// DType of an ONNX TensorProto.DataType; kInvalid for one that does not exist or is not supported.
DType dtypeOf(int32_t onnxDataType);

/// The op set's domain in its canonical form: "ai.onnx" is "".
inline std::string_view canonicalDomain(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

} // namespace tcc::onnx
