// Compares compiled code with the interpreter, and finds what is wrong where they differ.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "codegen/Target.h"
#include "codegen/plan/Plan.h"
#include "compiler/request.h"
#include "mlir/IR/BuiltinOps.h"

namespace tcc {

// The model at the borders of the phases; each has a function @main with the same arguments.
struct VerifyStages {
  mlir::ModuleOp imported, simplified, fused;
};
using TargetFactory = std::function<absl::StatusOr<std::unique_ptr<codegen::Target>>()>;

// Runs `compiled` on the arrays of the .npz file `inputs` (named like the model's inputs) and interprets the imported
// model. Where they differ: the phase that changed the numbers, and for code generation the first kernel whose result
// differs, with a reproducer (reproducer.h).
absl::StatusOr<Verification> Verify(const VerifyStages& stages, const codegen::PlanResult& compiled,
                                    const std::string& inputs, const TargetFactory& target,
                                    bool write_reproducer = true, const VerifyTolerance& tolerance = {});

}  // namespace tcc
