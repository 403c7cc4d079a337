//===- SiblingLoops.cpp - nests side by side that read the same -----------===//
#include "codegen/fusion/SiblingLoops.h"

#include "codegen/fusion/KernelInfo.h"
#include "codegen/fusion/KernelRewrite.h"
#include "codegen/schedule/LoopNest.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

/// What schedules take an extent for that they do not know: here of a symbol.
constexpr int64_t kUnknownExtent = 64;
/// Neighbouring elements that keep every vector unit busy: a longer run is no faster.
constexpr int64_t kLongRun = 64;

int64_t guess(AffineExpr extent, ArrayAttr symbols) {
  if (std::optional<int64_t> constant = ir::getConstant(extent))
    return *constant;
  llvm::SmallVector<AffineExpr> values;
  for (unsigned i = 0; i < symbols.size(); ++i) {
    auto [low, high] = ir::getRange(getAffineSymbolExpr(i, extent.getContext()), symbols);
    values.push_back(getAffineConstantExpr(std::clamp(kUnknownExtent, low, std::max(low, high)), extent.getContext()));
  }
  return std::max<int64_t>(ir::getConstant(ir::simplifyExtent(extent.replaceSymbols(values))).value_or(0), 0);
}

Bytes bytesOf(ArrayRef<AffineExpr> extents, Type element, ArrayAttr symbols) {
  double size = element.isIntOrFloat() ? llvm::divideCeil(element.getIntOrFloatBitWidth(), 8) : 8;
  Bytes bytes{size, size};
  for (AffineExpr extent : extents) {
    bytes.likely *= static_cast<double>(guess(extent, symbols));
    bytes.most *= static_cast<double>(ir::getRange(extent, symbols).second);
  }
  return bytes;
}

/// Kernels take their inputs as arguments: the tensor outside, so that nests of two kernels can be compared.
Value sourceOf(Value tensor) {
  auto argument = dyn_cast<BlockArgument>(tensor);
  auto kernel = argument ? dyn_cast<ir::KernelOp>(argument.getOwner()->getParentOp()) : ir::KernelOp();
  return kernel ? kernel.getInputs()[argument.getArgNumber()] : tensor;
}

/// The same element for all points of two nests, whose loops correspond.
bool readTheSame(ir::LoadOp a, ir::LoadOp b) {
  if (sourceOf(a.getTensor()) != sourceOf(b.getTensor()) || a.getMap() != b.getMap())
    return false;
  return llvm::all_of(llvm::zip_equal(a.getIndices(), b.getIndices()), [](auto pair) {
    return cast<BlockArgument>(std::get<0>(pair)).getArgNumber() ==
           cast<BlockArgument>(std::get<1>(pair)).getArgNumber();
  });
}

/// A load that gives other elements as any of the loops goes on: not a bias, or a statistic of a row.
bool variesWithAllLoops(ir::LoadOp load) {
  auto loops = load->getParentOfType<ir::LoopsOp>();
  for (auto [argument, extent] : llvm::zip_equal(loops.getBody().getArguments(), loops.getExtents().getExprs()))
    if (ir::getConstant(extent) != 1 && !llvm::is_contained(load.getIndices(), argument))
      return false;
  return true;
}

/// The widest value that is computed, in bits: it decides how many lanes a vector has. Half floats are computed in
/// float32.
unsigned widestValue(ir::LoopsOp loops) {
  unsigned widest = 8;
  for (Operation &op : loops.getBody().front())
    for (Type type : op.getResultTypes())
      if (type.isIntOrFloat())
        widest = std::max(widest, isa<FloatType>(type) ? std::max(32u, type.getIntOrFloatBitWidth())
                                                       : type.getIntOrFloatBitWidth());
  return widest;
}

/// The longest run of points that lanes can go along with every access in order (a step of one, or none): 0 if there
/// is no such dimension from `first` on. Of several nests over the same points as if they were one.
int64_t laneRun(ArrayRef<ir::LoopsOp> together, unsigned first) {
  auto analyze = [](ir::LoopsOp op) { return LoopNest::analyze(op, [](Value) { return 0; }); };
  LoopNest nest = analyze(together.front());
  for (ir::LoopsOp op : together.drop_front()) {
    LoopNest other = analyze(op);
    nest.index.insert(other.index.begin(), other.index.end());
    nest.offset.insert(other.offset.begin(), other.offset.end());
    nest.conditions.insert(other.conditions.begin(), other.conditions.end());
    llvm::append_range(nest.resultOffset, other.resultOffset);
  }
  nest.mergeDims(first);
  IndexSimplifier simplifier = nest.simplifier();
  int64_t longest = 0;
  for (unsigned dim = first; dim < nest.numDims(); ++dim) {
    auto step = [&](AffineExpr offset) {
      auto stride = dyn_cast_or_null<AffineConstantExpr>(simplifier.stride(offset, dim));
      return stride ? stride.getValue() : INT64_MAX;
    };
    bool ordered = llvm::all_of(nest.offset, [&](auto &entry) {
      int64_t stride = step(entry.second);
      return stride == 0 || stride == 1;
    });
    if (dim < nest.numParallel)
      ordered = ordered && llvm::all_of(nest.resultOffset, [&](AffineExpr offset) { return step(offset) == 1; });
    if (ordered)
      longest = std::max(longest, guess(nest.extents[dim], nest.symbols));
  }
  return longest;
}

