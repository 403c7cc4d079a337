//===- Conversions.h - declares the conversion functions of Ops.def -------===//
#pragma once

#include "frontend/onnx/import/NodeBuilder.h"

namespace tcc::onnx {
#define TCC_ONNX_OP(domain, name, since, function) void function(NodeBuilder &b);
#include "frontend/onnx/import/Ops.def"
#undef TCC_ONNX_OP
} // namespace tcc::onnx
