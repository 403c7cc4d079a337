//===- IndexPromise.cpp ---------------------------------------------------===//
#include "codegen/cuda/print/IndexPromise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tcc::codegen::cuda_print {

bool IndexPromise::all(ValueRange values) {
  return llvm::all_of(values, [&](Value value) { return covers(value); });
}

bool IndexPromise::covers(Value value) {
  auto [it, isNew] = known.try_emplace(value, false);
  if (!isNew)
    return it->second;
  bool result = compute(value);
  known[value] = result;
  return result;
}

bool IndexPromise::compute(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op) {
    auto argument = cast<BlockArgument>(value);
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(parent))
      return value == loop.getInductionVar() && all({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()});
    return isa<func::FuncOp>(parent) && value.getType().isIndex();
  }
  if (isa<arith::ConstantOp, gpu::ThreadIdOp, gpu::BlockIdOp, gpu::BlockDimOp, gpu::GridDimOp, gpu::GlobalIdOp,
          gpu::LaneIdOp, gpu::SubgroupSizeOp>(op))
    return true;
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::ExtUIOp>(op))
    return covers(op->getOperand(0));
  if (!value.getType().isIndex())
    return false;
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return all({select.getTrueValue(), select.getFalseValue()});
  // Whatever is divided, the rest is below the divisor.
  if (isa<arith::RemUIOp, arith::RemSIOp>(op))
    return covers(op->getOperand(1));
  // A number from memory between two limits.
  auto clamped = [&](Value inner, Value limit) {
    Operation *definition = inner.getDefiningOp();
    if (!definition || definition->getName() == op->getName() || !isa<arith::MinSIOp, arith::MaxSIOp>(definition) ||
        !covers(limit))
      return false;
    return covers(definition->getOperand(0)) || covers(definition->getOperand(1));
  };
  if (isa<arith::MinSIOp, arith::MaxSIOp>(op) &&
      (clamped(op->getOperand(0), op->getOperand(1)) || clamped(op->getOperand(1), op->getOperand(0))))
    return true;
  if (isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp,
          arith::CeilDivSIOp, arith::CeilDivUIOp, arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp, arith::MaxUIOp,
          arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::ShLIOp, arith::ShRUIOp, arith::ShRSIOp>(op))
    return all(op->getOperands());
  return false;
}

} // namespace tcc::codegen::cuda_print
