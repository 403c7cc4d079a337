//===- LoopFunction.cpp - the function(s) of one group of loops -----------===//
#include "codegen/cpu/LoopFunction.h"

#include "codegen/schedule/Reduction.h"
#include "ir/Extents.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

Type elementOf(Value tensor) { return llvm::cast<RankedTensorType>(tensor.getType()).getElementType(); }

// A guess where an extent is not known.
int64_t estimate(llvm::ArrayRef<AffineExpr> extents) {
  int64_t product = 1;
  for (AffineExpr extent : extents)
    if (llvm::MulOverflow(product, std::max<int64_t>(ir::getConstant(extent).value_or(64), 1), product))
      return INT64_MAX;
  return product;
}

// Elements in a work item: fewer cost more in bookkeeping than they give in balance.
constexpr int64_t kItemElements = 512;
constexpr int64_t kLaneBlock = 1024;
// Element operations that are worth waking a thread for.
constexpr int64_t kThreadWork = 1 << 16;
constexpr int64_t kChunks = 32;

} // namespace

LoopFunction::LoopFunction(const GroupNests &nests, Backend &backend, bool strict)
    : GroupNests(nests), backend(backend), mlir(ir::LoopsOp(group.loops[0]).getContext()), b(mlir),
      loc(ir::LoopsOp(group.loops[0]).getLoc()) {
  context.contract = !strict;
}

//===- Building blocks -----------------------------------------------------===//

Value LoopFunction::constant(int64_t value) { return b.create<arith::ConstantIndexOp>(loc, value); }

Value LoopFunction::extent(AffineExpr expr) { return emitExtent(b, loc, expr, context.symbols); }

void LoopFunction::begin(llvm::StringRef name, llvm::ArrayRef<int32_t> extraBuffers,
                         llvm::ArrayRef<Type> extraElements) {
  llvm::SmallVector<Type> elements;
  launchBuffers.clear();
  arguments.clear();
  for (auto &[tensor, position] : used) {
    launchBuffers.push_back(position);
    elements.push_back(storageType(elementOf(tensor)));
    if (auto it = tensors.copies.find(tensor); it != tensors.copies.end())
      for (int32_t copy : it->second) {
        if (!tensor.getDefiningOp() || !llvm::is_contained(group.loops, tensor.getDefiningOp<ir::LoopsOp>()))
          continue;
        launchBuffers.push_back(copy);
        elements.push_back(elements.back());
      }
  }
  launchBuffers.append(extraBuffers.begin(), extraBuffers.end());
  elements.append(extraElements.begin(), extraElements.end());
  function = backend.createFunction(name, elements, symbols.size(), mayFail);
  if (mayAlias)
    function->setAttr("tcc.may_alias", b.getUnitAttr());
  Block &body = function.getBody().front();
  b.setInsertionPointToEnd(&body);
  unsigned argument = 0;
  for (int32_t position : launchBuffers)
    arguments[position] = body.getArgument(argument++);
  context.symbols.clear();
  for (unsigned symbol : symbols) {
    if (context.symbols.size() <= symbol)
      context.symbols.resize(symbol + 1);
    context.symbols[symbol] = body.getArgument(argument++);
  }
  scratchMemory = body.getArgument(argument++);
  beginItem = body.getArgument(argument++);
  endItem = body.getArgument(argument++);
  if (mayFail)
    context.errorWord = body.getArgument(argument++);
  registerValues.clear();
  scratchViews.clear();
  for (auto &[tensor, offset] : scratch) {
    AffineExpr count = ir::product(mlir, llvm::ArrayRef(ir::getExtents(tensor.getType())).drop_front(group.prefix));
    auto type = MemRefType::get({ShapedType::kDynamic}, storageType(elementOf(tensor)));
    scratchViews[tensor] =
        b.create<memref::ViewOp>(loc, type, scratchMemory, extent(offset), ValueRange{extent(count)});
  }
  context.place = [this](Value tensor) -> TensorPlace {
    if (Value value = registerValues.lookup(tensor))
      return {{}, value};
    return {memrefOf(tensor), {}};
  };
}

Value LoopFunction::memrefOf(Value tensor) {
  if (Value view = scratchViews.lookup(tensor))
    return view;
  return arguments.lookup(used.lookup(tensor));
}

std::string LoopFunction::finish() {
  b.create<func::ReturnOp>(loc);
  return backend.addFunction(function);
}

void LoopFunction::forItems(llvm::function_ref<void(Value)> body) {
  b.create<scf::ForOp>(loc, beginItem, endItem, constant(1), ValueRange(),
                       [&](OpBuilder &, Location, Value item, ValueRange) {
                         OpBuilder::InsertionGuard guard(b);
                         b.setInsertionPointToEnd(llvm::cast<BlockArgument>(item).getOwner());
                         body(item);
                         b.create<scf::YieldOp>(loc);
                       });
}

