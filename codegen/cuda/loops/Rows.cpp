//===- Rows.cpp - several nests over the same rows ------------------------===//
//
// A warp or a block works on a row: softmax, normalisations. Values of one element in a row are in registers of all its
// threads. Other values that stay within the row are in local arrays where each thread reads only what it has made,
// else in shared memory where they fit, else in a temporary (in cache, if it is not too large).
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/loops/LoopFunction.h"
#include "codegen/schedule/Reduction.h"
#include "ir/Extents.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/bit.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

constexpr int64_t kWarp = 32, kThreads = 256, kMostThreads = 1024;
/// Longer rows take a block.
constexpr int64_t kWarpRow = 1024;
/// Elements of a tensor that a thread keeps in registers.
constexpr int64_t kMostLocal = 32;
/// Of inputs that a thread keeps.
constexpr int64_t kMostKeptBytes = 160;
constexpr int64_t kSharedBytes = 40 << 10; // the rest is for reductions

Type elementOf(Value tensor) { return llvm::cast<RankedTensorType>(tensor.getType()).getElementType(); }

} // namespace

struct LoopFunction::RowPlan {
  int64_t group = kWarp; ///< threads of a row
  int64_t width = 1;
  int64_t block = kThreads;
  llvm::MapVector<Value, int64_t> locals; ///< tensor -> elements of a thread
  llvm::MapVector<Value, int64_t> shared; ///< tensor -> elements
  llvm::SmallVector<Value> temporaries;
  /// Inputs that several nests read at their own elements: the loads of each, in order, and a thread's elements.
  llvm::SmallVector<std::pair<llvm::SmallVector<ir::LoadOp>, int64_t>> kept;
  llvm::DenseSet<Value> registers;       ///< tensors of one element in a row
  llvm::DenseSet<Value> foreign;         ///< of which threads read what others have written
  llvm::SmallVector<bool> barrierBefore; ///< by nest
  Value thread = {};                     ///< number in the row
};

namespace {

/// Positions of a row as threads divide them: all parallel dimensions of the row, or all reduced ones where there is
/// but one result.
struct RowSpace {
  unsigned first = 0, count = 0; ///< dimensions
  bool isReduced = false;
};

bool isOne(llvm::ArrayRef<AffineExpr> extents) {
  return llvm::all_of(extents, [](AffineExpr extent) { return ir::getConstant(extent) == 1; });
}

RowSpace spaceOf(const LoopNest &nest, unsigned prefix) {
  bool single = isOne(llvm::ArrayRef(nest.extents).slice(prefix, nest.numParallel - prefix));
  if (nest.isReduction() && single)
    return {nest.numParallel, nest.numDims() - nest.numParallel, true};
  return {prefix, nest.numParallel - prefix, false};
}

llvm::ArrayRef<AffineExpr> extentsOf(const LoopNest &nest, const RowSpace &space) {
  return llvm::ArrayRef(nest.extents).slice(space.first, space.count);
}

// The offset within rows when threads divide both spaces alike: dimensions of the row are renumbered from the prefix
// on.
AffineExpr inRow(const LoopNest &nest, const RowSpace &space, unsigned prefix, AffineExpr offset) {
  MLIRContext *context = offset.getContext();
  llvm::DenseMap<AffineExpr, AffineExpr> map;
  for (unsigned dim = prefix; dim < nest.numDims(); ++dim) {
    bool inside = dim >= space.first && dim < space.first + space.count;
    // Only dimensions of extent 1 may be outside of it; others make it something else.
    AffineExpr to = inside                                    ? getAffineDimExpr(prefix + dim - space.first, context)
                    : ir::getConstant(nest.extents[dim]) == 1 ? getAffineConstantExpr(0, context)
                                                              : getAffineDimExpr(dim + 500, context);
    map[getAffineDimExpr(dim, context)] = to;
  }
  return nest.simplifier().simplify(offset.replace(map));
}

} // namespace

