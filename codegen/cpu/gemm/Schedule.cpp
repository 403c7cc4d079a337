//===- Schedule.cpp -------------------------------------------------------===//
#include "codegen/cpu/gemm/Schedule.h"

#include "ir/Extents.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace tcc::codegen::gemm {

int64_t grainOf(double itemFlops) {
  // Some 10 microseconds of one core.
  return std::max<int64_t>(1, static_cast<int64_t>(1e6 / std::max(1.0, itemFlops)));
}

Machine machineOf(const CpuDescription &cpu) {
  return {cpu.vectorBits, cpu.numVectorRegisters, cpu.l1Bytes, cpu.l2Bytes};
}

static bool supportedElement(Type element) {
  return isa<Float32Type, Float64Type, Float16Type, BFloat16Type>(element) ||
         (isa<IntegerType>(element) && llvm::is_contained({8u, 16u, 32u, 64u}, element.getIntOrFloatBitWidth()));
}

static bool supported(const TemplateKernel &kernel) {
  // Bools are fine in prologue and epilogue, not in the product; nor are types without arithmetic.
  for (Value operand : kernel.op->getOperands().take_front(2))
    if (!supportedElement(cast<RankedTensorType>(operand.getType()).getElementType()))
      return false;
  if (!supportedElement(kernel.resultElement()))
    return false;
  for (BlockArgument argument : kernel.kernel.getBody().getArguments()) {
    Type element = cast<RankedTensorType>(argument.getType()).getElementType();
    if (!supportedElement(element) && !element.isInteger(1))
      return false;
  }
  if (isa<ir::ConvOp, ir::ConvTransposeOp>(kernel.op))
    return canScheduleConv(kernel);
  if (isa<ir::AttentionOp>(kernel.op))
    return canScheduleAttention(kernel);
  return true;
}

bool canSchedule(ir::KernelOp kernel) {
  auto found = TemplateKernel::analyze(kernel);
  return found && supported(*found);
}

FailureOr<KernelCode> schedule(ir::KernelOp kernel, ConstantInputs constants, const ScheduleOptions &options,
                               Backend &backend) {
  auto found = TemplateKernel::analyze(kernel);
  if (!found || !supported(*found))
    return kernel.emitError(
        "no CPU schedule for this kernel: its template op, or an op fused with it, is of a form that the "
        "templates do not know");
  ScheduleOptions effective = options;
  if (!effective.tiles)
    effective.tiles = getTiles(kernel);
  KernelBuilder builder(*found, constants, effective, backend);
  if (isa<ir::MatmulOp>(found->op))
    return scheduleMatmul(builder);
  if (isa<ir::AttentionOp>(found->op))
    return scheduleAttention(builder);
  return scheduleConv(builder);
}

CpuTemplate templateSchedule(ScheduleOptions options) {
  return {"template", [](ir::KernelOp kernel, const CpuDescription &) { return canSchedule(kernel); },
          [options](ir::KernelOp kernel, ConstantInputs constants, Backend &backend) {
            return schedule(kernel, constants, options, backend);
          }};
}

std::vector<GemmTiles> scheduleCandidates(ir::KernelOp kernel, const CpuDescription &cpu) {
  auto found = TemplateKernel::analyze(kernel);
  if (!found || !supported(*found))
    return {};
  std::optional<GemmShape> shape;
  if (isa<ir::MatmulOp>(found->op))
    shape = shapeOfMatmul(*found);
  else if (isa<ir::ConvOp, ir::ConvTransposeOp>(found->op))
    shape = shapeOfConv(*found);
  return shape ? candidateTiles(*shape, machineOf(cpu)) : std::vector<GemmTiles>();
}

static constexpr llvm::StringLiteral kTiles = "tcc.gemm_tiles";

void setTiles(ir::KernelOp kernel, const GemmTiles &tiles) {
  kernel->setAttr(kTiles, DenseI64ArrayAttr::get(kernel.getContext(), {tiles.lanes, tiles.rows, tiles.vectors,
                                                                       tiles.rowTiles, tiles.panels, tiles.kBlock}));
}

/// The attribute may come from a file: sizes of which code and scratch memory can be made.
static bool areReasonable(const GemmTiles &tiles) {
  constexpr int64_t kMostRows = 64, kMostVectors = 16, kMostLanes = 64, kMostSide = 1 << 24, kMostDepth = 1 << 20;
  auto within = [](int64_t value, int64_t limit) { return value >= 1 && value <= limit; };
  return within(tiles.lanes, kMostLanes) && within(tiles.rows, kMostRows) && within(tiles.vectors, kMostVectors) &&
         within(tiles.rowTiles, kMostSide / tiles.rows) && within(tiles.panels, kMostSide / tiles.panelWidth()) &&
         within(tiles.kBlock, kMostDepth) && tiles.kBlock % tiles.lanes == 0;
}

