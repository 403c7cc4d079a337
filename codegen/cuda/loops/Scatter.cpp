//===- Scatter.cpp - the kernel that does a scatter's updates -------------===//
//
// An element that several points update takes them in the order of the nest. How, in parallel:
//
// - points that differ along a dimension which is an index of the result as it is never meet: threads have those, and
//   each does its updates in order, where that keeps the device busy;
// - where the order changes nothing (integers; maxima and minima) a thread does one update, atomically;
// - of values that replace each other, the last one is found first, by an atomic maximum over the numbers of points;
// - sums and products of floats are sorted by the element that they update, and a thread does those of one element.
//
//===----------------------------------------------------------------------===//
#include "codegen/schedule/ScatterNest.h"

#include "codegen/cuda/library/LibraryKernel.h"
#include "codegen/cuda/loops/LoopFunction.h"
#include "ir/Extents.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

constexpr int kThreads = 128;
/// A thread may do so many updates one after the other, and so many threads need no help.
constexpr int64_t kFewUpdates = 8, kManyThreads = 1 << 14;

using Kind = arith::AtomicRMWKind;

/// How an update is done atomically where the order of updates does not matter, to the last bit.
std::optional<Kind> atomicKind(ir::ScatterOp scatter) {
  Type element = llvm::cast<RankedTensorType>(scatter.getType()).getElementType();
  bool isFloat = llvm::isa<FloatType>(element), isBool = element.isInteger(1), isUnsigned = scatter.getIsUnsigned();
  switch (scatter.getKind()) {
  case ir::ScatterKind::Add:
    return isFloat ? std::nullopt : std::optional(isBool ? Kind::ori : Kind::addi);
  case ir::ScatterKind::Mul:
    return isFloat ? std::nullopt : std::optional(isBool ? Kind::andi : Kind::muli);
  case ir::ScatterKind::Max:
    return isFloat ? Kind::maximumf : isBool ? Kind::ori : isUnsigned ? Kind::maxu : Kind::maxs;
  case ir::ScatterKind::Min:
    return isFloat ? Kind::minimumf : isBool ? Kind::andi : isUnsigned ? Kind::minu : Kind::mins;
  default:
    return std::nullopt;
  }
}

/// What a body makes and nobody uses: the update where only its place is wanted.
void eraseUnused(func::FuncOp function) {
  for (bool changed = true; changed;) {
    changed = false;
    llvm::SmallVector<Operation *> unused;
    function.walk([&](Operation *op) {
      if (isOpTriviallyDead(op))
        unused.push_back(op);
    });
    for (Operation *op : unused)
      op->erase();
    changed = !unused.empty();
  }
}

} // namespace

LogicalResult LoopFunction::emitScatter(KernelCode &code) {
  const LoopNest &nest = nests[0];
  ir::ScatterOp scatter = group.scatter;
  llvm::SmallVector<bool> separate = separateDims(nest, scatter);
  Exprs threadsOver, inOrder;
  for (unsigned dim = 0; dim < nest.numDims(); ++dim)
    (separate[dim] ? threadsOver : inOrder).push_back(nest.extents[dim]);
  int64_t updates = estimate(inOrder), wide = estimate(threadsOver);
  if (updates <= 1 || (updates <= kFewUpdates && wide >= kManyThreads))
    return emitScatterInOrder(code);
  if (std::optional<Kind> kind = atomicKind(scatter)) {
    forEachUpdate("scatter_atomic", {}, {}, [&](Value, const Point &point, ValueRange results) {
      atScatterTarget(b, nest, scatter, point, results, context.symbols, [&](Value offset) {
        Type element = llvm::cast<RankedTensorType>(scatter.getType()).getElementType();
        Value value = toStorage(b, loc, results.back(), element, context.nativeBf16);
        b.create<memref::AtomicRMWOp>(loc, *kind, value, memrefOf(scatter.getY()), offset);
      });
    });
    return finish(code, updateBlocks(), "an atomic update a thread");
  }
  if (wide >= kManyThreads)
    return emitScatterInOrder(code);
  return scatter.getKind() == ir::ScatterKind::Assign ? emitScatterLast(code) : emitScatterSorted(code);
}

