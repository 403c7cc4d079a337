//===- TextModel.h - models in ONNX's text syntax ---------------*- C++ -*-===//
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace tcc::onnx {

/// The serialised model of a text in the syntax of https://onnx.ai/onnx/repo-docs/Syntax.html.
absl::StatusOr<std::string> modelFromText(const std::string &text);

} // namespace tcc::onnx
