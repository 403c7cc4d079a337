//===- ValueFile.h - .pb files with a tensor, sequence or optional *- C++ -*-===//
//
// The files of ONNX's backend tests: one serialised TensorProto, SequenceProto or OptionalProto; which of them, only
// the model's input or output knows.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/onnx/program/Program.h"

namespace tcc::onnx {

struct Value {
  ValueInfo::Kind kind = ValueInfo::Kind::Tensor;
  std::string name;
  Tensor tensor;               ///< Tensor
  std::vector<Value> elements; ///< Sequence: all; Optional: none or one
};

/// Kinds other than Tensor, Sequence and Optional are an Unimplemented error.
absl::StatusOr<Value> loadValueFile(const std::string &path, ValueInfo::Kind kind);
/// Writes a tensor as a TensorProto.
absl::StatusOr<std::string> serializeTensor(const Tensor &tensor, const std::string &name);

} // namespace tcc::onnx
