//===- LoopFunction.cpp - the kernel(s) of one group of loops -------------===//
#include "codegen/cuda/loops/LoopFunction.h"

#include "codegen/cuda/loops/IndexRange.h"
#include "ir/Extents.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

Type elementOf(Value tensor) { return llvm::cast<RankedTensorType>(tensor.getType()).getElementType(); }

// What a kernel is called by: the kinds of ops that it was made from.
std::string opNames(ir::KernelOp kernel) {
  std::string names;
  for (auto source : kernel.getSources().getAsRange<StringAttr>()) {
    llvm::StringRef name = source.getValue();
    if (size_t open = name.rfind('('); open != llvm::StringRef::npos && name.ends_with(")"))
      name = name.drop_back().drop_front(open + 1);
    names += (names.empty() ? "" : "_") + name.str();
  }
  return names;
}

} // namespace

LoopFunction::LoopFunction(const GroupNests &nests, ir::KernelOp kernel, CudaBackend &backend, bool strict)
    : GroupNests(nests), kernel(kernel), backend(backend), tuned(measuredChoice(kernel)), mlir(kernel.getContext()),
      b(mlir), loc(kernel.getLoc()) {
  context.contract = !strict;
  context.nativeBf16 = true;
}

LogicalResult LoopFunction::emit(KernelCode &code) {
  if (group.scatter)
    return emitScatter(code);
  if (nests.size() > 1)
    return emitRows(code);
  return nests[0].isReduction() ? emitReduce(code) : emitPointwise(code);
}

//===- Building blocks -----------------------------------------------------===//

Value LoopFunction::constant(int64_t value) { return b.create<arith::ConstantIndexOp>(loc, value); }
Value LoopFunction::extent(AffineExpr expr) { return emitExtent(b, loc, expr, context.symbols); }
Value LoopFunction::add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(loc, x, y); }
Value LoopFunction::mul(Value x, int64_t y) { return y == 1 ? x : b.createOrFold<arith::MulIOp>(loc, x, constant(y)); }
Value LoopFunction::less(Value x, Value y) { return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, x, y); }

Value LoopFunction::named(Value value, llvm::StringRef name) {
  if (Operation *op = value.getDefiningOp(); op && !op->hasTrait<OpTrait::ConstantLike>())
    op->setAttr("tcc.name", b.getStringAttr(name));
  return value;
}

void LoopFunction::when(Value condition, llvm::function_ref<void()> body) {
  auto branch = b.create<scf::IfOp>(loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

Values LoopFunction::guarded(Value condition, ValueRange init, llvm::function_ref<Values(ValueRange)> body) {
  if (init.empty()) {
    when(condition, [&] { body({}); });
    return {};
  }
  auto branch = b.create<scf::IfOp>(loc, init.getTypes(), condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  b.create<scf::YieldOp>(loc, body(init));
  b.setInsertionPointToStart(branch.elseBlock());
  b.create<scf::YieldOp>(loc, init);
  return Values(branch.getResults());
}

Values LoopFunction::loop(Value low, Value high, Value step, ValueRange init, LoopBody body, bool unroll) {
  std::optional<int64_t> first = getConstantIntValue(low), end = getConstantIntValue(high),
                         by = getConstantIntValue(step);
  if (first && end && *first >= *end)
    return Values(init);
  if (first && end && by && *end - *first <= *by)
    return body(low, init);
  auto op = b.create<scf::ForOp>(loc, low, high, step, init, [&](OpBuilder &, Location, Value iv, ValueRange carried) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(llvm::cast<BlockArgument>(iv).getOwner());
    b.create<scf::YieldOp>(loc, body(iv, carried));
  });
  if (unroll)
    op->setAttr("tcc.unroll", b.getUnitAttr());
  return Values(op.getResults());
}

Values LoopFunction::delinearize(Value flat, llvm::ArrayRef<AffineExpr> extents) {
  Values result(extents.size());
  for (unsigned i = extents.size(); i-- > 1;) {
    // With an extent of 0 nothing runs; no compiler is shown a division by it.
    if (ir::getConstant(extents[i]).value_or(2) <= 1) {
      result[i] = constant(0);
      continue;
    }
    Value size = extent(extents[i]);
    result[i] = b.create<arith::RemUIOp>(loc, flat, size);
    flat = b.create<arith::DivUIOp>(loc, flat, size);
  }
  if (!extents.empty())
    result[0] = flat;
  return result;
}

Value LoopFunction::shared(Type element, llvm::ArrayRef<int64_t> extents) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&function.getBody().front());
  auto space = gpu::AddressSpaceAttr::get(mlir, gpu::AddressSpace::Workgroup);
  return b.create<memref::AllocaOp>(loc, MemRefType::get(extents, element, MemRefLayoutAttrInterface(), space));
}