std::optional<GemmTiles> getTiles(ir::KernelOp kernel) {
  auto attribute = kernel->getAttrOfType<DenseI64ArrayAttr>(kTiles);
  if (!attribute || attribute.size() != 6)
    return std::nullopt;
  GemmTiles tiles{attribute[0], attribute[1], attribute[2], attribute[3], attribute[4], attribute[5]};
  return areReasonable(tiles) ? std::optional(tiles) : std::nullopt;
}

KernelBuilder::KernelBuilder(const TemplateKernel &kernel, ConstantInputs constants, const ScheduleOptions &options,
                             Backend &backend)
    : kernel(kernel), constants(constants), options(options), machine(machineOf(backend.cpu())), backend(backend) {
  for (BlockArgument argument : kernel.kernel.getBody().getArguments())
    elements.push_back(storageType(cast<RankedTensorType>(argument.getType()).getElementType()));
  for (const Output &output : kernel.outputs)
    elements.push_back(storageType(cast<RankedTensorType>(output.tensor.getType()).getElementType()));
}

int KernelBuilder::addTemporary(AffineExpr count, Type element) {
  assert(code.constants.empty() && "temporaries come before constants");
  code.temporaryBytes.push_back(simplify(count * (element.getIntOrFloatBitWidth() / 8)));
  elements.push_back(element);
  return elements.size() - 1;
}

int KernelBuilder::addConstant(tcc::Tensor tensor, Type element) {
  code.constants.push_back({std::move(tensor)});
  elements.push_back(element);
  return elements.size() - 1;
}

SmallVector<int> KernelBuilder::inputsAndResults() const {
  SmallVector<int> uses;
  for (int i = 0; i < kernel.numInputs() + static_cast<int>(kernel.outputs.size()); ++i)
    if (!dropped(i))
      uses.push_back(i);
  return uses;
}

void KernelBuilder::addLaunch(StringRef name, ArrayRef<int> uses, AffineExpr items, int64_t grain, int64_t scratchBytes,
                              function_ref<void(Emit &, const Frame &)> body) {
  LaunchSpec launch;
  SmallVector<Type> types;
  for (int use : uses) {
    launch.buffers.push_back(use);
    types.push_back(elements[use]);
  }
  for (unsigned i = 0, count = kernel.numSymbols(); i < count; ++i)
    launch.symbols.push_back(i);
  MLIRContext *context = kernel.op->getContext();
  Location loc = kernel.op->getLoc();
  func::FuncOp function = backend.createFunction(name, types, launch.symbols.size());
  Block &block = function.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&block);
  Emit e(builder, loc);
  Frame frame;
  frame.buffers.assign(elements.size(), Value());
  unsigned next = 0;
  for (int use : uses)
    frame.buffers[use] = block.getArgument(next++);
  for (size_t i = 0; i < launch.symbols.size(); ++i)
    frame.symbols.push_back(block.getArgument(next++));
  frame.scratch = block.getArgument(next++);
  frame.begin = block.getArgument(next++);
  frame.end = block.getArgument(next++);
  body(e, frame);
  if (!block.mightHaveTerminator())
    builder.create<func::ReturnOp>(loc);
  // Only the symbols it computes with: others of the function may not be known yet when it is launched.
  for (size_t i = launch.symbols.size(); i-- > 0;) {
    unsigned argument = uses.size() + i;
    if (!block.getArgument(argument).use_empty())
      continue;
    function.eraseArgument(argument);
    launch.symbols.erase(launch.symbols.begin() + static_cast<int64_t>(i));
  }
  // A result may lie over an input that the epilogue reads.
  if (!kernel.inPlace().empty())
    function->setAttr("tcc.may_alias", builder.getUnitAttr());
  launch.function = backend.addFunction(function);
  launch.items = items;
  launch.grain = grain;
  launch.scratchBytes = getAffineConstantExpr(scratchBytes, context);
  code.launches.push_back(std::move(launch));
}

void KernelBuilder::noteTiles(const GemmTiles &tiles) {
  code.choices.push_back((Twine(tiles.rows) + "x" + Twine(tiles.panelWidth()) + " register tiles, " +
                          Twine(tiles.rowTiles) + "x" + Twine(tiles.panels) + " of them an item, K in blocks of " +
                          Twine(tiles.kBlock))
                             .str());
}

KernelCode KernelBuilder::take(StringRef schedule) {
  code.schedule = schedule.str();
  for (auto pair : kernel.inPlace())
    code.inPlace.push_back(pair);
  return std::move(code);
}

} // namespace tcc::codegen::gemm
