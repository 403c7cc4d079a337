//===- Registry.h - conversions by domain, op and op set --------*- C++ -*-===//
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tcc::onnx {

class NodeBuilder;

struct Conversion {
  llvm::StringRef domain, op;
  int64_t since; // first op set it is for; up to the next entry of the same op
  void (*convert)(NodeBuilder &);
};

/// The conversion for a node under its model's op set, or null.
const Conversion *findConversion(llvm::StringRef domain, llvm::StringRef op, int64_t opset);
/// First op set of any conversion of the op, or 0 where there is none: for messages.
int64_t firstSupportedOpset(llvm::StringRef domain, llvm::StringRef op);

} // namespace tcc::onnx
