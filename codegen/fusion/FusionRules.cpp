//===- FusionRules.cpp - when two kernels are better as one ---------------===//
#include "codegen/fusion/FusionRules.h"

#include "codegen/Target.h"
#include "codegen/fusion/KernelInfo.h"
#include "codegen/fusion/KernelRewrite.h"
#include "codegen/fusion/SiblingLoops.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

/// Costs of a body that may be computed again wherever it is read.
constexpr unsigned kCheapFlops = 4;
constexpr unsigned kCheapLoads = 2;
/// A row is read this often by a normalisation: once for each of its passes.
constexpr double kRowPasses = 3.5;
constexpr unsigned kRowFlops = 16;

/// How often the producer's nest would run, per element: once for each nest of the consumer that reads it, and for each
/// different index it is read at there. Results of one nest that are read at the same index count once.
double readsPerElement(ir::KernelOp producer, ir::KernelOp consumer) {
  llvm::SmallVector<ir::LoadOp> seen;
  double reads = 0;
  for (auto [input, argument] : llvm::zip_equal(consumer.getInputs(), consumer.getBody().getArguments())) {
    if (input.getDefiningOp() != producer)
      continue;
    for (Operation *user : argument.getUsers()) {
      auto load = dyn_cast<ir::LoadOp>(user);
      if (!load)
        continue;
      bool known = llvm::any_of(seen, [&](ir::LoadOp other) {
        return other->getBlock() == load->getBlock() && other.getMap() == load.getMap() &&
               other.getMaskAttr() == load.getMaskAttr() && other.getIndices() == load.getIndices();
      });
      if (known)
        continue;
      seen.push_back(load);
      reads += iterations(load->getParentOfType<ir::LoopsOp>());
    }
  }
  return reads / iterations(getLoops(producer).front());
}

bool isCheap(ir::LoopsOp loops) {
  BodyCost cost = bodyCost(loops);
  return cost.flops <= kCheapFlops && cost.loads <= kCheapLoads;
}

/// Whether the kernel reads results of the producer only by loads (not as an operand of a template).
bool readsOnlyByLoads(ir::KernelOp producer, ir::KernelOp consumer) {
  for (auto [input, argument] : llvm::zip_equal(consumer.getInputs(), consumer.getBody().getArguments()))
    if (input.getDefiningOp() == producer)
      for (Operation *user : argument.getUsers())
        if (!isa<ir::LoadOp>(user))
          return false;
  return true;
}

bool sameExtents(ir::LoopsOp a, ir::LoopsOp b) { return a.getExtents() == b.getExtents(); }

/// The load reads its tensor at the index of its own nest.
bool isIdentity(ir::LoadOp load) {
  auto loops = load->getParentOfType<ir::LoopsOp>();
  auto arguments = loops.getBody().getArguments();
  if (load.getMask() || load.getMap().getNumResults() != arguments.size())
    return false;
  for (auto [i, result] : llvm::enumerate(load.getMap().getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(result);
    auto constant = dyn_cast<AffineConstantExpr>(result);
    bool single = constant && constant.getValue() == 0 && ir::getConstant(loops.getExtents().getExprs()[i]) == 1;
    if (!single && (!dim || load.getIndices()[dim.getPosition()] != arguments[i]))
      return false;
  }
  return true;
}

/// Whether the consumer goes over the elements of a row kernel's result, one by one: the nest that makes these can make
/// what the consumer does of them beside them.
bool goesBeside(ir::KernelOp producer, ir::KernelOp consumer) {
  if (!isPointwise(consumer) || producer.getNumResults() + consumer.getNumResults() > kMostSiblingResults)
    return false;
  ir::LoopsOp reader = getLoops(consumer).front(), maker;
  for (auto load : reader.getBody().front().getOps<ir::LoadOp>()) {
    auto argument = dyn_cast<BlockArgument>(load.getTensor());
    auto input = argument ? dyn_cast<OpResult>(consumer.getInputs()[argument.getArgNumber()]) : OpResult();
    if (!input || input.getOwner() != producer)
      continue;
    Value made = producer.getBody().front().getTerminator()->getOperand(input.getResultNumber());
    auto loops = made.getDefiningOp<ir::LoopsOp>();
    if (!loops || (maker && maker != loops) || !isIdentity(load))
      return false;
    maker = loops;
  }
  unsigned rows = rowRank(producer);
  return maker && maker.getNumReductions() == 0 && sameExtents(maker, reader) && isPlain(reader) &&
         vectorizesTogether(maker, rows, reader, /*rowsB=*/0, rows);
}

/// A contraction of integers. Tensor cores take those of 8 bits, less a zero point.
bool multipliesIntegers(ir::KernelOp kernel) {
  Operation *op = getTemplate(kernel);
  return op && isa<IntegerType>(cast<RankedTensorType>(op->getResult(0).getType()).getElementType());
}

} // namespace

