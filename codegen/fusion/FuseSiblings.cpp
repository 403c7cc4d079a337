//===- FuseSiblings.cpp - merges kernels that read the same tensor --------===//
//
// FuseKernels merges a kernel with what it reads; here two kernels become one that have nothing to do with each other
// but an input: relu(x) beside sigmoid(x), the mean of x beside its maximum. The input is then read from memory once.
// Reductions may also read each other's results, row by row: the mean of x * x less the square of the mean of x. All
// that a normalisation needs is then made by one kernel, which its readers can take in: FuseKernels runs again.
//
// The kernels of a block are visited in order. Each is compared with the last few that read one of its large inputs, so
// that the time is linear in the number of kernels. A merged kernel has one kernel less than before: it ends.
//
//===----------------------------------------------------------------------===//
#include "codegen/Target.h"
#include "codegen/fusion/FusionRules.h"
#include "codegen/fusion/KernelInfo.h"
#include "codegen/fusion/KernelRewrite.h"
#include "codegen/fusion/Passes.h"
#include "codegen/fusion/SiblingLoops.h"
#include "codegen/fusion/SiblingPlace.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/logs.h"

namespace tcc::codegen {
#define GEN_PASS_DEF_FUSESIBLINGSPASS
#include "codegen/fusion/Passes.h.inc"
} // namespace tcc::codegen

using namespace mlir;

namespace tcc::codegen {
namespace {

/// What is saved is at least this part of what the two kernels move: below, the longer kernel is not worth it.
constexpr double kLeastSharedPart = 1.0 / 8;
/// How many kernels that read the same tensor are looked at, the last ones.
constexpr size_t kMostCandidates = 4;

/// No template, no scatter.
bool holdsLoopsOnly(ir::KernelOp kernel) {
  return llvm::all_of(kernel.getBody().front().without_terminator(),
                      [](Operation &op) { return isa<ir::LoopsOp>(op); });
}

bool isCandidate(ir::KernelOp kernel) {
  if (!holdsLoopsOnly(kernel) || kernel.getNumResults() >= kMostSiblingResults)
    return false;
  llvm::SmallVector<ir::LoopsOp> nests = getLoops(kernel);
  bool checks = llvm::any_of(nests, [](ir::LoopsOp loops) { return bodyCost(loops).checks; });
  return !checks && (isPointwise(kernel) || hasReduction(kernel));
}

/// Whether a nest of a kernel needs results of another kernel, itself or through other nests.
bool needs(ir::LoopsOp loops, ir::KernelOp other) {
  auto kernel = loops->getParentOfType<ir::KernelOp>();
  return llvm::any_of(loops.getBody().front().getOps<ir::LoadOp>(), [&](ir::LoadOp load) {
    if (auto maker = load.getTensor().getDefiningOp<ir::LoopsOp>())
      return needs(maker, other);
    auto argument = dyn_cast<BlockArgument>(load.getTensor());
    return argument && kernel.getInputs()[argument.getArgNumber()].getDefiningOp() == other;
  });
}

/// The nests of two kernels that would become one, in pairs.
struct Match {
  Bytes shared; ///< that are then read once
  llvm::SmallVector<std::pair<ir::LoopsOp, ir::LoopsOp>> pairs;
};

Match matchNests(ir::KernelOp a, ir::KernelOp b) {
  Match match;
  llvm::SmallVector<ir::LoopsOp> nestsA = getLoops(a), nestsB = getLoops(b);
  // In order, so that pairs do not wait for each other.
  size_t next = 0;
  for (ir::LoopsOp second : nestsB) {
    if (needs(second, a))
      continue;
    for (size_t i = next; i < nestsA.size(); ++i) {
      Bytes bytes = sharedBytes(nestsA[i], second);
      if (bytes.most == 0)
        continue;
      match.pairs.push_back({nestsA[i], second});
      // The passes over a row read it from memory once.
      match.shared.likely = std::max(match.shared.likely, bytes.likely);
      match.shared.most = std::max(match.shared.most, bytes.most);
      next = i + 1;
      break;
    }
  }
  return match;
}

/// Whether all reductions of the kernel are among the pairs.
bool pairsAllReductions(const Match &match, ir::KernelOp kernel) {
  return llvm::all_of(getLoops(kernel), [&](ir::LoopsOp loops) {
    return loops.getNumReductions() == 0 ||
           llvm::any_of(match.pairs, [&](auto &pair) { return pair.first == loops || pair.second == loops; });
  });
}

struct FuseSiblings : impl::FuseSiblingsPassBase<FuseSiblings> {
  using FuseSiblingsPassBase::FuseSiblingsPassBase;
  FuseSiblings(Target *target, FuseSiblingsPassOptions options) : FuseSiblingsPassBase(options), target(target) {}

