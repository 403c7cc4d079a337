// Prints the kernels of a module, compiles the text for the host and gives back its functions.
#pragma once

#include <string>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace tcc {

void loadDialects(mlir::MLIRContext& context);

class Compiled {
 public:
  /// Kernels must need no thread but one. Undefined behaviour of C++ stops the process. Errors fail the test.
  Compiled(mlir::MLIRContext& context, const std::string& mlirText);
  ~Compiled();
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;

  mlir::ModuleOp module() { return *parsed; }
  /// Arguments by address, as a launch passes them.
  using Kernel = void (*)(void**);
  Kernel kernel(const std::string& name) const;
  const std::string& text() const { return source; }

 private:
  void build(mlir::MLIRContext& context, const std::string& mlirText);

  mlir::OwningOpRef<mlir::ModuleOp> parsed;
  std::string source, folder;
  void* library = nullptr;
};

}  // namespace tcc