FusionPlan FusionRules::decide(ir::KernelOp producer, ir::KernelOp consumer, bool othersRead, bool othersAfter) {
  bool producerTemplate = getTemplate(producer), consumerTemplate = getTemplate(consumer);
  bool producerReduces = hasReduction(producer), consumerReduces = hasReduction(consumer);
  if (producerTemplate && consumerTemplate)
    return no("both are contractions");
  if (consumer.getInputs().size() + producer.getInputs().size() > maxInputs + 1 ||
      countOps(producer) + countOps(consumer) > maxOps)
    return no("together they have too many inputs or operations");

  if (getScatter(producer))
    return no("what is scattered into is complete only at the end");
  if (getScatter(consumer) && (producerTemplate || producerReduces))
    return no("only what is pointwise can be read by a scatter in its kernel");

  // Operands of a template: only what moves elements, into contractions that read their operands through a view.
  if (consumerTemplate && !readsOnlyByLoads(producer, consumer)) {
    bool reads = isa<ir::MatmulOp, ir::AttentionOp>(getTemplate(consumer));
    if (!reads)
      return no("this contraction reads its operands from memory");
    // Of integers also what takes off a zero point: accept() asks the target.
    if (multipliesIntegers(consumer) && isPointwise(producer) && isCheap(getLoops(producer).front()))
      return yes(FusionPlan::Merge, "integers, before they are multiplied");
    if (!isDataMovement(producer) || bodyCost(getLoops(producer).front()).checks)
      return no("an operand of a contraction is read many times: only what moves elements is done while reading");
    return yes(FusionPlan::Merge, "an operand of a contraction, read through a view");
  }
  if (producerTemplate) {
    // An epilogue: pointwise, over as many elements as the template makes.
    if (!isPointwise(consumer))
      return no("only what is pointwise can follow a contraction in its kernel");
    if (othersRead)
      return no("the result of the contraction is read elsewhere too");
    return yes(FusionPlan::Merge, "an epilogue");
  }
  if (producerReduces) {
    if (consumerTemplate)
      return no("a contraction cannot read a reduction that is in its kernel");
    if (othersRead && othersAfter && goesBeside(producer, consumer))
      return yes(FusionPlan::MergeAndKeep, "others read it too: the kernel yields it as well");
    if (othersRead)
      return no("the result of the reduction is read elsewhere too");
    return yes(FusionPlan::Merge, "both go over the same rows"); // accept() looks at them
  }

  // The producer is pointwise. How often would its work be done?
  if (!isPointwise(producer))
    return no("what is read is made by several loops");
  ir::LoopsOp loops = getLoops(producer).front();
  BodyCost cost = bodyCost(loops);
  double reads = readsPerElement(producer, consumer);
  bool cheap = isCheap(loops) && !cost.checks;
  bool rows = consumerReduces && reads <= kRowPasses && cost.flops <= kRowFlops;
  bool affordable = reads <= 1.01 || (cheap && (reads <= kRowPasses || cost.flops == 0 || cost.loads == 0)) || rows;
  // A small operand that is broadcast over many: cheap work on few elements may be done for each.
  if (cheap && !affordable && cost.loads <= 1 && cost.flops <= 2)
    affordable = true;
  if (!affordable)
    return no("its work would be done again for each of several reads");
  if (!othersRead)
    return yes(FusionPlan::Merge, "pointwise, and read by nothing else");
  // Others read it too: computed again where that costs less than reading it would...
  if (cheap && cost.loads <= 1)
    return yes(FusionPlan::Merge, "others read it too, but computing it again costs less than reading it");
  // ... or yielded by the merged kernel.
  if (othersAfter && !consumerTemplate && consumer.getNumResults() + producer.getNumResults() <= 4) {
    bool same = false;
    for (ir::LoopsOp nest : getLoops(consumer))
      same = same || (isPointwise(consumer) && sameExtents(nest, loops));
    if (same && reads <= 1.01)
      return yes(FusionPlan::MergeAndKeep, "others read it too: the kernel yields it as well");
  }
  return no("others read it too, and it is not cheap to compute again");
}

