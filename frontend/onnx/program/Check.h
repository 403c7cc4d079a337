//===- Check.h - ONNX's own checker -----------------------------*- C++ -*-===//
#pragma once

#include "absl/status/status.h"

namespace onnx {
class ModelProto;
}

namespace tcc::onnx {

/// Runs the checker of the onnx package: operators' schemas, attributes, required fields. External data, which has
/// rules of its own here (ExternalData.h), is left out: the model is changed meanwhile and put back. For
/// LoadOptions::check.
absl::Status checkModel(::onnx::ModelProto &model);

} // namespace tcc::onnx