Values LoopFunction::delinearize(Value item, llvm::ArrayRef<AffineExpr> extents) {
  Values result(extents.size());
  for (unsigned i = extents.size(); i-- > 1;) {
    if (ir::getConstant(extents[i]) == 1) {
      result[i] = constant(0);
      continue;
    }
    Value size = extent(extents[i]);
    result[i] = b.create<arith::RemUIOp>(loc, item, size);
    item = b.create<arith::DivUIOp>(loc, item, size);
  }
  if (!extents.empty())
    result[0] = item;
  return result;
}

LaunchSpec LoopFunction::launch(AffineExpr items, int64_t elementsPerItem) {
  LaunchSpec spec;
  spec.buffers.assign(launchBuffers.begin(), launchBuffers.end());
  spec.symbols.assign(symbols.begin(), symbols.end());
  spec.items = ir::simplifyExtent(items);
  int64_t cost = 0;
  for (LoopNest &nest : nests)
    cost += bodyCost(nest);
  int64_t perItem = 0;
  if (llvm::MulOverflow(std::max<int64_t>(elementsPerItem, 1), std::max<int64_t>(cost, 1), perItem))
    perItem = INT64_MAX;
  spec.grain = std::max<int64_t>(1, kThreadWork / perItem);
  spec.scratchBytes = scratchBytes;
  return spec;
}

void LoopFunction::storeResult(BodyEmitter &body, const LoopNest &nest, unsigned result, Value value,
                               const Point &point) {
  Value tensor = nest.op.getResult(result);
  if (registers.count(tensor))
    registerValues[tensor] = value;
  if (registers.count(tensor) && !used.count(tensor))
    return;
  body.store(value, result, memrefOf(tensor), point);
  if (auto it = tensors.copies.find(tensor); it != tensors.copies.end())
    for (int32_t copy : it->second)
      body.store(value, result, arguments.lookup(copy), point);
}

LogicalResult LoopFunction::emit(llvm::StringRef name, KernelCode &code) {
  if (group.scatter)
    emitScatter(name, code);
  else if (nests.size() == 1)
    emitSingle(name, code);
  else
    emitRows(name, code);
  return success();
}

//===- One loop nest -------------------------------------------------------===//

LoopFunction::Items LoopFunction::cutItems(const LoopNest &nest, const NestPlan &plan) {
  Items items;
  if (plan.tileDim >= 0) {
    for (unsigned dim = 0; dim < nest.numParallel; ++dim)
      if (static_cast<int>(dim) != plan.laneDim && static_cast<int>(dim) != plan.tileDim)
        items.outer.push_back(dim);
    items.tileBlock = plan.lanes;
    return items;
  }
  // Inner dimensions stay within an item until it holds enough elements.
  int64_t inner = 1;
  for (unsigned dim = 0; dim < nest.numDims(); ++dim)
    if (dim >= nest.numParallel || static_cast<int>(dim) == plan.laneDim)
      inner *= nest.constantExtent(dim).value_or(64);
  llvm::SmallVector<unsigned> outer;
  for (unsigned dim = 0; dim < nest.numParallel; ++dim)
    if (static_cast<int>(dim) != plan.laneDim)
      outer.push_back(dim);
  while (!outer.empty() && inner < kItemElements && nest.constantExtent(outer.back()))
    inner *= nest.constantExtent(outer.pop_back_val()).value();
  items.outer = outer;

  bool parallelLane = plan.laneDim >= 0 && plan.laneDim < static_cast<int>(nest.numParallel);
  Exprs outerExtents;
  for (unsigned dim : outer)
    outerExtents.push_back(nest.extents[dim]);
  bool onlyLaneInside = parallelLane && outer.size() + 1 == nest.numParallel;
  if (onlyLaneInside && estimate(outerExtents) < 64) {
    int64_t block = nest.isReduction() ? plan.lanes * plan.unroll : std::max(kLaneBlock, plan.lanes * plan.unroll);
    std::optional<int64_t> extent = nest.constantExtent(plan.laneDim);
    if (!extent || *extent > block)
      items.laneBlock = block;
  }
  if (!nest.isReduction())
    return items;

  // Too few items for much work: items share reductions.
  int64_t count = estimate(outerExtents);
  if (items.laneBlock)
    count *= llvm::divideCeil(nest.constantExtent(plan.laneDim).value_or(64), items.laneBlock);
  if (count >= 8 || estimate(nest.extents) < kThreadWork / 2)
    return items;
  int64_t most = 0;
  for (unsigned dim = nest.numParallel; dim < nest.numDims(); ++dim) {
    int64_t extent = nest.constantExtent(dim).value_or(INT64_MAX);
    if (extent > most) {
      most = extent;
      items.splitDim = dim;
    }
  }
  items.chunks = std::min(kChunks, most);
  if (items.splitDim == plan.laneDim)
    items.chunks = std::min(items.chunks, std::max<int64_t>(1, most / (plan.lanes * plan.unroll)));
  if (items.chunks < 2)
    items.splitDim = -1;
  return items;
}