void FusionRules::inlineLoops(ir::KernelOp kernel) {
  for (ir::LoopsOp loops : getLoops(kernel)) {
    if (loops.getNumReductions() > 0)
      continue;
    llvm::SmallVector<ir::LoadOp> loads;
    bool others = false;
    for (Operation *user : loops->getUsers()) {
      if (auto load = dyn_cast<ir::LoadOp>(user))
        loads.push_back(load);
      else
        others = true;
    }
    if (loads.empty())
      continue;
    if (others) {
      // Yielded as well: one nest makes both values.
      auto reader = loads.front()->getParentOfType<ir::LoopsOp>();
      bool one = llvm::all_of(
          loads, [&](ir::LoadOp load) { return load->getParentOfType<ir::LoopsOp>() == reader && isIdentity(load); });
      if (one && reader.getNumReductions() == 0 && sameExtents(loops, reader)) {
        mergeLoops(loops, reader);
        return inlineLoops(kernel);
      }
      continue;
    }
    // A statistic of a row (a mean, a scale) is computed once a row, not for each element.
    double reads = 0;
    for (ir::LoadOp load : loads)
      reads += iterations(load->getParentOfType<ir::LoopsOp>());
    BodyCost cost = bodyCost(loops);
    bool readsStatistic = false;
    loops.getBody().walk([&](ir::LoadOp load) {
      auto from = load.getTensor().getDefiningOp<ir::LoopsOp>();
      readsStatistic = readsStatistic || (from && from.getNumReductions() > 0);
    });
    if (readsStatistic && reads > 1.01 * iterations(loops) && cost.flops > 0)
      continue;
    for (ir::LoadOp load : loads)
      inlineIntoLoad(load);
  }
}

bool areRowsAligned(ir::KernelOp kernel) {
  ir::ExtentsAttr rows;
  for (ir::LoopsOp loops : getLoops(kernel)) {
    if (loops.getNumReductions() == 0)
      continue;
    auto parallel =
        ir::ExtentsAttr::get(kernel.getContext(), loops.getExtents().getExprs().drop_back(loops.getNumReductions()));
    if (rows && rows != parallel)
      return false;
    rows = parallel;
  }
  bool aligned = true;
  kernel.getBody().walk([&](ir::LoadOp load) {
    if (!load.getTensor().getDefiningOp<ir::LoopsOp>())
      return;
    if (load.getMask()) {
      aligned = false;
      return;
    }
    llvm::SmallDenseSet<unsigned> seen;
    ir::Exprs extents = ir::getExtents(load.getTensor().getType());
    for (auto [result, extent] : llvm::zip_equal(load.getMap().getResults(), extents)) {
      if (ir::getConstant(extent) == 1)
        continue;
      auto dim = dyn_cast<AffineDimExpr>(result);
      if (!dim || !isa<BlockArgument>(load.getIndices()[dim.getPosition()]) || !seen.insert(dim.getPosition()).second ||
          extentOfIndex(load.getIndices()[dim.getPosition()]) != extent)
        aligned = false;
    }
  });
  return aligned;
}

