//===- PlanControl.cpp - branches and loops in plans ----------------------===//
#include "codegen/plan/PlanBuilder.h"
#include "ir/ElementTypes.h"

using namespace mlir;

namespace tcc::codegen {

void PlanBuilder::move(ValueId to, ValueId from, Instructions &out) {
  out.push_back(plan::Move{to, from});
  result.values[to].aliases.push_back(from);
  // The value outlives the block it was made in, and one iteration: not in the arena.
  result.values[to].escapes = true;
}

LogicalResult PlanBuilder::buildIf(ir::IfOp op, Instructions &out) {
  plan::If branch;
  FailureOr<ValueId> condition = use(op.getCondition());
  if (failed(condition))
    return failure();
  branch.condition = *condition;
  llvm::SmallVector<ValueId> ids;
  for (size_t i = 0; i < op->getNumResults(); ++i)
    ids.push_back(makeValue());
  for (Region &region : op->getRegions()) {
    registers.enterBlock();
    Instructions inner;
    mlir::Block &block = region.front();
    if (failed(buildBlock(block, inner)))
      return failure();
    for (auto [id, value] : llvm::zip_equal(ids, block.getTerminator()->getOperands())) {
      FailureOr<ValueId> from = use(value);
      if (failed(from))
        return failure();
      move(id, *from, inner);
    }
    registers.leaveBlock();
    branch.blocks.push_back({std::move(inner)});
  }
  for (auto [id, value] : llvm::zip_equal(ids, op->getResults()))
    values[value] = id;
  out.push_back(std::move(branch));
  bindResults(op, out);
  return success();
}

LogicalResult PlanBuilder::buildLoop(ir::LoopOp op, Instructions &out) {
  plan::Loop loop;
  mlir::Block &body = op.getBody().front();
  Operation *yield = body.getTerminator();
  size_t numCarried = op.getInitial().size();
  if (op.getTripCount()) {
    FailureOr<ValueId> trip = use(op.getTripCount());
    if (failed(trip))
      return failure();
    loop.trip_count = *trip;
  }
  if (op.getCondition()) {
    FailureOr<ValueId> initial = use(op.getCondition());
    if (failed(initial))
      return failure();
    loop.condition = makeValue();
    result.values[loop.condition].keep = true;
    move(loop.condition, *initial, out);
  }
  loop.iteration = define(body.getArgument(0), rowMajorLayout(body.getArgument(0).getType()));
  result.values[loop.iteration].keep = true;
  result.values[loop.iteration].escapes = true;

  // A carried value is one slot: the body's argument, and after the loop the result.
  llvm::SmallVector<ValueId> carried;
  for (size_t i = 0; i < numCarried; ++i) {
    FailureOr<ValueId> initial = use(op.getInitial()[i]);
    if (failed(initial))
      return failure();
    ValueId id = define(body.getArgument(1 + i), {});
    result.values[id].keep = true;
    carried.push_back(id);
    move(id, *initial, out);
  }

  registers.enterBlock();
  Instructions inner;
  for (size_t i = 0; i < numCarried; ++i)
    bindSymbols(body.getArgument(1 + i).getType(), carried[i], inner);
  if (failed(buildBlock(body, inner)))
    return failure();
  // All new values are looked up before the first slot changes; one that is itself a slot goes through a temporary.
  llvm::SmallVector<std::pair<ValueId, ValueId>> moves;
  for (size_t i = 0; i < numCarried; ++i) {
    FailureOr<ValueId> next = use(yield->getOperand(1 + i));
    if (failed(next))
      return failure();
    if (*next == carried[i])
      continue;
    ValueId from = *next;
    if (llvm::is_contained(carried, from)) {
      from = makeValue();
      move(from, *next, inner);
    }
    moves.emplace_back(carried[i], from);
  }
  for (size_t i = 1 + numCarried; i < yield->getNumOperands(); ++i) {
    Value element = yield->getOperand(i);
    FailureOr<ValueId> from = use(element);
    if (failed(from))
      return failure();
    // A slot of its own: carried values change below, and the executor reads it after the body.
    ValueId id = makeValue();
    result.values[id].keep = true;
    move(id, *from, inner);
    plan::Loop::ScanOutput scan;
    scan.element = id;
    scan.dtype = ir::getDType(cast<RankedTensorType>(element.getType()).getElementType());
    loop.scan_outputs.push_back(scan);
  }
  // It may be a carried value, as that was in this iteration.
  if (op.getCondition()) {
    FailureOr<ValueId> next = use(yield->getOperand(0));
    if (failed(next))
      return failure();
    move(loop.condition, *next, inner);
  }
  for (auto [to, from] : moves)
    move(to, from, inner);
  registers.leaveBlock();

  for (size_t i = 0; i < loop.scan_outputs.size(); ++i) {
    Value value = op->getResult(numCarried + i);
    plan::Loop::ScanOutput &scan = loop.scan_outputs[i];
    scan.result = define(value, rowMajorLayout(value.getType()));
    result.values[scan.result].keep = true;
    // Extents that only an iteration determines are 0 when there was none.
    for (AffineExpr extent : ArrayRef(ir::getExtents(value.getType())).drop_front())
      scan.dims.push_back(registers.isBound(extent) ? registers.emit(extent, out) : Operand::Imm(0));
  }
  loop.blocks.push_back({std::move(inner)});
  out.push_back(std::move(loop));
  for (size_t i = 0; i < numCarried; ++i)
    values[op->getResult(i)] = carried[i];
  bindResults(op, out);
  return success();
}

} // namespace tcc::codegen
