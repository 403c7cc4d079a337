#include "compiler/compile_logs.h"

#include <stdlib.h>

#include <functional>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "codegen/fusion/KernelInfo.h"
#include "codegen/plan/Cost.h"
#include "codegen/plan/Liveness.h"
#include "compiler/diagnostics.h"
#include "compiler/request.h"
#include "ir/Dialect.h"
#include "runtime/file_util.h"
#include "runtime/logs.h"

namespace tcc {
namespace {

std::string Megabytes(double bytes) { return absl::StrFormat("%.2f MB", bytes / 1e6); }

// The launches of a block and of those in it, on the host or a device: function and kernel.
void ForEachLaunch(const Block& block, const std::function<void(int32_t function, const std::string& name)>& visit) {
  for (const Instruction& instruction : block.instructions) {
    if (const auto* launch = std::get_if<plan::Launch>(&instruction)) visit(launch->function, launch->name);
    if (const auto* launch = std::get_if<plan::DeviceLaunch>(&instruction)) visit(launch->function, launch->name);
    if (const std::vector<Block>* nested = codegen::nestedBlocks(instruction)) {
      for (const Block& inner : *nested) ForEachLaunch(inner, visit);
    }
  }
}

}  // namespace

void LogGraph(const std::string& model, mlir::ModuleOp imported) {
  if (!LogEnabled("graph_breaks")) return;
  std::string text = absl::StrCat(model, ": one graph, no breaks");
  imported.walk([&](mlir::Operation* op) {
    if (mlir::isa<ir::IfOp, ir::LoopOp>(op)) {
      absl::StrAppend(&text, "\n  ", NameOf(op->getLoc()), " depends on data: the plan ",
                      mlir::isa<ir::IfOp>(op) ? "branches" : "loops");
    }
  });
  Log("graph_breaks", text);
}

void LogHints(const std::string& model, mlir::ModuleOp fused, const codegen::PlanResult& built) {
  if (!LogEnabled("perf_hints")) return;
  std::vector<std::string> hints;
  double all = 0;
  for (const codegen::ExplainRecord& record : built.explain) all += record.flops;
  for (const codegen::ExplainRecord& record : built.explain) {
    if (!record.isLibrary()) continue;
    std::string hint = absl::StrCat("library kernel: ", record.name, ": ", Megabytes(record.bytes));
    if (record.flops > 0 && all > 0)
      absl::StrAppendFormat(&hint, ", %.1f %% of the arithmetic", 100 * record.flops / all);
    hints.push_back(std::move(hint));
  }
  fused.walk([&](mlir::Operation* op) {
    if (auto library = mlir::dyn_cast<ir::LibraryOp>(op); library && library.getKernel().starts_with("dynamic_")) {
      hints.push_back(absl::StrCat("extents known only at run time: ", NameOf(op->getLoc()), " runs as ",
                                   library.getKernel().str(),
                                   "; numbers or ranges for the inputs' extents (--dynamic) may make it a view"));
    }
    auto kernel = mlir::dyn_cast<ir::KernelOp>(op);
    if (!kernel) return;
    bool strided = false;
    if (codegen::isDataMovement(kernel)) {
      kernel.getBody().walk([&](ir::LoadOp load) { strided |= codegen::walkOf(load) == codegen::Walk::Strided; });
    }
    if (strided) {
      hints.push_back(absl::StrCat("layout: ", codegen::nameOf(kernel), " only moves elements, ",
                                   Megabytes(codegen::estimateCost(op).bytes), " a call"));
    }
    mlir::Operation* contraction = codegen::getTemplate(kernel);
    if (contraction == nullptr) return;
    for (mlir::Value operand : contraction->getOperands()) {
      const ir::Exprs extents = ir::getExtents(operand.getType());
      if (!extents.empty() && !ir::getConstant(extents.back())) {
        hints.push_back(absl::StrCat("dynamic extents: ", codegen::nameOf(kernel),
                                     " has rows of varying length: tiles are chosen for a typical one"));
        break;
      }
    }
  });
  if (hints.empty()) hints.push_back("nothing to say: all kernels are generated, no transposes are left");
  Log("perf_hints", absl::StrCat(model, ":\n  ", absl::StrJoin(hints, "\n  ")));
}

void LogCode(const std::string& model, const std::map<std::string, std::string>& texts,
             const codegen::PlanResult& built) {
  if (!LogEnabled("output_code")) return;
  const char* base = ::getenv("TMPDIR");
  std::string folder = absl::StrCat(base != nullptr && *base != '\0' ? base : "/tmp", "/tcc-code-XXXXXX");
  if (::mkdtemp(folder.data()) == nullptr) return Log("output_code", absl::StrCat("cannot create ", folder));
  std::string text = model;
  for (const EmitKind& kind : kEmitKinds) {
    const auto it = texts.find(std::string(kind.name));
    if (it == texts.end()) continue;
    const std::string path = absl::StrCat(folder, "/", it->first, std::string(kind.suffix));
    const absl::Status written = WriteFileAtomically(path, it->second);
    absl::StrAppend(&text, "\n  ", written.ok() ? path : std::string(written.message()));
  }
  std::set<std::string> lines;
  ForEachLaunch(built.plan.body, [&](int32_t function, const std::string& name) {
    lines.insert(absl::StrCat(built.plan.functions[static_cast<size_t>(function)], " is ", name));
  });
  for (const std::string& line : lines) absl::StrAppend(&text, "\n  ", line);
  Log("output_code", text);
}

}  // namespace tcc
