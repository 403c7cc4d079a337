#include "compiler/diagnostics.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/LocationName.h"

namespace tcc {
namespace {

constexpr size_t kMaxMessages = 20;

// A disk that is full, a file that may not grow: no fault of the model. (Diagnostics carry text alone.)
bool IsOfTheMachine(const std::string& message) {
  for (const int error : {ENOSPC, EFBIG, EDQUOT}) {
    if (absl::StrContains(message, std::generic_category().message(error))) return true;
  }
  return false;
}

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
  if (std::any_of(messages_.begin(), messages_.end(), IsOfTheMachine)) {
    return absl::ResourceExhaustedError(absl::StrJoin(messages_, "\n"));
  }
  return absl::UnimplementedError(absl::StrJoin(messages_, "\n"));
}

}  // namespace tcc