LoopFunction::RowPlan LoopFunction::planRows() {
  RowPlan plan;
  unsigned prefix = group.prefix;
  int64_t longest = 1, rows = estimate(llvm::ArrayRef(nests[0].extents).take_front(prefix));
  bool isAlike = true; // all spaces of more than one element are one dimension of the same constant extent
  std::optional<int64_t> common;
  int64_t width = 8;
  for (LoopNest &nest : nests) {
    RowSpace space = spaceOf(nest, prefix);
    llvm::ArrayRef<AffineExpr> extents = extentsOf(nest, space);
    longest = std::max(longest, estimate(extents));
    if (isOne(extents) && !(nest.isReduction() && !space.isReduced))
      continue;
    if (extents.size() != 1 || (nest.isReduction() && !space.isReduced) || !ir::getConstant(extents[0]) ||
        common.value_or(*ir::getConstant(extents[0])) != *ir::getConstant(extents[0])) {
      isAlike = false;
      continue;
    }
    common = ir::getConstant(extents[0]);
    width = std::min(width, vectorWidth(nest, space.first));
  }
  for (LoopNest &nest : nests)
    for (auto result : nest.op.getResults()) {
      Exprs extents = ir::getExtents(result.getType());
      if (isOne(llvm::ArrayRef(extents).drop_front(std::min<size_t>(prefix, extents.size()))))
        plan.registers.insert(result);
    }

  // Who reads what another thread has written?
  bool anyForeign = false;
  plan.barrierBefore.assign(nests.size(), false);
  llvm::DenseSet<Value> &foreign = plan.foreign;
  auto isOwn = [&](LoopNest &writer, AffineExpr written, LoopNest &reader, ir::LoadOp load) {
    RowSpace from = spaceOf(writer, prefix), to = spaceOf(reader, prefix);
    if (writer.isReduction() || (reader.isReduction() && !to.isReduced) || reader.conditions.count(load))
      return false;
    if (from.count != to.count || extentsOf(writer, from) != extentsOf(reader, to))
      return false;
    return inRow(writer, from, prefix, written) == inRow(reader, to, prefix, reader.offset.lookup(load));
  };
  for (size_t j = 0; j < nests.size(); ++j)
    for (ir::LoadOp load : nests[j].loads())
      for (size_t i = 0; i < nests.size(); ++i)
        for (auto [r, result] : llvm::enumerate(nests[i].op.getResults())) {
          if (load.getTensor() == result && !plan.registers.count(result)) {
            if (isOwn(nests[i], nests[i].resultOffset[r], nests[j], load))
              continue;
            foreign.insert(result);
            plan.barrierBefore[j] = anyForeign = true;
          }
          // What may be overwritten in place, after others have read it.
          if (mayAlias && i > j && used.count(result) && llvm::isa<BlockArgument>(load.getTensor()) &&
              elementOf(load.getTensor()) == elementOf(result) &&
              ir::getExtents(load.getTensor().getType()) == ir::getExtents(result.getType()) &&
              !isOwn(nests[i], nests[i].resultOffset[r], nests[j], load))
            plan.barrierBefore[i] = anyForeign = true;
        }

  while (width > 1 && !(isAlike && common && *common % width == 0 && *common / width >= kWarp))
    width /= 2;
  plan.width = width;
  bool isWarp = !anyForeign && longest <= kWarpRow && rows > 4;
  if (!isWarp) {
    int64_t wanted = llvm::bit_ceil(static_cast<uint64_t>(llvm::divideCeil(longest, 4 * width)));
    plan.group = std::clamp<int64_t>(wanted, 2 * kWarp, kMostThreads);
    // Enough rows keep the device busy with fewer threads each.
    if (rows >= 4 * backend.device().multiprocessors)
      plan.group = std::min<int64_t>(plan.group, kThreads);
  }
  if (!isWarp)
    plan.group = tuned.scaled(plan.group, 2 * kWarp, kMostThreads);
  plan.block = isWarp ? tuned.threads : plan.group;

  if (isAlike && common)
    planKept(plan, *common);
  int64_t sharedBytes = 0;
  for (auto &[tensor, offset] : scratch) {
    if (plan.registers.count(tensor))
      continue;
    Exprs extents = ir::getExtents(tensor.getType());
    std::optional<int64_t> count = ir::getConstant(product(llvm::ArrayRef(extents).drop_front(prefix)));
    int64_t mine = count ? llvm::divideCeil(*count, plan.group * width) * width : 0;
    int64_t bytes = count.value_or(0) * (storageType(elementOf(tensor)).getIntOrFloatBitWidth() / 8);
    if (count && !foreign.count(tensor) && mine <= kMostLocal)
      plan.locals[tensor] = mine;
    else if (count && !isWarp && sharedBytes + bytes <= kSharedBytes) {
      plan.shared[tensor] = *count;
      sharedBytes += bytes;
    } else {
      plan.temporaries.push_back(tensor);
    }
  }
  return plan;
}

