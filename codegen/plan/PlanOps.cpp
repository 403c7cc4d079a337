//===- PlanOps.cpp - level-1 ops in plans: views and library calls --------===//
#include "codegen/plan/PlanBuilder.h"
#include "ir/ElementTypes.h"
#include "ir/OpAttributes.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

bool isPacked(Type tensor) { return tcc::IsPacked(ir::getDType(cast<RankedTensorType>(tensor).getElementType())); }

} // namespace

LogicalResult PlanBuilder::buildBlock(mlir::Block &block, Instructions &out) {
  for (Operation &op : block.without_terminator())
    if (failed(buildOp(&op, out)))
      return failure();
  return success();
}

LogicalResult PlanBuilder::buildOp(Operation *op, Instructions &out) {
  // Constants are taken into the plan by their first reader.
  if (isa<ir::ConstantOp, ir::StringConstantOp>(op))
    return success();
  if (auto extents = dyn_cast<ir::ExtentsOp>(op))
    return buildExtents(extents, out);
  if (auto kernel = dyn_cast<ir::KernelOp>(op))
    return buildKernel(kernel, out);
  if (auto branch = dyn_cast<ir::IfOp>(op))
    return buildIf(branch, out);
  if (auto loop = dyn_cast<ir::LoopOp>(op))
    return buildLoop(loop, out);
  if (!isa_and_nonnull<ir::TCCDialect>(op->getDialect()))
    return op->emitError("is no op of the tcc dialect: it cannot be in a plan");
  FailureOr<bool> view = tryView(op, out);
  if (succeeded(view) && !*view && target && target->hasOwnMemory())
    view = tryDynamicReshape(op, out);
  if (failed(view))
    return failure();
  if (*view)
    return success();
  return target && target->hasLibraryKernel(op) ? buildLibraryKernel(op, out) : buildLibrary(op, out);
}

LogicalResult PlanBuilder::buildExtents(ir::ExtentsOp op, Instructions &out) {
  plan::MakeTensor make;
  auto type = cast<RankedTensorType>(op.getType());
  make.dtype = ir::getDType(type.getElementType());
  make.dims.assign(type.getShape().begin(), type.getShape().end());
  for (AffineExpr expr : op.getValue().getExprs()) {
    FailureOr<Operand> element = emit(expr, op, out);
    if (failed(element))
      return failure();
    make.elements.push_back(*element);
  }
  make.result = define(op.getResult(), rowMajorLayout(type));
  out.push_back(std::move(make));
  return success();
}

LogicalResult PlanBuilder::emitView(Operation *op, ValueId source, const ir::Exprs &strides, AffineExpr offset,
                                    Instructions &out) {
  plan::View view;
  view.source = source;
  Type type = op->getResult(0).getType();
  if (failed(emitDims(type, op, view.dims, out)))
    return failure();
  bool rowMajor = strides.empty();
  Layout layout = rowMajor ? rowMajorLayout(type) : Layout{true, false, strides, source, offset};
  for (AffineExpr stride : strides) {
    FailureOr<Operand> operand = emit(stride, op, out);
    if (failed(operand))
      return failure();
    view.strides.push_back(*operand);
  }
  FailureOr<Operand> start = emit(offset, op, out);
  if (failed(start))
    return failure();
  view.offset = *start;
  ir::Exprs dense = rowMajorLayout(type).strides;
  view.result = define(op->getResult(0), std::move(layout));
  ValueInfo &info = result.values[view.result];
  // (The stride along an axis of one element is never taken.)
  for (auto [extent, stride, wanted] : llvm::zip(ir::getExtents(type), strides, dense))
    info.strided |= stride != wanted && ir::getConstant(extent) != 1;
  info.aliases.push_back(source);
  info.whole = rowMajor && result.values[source].whole;
  out.push_back(std::move(view));
  return success();
}

