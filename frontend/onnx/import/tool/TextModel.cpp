//===- TextModel.cpp - ONNX's own parser -----------------------------------===//
#include "frontend/onnx/import/tool/TextModel.h"

#include "onnx/defs/parser.h"

namespace tcc::onnx {

absl::StatusOr<std::string> modelFromText(const std::string &text) {
  ::onnx::ModelProto model;
  ::onnx::Common::Status status = ::onnx::OnnxParser::Parse(model, text.c_str());
  if (!status.IsOK())
    return absl::InvalidArgumentError(status.ErrorMessage());
  return model.SerializeAsString();
}

} // namespace tcc::onnx