  void runOnOperation() override {
    llvm::SmallVector<Block *> blocks;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<ir::KernelOp>(op))
        return WalkResult::skip();
      for (Region &region : op->getRegions())
        for (Block &block : region)
          blocks.push_back(&block);
      return WalkResult::advance();
    });
    fused = false;
    for (Block *block : blocks)
      fuseBlock(*block);
    if (!fused)
      return;
    // Only where something is new: the answers would be the same.
    OpPassManager again(func::FuncOp::getOperationName());
    FuseKernelsPassOptions options;
    options.maxInputs = maxInputs;
    options.maxOps = maxOps;
    again.addPass(createFuseKernelsPass(target, options));
    if (failed(runPipeline(again, getOperation())))
      signalPassFailure();
  }

  void fuseBlock(Block &block) {
    kernels.clear();
    readers.clear();
    positions = OpPositions(block);
    llvm::SmallVector<ir::KernelOp> inOrder(block.getOps<ir::KernelOp>());
    for (ir::KernelOp kernel : inOrder) {
      if (!isCandidate(kernel)) {
        mergeWithin(kernel);
        continue;
      }
      kernel = mergeWithin(kernel);
      while (ir::KernelOp merged = fuseWithOne(kernel))
        kernel = merged;
      if (isCandidate(kernel))
        addReader(kernel);
    }
  }

  /// Fusion with producers leaves nests side by side in one kernel: the sums of x and of x * x.
  ir::KernelOp mergeWithin(ir::KernelOp kernel) {
    if (!holdsLoopsOnly(kernel) || !mergeSiblingLoops(kernel))
      return kernel;
    return simplifySiblings(kernel);
  }

  ir::KernelOp simplifySiblings(ir::KernelOp kernel) {
    kernel = simplifyKernel(kernel);
    return mergeEqualResults(kernel) ? simplifyKernel(kernel) : kernel;
  }

  void addReader(ir::KernelOp kernel) {
    for (Value input : llvm::SetVector<Value>(kernel.getInputs().begin(), kernel.getInputs().end())) {
      if (bytesOf(input.getType(), ir::getSymbols(kernel)).most < static_cast<double>(leastBytes))
        continue;
      auto &list = readers[input];
      llvm::erase_if(list, [&](unsigned id) { return !kernels[id]; });
      if (list.size() == kMostCandidates)
        list.erase(list.begin());
      list.push_back(kernels.size());
    }
    kernels.push_back(kernel);
  }

  /// Merges the kernel with an earlier one: the merged kernel, or null.
  ir::KernelOp fuseWithOne(ir::KernelOp kernel) {
    llvm::SmallSetVector<unsigned, 8> candidates;
    for (Value input : kernel.getInputs())
      if (auto it = readers.find(input); it != readers.end())
        candidates.insert(it->second.rbegin(), it->second.rend());
    for (unsigned id : candidates) {
      if (!kernels[id])
        continue;
      if (ir::KernelOp merged = tryFuse(kernels[id], kernel)) {
        kernels[id] = {};
        return merged;
      }
    }
    return {};
  }

  ir::KernelOp tryFuse(ir::KernelOp first, ir::KernelOp second) {
    if (first.getNumResults() + second.getNumResults() > kMostSiblingResults ||
        hasReduction(first) != hasReduction(second))
      return {};
    Match match = matchNests(first, second);
    if (match.pairs.empty())
      return {};
    auto no = [&](llvm::StringRef why) {
      log("not fused: ", first, second, why);
      return ir::KernelOp();
    };
    if (!isWorthwhile(first, second, match))
      return no("too little is read by both");
    if (hasReduction(first) && !pairsAllReductions(match, first) && !pairsAllReductions(match, second))
      return no("one reduces what the other does not");
    llvm::SetVector<Value> inputs(first.getInputs().begin(), first.getInputs().end());
    inputs.insert(second.getInputs().begin(), second.getInputs().end());
    if (inputs.size() > maxInputs || countOps(first) + countOps(second) > maxOps)
      return no("together they have too many inputs or operations");
    std::string why;
    Operation *place = placeOfSiblings(first, second, match.shared.likely, positions, why);
    if (!place)
      return no(why);
    if (!vectorizes(first, second, match))
      return no("vectors would be shorter, or not go across rows any more");

    auto all = llvm::to_vector(llvm::seq<unsigned>(0, first.getNumResults()));
    ir::KernelOp merged = mergeKernels(first, second, all, place);
    mergeSiblingLoops(merged);
    merged = simplifySiblings(merged);
    if (const char *why = flaw(merged, getLoops(first).size() + getLoops(second).size())) {
      merged.erase();
      return no(why);
    }
    log("fused: ", first, second, "what both read is read once");
    unsigned numSecond = second.getNumResults();
    for (OpResult result : merged->getResults()) {
      unsigned i = result.getResultNumber();
      replace(i < numSecond ? second.getResult(i) : first.getResult(i - numSecond), result);
    }
    positions.copy(place, merged);
    moveInputs(merged);
    first.erase();
    second.erase();
    fused = true;
    return dropEqualResults(merged);
  }

  /// Kernels that read the one read the other from now on.
  void replace(Value value, Value by) {
    value.replaceAllUsesWith(by);
    auto it = readers.find(value);
    if (it == readers.end())
      return;
    llvm::SmallVector<unsigned, kMostCandidates> moved = std::move(it->second);
    readers.erase(it);
    auto &list = readers[by];
    llvm::append_range(list, moved);
    llvm::sort(list);
    if (list.size() > kMostCandidates)
      list.erase(list.begin(), list.end() - kMostCandidates);
  }

  /// Why the kernel that two became is not one to keep, or null.
  const char *flaw(ir::KernelOp merged, size_t nestsBefore) {
    if (getLoops(merged).size() >= nestsBefore)
      return "what both read would be read twice in one kernel";
    if (hasReduction(merged) && !areRowsAligned(merged))
      return "they go over different rows";
    if (target && !target->canCompile(merged))
      return "the target has no schedule for the two together";
    return nullptr;
  }

  /// Bytes saved against bytes moved.
  bool isWorthwhile(ir::KernelOp first, ir::KernelOp second, const Match &match) {
    if (match.shared.most < static_cast<double>(leastBytes))
      return false;
    double moved = 0;
    for (ir::KernelOp kernel : {first, second}) {
      for (Value input : kernel.getInputs())
        moved += bytesOf(input.getType(), ir::getSymbols(kernel)).likely;
      for (Value result : kernel.getResults())
        moved += bytesOf(result.getType(), ir::getSymbols(kernel)).likely;
    }
    return match.shared.likely >= kLeastSharedPart * moved;
  }

  bool vectorizes(ir::KernelOp first, ir::KernelOp second, const Match &match) {
    unsigned rowsFirst = rowRank(first), rowsSecond = rowRank(second), rows = std::max(rowsFirst, rowsSecond);
    return llvm::all_of(match.pairs, [&](auto &pair) {
      return vectorizesTogether(pair.first, rowsFirst, pair.second, rowsSecond, rows);
    });
  }

  /// Results that are the same value: read as one.
  ir::KernelOp dropEqualResults(ir::KernelOp kernel) {
    auto yield = cast<ir::YieldOp>(kernel.getBody().front().getTerminator());
    llvm::SmallVector<unsigned> kept;
    for (OpResult result : kernel->getResults()) {
      unsigned i = result.getResultNumber();
      auto *same = llvm::find_if(kept, [&](unsigned other) {
        return yield->getOperand(other) == yield->getOperand(i) &&
               kernel.getResult(other).getType() == result.getType();
      });
      if (same == kept.end())
        kept.push_back(i);
      else
        replace(result, kernel.getResult(*same));
    }
    if (kept.size() == kernel.getNumResults())
      return kernel;
    OpBuilder b(kernel);
    llvm::SmallVector<Type> types;
    llvm::SmallVector<Value> yields;
    for (unsigned i : kept) {
      types.push_back(kernel.getResult(i).getType());
      yields.push_back(yield->getOperand(i));
    }
    auto next = b.create<ir::KernelOp>(kernel.getLoc(), types, kernel.getInputs(), kernel.getSources());
    next.getBody().takeBody(kernel.getBody());
    yield->setOperands(yields);
    for (auto [i, result] : llvm::zip_equal(kept, next.getResults()))
      replace(kernel.getResult(i), result);
    positions.copy(kernel, next);
    kernel.erase();
    return next;
  }

  void log(const char *what, ir::KernelOp first, ir::KernelOp second, llvm::StringRef why) {
    if (tcc::LogEnabled("fusion"))
      tcc::Log("fusion", what + nameOf(first) + " beside " + nameOf(second) + ": " + why.str());
  }

  Target *target = nullptr;
  bool fused = false;
  OpPositions positions;
  /// Candidates so far; merged ones are null.
  llvm::SmallVector<ir::KernelOp> kernels;
  llvm::DenseMap<Value, llvm::SmallVector<unsigned, kMostCandidates>> readers;
};

} // namespace

std::unique_ptr<Pass> createFuseSiblingsPass(Target *target, FuseSiblingsPassOptions options) {
  return std::make_unique<FuseSiblings>(target, options);
}

} // namespace tcc::codegen
