//===- SplitConcats.cpp - concatenations of many operands ------------------===//
//
// A kernel that concatenates tests for each element which operand it comes from, so kernels of very many operands are
// not made, and a copy on the host would take everything there and back. A tree of smaller ones copies more, but where
// the operands are.
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "ir/transforms/Passes.h"

namespace tcc::ir {
#define GEN_PASS_DEF_SPLITCONCATSPASS
#include "ir/transforms/Passes.h.inc"

namespace {

struct SplitConcatsPass : impl::SplitConcatsPassBase<SplitConcatsPass> {
  using SplitConcatsPassBase::SplitConcatsPassBase;

  void runOnOperation() override {
    llvm::SmallVector<ConcatOp> wide;
    getOperation()->walk([&](ConcatOp op) {
      if (op.getXs().size() > mostOperands)
        wide.push_back(op);
    });
    for (ConcatOp op : wide)
      split(op);
  }

  void split(ConcatOp op) const {
    mlir::OpBuilder b(op);
    llvm::SmallVector<mlir::Value> parts(op.getXs());
    while (parts.size() > mostOperands) {
      // Groups of nearly the same number of operands.
      const size_t groups = llvm::divideCeil(parts.size(), mostOperands);
      llvm::SmallVector<mlir::Value> next;
      for (size_t i = 0, begin = 0; i < groups; ++i) {
        const size_t end = parts.size() * (i + 1) / groups;
        mlir::ValueRange group(llvm::ArrayRef(parts).slice(begin, end - begin));
        next.push_back(group.size() == 1 ? group.front() : b.create<ConcatOp>(op.getLoc(), group, op.getAxis()).getY());
        begin = end;
      }
      parts = std::move(next);
    }
    op.getXsMutable().assign(parts);
  }
};

} // namespace
} // namespace tcc::ir
