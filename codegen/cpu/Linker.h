//===- Linker.h - object files to a freestanding shared object ----*- C++ -*-===//
#pragma once

#include <string>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tcc::codegen {

using ObjectBytes = llvm::SmallVector<char, 0>;

/// Names that the objects use and none of them defines, sorted.
llvm::Expected<std::vector<std::string>> undefinedSymbols(llvm::ArrayRef<ObjectBytes> objects);

/// Links in process with lld and checks the result with checkFreestanding. Any thread may call: calls wait for one
/// another, because lld keeps global state.
llvm::Expected<std::string> linkSharedObject(llvm::ArrayRef<ObjectBytes> objects);

/// That a shared object can be loaded without its loader doing anything but relocate it: no dependencies, no undefined
/// symbols, no thread-local storage, no constructors or destructors.
llvm::Error checkFreestanding(llvm::StringRef sharedObject);

} // namespace tcc::codegen