Value LoopFunction::local(Type element, int64_t count) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&function.getBody().front());
  return b.create<memref::AllocaOp>(loc, MemRefType::get({count}, element));
}

void LoopFunction::barrier() { b.create<gpu::BarrierOp>(loc); }

AffineExpr LoopFunction::product(llvm::ArrayRef<AffineExpr> extents) {
  return ir::simplifyExtent(ir::product(mlir, extents));
}

int64_t LoopFunction::estimate(llvm::ArrayRef<AffineExpr> extents) {
  int64_t product = 1;
  for (AffineExpr extent : extents)
    if (llvm::MulOverflow(product, std::max<int64_t>(ir::getConstant(extent).value_or(256), 1), product))
      return INT64_MAX;
  return product;
}

int32_t LoopFunction::addTemporary(KernelCode &code, AffineExpr elements, Type element) {
  code.temporaryBytes.push_back(ir::simplifyExtent(elements * (element.getIntOrFloatBitWidth() / 8)));
  return tensors.nextTemporary++;
}

void LoopFunction::begin(llvm::StringRef kind, int blockThreads, llvm::ArrayRef<int32_t> extraBuffers,
                         llvm::ArrayRef<Type> extraElements, AffineExpr numCounters) {
  llvm::SmallVector<Type> elements;
  launchBuffers.clear();
  arguments.clear();
  threads = blockThreads;
  llvm::SmallVector<std::string> names;
  unsigned inputs = 0, outputs = 0;
  for (auto &[tensor, position] : used) {
    launchBuffers.push_back(position);
    elements.push_back(storageType(elementOf(tensor)));
    auto producer = tensor.getDefiningOp<ir::LoopsOp>();
    bool isMade = group.scatter ? tensor == ir::ScatterOp(group.scatter).getY()
                                : producer && llvm::is_contained(group.loops, producer);
    names.push_back((isMade ? "out" : "in") + std::to_string(isMade ? outputs++ : inputs++));
    if (auto it = tensors.copies.find(tensor); isMade && it != tensors.copies.end())
      for (int32_t copy : it->second) {
        launchBuffers.push_back(copy);
        elements.push_back(elements.back());
        names.push_back("out" + std::to_string(outputs++));
      }
  }
  for (auto [position, element] : llvm::zip(extraBuffers, extraElements)) {
    launchBuffers.push_back(position);
    elements.push_back(element);
    names.push_back("part" + std::to_string(elements.size()));
  }
  std::string ops = opNames(kernel);
  function = backend.createFunction(kind.str() + "_" + ops, elements, symbols.size(), mayFail, numCounters != nullptr);
  function->setAttr("tcc.block", b.getDenseI64ArrayAttr({threads, 1, 1}));
  function->setAttr("tcc.schedule", b.getStringAttr(kind));
  function->setAttr("tcc.sources", b.getStrArrayAttr({ops}));
  if (mayAlias)
    function->setAttr("tcc.may_alias", b.getUnitAttr());
  if (!context.contract)
    function->setAttr("tcc.strict", b.getUnitAttr());
  Block &body = function.getBody().front();
  b.setInsertionPointToEnd(&body);
  unsigned argument = 0;
  auto nameArgument = [&](unsigned i, llvm::StringRef name) {
    function.setArgAttr(i, "tcc.name", b.getStringAttr(name));
  };
  for (auto [position, name] : llvm::zip(launchBuffers, names)) {
    nameArgument(argument, name);
    arguments[position] = body.getArgument(argument++);
  }
  context.symbols.clear();
  for (unsigned symbol : symbols) {
    if (context.symbols.size() <= symbol)
      context.symbols.resize(symbol + 1);
    nameArgument(argument, "s" + std::to_string(symbol));
    context.symbols[symbol] = body.getArgument(argument++);
  }
  context.errorWord = nullptr;
  if (mayFail) {
    nameArgument(argument, "error");
    context.errorWord = body.getArgument(argument++);
  }
  counterCount = numCounters;
  counters = nullptr;
  if (numCounters) {
    nameArgument(argument, "counters");
    function.setArgAttr(argument, "tcc.other_threads", b.getUnitAttr());
    counters = body.getArgument(argument++);
  }
  registerValues.clear();
  memory.clear();
  locals.clear();
  kept.clear();
  context.place = [this](Value tensor) -> TensorPlace {
    if (Value value = registerValues.lookup(tensor))
      return {{}, value};
    return {memrefOf(tensor), {}};
  };
  thread = named(b.create<gpu::ThreadIdOp>(loc, gpu::Dimension::x), "thread");
  block = named(b.create<gpu::BlockIdOp>(loc, gpu::Dimension::x), "block");
}