/// The nest that makes a tensor of the kernel, or null.
ir::LoopsOp makerOf(ir::LoadOp load) { return load.getTensor().getDefiningOp<ir::LoopsOp>(); }

/// Where a nest that does the work of both could stand: behind all that the second reads, before all that reads the
/// first. Null if neither place is, that is, if the second needs the first.
Operation *commonPlace(ir::LoopsOp first, ir::LoopsOp second) {
  Operation *place = second;
  for (Operation *user : first->getUsers()) {
    Operation *reader = first->getBlock()->findAncestorOpInBlock(*user);
    if (reader->isBeforeInBlock(place))
      place = reader;
    if (reader == second)
      return nullptr;
  }
  for (auto load : second.getBody().front().getOps<ir::LoadOp>())
    if (ir::LoopsOp maker = makerOf(load); maker && !maker->isBeforeInBlock(place))
      return nullptr;
  return place;
}

} // namespace

Bytes bytesOf(Type type, ArrayAttr symbols) {
  return bytesOf(ir::getExtents(type), getElementTypeOrSelf(type), symbols);
}

unsigned rowRank(ir::KernelOp kernel) {
  llvm::SmallVector<ir::LoopsOp> nests = getLoops(kernel);
  if (nests.size() > 1)
    for (ir::LoopsOp loops : nests)
      if (loops.getNumReductions() > 0)
        return loops.getExtents().getExprs().size() - loops.getNumReductions();
  return 0;
}

bool isPlain(ir::LoopsOp loops) {
  for (Operation &op : loops.getBody().front()) {
    if (isa<ir::BoundsCheckOp>(op))
      return false;
    auto load = dyn_cast<ir::LoadOp>(op);
    if (load &&
        (load.getMask() || !llvm::all_of(load.getIndices(), [](Value index) { return isa<BlockArgument>(index); })))
      return false;
  }
  return true;
}

Bytes sharedBytes(ir::LoopsOp a, ir::LoopsOp b) {
  if (a.getExtents() != b.getExtents() || a.getNumReductions() != b.getNumReductions() ||
      a.getNumResults() + b.getNumResults() > kMostSiblingResults || !isPlain(a) || !isPlain(b) ||
      widestValue(a) != widestValue(b))
    return {};
  ArrayAttr symbols = ir::getSymbols(a);
  Bytes shared;
  llvm::SmallVector<ir::LoadOp> loads;
  for (auto load : a.getBody().front().getOps<ir::LoadOp>())
    if (variesWithAllLoops(load) && llvm::none_of(loads, [&](ir::LoadOp seen) { return readTheSame(seen, load); }))
      loads.push_back(load);
  for (ir::LoadOp load : loads) {
    if (llvm::none_of(b.getBody().front().getOps<ir::LoadOp>(),
                      [&](ir::LoadOp other) { return readTheSame(load, other); }))
      continue;
    auto type = cast<RankedTensorType>(load.getTensor().getType());
    // A slice is read as far as the loops go; windows overlap.
    Bytes tensor = bytesOf(type, symbols), points = bytesOf(a.getExtents().getExprs(), type.getElementType(), symbols);
    shared.likely += std::min(tensor.likely, points.likely);
    shared.most += std::min(tensor.most, points.most);
  }
  return shared;
}

bool vectorizesTogether(ir::LoopsOp a, unsigned rowsA, ir::LoopsOp b, unsigned rowsB, unsigned rowsTogether) {
  int64_t together = laneRun({a, b}, rowsTogether);
  if (together == 0)
    return false;
  // Rows are stepped through one by one, where a nest alone could also go across them.
  if (rowsA != rowsTogether || rowsB != rowsTogether)
    return together >= kLongRun;
  return together >= std::min(kLongRun, std::max(laneRun(a, rowsA), laneRun(b, rowsB)));
}

bool mergeSiblingLoops(ir::KernelOp kernel) {
  bool changed = false;
  auto mergeOne = [&] {
    llvm::SmallVector<ir::LoopsOp> nests = getLoops(kernel);
    // Two become one, which has no rows with others.
    unsigned rows = nests.size() > 2 ? rowRank(kernel) : 0;
    for (auto [i, second] : llvm::enumerate(nests))
      for (ir::LoopsOp first : ArrayRef(nests).take_front(i)) {
        if (sharedBytes(first, second).most == 0)
          continue;
        Operation *place = commonPlace(first, second);
        if (!place || !vectorizesTogether(first, rows, second, rows, rows))
          continue;
        ir::LoopsOp merged = mergeLoops(first, second);
        if (place != second)
          merged->moveBefore(place);
        return true;
      }
    return false;
  };
  // Each time there is one nest less.
  while (mergeOne())
    changed = true;
  return changed;
}

bool mergeEqualResults(ir::KernelOp kernel) {
  bool changed = false;
  for (ir::LoopsOp loops : getLoops(kernel)) {
    Operation *yield = loops.getBody().front().getTerminator();
    auto equal = [&](unsigned a, unsigned b) {
      return yield->getOperand(a) == yield->getOperand(b) &&
             (loops.getNumReductions() == 0 || loops.getKinds()[a] == loops.getKinds()[b]);
    };
    for (unsigned b = 1; b < loops.getNumResults(); ++b)
      for (unsigned a = 0; a < b && !loops.getResult(b).use_empty(); ++a)
        if (equal(a, b)) {
          loops.getResult(b).replaceAllUsesWith(loops.getResult(a));
          changed = true;
        }
  }
  return changed;
}

} // namespace tcc::codegen
