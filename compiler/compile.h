// The compile half's one entry: a request in, a package out. Links MLIR and LLVM; runs in the worker, or in process for
// debugging.
#pragma once

#include "absl/status/statusor.h"
#include "compiler/request.h"

namespace tcc {

// Errors: InvalidArgument for a faulty model or request, Unimplemented for what is not supported (all such ops at
// once), with the ONNX node's name. Thread-safe.
absl::StatusOr<CompileReply> CompileModel(const CompileRequest& request, const ProgressFunction& progress = nullptr);

}  // namespace tcc
