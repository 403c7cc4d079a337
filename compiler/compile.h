// The compile half's one entry: a request in, a package out. Links MLIR and LLVM; runs in the worker, or in process for
// debugging.
#pragma once

#include "absl/status/statusor.h"
#include "compiler/request.h"

namespace tcc {

// Errors: InvalidArgument for a faulty model or request; Unimplemented, with the names of ONNX nodes, for what is not
// supported (all such ops at once) and for nodes that contradict themselves. Thread-safe.
absl::StatusOr<CompileReply> CompileModel(const CompileRequest& request, const ProgressFunction& progress = nullptr);

}  // namespace tcc
