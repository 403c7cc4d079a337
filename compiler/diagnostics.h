// MLIR's diagnostics, collected and turned into one absl::Status.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "mlir/IR/Diagnostics.h"

namespace tcc {

// The first name in a location: what the frontend put there, which the user knows ("node 'conv1' (Conv)"), or a place
// in a file; empty for none.
std::string NameOf(mlir::Location location);

// Collects the errors that are emitted on a context while it lives.
class DiagnosticCollector {
 public:
  explicit DiagnosticCollector(mlir::MLIRContext* context);

  // Unimplemented (the model itself passed the checks of its format) with all errors, "node 'conv1' (Conv): strides
  // must be positive"; ResourceExhausted where the disk is full; `fallback` where none was emitted.
  absl::Status Take(absl::string_view fallback);

 private:
  std::vector<std::string> messages_;
  mlir::ScopedDiagnosticHandler handler_;
};

}  // namespace tcc
