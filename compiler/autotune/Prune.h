//===- Prune.h - candidates that need not be run ----------------*- C++ -*-===//
#pragma once

#include <string>
#include <vector>

#include "codegen/Target.h"

namespace tcc::compiler {

/// A launch with its numbers.
struct LaunchFigures {
  std::string symbol;
  int64_t blocks = 1;
  int threads = 1;
  int64_t dynamicShared = 0;
};

/// Why a candidate is not worth a run on a device of this architecture, as the assembler reports its kernels: it spills
/// registers, it cannot be launched (and what there is too little of), or its blocks leave a multiprocessor with fewer
/// than four warps where the grid has more to give. Empty: it is, or nothing is known.
std::string pruneByResources(const std::vector<LaunchFigures> &launches,
                             const std::vector<codegen::ImageResources> &resources, const std::string &arch,
                             int multiprocessors);

} // namespace tcc::compiler
