//===- Interface.h - inputs and outputs of a model, quickly -----*- C++ -*-===//
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/onnx/program/Program.h"

namespace tcc::onnx {

struct Interface {
  std::vector<ValueInfo> inputs, outputs; ///< as Program::inputs and outputs
};

/// Reads only what tells a model's inputs and outputs; weights and nodes are skipped without being read, so that the
/// time does not depend on the size of the model. For a model that was compiled before: nothing else is checked.
absl::StatusOr<Interface> readInterface(const std::string &path);

} // namespace tcc::onnx