/// Nests that read a template's result do so once for each element, all in the same order.
bool FusionRules::isEpilogue(ir::KernelOp kernel, Operation *templateOp) {
  MLIRContext *context = kernel.getContext();
  AffineExpr elements = ir::product(context, ir::getExtents(templateOp->getResult(0).getType()));
  bool good = true;
  AffineMap map;
  for (Operation *user : templateOp->getResult(0).getUsers()) {
    if (isa<ir::YieldOp>(user))
      continue;
    auto load = dyn_cast<ir::LoadOp>(user);
    if (!load || load.getMask()) {
      good = false;
      continue;
    }
    auto loops = load->getParentOfType<ir::LoopsOp>();
    good = good && loops.getNumReductions() == 0 && ir::product(context, loops.getExtents().getExprs()) == elements;
    good = good && llvm::all_of(load.getIndices(), [](Value index) { return isa<BlockArgument>(index); });
    // Which loops they are is part of the map: loads were simplified alike.
    good = good && (!map || map == load.getMap());
    map = load.getMap();
  }
  return good;
}

bool FusionRules::accept(ir::KernelOp merged, ir::KernelOp producer, ir::KernelOp consumer) {
  if (merged.getInputs().size() > maxInputs || countOps(merged) > maxOps)
    return refuse("together they have too many inputs or operations");
  Operation *templateOp = getTemplate(merged);
  if (templateOp) {
    if (!isEpilogue(merged, templateOp))
      return refuse("the result of the contraction would be read in another order than it is made");
    // One nest after the template, and views before it.
    bool integers = multipliesIntegers(merged);
    unsigned after = 0;
    for (ir::LoopsOp loops : getLoops(merged)) {
      bool before = llvm::all_of(loops->getUsers(), [&](Operation *user) { return user == templateOp; });
      after += !before;
      if (before && (loops.getNumReductions() > 0 || (!integers && bodyCost(loops).flops > 0)))
        return refuse("there would be arithmetic before the contraction");
    }
    if (after > 1)
      return refuse("there would be several loops after the contraction");
  } else if (getScatter(merged)) {
    if (getLoops(merged).size() > getLoops(consumer).size())
      return refuse("it does not go into the loops that read it");
  } else if (hasReduction(merged)) {
    if (!areRowsAligned(merged))
      return refuse("they go over different rows");
    // A pointwise value that several passes read is in no register: it would have to be a row in memory.
    if (!hasReduction(producer)) {
      unsigned before = getLoops(consumer).size();
      if (getLoops(merged).size() > before)
        return refuse("several passes would read it: it has to be a row in memory");
    }
  } else if (getLoops(merged).size() > 1) {
    return refuse("it does not go into the loop that reads it");
  }
  // Contiguous reads are worth more than a saved pass: strided ones only where they replace a copy.
  if (!templateOp) {
    unsigned strided = 0, stridedBefore = 0;
    auto count = [](ir::KernelOp kernel, unsigned &counter) {
      kernel.getBody().walk([&](ir::LoadOp load) {
        if (load.getTensor().getDefiningOp<ir::LoopsOp>())
          return;
        counter += walkOf(load) == Walk::Strided;
      });
    };
    count(merged, strided);
    count(producer, stridedBefore);
    count(consumer, stridedBefore);
    unsigned limit = hasReduction(merged) ? stridedBefore : std::max(stridedBefore, 1u);
    // A reduction reads each operand once a pass.
    if (hasReduction(merged) && stridedBefore > 0 && !hasReduction(producer))
      limit = 3 * stridedBefore;
    if (hasReduction(merged) && isDataMovement(producer) && !hasReduction(producer)) {
      // A transposing copy into a reduction destroys its locality.
      unsigned consumerStrided = 0;
      count(consumer, consumerStrided);
      limit = consumerStrided;
    }
    if (strided > limit)
      return refuse("memory would be read with strides instead of in order");
  }
  return !target || target->canCompile(merged) || refuse("the target has no schedule for the two together");
}

} // namespace tcc::codegen