void LoopFunction::planKept(RowPlan &plan, int64_t length) {
  int64_t mine = llvm::divideCeil(length, plan.group * plan.width) * plan.width;
  if (mine > kMostLocal)
    return;
  llvm::MapVector<std::pair<Value, AffineExpr>, llvm::SmallVector<ir::LoadOp>> places;
  llvm::DenseMap<std::pair<Value, AffineExpr>, llvm::DenseSet<Operation *>> readers;
  for (LoopNest &nest : nests) {
    RowSpace space = spaceOf(nest, group.prefix);
    if (isOne(extentsOf(nest, space)))
      continue;
    for (ir::LoadOp load : nest.loads()) {
      AffineExpr offset = nest.offset.lookup(load);
      bool isPlain = !nest.conditions.count(load) && llvm::isa<BlockArgument>(load.getTensor()) &&
                     offset.isFunctionOfDim(space.first) &&
                     llvm::none_of(llvm::seq<unsigned>(0, nest.opaque.size()),
                                   [&](unsigned i) { return offset.isFunctionOfDim(kFirstOpaqueDim + i); });
      if (!isPlain)
        continue;
      auto key = std::make_pair(load.getTensor(), inRow(nest, space, group.prefix, offset));
      places[key].push_back(load);
      readers[key].insert(nest.op);
    }
  }
  int64_t bytes = 0;
  for (auto &[key, loads] : places) {
    if (readers[key].size() < 2)
      continue;
    bytes += mine * (storageType(elementOf(key.first)).getIntOrFloatBitWidth() / 8);
    if (bytes > kMostKeptBytes)
      break;
    plan.kept.push_back({loads, mine});
  }
}

