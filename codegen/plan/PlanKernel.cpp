//===- PlanKernel.cpp - generated kernels in plans ------------------------===//
#include "codegen/plan/PlanBuilder.h"
#include "ir/ElementTypes.h"
#include "runtime/logs.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

std::string kernelName(ir::KernelOp op) {
  std::string name;
  for (Attribute source : op.getSources()) {
    if (!name.empty())
      name += "+";
    name += cast<StringAttr>(source).getValue();
    if (name.size() > 200)
      return name + "...";
  }
  return name;
}

void logSchedule(const std::string &kernel, const KernelCode &code) {
  std::string text = kernel + ": " + code.schedule;
  llvm::raw_string_ostream stream(text);
  for (const std::string &choice : code.choices)
    stream << "\n  " << choice;
  for (const LaunchSpec &launch : code.launches)
    if (launch.device)
      stream << "\n  " << launch.function << ": blocks of " << launch.device->block[0] << " x "
             << launch.device->block[1] << " x " << launch.device->block[2] << " threads";
    else
      stream << "\n  " << launch.function << ": " << launch.items << " items, at least " << launch.grain << " a thread";
  tcc::Log("schedule", text);
}

std::string text(AffineExpr expr) {
  std::string text;
  llvm::raw_string_ostream(text) << expr;
  return text;
}

/// "12 x 4": without the ones at the end.
template <typename T, typename Text> std::string extentsText(const std::array<T, 3> &extents, Text text) {
  std::string result;
  for (const T &extent : llvm::reverse(extents)) {
    std::string one = text(extent);
    if (!result.empty() || one != "1")
      result = result.empty() ? one : one + " x " + result;
  }
  return result.empty() ? "1" : result;
}

LaunchRecord describe(const LaunchSpec &spec) {
  const DeviceLaunch &device = *spec.device;
  LaunchRecord record;
  record.symbol = spec.function;
  record.grid = extentsText(device.grid, [](AffineExpr extent) { return extent ? text(extent) : "1"; });
  record.block = extentsText(device.block, [](int extent) { return std::to_string(extent); });
  if (device.sharedBytes && ir::getConstant(device.sharedBytes) != 0)
    record.shared = text(device.sharedBytes);
  record.threads = device.block[0] * device.block[1] * device.block[2];
  record.sharedBytes = device.sharedBytes ? ir::getConstant(device.sharedBytes) : 0;
  return record;
}

} // namespace

LogicalResult PlanBuilder::buildKernel(ir::KernelOp op, Instructions &out) {
  if (!target)
    return op->emitError("is a kernel, but the plan is made for library calls only");
  llvm::SmallVector<ElementsAttr> constants;
  for (Value input : op.getInputs()) {
    auto constant = input.getDefiningOp<ir::ConstantOp>();
    constants.push_back(constant ? constant.getValue() : ElementsAttr());
  }
  FailureOr<KernelCode> code = target->addKernel(op, constants);
  return failed(code) ? failure() : buildCode(op, *code, kernelName(op), out);
}

LogicalResult PlanBuilder::buildLibraryKernel(Operation *op, Instructions &out) {
  FailureOr<KernelCode> code = target->addLibraryKernel(op);
  return failed(code) ? failure() : buildCode(op, *code, describeOp(op), out);
}

