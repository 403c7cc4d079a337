//===- SiblingPlace.h - where two kernels can stand as one -------*- C++ -*-===//
#pragma once

#include <string>

#include "ir/Extents.h"
#include "llvm/ADT/DenseMap.h"

namespace tcc::codegen {

/// The ops of a block, numbered once: how far apart two are, without counting. A merged kernel takes over a number.
class OpPositions {
public:
  OpPositions() = default;
  explicit OpPositions(mlir::Block &block) {
    for (mlir::Operation &op : block)
      positions[&op] = positions.size();
  }
  unsigned of(mlir::Operation *op) const { return positions.lookup(op); }
  void copy(mlir::Operation *from, mlir::Operation *to) {
    unsigned position = of(from);
    positions[to] = position;
  }

private:
  llvm::DenseMap<mlir::Operation *, unsigned> positions;
};

/// The op before which (or at whose place) a kernel can stand that does the work of both: `first` comes before `second`
/// in their block, and they read `sharedBytes` twice. Null, and why, if the second needs the first other than by
/// reading its results itself, or if memory would be held for too long.
mlir::Operation *placeOfSiblings(ir::KernelOp first, ir::KernelOp second, double sharedBytes,
                                 const OpPositions &positions, std::string &why);

/// Moves constants and views that the kernel reads before it.
void moveInputs(ir::KernelOp merged);

} // namespace tcc::codegen
