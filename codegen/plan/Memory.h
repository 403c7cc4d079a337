//===- Memory.h - which values of a plan live where --------------*- C++ -*-===//
//
// Liveness over a plan's instructions (nested blocks included), in-place reuse, and the assignment of allocations to
// memory slots. Works on the plan alone plus what the builder knows about each value.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <functional>
#include <vector>

#include "ir/Extents.h"
#include "runtime/plan.h"

namespace tcc::codegen {

/// What the builder knows about one value of the plan.
struct ValueInfo {
  /// Bytes of a value made by Allocate, as an expression over symbols that are bound at the start of the plan; null for
  /// every other value (and for sizes that are only known later): those are on the heap.
  mlir::AffineExpr bytes;
  /// Values whose memory this one may share: the source of a view, of a move, of a library kernel that may return a
  /// view.
  llvm::SmallVector<ValueId, 2> aliases;
  /// Outlives the call, or one iteration of a loop: never in the arena.
  bool escapes = false;
  /// Row-major over all of its buffer: may be overwritten in place.
  bool whole = false;
  /// Read by an If or Loop outside of its instructions: not to be released.
  bool keep = false;
  /// A view whose elements are not in row-major order: kernels of a device cannot read it.
  bool strided = false;
};

/// `result` (an Allocate) may take over the memory of `source` if the launch between them is the last use of it.
struct InPlaceCandidate {
  ValueId result;
  ValueId source;
  /// The launch only copies `source` to `result`: it goes where they share memory.
  bool onlyCopies = false;
};

struct MemoryOptions {
  bool reuse = true; ///< false: each allocation has memory of its own (for finding bugs)
  bool inPlace = true;
};

struct MemoryRequest {
  llvm::ArrayRef<ValueInfo> values;
  llvm::ArrayRef<InPlaceCandidate> inPlace;
  mlir::ArrayAttr symbols;
  /// The operand that holds an expression over the symbols bound at the start, computed at the start.
  std::function<Operand(mlir::AffineExpr)> emitAtStart;
  MemoryOptions options;
};

/// Sets slot and offset of the plan's Allocate instructions and slot_bytes (a slot holds values of one space), turns
/// allocations into views of the memory they overwrite, and releases heap values after their last use.
void assignMemory(Plan &plan, const MemoryRequest &request);

/// For tests: the first pair of values that share bytes while both are live, as text; empty when there is none. `sizes`
/// gives the byte size of each allocated value (-1: not in the arena).
std::string findOverlap(const Plan &plan, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<ValueInfo> values);

} // namespace tcc::codegen