Value LoopFunction::isLastOf(Value counter, int64_t blocks) {
  func::FuncOp callee = CudaBackend::declareDevice(
      function, "tcc::is_last_of",
      b.getFunctionType({counters.getType(), b.getIndexType(), b.getIndexType()}, {b.getI1Type()}));
  return b.create<func::CallOp>(loc, callee, ValueRange{counters, counter, constant(blocks)}).getResult(0);
}

Value LoopFunction::memrefOf(Value tensor) {
  if (Value place = memory.lookup(tensor))
    return place;
  return arguments.lookup(used.lookup(tensor));
}

int LoopFunction::indexBits(AffineExpr blocks) {
  IndexRange range(nests.front().symbols);
  // Threads, with those of the last block that do nothing; and the bytes of what they work on.
  bool fits = range.fits(blocks * threads * 16, {});
  for (const LoopNest &nest : nests)
    fits = fits && range.fits(nest);
  for (auto &[tensor, position] : used)
    fits = fits && range.fits(ir::product(mlir, ir::getExtents(tensor.getType())) * 8, {});
  // A position from data is wide until it is checked.
  function.walk([&](arith::IndexCastOp cast) { fits = fits && !cast.getIn().getType().isInteger(64); });
  return fits ? 32 : 64;
}

LogicalResult LoopFunction::finish(KernelCode &code, AffineExpr blocks, llvm::StringRef choice) {
  b.create<func::ReturnOp>(loc);
  blocks = ir::simplifyExtent(blocks);
  function->setAttr("tcc.index_bits", b.getI64IntegerAttr(indexBits(blocks)));
  LaunchSpec spec;
  spec.buffers.assign(launchBuffers.begin(), launchBuffers.end());
  spec.symbols.assign(symbols.begin(), symbols.end());
  DeviceLaunch launch;
  launch.grid[0] = blocks;
  launch.block = {threads, 1, 1};
  launch.reportsErrors = mayFail;
  launch.counters = counterCount;
  spec.device = launch;
  FailureOr<std::string> symbol = backend.addKernel(function);
  if (failed(symbol))
    return failure();
  spec.function = *symbol;
  code.launches.push_back(std::move(spec));
  code.choices.push_back(choice.str());
  return success();
}

} // namespace tcc::codegen::cuda