void LoopFunction::emitRowNest(const LoopNest &nest, const RowPlan &plan, ValueRange row, const LoopNest *sum) {
  unsigned prefix = group.prefix;
  BodyEmitter body(b, nest, context);
  RowSpace space = spaceOf(nest, prefix);
  Values dims(nest.numDims());
  std::copy(row.begin(), row.end(), dims.begin());
  for (unsigned dim = prefix; dim < nest.numParallel; ++dim)
    if (ir::getConstant(nest.extents[dim]) == 1)
      dims[dim] = constant(0);
  llvm::ArrayRef<AffineExpr> extents = extentsOf(nest, space);
  AffineExpr count = product(extents);
  bool isPoint = isOne(extents), isSerial = nest.isReduction() && !space.isReduced;
  int64_t width = isPoint || isSerial || extents.size() != 1 || !ir::getConstant(count) ? 1 : plan.width;
  Value isFirst = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, plan.thread, constant(0));
  // Results of one element: in registers of all threads, and one of them writes those that are in memory.
  auto setRegisters = [&](ValueRange values) {
    for (auto [r, value] : llvm::enumerate(values)) {
      Value tensor = nest.op.getResult(r);
      registerValues[tensor] = value;
      if (used.count(tensor))
        when(isFirst, [&, r = r, value = value] { storeResult(body, nest, r, value, Point{dims}); });
    }
  };
  // A thread's share of the positions.
  auto share = [&](ValueRange init, llvm::function_ref<Values(const Chunk &, ValueRange)> use) {
    auto place = [&](Value flat) {
      Values indices = delinearize(flat, extents);
      std::copy(indices.begin(), indices.end(), dims.begin() + space.first);
    };
    Value start = mul(plan.thread, width);
    int lane = static_cast<int>(space.first + space.count) - 1;
    std::optional<int64_t> known = ir::getConstant(count);
    int64_t stride = plan.group * width;
    if (known && llvm::divideCeil(*known, stride) * width <= kMostLocal) {
      // As many steps for all threads: local arrays then are in registers.
      int64_t steps = llvm::divideCeil(*known, stride);
      return loop(
          constant(0), constant(steps), constant(1), init,
          [&](Value k, ValueRange before) {
            Value flat = add(start, mul(k, stride));
            auto work = [&](ValueRange carried) {
              place(flat);
              return use(Chunk{dims, lane, width, mul(k, width)}, carried);
            };
            return *known % stride == 0 ? work(before) : guarded(less(flat, constant(*known)), before, work);
          },
          /*unroll=*/true);
    }
    return loop(start, extent(count), constant(stride), init, [&](Value flat, ValueRange before) {
      place(flat);
      return use(Chunk{dims, lane, width}, before);
    });
  };

  if (!nest.isReduction()) {
    if (!isPoint) {
      share({}, [&](const Chunk &chunk, ValueRange) -> Values {
        writeElements(nest, body, chunk);
        return {};
      });
      return;
    }
    Point point{dims};
    Values results = body.evaluate(point);
    setRegisters(results);
    return;
  }
  auto accumulate = [&](const Chunk &chunk, ValueRange before) {
    return forElements(nest, body, chunk, before, [&](Value, const Point &, ValueRange results, ValueRange carried) {
      Values after;
      for (auto [r, value] : llvm::enumerate(results))
        after.push_back(reduceCombine(b, nest, r, carried[r], value));
      return after;
    });
  };
  if (sum) {
    Values init = identities(nest);
    init.push_back(identities(*sum)[0]);
    Values both = share(init, [&](const Chunk &chunk, ValueRange before) {
      return forElements(nest, body, chunk, before, [&](Value, const Point &, ValueRange results, ValueRange carried) {
        return addOnline(nest, results[0], carried);
      });
    });
    both = groupReduce(both, plan.group, plan.block, /*inner=*/true,
                       [&](ValueRange x, ValueRange y) { return mergeOnline(nest, x, y); });
    setRegisters(both[0]);
    Value tensor = sum->op.getResult(0), total = finishOnline(both);
    registerValues[tensor] = total;
    BodyEmitter sumBody(b, *sum, context);
    if (used.count(tensor))
      when(isFirst, [&] { storeResult(sumBody, *sum, 0, total, Point{dims}); });
    return;
  }
  if (space.isReduced) {
    Values sums = share(identities(nest), accumulate);
    setRegisters(groupReduce(nest, sums, plan.group, plan.block, /*inner=*/true));
    return;
  }
  // Several results in a row: each by one thread.
  share({}, [&](const Chunk &chunk, ValueRange) -> Values {
    std::function<Values(unsigned, ValueRange)> over = [&](unsigned dim, ValueRange before) -> Values {
      if (dim == nest.numDims())
        return accumulate({dims}, before);
      return loop(constant(0), extent(nest.extents[dim]), constant(1), before, [&](Value at, ValueRange carried) {
        dims[dim] = at;
        return over(dim + 1, carried);
      });
    };
    Values sums = over(nest.numParallel, identities(nest));
    for (auto [r, value] : llvm::enumerate(sums)) {
      Value tensor = nest.op.getResult(r);
      if (Value mine = locals.lookup(tensor))
        b.create<memref::StoreOp>(loc, toStorage(b, loc, value, elementOf(tensor), true), mine, chunk.slot);
      if (used.count(tensor) || memory.count(tensor))
        storeResult(body, nest, r, value, Point{dims});
    }
    return {};
  });
}

