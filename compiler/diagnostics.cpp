#include "compiler/diagnostics.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/LocationName.h"

namespace tcc {
namespace {

constexpr size_t kMaxMessages = 20;

}  // namespace

std::string NameOf(mlir::Location location) { return ir::nameOf(location); }

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