void LoopFunction::emitSingle(llvm::StringRef name, KernelCode &code) {
  LoopNest &nest = nests[0];
  NestPlan plan = planNest(nest, backend.cpu(), 0);
  Items items = cutItems(nest, plan);
  if (items.splitDim >= 0)
    return emitSplit(name, code, plan, items);
  begin(name, {}, {});
  NestEmitter emitter(b, nest, context, plan);
  auto sink = [&](BodyEmitter &body, const Point &point, ValueRange results) {
    for (auto [r, value] : llvm::enumerate(results))
      storeResult(body, nest, r, value, point);
  };
  Exprs extents;
  for (unsigned dim : items.outer)
    extents.push_back(nest.extents[dim]);
  AffineExpr count = ir::product(mlir, extents);
  int64_t perItem = 1;
  for (unsigned dim = 0; dim < nest.numDims(); ++dim)
    if (!llvm::is_contained(items.outer, dim))
      perItem *= static_cast<int>(dim) == plan.laneDim && items.laneBlock ? items.laneBlock
                                                                          : nest.constantExtent(dim).value_or(64);
  AffineExpr blocks;
  if (items.laneBlock) {
    blocks = nest.extents[plan.laneDim].ceilDiv(items.laneBlock);
    count = count * blocks;
    extents.push_back(blocks);
  }
  if (items.tileBlock) {
    AffineExpr tiles = nest.extents[plan.tileDim].ceilDiv(items.tileBlock);
    count = count * tiles;
    extents.push_back(tiles);
    perItem = items.tileBlock * nest.constantExtent(plan.laneDim).value_or(64);
  }
  auto setBlock = [&](Value first, Value end) {
    Value high = b.create<arith::MinSIOp>(loc, b.create<arith::MulIOp>(loc, end, constant(items.laneBlock)),
                                          extent(nest.extents[plan.laneDim]));
    emitter.setRange(plan.laneDim, b.create<arith::MulIOp>(loc, first, constant(items.laneBlock)), high);
  };
  if (items.outer.empty() && items.laneBlock) {
    // Blocks lie side by side: one loop through all of them.
    setBlock(beginItem, endItem);
    emitter.emit({}, sink);
  } else {
    forItems([&](Value item) {
      Values indices = delinearize(item, extents);
      Values dims(nest.numDims());
      for (auto [i, dim] : llvm::enumerate(items.outer))
        dims[dim] = indices[i];
      if (items.laneBlock)
        setBlock(indices.back(), b.create<arith::AddIOp>(loc, indices.back(), constant(1)));
      if (items.tileBlock) {
        Value low = b.create<arith::MulIOp>(loc, indices.back(), constant(items.tileBlock));
        Value high = b.create<arith::AddIOp>(loc, low, constant(items.tileBlock));
        emitter.setRange(plan.tileDim, low, b.create<arith::MinSIOp>(loc, high, extent(nest.extents[plan.tileDim])));
      }
      emitter.emit(dims, sink);
    });
  }
  LaunchSpec spec = launch(count, perItem);
  spec.function = finish();
  code.launches.push_back(std::move(spec));
  code.choices.push_back(describe(plan) + ", " + std::to_string(perItem) + " points an item");
}

