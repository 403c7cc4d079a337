//===- RuntimeFunctions.h - what LLVM calls without being asked ---*- C++ -*-===//
#pragma once

#include <memory>
#include <string>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace tcc::codegen {

/// A module that defines (hidden) those of memset, memcpy, memmove, and of the conversions of half and bfloat16 that
/// LLVM emits calls to. An error names what it does not have.
llvm::Expected<std::unique_ptr<llvm::Module>> makeRuntimeFunctions(llvm::LLVMContext &context,
                                                                   llvm::ArrayRef<std::string> names);

} // namespace tcc::codegen