LogicalResult PlanBuilder::buildCode(Operation *op, const KernelCode &code, const std::string &name,
                                     Instructions &out) {
  if (code.launches.empty())
    return op->emitError("has no schedule, though the target said that it does");
  if (tcc::LogEnabled("schedule"))
    logSchedule(name, code);

  llvm::SmallVector<ValueId> buffers;
  for (auto [i, input] : llvm::enumerate(op->getOperands())) {
    if (llvm::is_contained(code.unusedInputs, static_cast<int32_t>(i))) {
      buffers.push_back(kNoValue);
      continue;
    }
    FailureOr<ValueId> id = use(input);
    if (failed(id))
      return failure();
    buffers.push_back(*id);
  }
  size_t numInputs = buffers.size();
  std::vector<LaunchRecord> deviceLaunches;
  ValueId extents = kNoValue;
  if (code.findLaunches > 0) {
    FailureOr<ValueId> found = findExtents(op, code, name, buffers, deviceLaunches, out);
    if (failed(found))
      return failure();
    extents = *found;
  }
  auto allocate = [&](plan::Allocate allocation, ValueId value, AffineExpr bytes) {
    allocation.result = value;
    if (registers.isKnownAtStart(bytes))
      result.values[value].bytes = bytes;
    buffers.push_back(value);
    out.push_back(std::move(allocation));
  };
  auto room = [&](size_t position) {
    return position < code.capacities.size() ? code.capacities[position] : AffineExpr();
  };
  for (Value value : op->getResults()) {
    auto type = cast<RankedTensorType>(value.getType());
    plan::Allocate allocation;
    allocation.dtype = ir::getDType(type.getElementType());
    AffineExpr count = room(buffers.size() - numInputs);
    ValueId id;
    if (count) {
      // The result will be a view of this.
      FailureOr<Operand> elements = emit(count, op, out);
      if (failed(elements))
        return failure();
      allocation.dims = {*elements};
      id = makeValue();
    } else {
      if (failed(emitDims(type, op, allocation.dims, out)))
        return failure();
      id = define(value, rowMajorLayout(type));
      count = ir::product(context, ir::getExtents(type));
    }
    result.values[id].whole = true;
    allocate(std::move(allocation), id, ir::simplifyExtent((count * DTypeBits(allocation.dtype)).ceilDiv(8)));
  }
  for (auto [i, bytes] : llvm::enumerate(code.temporaryBytes)) {
    if (extents != kNoValue && static_cast<int32_t>(i) == code.found) {
      buffers.push_back(extents);
      continue;
    }
    plan::Allocate allocation;
    bool isFound = static_cast<int32_t>(i) == code.found;
    allocation.dtype = isFound ? DType::kI64 : DType::kU8;
    FailureOr<Operand> size = isFound ? FailureOr<Operand>(Operand::Imm(1)) : emit(bytes, op, out);
    if (failed(size))
      return failure();
    allocation.dims = {*size};
    allocate(std::move(allocation), makeValue(), bytes);
  }
  for (const ConstantBlob &blob : code.constants) {
    FailureOr<ValueId> id = addConstant(blob.tensor);
    if (failed(id))
      return failure();
    buffers.push_back(*id);
  }
  for (auto [to, from] : code.inPlace)
    if (buffers[from] != kNoValue)
      inPlace.push_back({buffers[numInputs + to], buffers[from],
                         llvm::any_of(code.copies, [&, to = to](auto &copy) { return copy.second == to; })});

  for (auto [position, spec] : llvm::enumerate(code.launches)) {
    if (static_cast<int32_t>(position) < code.findLaunches)
      continue;
    bool copies =
        llvm::any_of(code.copies, [at = position](auto &copy) { return copy.first == static_cast<int32_t>(at); });
    FailureOr<LaunchOperands> operands = emitLaunch(op, spec, buffers, out);
    if (failed(operands))
      return failure();
    if (spec.device) {
      FailureOr<plan::DeviceLaunch> launch = emitDeviceLaunch(op, *spec.device, std::move(*operands), out);
      if (failed(launch))
        return failure();
      launch->name = name;
      launch->copies = copies;
      out.push_back(std::move(*launch));
      deviceLaunches.push_back(describe(spec));
      continue;
    }
    FailureOr<Operand> items = emit(spec.items, op, out);
    FailureOr<Operand> scratch =
        spec.scratchBytes ? emit(spec.scratchBytes, op, out) : FailureOr<Operand>(Operand::Imm(0));
    if (failed(items) || failed(scratch))
      return failure();
    out.push_back(plan::Launch{operands->function, std::move(operands->buffers), std::move(operands->scalars), *items,
                               spec.grain, *scratch, name, copies});
  }
  record(op, name, code.schedule, static_cast<int>(code.launches.size()));
  result.explain.back().deviceLaunches = std::move(deviceLaunches);

  if (code.found >= 0 && extents == kNoValue)
    return viewFound(op, code, llvm::ArrayRef(buffers).drop_front(numInputs), out);
  bindResults(op, out);
  return success();
}

// The launches that find out extents, and the numbers that they leave.
FailureOr<ValueId> PlanBuilder::findExtents(Operation *op, const KernelCode &code, const std::string &name,
                                            ArrayRef<ValueId> inputs, std::vector<LaunchRecord> &records,
                                            Instructions &out) {
  int64_t axes = 0;
  for (Type type : op->getResultTypes())
    axes += cast<RankedTensorType>(type).getRank();
  plan::Allocate allocation;
  allocation.dtype = DType::kI64;
  allocation.dims = {Operand::Imm(std::max<int64_t>(axes, 1))};
  ValueId found = allocation.result = makeValue();
  result.values[found].bytes = getAffineConstantExpr(8 * std::max<int64_t>(axes, 1), context);
  out.push_back(std::move(allocation));
  llvm::SmallVector<ValueId> buffers(inputs);
  buffers.append(op->getNumResults() + code.temporaryBytes.size(), kNoValue);
  buffers[inputs.size() + op->getNumResults() + code.found] = found;
  for (const LaunchSpec &spec : llvm::ArrayRef(code.launches).take_front(code.findLaunches)) {
    FailureOr<LaunchOperands> operands = emitLaunch(op, spec, buffers, out);
    if (failed(operands))
      return failure();
    FailureOr<plan::DeviceLaunch> launch = emitDeviceLaunch(op, *spec.device, std::move(*operands), out);
    if (failed(launch))
      return failure();
    launch->name = name;
    out.push_back(std::move(*launch));
    records.push_back(describe(spec));
  }
  // Symbols that are found out here first: others of the extents may be made of them.
  llvm::DenseSet<int64_t> bound;
  int64_t position = 0;
  for (Type type : op->getResultTypes())
    for (AffineExpr extent : ir::getExtents(type)) {
      auto symbol = dyn_cast<AffineSymbolExpr>(extent);
      if (symbol && !registers.isBound(symbol.getPosition())) {
        out.push_back(plan::ReadElement{static_cast<RegisterId>(symbol.getPosition()), found, position});
        registers.bind(symbol.getPosition());
        bound.insert(position);
      }
      ++position;
    }
  position = 0;
  for (Type type : op->getResultTypes())
    for (auto [axis, extent] : llvm::enumerate(ir::getExtents(type))) {
      if (bound.contains(position)) {
        ++position;
        continue;
      }
      RegisterId number = registers.makeRegister();
      out.push_back(plan::ReadElement{number, found, position++});
      FailureOr<Operand> wanted = emit(extent, op, out);
      if (failed(wanted))
        return failure();
      out.push_back(
          plan::CheckEqual{Operand::Reg(number), *wanted,
                           name + ": the extent of axis " + std::to_string(axis) + " is not that of the model"});
    }
  return found;
}