// Partial results of a fixed number of chunks, whatever the number of threads, and a second function that combines
// them.
void LoopFunction::emitSplit(llvm::StringRef name, KernelCode &code, const NestPlan &plan, const Items &items) {
  LoopNest &nest = nests[0];
  ir::LoopsOp op = nest.op;
  unsigned split = items.splitDim;
  int64_t align = static_cast<int>(split) == plan.laneDim ? plan.lanes * plan.unroll : 1;
  AffineExpr chunk = nest.extents[split].ceilDiv(items.chunks * align) * align;
  AffineExpr points = ir::product(mlir, llvm::ArrayRef(nest.extents).take_front(nest.numParallel));

  llvm::SmallVector<int32_t> partials;
  llvm::SmallVector<Type> elements;
  for (Value result : op.getResults()) {
    Type type = storageType(computeType(elementOf(result)));
    partials.push_back(tensors.nextTemporary++);
    elements.push_back(type);
    code.temporaryBytes.push_back(ir::simplifyExtent(points * items.chunks * (type.getIntOrFloatBitWidth() / 8)));
  }
  Exprs extents;
  for (unsigned dim : items.outer)
    extents.push_back(nest.extents[dim]);
  extents.push_back(getAffineConstantExpr(items.chunks, mlir));

  begin(name.str() + "_partial", partials, elements);
  NestEmitter emitter(b, nest, context, plan);
  forItems([&](Value item) {
    Values indices = delinearize(item, extents);
    Values dims(nest.numDims());
    for (auto [i, dim] : llvm::enumerate(items.outer))
      dims[dim] = indices[i];
    Value size = extent(chunk);
    Value low =
        b.create<arith::MinSIOp>(loc, b.create<arith::MulIOp>(loc, indices.back(), size), extent(nest.extents[split]));
    Value high = b.create<arith::MinSIOp>(loc, b.create<arith::AddIOp>(loc, low, size), extent(nest.extents[split]));
    emitter.setRange(split, low, high);
    Value base = b.create<arith::MulIOp>(loc, indices.back(), extent(points));
    emitter.emit(dims, [&](BodyEmitter &body, const Point &point, ValueRange results) {
      for (auto [r, value] : llvm::enumerate(results))
        body.storePartial(value, r, arguments.lookup(partials[r]), base, point);
    });
  });
  LaunchSpec spec =
      launch(ir::product(mlir, extents), estimate(nest.extents) / std::max<int64_t>(estimate(extents), 1));
  spec.function = finish();
  code.launches.push_back(std::move(spec));

  begin(name.str() + "_combine", partials, elements);
  forItems([&](Value item) {
    Values init;
    for (unsigned r = 0; r < op.getNumResults(); ++r)
      init.push_back(reduceIdentity(b, nest, r, 1));
    auto loop = b.create<scf::ForOp>(loc, constant(0), constant(items.chunks), constant(1), init);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToEnd(loop.getBody());
      Value at =
          b.create<arith::AddIOp>(loc, b.create<arith::MulIOp>(loc, loop.getInductionVar(), extent(points)), item);
      Values sums;
      for (auto [r, result] : llvm::enumerate(op.getResults())) {
        Value value = b.create<memref::LoadOp>(loc, arguments.lookup(partials[r]), at);
        value = fromStorage(b, loc, value, computeType(elementOf(result)));
        sums.push_back(reduceCombine(b, nest, r, loop.getRegionIterArgs()[r], value));
      }
      b.create<scf::YieldOp>(loc, sums);
    }
    for (auto [r, result] : llvm::enumerate(op.getResults())) {
      Value value = toStorage(b, loc, loop.getResult(r), elementOf(result));
      b.create<memref::StoreOp>(loc, value, memrefOf(result), item);
      if (auto it = tensors.copies.find(result); it != tensors.copies.end())
        for (int32_t copy : it->second)
          b.create<memref::StoreOp>(loc, value, arguments.lookup(copy), item);
    }
  });
  spec = launch(points, items.chunks);
  spec.function = finish();
  code.launches.push_back(std::move(spec));
  code.choices.push_back(describe(plan) + ", " + std::to_string(items.chunks) + " partial results, combined after");
}

//===- Several loop nests over the same rows -------------------------------===//

void LoopFunction::emitRows(llvm::StringRef name, KernelCode &code) {
  llvm::ArrayRef<AffineExpr> extents = llvm::ArrayRef(nests[0].extents).take_front(group.prefix);
  begin(name, {}, {});
  forItems([&](Value item) {
    Values indices = delinearize(item, extents);
    for (LoopNest &nest : nests) {
      NestPlan plan = planNest(nest, backend.cpu(), group.prefix);
      NestEmitter emitter(b, nest, context, plan);
      Values dims(nest.numDims());
      std::copy(indices.begin(), indices.end(), dims.begin());
      emitter.emit(dims, [&](BodyEmitter &body, const Point &point, ValueRange results) {
        for (auto [r, value] : llvm::enumerate(results))
          storeResult(body, nest, r, value, point);
      });
    }
  });
  int64_t perRow = 0;
  for (LoopNest &nest : nests)
    perRow = std::max(perRow, estimate(llvm::ArrayRef(nest.extents).drop_front(group.prefix)));
  LaunchSpec spec = launch(ir::product(mlir, extents), perRow);
  spec.function = finish();
  code.launches.push_back(std::move(spec));
  for (LoopNest &nest : nests)
    code.choices.push_back(describe(planNest(nest, backend.cpu(), group.prefix)) + " in each row");
}

} // namespace tcc::codegen
