// Loading of models in memory for the tests.
#pragma once

#include <string>

#include "frontend/onnx/program/Program.h"
#include "onnx/onnx-ml.pb.h"

namespace tcc::onnx::testing {

inline absl::StatusOr<std::shared_ptr<const Program>> Load(const ::onnx::ModelProto& model,
                                                           const LoadOptions& options = {}) {
  return Program::parse(model.SerializeAsString(), "", options);
}
inline std::string ErrorOf(const ::onnx::ModelProto& model, const LoadOptions& options = {}) {
  const auto program = Load(model, options);
  return program.ok() ? "no error" : std::string(program.status().message());
}

}  // namespace tcc::onnx::testing