// The extent that the code has found out is read, and results are as much of their memory as it says.
LogicalResult PlanBuilder::viewFound(Operation *op, const KernelCode &code, ArrayRef<ValueId> buffers,
                                     Instructions &out) {
  for (Type type : op->getResultTypes())
    for (AffineExpr extent : ir::getExtents(type)) {
      auto symbol = dyn_cast<AffineSymbolExpr>(extent);
      if (!symbol || registers.isBound(symbol.getPosition()))
        continue;
      out.push_back(plan::ReadElement{static_cast<RegisterId>(symbol.getPosition()),
                                      buffers[op->getNumResults() + code.found], 0});
      registers.bind(symbol.getPosition());
    }
  for (auto [position, value] : llvm::enumerate(op->getResults())) {
    if (position >= code.capacities.size() || !code.capacities[position])
      continue;
    plan::View view;
    view.source = buffers[position];
    view.offset = Operand::Imm(0);
    if (failed(emitDims(value.getType(), op, view.dims, out)))
      return failure();
    view.result = define(value, rowMajorLayout(value.getType()));
    result.values[view.result].aliases.push_back(view.source);
    out.push_back(std::move(view));
  }
  return success();
}

FailureOr<PlanBuilder::LaunchOperands> PlanBuilder::emitLaunch(Operation *op, const LaunchSpec &spec,
                                                               ArrayRef<ValueId> buffers, Instructions &out) {
  LaunchOperands operands;
  auto [function, added] = functions.try_emplace(spec.function, static_cast<int32_t>(result.plan.functions.size()));
  if (added)
    result.plan.functions.push_back(spec.function);
  operands.function = function->second;
  for (int32_t position : spec.buffers) {
    if (position < 0 || position >= static_cast<int32_t>(buffers.size()) || buffers[position] == kNoValue)
      return op->emitError("the launch of ")
             << spec.function << " names buffer " << position << ", which it does not have";
    operands.buffers.push_back(buffers[position]);
  }
  for (unsigned symbol : spec.symbols) {
    FailureOr<Operand> scalar = emit(getAffineSymbolExpr(symbol, context), op, out);
    if (failed(scalar))
      return failure();
    operands.scalars.push_back(*scalar);
  }
  return operands;
}

FailureOr<plan::DeviceLaunch> PlanBuilder::emitDeviceLaunch(Operation *op, const DeviceLaunch &spec,
                                                            LaunchOperands operands, Instructions &out) {
  plan::DeviceLaunch launch;
  launch.function = operands.function;
  launch.buffers = std::move(operands.buffers);
  launch.scalars = std::move(operands.scalars);
  for (auto [axis, extent] : llvm::enumerate(spec.grid)) {
    FailureOr<Operand> blocks = extent ? emit(extent, op, out) : FailureOr<Operand>(Operand::Imm(1));
    if (failed(blocks))
      return failure();
    launch.grid[axis] = *blocks;
    launch.block[axis] = spec.block[axis];
  }
  FailureOr<Operand> shared = spec.sharedBytes ? emit(spec.sharedBytes, op, out) : FailureOr<Operand>(Operand::Imm(0));
  if (failed(shared))
    return failure();
  launch.shared_bytes = *shared;
  launch.reports_errors = spec.reportsErrors;
  if (spec.counters) {
    FailureOr<Operand> counters = emit(spec.counters, op, out);
    if (failed(counters))
      return failure();
    launch.counters = *counters;
  }
  for (const TensorMap &from : spec.tensorMaps) {
    plan::TensorMap &map = launch.tensor_maps.emplace_back();
    map.buffer = from.buffer;
    map.element_bytes = from.elementBytes;
    map.swizzle = from.swizzle;
    map.box.assign(from.box.begin(), from.box.end());
    for (AffineExpr extent : from.extents) {
      FailureOr<Operand> value = emit(extent, op, out);
      if (failed(value))
        return failure();
      map.extents.push_back(*value);
    }
    for (AffineExpr stride : from.strides) {
      FailureOr<Operand> value = emit(stride, op, out);
      if (failed(value))
        return failure();
      map.strides.push_back(*value);
    }
  }
  return launch;
}

} // namespace tcc::codegen
