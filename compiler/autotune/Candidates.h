//===- Candidates.h - a kernel compiled in several ways, to be run -*- C++ -*-===//
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codegen/cpu/CpuDescription.h"
#include "codegen/cpu/gemm/Tiles.h"
#include "ir/Dialect.h"

namespace tcc::compiler {

/// The fault of a candidate that need not be run.
inline constexpr llvm::StringLiteral kSameCode = "the same code as another";

/// One kernel with several choices of tiles: compiled into plans of their own, and run by the executor on random data
/// (constants are the model's). Not thread-safe.
class Candidates {
public:
  /// `tiles`: the first one is the default, nothing. `symbols`: values of the symbols of the kernel's function.
  Candidates(ir::KernelOp kernel, const codegen::CpuDescription &cpu,
             std::vector<std::optional<codegen::gemm::GemmTiles>> tiles, std::vector<int64_t> symbols);
  ~Candidates();

  /// Compiles and loads all candidates and compares their results with the default's. Candidates that fail are left
  /// out. False, with `why`, where nothing is left to choose from.
  bool prepare(std::string *why);
  /// Whether what was found of this kernel holds another time too: nothing failed that may do better then, as for want
  /// of memory.
  bool isLasting() const { return lasting; }

  size_t size() const { return all.size(); }
  /// Why a candidate is out of the race; empty: it is in.
  const std::string &fault(size_t i) const;

  /// One run, in seconds, with inputs that were just read, and everything else gone from the caches. Negative: failed.
  double measure(size_t i);

private:
  struct Candidate;
  struct Data;

  void compile(llvm::ArrayRef<Candidate *> group);
  bool load(Candidate &candidate);
  bool makeData(std::string *why);
  bool run(Candidate &candidate);

  ir::KernelOp kernel;
  const codegen::CpuDescription &cpu;
  std::vector<int64_t> symbols;
  bool lasting = true;
  std::vector<std::unique_ptr<Candidate>> all;
  std::unique_ptr<Data> data;
};

} // namespace tcc::compiler