AffineExpr LoopFunction::updateBlocks() { return product(nests[0].extents).ceilDiv(kThreads); }

void LoopFunction::forEachUpdate(llvm::StringRef name, llvm::ArrayRef<int32_t> extra, llvm::ArrayRef<Type> elements,
                                 llvm::function_ref<void(Value, const Point &, ValueRange)> use) {
  const LoopNest &nest = nests[0];
  begin(name, kThreads, extra, elements);
  BodyEmitter body(b, nest, context);
  Value index = named(add(mul(block, kThreads), thread), "index");
  when(less(index, extent(product(nest.extents))), [&] {
    Point point{delinearize(index, nest.extents)};
    Values results = body.evaluate(point);
    use(index, point, results);
  });
}

LogicalResult LoopFunction::emitScatterInOrder(KernelCode &code) {
  const LoopNest &nest = nests[0];
  ir::ScatterOp scatter = group.scatter;
  auto [parallel, inner] = splitScatter(nest, scatter);
  if (inner >= 0)
    parallel.push_back(inner); // neighbouring threads
  Exprs extents;
  for (unsigned dim : parallel)
    extents.push_back(nest.extents[dim]);
  AffineExpr count = product(extents);

  begin("scatter", kThreads);
  BodyEmitter body(b, nest, context);
  Value index = named(add(mul(block, kThreads), thread), "index");
  when(less(index, extent(count)), [&] {
    Values dims(nest.numDims());
    for (auto [dim, value] : llvm::zip(parallel, delinearize(index, extents)))
      dims[dim] = value;
    std::function<void(unsigned)> over = [&](unsigned dim) {
      while (dim < nest.numDims() && dims[dim])
        ++dim;
      if (dim == nest.numDims()) {
        Point point{dims};
        Values results = body.evaluate(point);
        emitScatterUpdate(b, nest, scatter, point, results, memrefOf(scatter.getY()), context.symbols,
                          context.nativeBf16);
        return;
      }
      loop(constant(0), extent(nest.extents[dim]), constant(1), {}, [&](Value at, ValueRange) -> Values {
        dims[dim] = at;
        over(dim + 1);
        dims[dim] = nullptr;
        return {};
      });
    };
    over(0);
  });
  return finish(code, count.ceilDiv(kThreads), "updates in order, a thread for elements that never meet");
}

// The number of the last point that writes an element, then the writes of those points.
LogicalResult LoopFunction::emitScatterLast(KernelCode &code) {
  const LoopNest &nest = nests[0];
  ir::ScatterOp scatter = group.scatter;
  AffineExpr elements = product(ir::getExtents(scatter.getType()));
  Type number = b.getI64Type();
  int32_t last = addTemporary(code, elements, number);
  // (In the numbering of LibraryKernel, whose buffers those of the kernel are.)
  LibraryKernel clear(kernel, backend, last);
  clear.adopt("long long");
  clear.launch("scatter_clear", "device.cuh", 256, elements.ceilDiv(256), {{last, "last", true}}, {{"count", elements}},
               "  const long long i = blockIdx.x * 256ll + threadIdx.x;\n  if (i < count) last[i] = -1;\n");
  appendLaunches(code, clear, "no point yet");
  forEachUpdate("scatter_last", {last}, {number}, [&](Value index, const Point &point, ValueRange results) {
    atScatterTarget(b, nest, scatter, point, results, context.symbols, [&](Value offset) {
      Value mine = b.create<arith::IndexCastOp>(loc, number, index);
      b.create<memref::AtomicRMWOp>(loc, Kind::maxs, mine, arguments.lookup(last), offset);
    });
  });
  eraseUnused(function);
  if (failed(finish(code, updateBlocks(), "the last point of each element")))
    return failure();
  forEachUpdate("scatter_assign", {last}, {number}, [&](Value index, const Point &point, ValueRange results) {
    atScatterTarget(b, nest, scatter, point, results, context.symbols, [&](Value offset) {
      Value mine = b.create<arith::IndexCastOp>(loc, number, index);
      Value winner = b.create<memref::LoadOp>(loc, arguments.lookup(last), offset);
      when(b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, mine, winner), [&] {
        Type element = llvm::cast<RankedTensorType>(scatter.getType()).getElementType();
        Value value = toStorage(b, loc, results.back(), element, context.nativeBf16);
        b.create<memref::StoreOp>(loc, value, memrefOf(scatter.getY()), offset);
      });
    });
  });
  return finish(code, updateBlocks(), "updates of the last points");
}

