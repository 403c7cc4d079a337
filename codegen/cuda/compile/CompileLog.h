//===- CompileLog.h - what compilers say, for people and for the report -*- C++ -*-===//
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/cuda/compile/KernelCompiler.h"

namespace tcc::codegen {

/// A message of NVRTC, ptxas or clang.
struct CompileMessage {
  std::string file;    // as the compiler was told; empty: of no line (ptxas)
  unsigned line = 0;   // from 1; 0: none
  bool error = false;  // else a warning
  std::string text;    // "error: identifier \"x\" is undefined"
  std::string details; // lines that follow: the source, notes, "detected during instantiation of ..."
};

/// Messages of a log of NVRTC, with ptxas's in it. Lines about resources (ptxas -v) are none; anything else that is not
/// understood is a warning.
std::vector<CompileMessage> parseNvrtcLog(llvm::StringRef log);
/// Likewise of clang.
std::vector<CompileMessage> parseClangLog(llvm::StringRef log);

/// What ptxas -v says of the one kernel in a module; functions it calls that are not inlined add to spills and stack.
/// Nothing where the log has no such lines.
std::optional<KernelResources> parseResources(llvm::StringRef log, llvm::StringRef kernel);

/// The messages as the user reads them: the kernel, the ops it was made from, each message with its line of the text
/// and the lines around it. `title`: "does not compile for sm_90a (NVRTC 13.0)".
std::string describeMessages(const KernelSource &kernel, llvm::StringRef title, llvm::StringRef fileName,
                             llvm::ArrayRef<CompileMessage> messages, llvm::ArrayRef<DeviceHeader> headers);

} // namespace tcc::codegen
