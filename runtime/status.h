// Status macros that Abseil's Debian version does not have.
#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

#define TCC_CONCAT_INNER(a, b) a##b
#define TCC_CONCAT(a, b) TCC_CONCAT_INNER(a, b)

// Returns from the enclosing function if `expr` (absl::Status) is an error.
#define TCC_RETURN_IF_ERROR(expr)                             \
  do {                                                        \
    if (absl::Status tcc_status = (expr); !tcc_status.ok()) { \
      return tcc_status;                                      \
    }                                                         \
  } while (false)

// TCC_ASSIGN_OR_RETURN(auto x, F()): assigns the value of an absl::StatusOr, or returns its error.
#define TCC_ASSIGN_OR_RETURN(lhs, expr) TCC_ASSIGN_OR_RETURN_IMPL(TCC_CONCAT(tcc_status_or_, __LINE__), lhs, expr)
#define TCC_ASSIGN_OR_RETURN_IMPL(var, lhs, expr) \
  auto var = (expr);                              \
  if (!var.ok()) return std::move(var).status();  \
  lhs = std::move(var).value()

namespace tcc {

// The same status with `context` before its message: "node 'conv1' (Conv): strides must be positive".
inline absl::Status WithContext(absl::string_view context, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(context, ": ", status.message()));
}

}  // namespace tcc
