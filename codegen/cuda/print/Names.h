//===- Names.h - names of the printed text ------------------------*- C++ -*-===//
#pragma once

#include <string>

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"

namespace tcc::codegen::cuda_print {

/// Gives out names that no visible one equals. Names end with their scope and may then be given out again.
class Names {
public:
  /// All names but those of loops end in `suffix`.
  explicit Names(llvm::StringRef suffix = {}) : suffix(suffix), scopes(1) {}

  /// A name of something else that is used in the text: not given out.
  void reserve(llvm::StringRef name) { used.insert(name); }

  void openScope() { scopes.emplace_back(); }
  void closeScope();

  /// `base`, or base_1, base_2, ...
  std::string role(llvm::StringRef base);
  /// base0, base1, ...
  std::string number(llvm::StringRef base);
  /// i, j, k, ...
  std::string loopIndex();

private:
  bool take(const std::string &name);

  std::string suffix;
  llvm::SmallVector<llvm::SmallVector<std::string, 8>, 4> scopes;
  llvm::StringSet<> used;
};

} // namespace tcc::codegen::cuda_print
