//===- LocationName.cpp ---------------------------------------------------===//
#include "ir/LocationName.h"

#include "absl/strings/str_cat.h"

namespace tcc::ir {

std::string nameOf(mlir::Location location) {
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

} // namespace tcc::ir