// Points sorted by the element they update, stably: the points of an element lie side by side, in their order.
LogicalResult LoopFunction::emitScatterSorted(KernelCode &code) {
  const LoopNest &nest = nests[0];
  ir::ScatterOp scatter = group.scatter;
  // Dimensions along which points never meet and have the same positions: their points are sorted alike.
  llvm::SmallVector<bool> separate = separateDims(nest, scatter);
  Operation *yield = ir::LoopsOp(nest.op).getBody().front().getTerminator();
  llvm::SmallVector<unsigned> sortedDims, alikeDims;
  Exprs sortedExtents, alikeExtents;
  for (unsigned dim = 0; dim < nest.numDims(); ++dim) {
    bool isAlike = separate[dim] && llvm::none_of(yield->getOperands().drop_back(),
                                                  [&](Value position) { return dependsOn(nest, position, dim); });
    (isAlike ? alikeDims : sortedDims).push_back(dim);
    (isAlike ? alikeExtents : sortedExtents).push_back(nest.extents[dim]);
  }
  AffineExpr points = product(sortedExtents);
  Type number = b.getI64Type();
  int32_t keys = addTemporary(code, points, number);
  begin("scatter_keys", kThreads, {keys}, {number});
  {
    BodyEmitter body(b, nest, context);
    Value index = named(add(mul(block, kThreads), thread), "index");
    when(less(index, extent(points)), [&] {
      Values dims(nest.numDims(), constant(0));
      for (auto [dim, value] : llvm::zip(sortedDims, delinearize(index, sortedExtents)))
        dims[dim] = value;
      Point point{dims};
      Values results = body.evaluate(point);
      // Points that do nothing count too: they do nothing later.
      LoopNest unmasked = nest;
      unmasked.conditions.erase(scatter);
      atScatterTarget(b, unmasked, scatter, point, results, context.symbols, [&](Value offset) {
        Value key = b.create<arith::IndexCastOp>(loc, number, offset);
        b.create<memref::StoreOp>(loc, key, arguments.lookup(keys), index);
      });
    });
  }
  eraseUnused(function);
  if (failed(finish(code, points.ceilDiv(kThreads), "the element of each point")))
    return failure();

  LibraryKernel sort(kernel, backend, keys);
  sort.adopt("unsigned long long");
  SortPlan plan = planSort(sort.most(points), 8);
  SortSource source;
  source.name = "scatter";
  source.header = "sort.cuh";
  source.key = "unsigned long long";
  source.maker = "tcc::KeyArray<unsigned long long>{elements, length}";
  source.keep = "length";
  source.buffers = {{keys, "elements"}};
  source.scalars = {{"length", points}};
  SortBuffers sorted = emitSort(sort, plan, source, {points, sort.constant(1), sort.constant(1)});
  // Where points are in the first pair of buffers after an odd number of passes too, the second pair is copied.
  if (plan.passes > 0)
    sort.launch("scatter_sorted", "sort.cuh", 256, points.ceilDiv(256),
                {{sorted.keys[0], "keys0", true},
                 {sorted.keys[1], "keys1"},
                 {sorted.positions[0], "positions0", true},
                 {sorted.positions[1], "positions1"}},
                {{"length", points}},
                "  const long long i = blockIdx.x * 256ll + threadIdx.x;\n  if (tcc::merge_passes(length, " +
                    std::to_string(plan.chunk()) +
                    "ll) % 2 == 0 || i >= length) return;\n  keys0[i] = keys1[i];\n  positions0[i] = positions1[i];\n");
  appendLaunches(code, sort, "points sorted by element");

  AffineExpr alike = product(alikeExtents);
  Type position = plan.wide ? number : Type(b.getI32Type());
  begin("scatter_sums", kThreads, {sorted.keys[0], sorted.positions[0]}, {number, position});
  BodyEmitter body(b, nest, context);
  Value index = named(add(mul(block, kThreads), thread), "index");
  AffineExpr count = ir::simplifyExtent(points * alike);
  when(less(index, extent(count)), [&] {
    Exprs both = {points};
    both.append(alikeExtents);
    Values place = delinearize(index, both);
    Value slot = named(place[0], "slot");
    Value keysOf = arguments.lookup(sorted.keys[0]), pointsOf = arguments.lookup(sorted.positions[0]);
    Value key = b.create<memref::LoadOp>(loc, keysOf, slot);
    // The first of an element's points does those of all.
    Value isStart = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, slot, constant(0));
    Value before = b.create<arith::SelectOp>(loc, isStart, slot, b.create<arith::SubIOp>(loc, slot, constant(1)));
    Value isFirst = b.create<arith::OrIOp>(
        loc, isStart,
        b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, key, b.create<memref::LoadOp>(loc, keysOf, before)));
    when(isFirst, [&] {
      Value end = extent(points), lastSlot = b.create<arith::SubIOp>(loc, end, constant(1));
      b.create<scf::WhileOp>(
          loc, TypeRange{b.getIndexType()}, ValueRange{slot},
          [&](OpBuilder &, Location, ValueRange at) {
            OpBuilder::InsertionGuard guard(b);
            b.setInsertionPointToEnd(llvm::cast<BlockArgument>(at[0]).getOwner());
            Value there = b.create<arith::MinSIOp>(loc, at[0], lastSlot);
            Value same = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, key,
                                                 b.create<memref::LoadOp>(loc, keysOf, there));
            Value more = b.create<arith::AndIOp>(loc, less(at[0], end), same);
            b.create<scf::ConditionOp>(loc, more, at);
          },
          [&](OpBuilder &, Location, ValueRange at) {
            OpBuilder::InsertionGuard guard(b);
            b.setInsertionPointToEnd(llvm::cast<BlockArgument>(at[0]).getOwner());
            Value flat =
                b.create<arith::IndexCastOp>(loc, b.getIndexType(), b.create<memref::LoadOp>(loc, pointsOf, at[0]));
            Values dims(nest.numDims());
            for (auto [dim, value] : llvm::zip(sortedDims, delinearize(flat, sortedExtents)))
              dims[dim] = value;
            for (auto [dim, value] : llvm::zip(alikeDims, llvm::ArrayRef(place).drop_front()))
              dims[dim] = value;
            Point point{dims};
            body.clearLoaded();
            Values results = body.evaluate(point);
            emitScatterUpdate(b, nest, scatter, point, results, memrefOf(scatter.getY()), context.symbols,
                              context.nativeBf16);
            b.create<scf::YieldOp>(loc, add(at[0], constant(1)));
          });
    });
  });
  return finish(code, count.ceilDiv(kThreads), "updates in order, a thread for an element");
}

void LoopFunction::appendLaunches(KernelCode &code, LibraryKernel &made, llvm::StringRef choice) {
  for (LaunchSpec &launch : made.code.launches) {
    code.launches.push_back(std::move(launch));
    code.choices.push_back(choice.str());
  }
  code.temporaryBytes.append(made.code.temporaryBytes);
  tensors.nextTemporary += static_cast<int32_t>(made.code.temporaryBytes.size());
}

} // namespace tcc::codegen::cuda
