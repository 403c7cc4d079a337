#include "compiler/diagnostics.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "mlir/IR/Location.h"

namespace tcc {
namespace {

constexpr size_t kMaxMessages = 20;

}  // namespace

std::string NameOf(mlir::Location location) {
  std::string name;
  location->walk([&](mlir::Location inner) {
    if (auto named = mlir::dyn_cast<mlir::NameLoc>(inner)) {
      name = named.getName().str();
      return mlir::WalkResult::interrupt();
    }
    if (auto file = mlir::dyn_cast<mlir::FileLineColLoc>(inner)) {
      name = absl::StrCat(file.getFilename().str(), ":", file.getLine(), ":", file.getColumn());
      return mlir::WalkResult::interrupt();
    }
    return mlir::WalkResult::advance();
  });
  return name;
}

DiagnosticCollector::DiagnosticCollector(mlir::MLIRContext* context)
    : handler_(context, [this](mlir::Diagnostic& diagnostic) {
        if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error) return mlir::success();
        const std::string name = NameOf(diagnostic.getLocation());
        std::string text = name.empty() ? diagnostic.str() : absl::StrCat(name, ": ", diagnostic.str());
        for (mlir::Diagnostic& note : diagnostic.getNotes()) {
          // MLIR appends the whole op, constants included.
          std::string extra = note.str();
          if (!absl::StartsWith(extra, "see current operation")) absl::StrAppend(&text, "\n  ", extra);
        }
        if (messages_.size() < kMaxMessages) messages_.push_back(std::move(text));
        return mlir::success();
      }) {}

absl::Status DiagnosticCollector::Take(absl::string_view fallback) {
  if (messages_.empty()) return absl::InternalError(fallback);
  return absl::UnimplementedError(absl::StrJoin(messages_, "\n"));
}

}  // namespace tcc