LogicalResult LoopFunction::emitRows(KernelCode &code) {
  RowPlan plan = planRows();
  unsigned prefix = group.prefix;
  llvm::ArrayRef<AffineExpr> extents = llvm::ArrayRef(nests[0].extents).take_front(prefix);
  AffineExpr rows = product(extents);
  llvm::SmallVector<int32_t> extra;
  llvm::SmallVector<Type> elements;
  for (Value tensor : plan.temporaries) {
    elements.push_back(storageType(elementOf(tensor)));
    extra.push_back(addTemporary(code, ir::product(mlir, ir::getExtents(tensor.getType())), elements.back()));
  }
  begin("rows", plan.block, extra, elements);
  // Threads of a row read there what others of them write.
  auto readByOthers = [&](int32_t position) {
    function.setArgAttr(llvm::cast<BlockArgument>(arguments.lookup(position)).getArgNumber(), "tcc.other_threads",
                        b.getUnitAttr());
  };
  for (int32_t position : extra)
    readByOthers(position);
  for (Value tensor : plan.foreign)
    if (auto position = used.find(tensor); position != used.end())
      readByOthers(position->second);
  // What is one element a row is computed by all its threads, and one of them would write over what the others are
  // still to read.
  llvm::erase_if(code.inPlace, [&](std::pair<int32_t, int32_t> pair) {
    return llvm::any_of(plan.registers, [&](Value tensor) {
      auto position = used.find(tensor);
      return position != used.end() && position->second == pair.first + static_cast<int32_t>(kernel.getInputs().size());
    });
  });
  bool isBlock = plan.group == plan.block;
  Value row = block;
  plan.thread = thread;
  if (!isBlock) {
    plan.thread = named(b.create<arith::RemUIOp>(loc, thread, constant(plan.group)), "lane");
    row = add(mul(block, plan.block / plan.group), b.create<arith::DivUIOp>(loc, thread, constant(plan.group)));
  }
  if (!isBlock)
    named(row, "row");
  for (auto &[tensor, count] : plan.locals)
    locals[tensor] = named(local(storageType(elementOf(tensor)), count), "mine");
  for (auto &[loads, count] : plan.kept) {
    Value array = named(local(storageType(elementOf(ir::LoadOp(loads[0]).getTensor())), count), "row_of_input");
    // All loads of the nest that comes first read memory (and keep the same).
    Operation *first = ir::LoadOp(loads[0])->getParentOp();
    for (ir::LoadOp load : loads)
      kept[load] = {array, load->getParentOp() == first};
  }
  for (auto &[tensor, count] : plan.shared)
    memory[tensor] = named(shared(storageType(elementOf(tensor)), {count}), "row_values");
  auto work = [&] {
    for (auto [tensor, position] : llvm::zip(plan.temporaries, extra)) {
      Exprs shape = ir::getExtents(tensor.getType());
      Value count = extent(product(llvm::ArrayRef(shape).drop_front(prefix)));
      Value offset = b.createOrFold<arith::MulIOp>(loc, row, count);
      auto whole = arguments.lookup(position);
      memory[tensor] = b.create<memref::SubViewOp>(loc, whole, llvm::ArrayRef<OpFoldResult>{offset},
                                                   llvm::ArrayRef<OpFoldResult>{count},
                                                   llvm::ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
    }
    Values indices = delinearize(row, extents);
    for (size_t i = 0; i < nests.size(); ++i) {
      if (plan.barrierBefore[i])
        barrier();
      // What threads keep costs nothing to read again.
      auto isKept = [&](ir::LoadOp load) {
        return plan.locals.count(load.getTensor()) || plan.shared.count(load.getTensor());
      };
      bool isOnline = i + 1 < nests.size() && plan.kept.empty() && !plan.barrierBefore[i + 1] &&
                      llvm::none_of(nests[i].loads(), isKept) && spaceOf(nests[i], prefix).isReduced &&
                      isOnlineSoftmax(nests[i], nests[i + 1]);
      emitRowNest(nests[i], plan, indices, isOnline ? &nests[i + 1] : nullptr);
      i += isOnline;
    }
  };
  if (isBlock)
    work();
  else
    when(less(row, extent(rows)), work);
  std::string choice =
      std::to_string(plan.group) + " threads a row, " + std::to_string(plan.width) + " elements at once";
  return finish(code, rows.ceilDiv(plan.block / plan.group), choice);
}

} // namespace tcc::codegen::cuda
