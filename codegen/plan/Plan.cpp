//===- Plan.cpp - from functions of kernels and library ops to plans ------===//
#include "codegen/plan/Plan.h"

#include "codegen/plan/Cost.h"
#include "codegen/plan/Placement.h"
#include "codegen/plan/PlanBuilder.h"
#include "ir/ElementTypes.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

/// Kernels are the same for all models, and so are errors about them: what those that `message` names do in this one.
std::string withSources(std::string message, const PlanResult &result) {
  llvm::StringSet<> told;
  std::string text;
  for (const ExplainRecord &record : result.explain)
    for (const LaunchRecord &launch : record.deviceLaunches)
      if (message.find("'" + launch.symbol + "'") != std::string::npos && told.insert(launch.symbol).second)
        text += "\n  kernel '" + launch.symbol + "' is made for " + llvm::join(record.sources, ", ");
  return message + text;
}

/// Symbols up to the last one that an argument's type names are bound by the guards.
unsigned countInputSymbols(func::FuncOp function) {
  unsigned count = 0;
  for (Type type : function.getArgumentTypes())
    for (AffineExpr extent : ir::getExtents(type))
      extent.walk([&](AffineExpr part) {
        if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
          count = std::max(count, symbol.getPosition() + 1);
      });
  return count;
}

/// Folding treats `tcc.extents` as a constant and hoists it to the top of its block, above the op that determines its
/// symbols. Those of symbols that no input determines go in front of their readers, where a plan can compute them.
void sinkExtents(func::FuncOp function, unsigned numInputSymbols) {
  llvm::SmallVector<ir::ExtentsOp> all;
  function.walk([&](ir::ExtentsOp op) {
    bool late = false;
    for (AffineExpr expr : op.getValue().getExprs())
      expr.walk([&](AffineExpr part) {
        auto symbol = dyn_cast<AffineSymbolExpr>(part);
        late = late || (symbol && symbol.getPosition() >= numInputSymbols);
      });
    if (late)
      all.push_back(op);
  });
  for (ir::ExtentsOp op : all) {
    // One copy a block, in front of its first reader there.
    DenseMap<mlir::Block *, Operation *> first;
    for (Operation *user : op->getUsers()) {
      Operation *&earliest = first[user->getBlock()];
      if (!earliest || user->isBeforeInBlock(earliest))
        earliest = user;
    }
    llvm::SmallDenseMap<mlir::Block *, Value> copies;
    for (auto [block, user] : first) {
      OpBuilder builder(user);
      copies[block] = builder.clone(*op)->getResult(0);
    }
    for (OpOperand &use : llvm::make_early_inc_range(op->getUses()))
      use.set(copies[use.getOwner()->getBlock()]);
    op->erase();
  }
}

absl::StatusOr<Tensor> stringTensor(ir::StringConstantOp op) {
  absl::StatusOr<Tensor> tensor = Tensor::Allocate(DType::kString, ir::getTensorType(op.getType()).dims);
  if (!tensor.ok())
    return tensor;
  for (auto [i, text] : llvm::enumerate(op.getValue().getAsValueRange<StringAttr>()))
    if (static_cast<int64_t>(i) < tensor->num_elements())
      tensor->data_as<std::string>()[i] = text.str();
  return tensor;
}

} // namespace