FailureOr<bool> PlanBuilder::tryView(Operation *op, Instructions &out) {
  if (!isa<ir::ReshapeOp, ir::TransposeOp, ir::BroadcastOp, ir::SliceOp>(op))
    return false;
  FailureOr<ValueId> source = use(op->getOperand(0));
  if (failed(source))
    return failure();
  Layout layout = layouts.lookup(*source);
  Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
  // An extent that only this op determines cannot be that of a view.
  if (!llvm::all_of(ir::getExtents(to), [&](AffineExpr extent) { return registers.isBound(extent); }))
    return false;
  AffineExpr offset = getAffineConstantExpr(0, context);
  if (isa<ir::ReshapeOp>(op)) {
    if (!layout.rowMajor)
      return false;
    return failed(emitView(op, *source, {}, offset, out)) ? FailureOr<bool>(failure()) : FailureOr<bool>(true);
  }
  if (!layout.known || isPacked(from))
    return false;

  if (layout.base != kNoValue) {
    source = layout.base;
    offset = layout.offset;
  }
  ir::Exprs strides;
  ir::Exprs fromExtents = ir::getExtents(from), toExtents = ir::getExtents(to);
  if (auto transpose = dyn_cast<ir::TransposeOp>(op)) {
    for (int64_t axis : transpose.getPermutation())
      strides.push_back(layout.strides[axis]);
  } else if (isa<ir::BroadcastOp>(op)) {
    size_t lead = toExtents.size() - fromExtents.size();
    strides.assign(lead, getAffineConstantExpr(0, context));
    for (size_t i = 0; i < fromExtents.size(); ++i) {
      bool repeats = fromExtents[i] != toExtents[lead + i];
      strides.push_back(repeats ? getAffineConstantExpr(0, context) : layout.strides[i]);
    }
  } else {
    auto slice = cast<ir::SliceOp>(op);
    for (auto [start, step, stride] : llvm::zip_equal(slice.getStarts().getExprs(), slice.getSteps(), layout.strides)) {
      if (!registers.isBound(start))
        return false;
      offset = ir::simplifyExtent(offset + start * stride);
      strides.push_back(ir::simplifyExtent(stride * step));
    }
  }
  // A rank-0 view has no strides, which reads as row-major: it is.
  return failed(emitView(op, *source, strides, offset, out)) ? FailureOr<bool>(failure()) : FailureOr<bool>(true);
}

LogicalResult PlanBuilder::buildLibrary(Operation *op, Instructions &out) {
  plan::Library call;
  absl::StatusOr<Attributes> attributes = ir::getAttributes(op, nullptr);
  if (!attributes.ok())
    return op->emitError(std::string(attributes.status().message()));
  call.op = ir::getKernelName(op).str();
  call.attributes = *std::move(attributes);
  call.name = describeOp(op);
  auto library = dyn_cast<ir::LibraryOp>(op);
  for (NamedAttribute attribute : library ? library.getConfig() : op->getAttrDictionary()) {
    auto exprs = dyn_cast<ir::ExtentsAttr>(attribute.getValue());
    if (!exprs || exprs.getConstants())
      continue;
    std::vector<Operand> operands;
    for (AffineExpr expr : exprs.getExprs()) {
      FailureOr<Operand> operand = emit(expr, op, out);
      if (failed(operand))
        return failure();
      operands.push_back(*operand);
    }
    call.int_lists.emplace_back(attribute.getName().str(), std::move(operands));
  }
  for (Value input : op->getOperands()) {
    FailureOr<ValueId> id = use(input);
    if (failed(id))
      return failure();
    call.inputs.push_back(*id);
  }
  // Absent optional operands: ours are always the last ones; those of a long-tail kernel are listed, in ascending
  // order.
  if (library)
    for (int64_t position : library.getAbsent())
      call.inputs.insert(call.inputs.begin() + std::min<size_t>(position, call.inputs.size()), kNoValue);
  for (Value value : op->getResults()) {
    auto type = cast<RankedTensorType>(value.getType());
    plan::Library::Result entry;
    entry.dtype = ir::getDType(type.getElementType());
    for (AffineExpr extent : ir::getExtents(type)) {
      // What the kernel finds out gets bound after it.
      if (isa<AffineSymbolExpr>(extent) && !registers.isBound(extent)) {
        entry.dims.push_back(Operand::Imm(-1));
        continue;
      }
      FailureOr<Operand> operand = emit(extent, op, out);
      if (failed(operand))
        return failure();
      entry.dims.push_back(*operand);
    }
    // Memory of its own, whatever the kernel returns: the executor sees to it.
    entry.value = define(value, rowMajorLayout(type));
    call.results.push_back(std::move(entry));
  }
  record(op, call.name, "", 1);
  out.push_back(std::move(call));
  bindResults(op, out);
  return success();
}

} // namespace tcc::codegen
