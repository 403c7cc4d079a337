//===- Cubin.h - what a cubin says of its kernels ------------------*- C++ -*-===//
#pragma once

#include <optional>

#include "codegen/cuda/compile/KernelCompiler.h"

namespace tcc::codegen {

/// Registers, stack, static shared memory and the bound on threads, from the sections of a cubin (.nv.info, an ELF note
/// format that cuobjdump --dump-elf shows; unchanged from sm_70 to sm_120). Spills are not in it: they are part of the
/// stack. Nothing where there is no such kernel, or the bytes are no cubin.
std::optional<KernelResources> readCubin(llvm::StringRef cubin, llvm::StringRef kernel);

} // namespace tcc::codegen