std::string describeOp(Operation *op) {
  std::string mnemonic = op->getName().stripDialect().str();
  if (auto library = dyn_cast<ir::LibraryOp>(op))
    mnemonic = library.getKernel().str();
  std::string name;
  op->getLoc()->walk([&](Location location) {
    if (auto named = dyn_cast<NameLoc>(location)) {
      name = named.getName().str();
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return name.empty() ? mnemonic : name + " (" + mnemonic + ")";
}

PlanBuilder::PlanBuilder(func::FuncOp function, Target *target, const PlanOptions &options)
    : function(function), context(function.getContext()), target(target), options(options),
      registers(ir::getSymbols(function).size(), countInputSymbols(function)) {}

ValueId PlanBuilder::makeValue() {
  result.values.emplace_back();
  foreign.push_back(false);
  return static_cast<ValueId>(result.values.size()) - 1;
}

PlanBuilder::Layout PlanBuilder::rowMajorLayout(Type type) {
  Layout layout{true, true, ir::getExtents(type)};
  AffineExpr stride = getAffineConstantExpr(1, type.getContext());
  for (AffineExpr &extent : llvm::reverse(layout.strides)) {
    AffineExpr next = ir::simplifyExtent(stride * extent);
    extent = stride;
    stride = next;
  }
  return layout;
}

ValueId PlanBuilder::define(Value value, Layout layout) {
  ValueId id = makeValue();
  values[value] = id;
  layouts[id] = std::move(layout);
  return id;
}

FailureOr<ValueId> PlanBuilder::addConstant(const Tensor &tensor) {
  bool added = false;
  int32_t index = pool.add(tensor, added);
  if (added) {
    ValueId id = makeValue();
    foreign[id] = true;
    constantValues.push_back(id);
    result.plan.constants.push_back({id, tensor.dtype(), {tensor.dims().begin(), tensor.dims().end()}, 0, 0});
  }
  return constantValues[index];
}

FailureOr<ValueId> PlanBuilder::use(Value value) {
  if (auto it = values.find(value); it != values.end())
    return it->second;
  Operation *op = value.getDefiningOp();
  absl::StatusOr<Tensor> tensor = absl::InternalError("its value is used before it is made");
  if (auto constant = dyn_cast_or_null<ir::ConstantOp>(op))
    tensor = ir::toTensor(constant.getValue());
  else if (auto strings = dyn_cast_or_null<ir::StringConstantOp>(op))
    tensor = stringTensor(strings);
  if (!tensor.ok())
    return emitError(value.getLoc(), "cannot be put into a plan: ") << std::string(tensor.status().message());
  FailureOr<ValueId> id = addConstant(*tensor);
  if (succeeded(id)) {
    values[value] = *id;
    layouts[*id] = rowMajorLayout(value.getType());
  }
  return id;
}

FailureOr<Operand> PlanBuilder::emit(AffineExpr expr, Operation *op, Instructions &out) {
  if (!registers.isBound(expr)) {
    std::string text;
    llvm::raw_string_ostream(text) << expr;
    return op->emitError("the extent ") << text << " depends on a symbol that no earlier op of the plan determines";
  }
  return registers.emit(expr, out);
}

LogicalResult PlanBuilder::emitDims(Type type, Operation *op, std::vector<Operand> &dims, Instructions &out) {
  for (AffineExpr extent : ir::getExtents(type)) {
    FailureOr<Operand> operand = emit(extent, op, out);
    if (failed(operand))
      return failure();
    dims.push_back(*operand);
  }
  return success();
}

void PlanBuilder::bindSymbols(Type type, ValueId value, Instructions &out) {
  for (auto [axis, extent] : llvm::enumerate(ir::getExtents(type))) {
    auto symbol = dyn_cast<AffineSymbolExpr>(extent);
    if (!symbol || registers.isBound(symbol.getPosition()))
      continue;
    out.push_back(plan::ReadExtent{static_cast<RegisterId>(symbol.getPosition()), value, static_cast<int32_t>(axis)});
    registers.bind(symbol.getPosition());
  }
}

void PlanBuilder::bindResults(Operation *op, Instructions &out) {
  for (Value value : op->getResults())
    bindSymbols(value.getType(), values.lookup(value), out);
}

void PlanBuilder::record(Operation *op, std::string name, std::string schedule, int launches) {
  ExplainRecord entry;
  entry.name = std::move(name);
  if (auto kernel = dyn_cast<ir::KernelOp>(op)) {
    for (Attribute source : kernel.getSources())
      entry.sources.push_back(cast<StringAttr>(source).str());
  } else {
    entry.sources.push_back(describeOp(op));
  }
  entry.schedule = std::move(schedule);
  entry.launches = launches;
  Cost cost = estimateCost(op);
  entry.flops = cost.flops;
  entry.bytes = cost.bytes;
  entry.flopsText = cost.flopsText;
  entry.bytesText = cost.bytesText;
  result.explain.push_back(std::move(entry));
}

bool PlanBuilder::sharesForeignMemory(ValueId value) const {
  llvm::SmallVector<ValueId> todo = {value};
  llvm::DenseSet<ValueId> seen;
  while (!todo.empty()) {
    ValueId id = todo.pop_back_val();
    if (!seen.insert(id).second)
      continue;
    if (foreign[id])
      return true;
    llvm::append_range(todo, result.values[id].aliases);
  }
  return false;
}

LogicalResult PlanBuilder::buildReturn(func::ReturnOp op, Instructions &out) {
  llvm::DenseSet<ValueId> taken;
  for (Value value : op.getOperands()) {
    FailureOr<ValueId> id = use(value);
    if (failed(id))
      return failure();
    Layout layout = layouts.lookup(*id);
    // The caller owns its outputs: no memory of inputs, constants or other outputs, and row-major.
    if (sharesForeignMemory(*id) || taken.contains(*id) || (layout.known && !layout.rowMajor)) {
      plan::Library copy;
      copy.op = "copy";
      copy.name = "copy to output";
      copy.inputs = {*id};
      plan::Library::Result entry;
      entry.value = makeValue();
      entry.dtype = ir::getDType(cast<RankedTensorType>(value.getType()).getElementType());
      if (failed(emitDims(value.getType(), op, entry.dims, out)))
        return failure();
      result.plan.outputs.push_back(entry.value);
      copy.results.push_back(std::move(entry));
      out.push_back(std::move(copy));
      continue;
    }
    taken.insert(*id);
    result.plan.outputs.push_back(*id);
  }
  return success();
}

FailureOr<PlanResult> PlanBuilder::build() {
  if (!function.getBody().hasOneBlock())
    return function.emitError("a plan is made from a function of one block");
  Plan &plan = result.plan;
  for (BlockArgument argument : function.getArguments()) {
    if (argument.use_empty()) {
      plan.inputs.push_back(kNoValue);
      continue;
    }
    ValueId id = define(argument, {});
    foreign[id] = true;
    plan.inputs.push_back(id);
  }
  unsigned inputSymbols = countInputSymbols(function);
  sinkExtents(function, inputSymbols);
  for (unsigned i = 0; i < inputSymbols; ++i)
    plan.symbol_registers.push_back(static_cast<RegisterId>(i));

  Instructions body;
  mlir::Block &block = function.getBody().front();
  if (failed(buildBlock(block, body)) || failed(buildReturn(cast<func::ReturnOp>(block.getTerminator()), body)))
    return failure();

  plan.num_values = static_cast<int32_t>(result.values.size());
  plan.body.instructions = std::move(body);
  result.spaces = placeValues(plan, result.values, inPlace);
  for (ValueId output : plan.outputs)
    result.values[output].escapes = true;
  MemoryRequest request;
  request.values = result.values;
  request.inPlace = inPlace;
  request.symbols = ir::getSymbols(function);
  request.emitAtStart = [&](AffineExpr expr) { return registers.emitAtStart(expr); };
  request.options = options.memory;
  assignMemory(plan, request);

  Instructions start = registers.takeStart();
  start.insert(start.end(), std::make_move_iterator(plan.body.instructions.begin()),
               std::make_move_iterator(plan.body.instructions.end()));
  plan.body.instructions = std::move(start);
  plan.num_registers = registers.count();
  result.constantBytes = pool.layOut(plan.constants);
  result.constants = pool.take();
  if (target && !plan.functions.empty()) {
    llvm::Expected<CodeBundle> code = target->finish();
    if (!code)
      return function.emitError("code generation failed: ") << withSources(llvm::toString(code.takeError()), result);
    result.codeObject = std::move(code->object);
    result.images = std::move(code->images);
    result.resources = std::move(code->resources);
  }
  return std::move(result);
}

FailureOr<PlanResult> buildPlan(func::FuncOp function, Target *target, const PlanOptions &options) {
  return PlanBuilder(function, target, options).build();
}

} // namespace tcc::codegen
