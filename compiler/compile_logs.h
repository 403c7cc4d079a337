// What TCC_LOGS shows of a compile as a whole; single passes log their own decisions.
#pragma once

#include <map>
#include <string>

#include "codegen/plan/Plan.h"
#include "mlir/IR/BuiltinOps.h"

namespace tcc {

// graph_breaks: that the model is one graph, and which control flow depends on data.
void LogGraph(const std::string& model, mlir::ModuleOp imported);

// perf_hints: what keeps the model from being faster. `fused` is what the plan was built from.
void LogHints(const std::string& model, mlir::ModuleOp fused, const codegen::PlanResult& built);

// output_code: writes the texts (by name of --emit) into a new folder, and says where they are and which function is
// which kernel.
void LogCode(const std::string& model, const std::map<std::string, std::string>& texts,
             const codegen::PlanResult& built);

}  // namespace tcc
