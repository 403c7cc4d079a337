//===- KernelEntry.h - a compiled kernel as the cache keeps it ---*- C++ -*-===//
#pragma once

#include <optional>
#include <string>

#include "codegen/cuda/compile/KernelCompiler.h"

namespace tcc::codegen {

struct KernelEntry {
  std::string bytes;
  std::optional<KernelResources> resources;
};

/// A line of JSON, then the bytes.
std::string serialize(const KernelEntry &entry);
/// Nothing for what serialize() does not write.
std::optional<KernelEntry> deserialize(llvm::StringRef text);

} // namespace tcc::codegen
