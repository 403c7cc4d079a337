//===- Optimizer.h - LLVM IR to object files ----------------------*- C++ -*-===//
#pragma once

#include <memory>
#include <string>

#include "codegen/cpu/CpuDescription.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace tcc::codegen {

/// A target machine for a processor. Each thread needs one of its own.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>> makeTargetMachine(const CpuDescription &cpu);

/// Optimises a module for the processor, in place.
void optimizeModule(llvm::Module &module, llvm::TargetMachine &machine, const CpuDescription &cpu);

/// Makes an object file, or assembly text. The module is used up.
llvm::Expected<llvm::SmallVector<char, 0>> emitObject(llvm::Module &module, llvm::TargetMachine &machine,
                                                      bool assembly = false);

} // namespace tcc::codegen
