//===- MergeSlicedOps.cpp - the same on neighbouring slices is one op ------===//
//
// The heads of queries and of keys lie beside each other in one tensor, and a rotary embedding does the same to all of
// them: one computation over both, of which each reader takes its slice, instead of one for each.
//
// Values that are slices of one larger value, in order and side by side along an axis, are lanes of a family. Where
// each lane has a user that is the same op, with the other lanes' values or what is the same for all as its other
// operands, the results are a family again, of the op on the larger value. So families are followed from slices of a
// tensor onwards. What is made of them has to be read by contractions through views: these read a slice at no cost, and
// would not have taken in arithmetic. Steps that lead elsewhere are left out.
//
//===----------------------------------------------------------------------===//
#include <optional>

#include "ir/ElementTypes.h"
#include "ir/Folding.h"
#include "ir/OpSupport.h"
#include "ir/transforms/Match.h"
#include "ir/transforms/Passes.h"
#include "ir/transforms/Slices.h"
#include "llvm/ADT/MapVector.h"

namespace tcc::ir {
#define GEN_PASS_DEF_MERGESLICEDOPSPASS
#include "ir/transforms/Passes.h.inc"

namespace {

using mlir::Attribute;
using mlir::Block;
using mlir::Operation;
using mlir::Value;

/// Slices of one tensor that are looked at together.
constexpr size_t kMostLanes = 16;
/// Steps that lead from the slices.
constexpr size_t kMostSteps = 64;
/// Elements of constants that are made anew: one for each lane's channels.
constexpr int64_t kMostConstants = 64 * 1024;

struct Family {
  llvm::SmallVector<Value> lanes;
  int64_t axis = 0;
  llvm::SmallVector<int64_t> sizes; ///< of the lanes along the axis

  int64_t size() const {
    int64_t total = 0;
    for (int64_t size : sizes)
      total += size;
    return total;
  }
  /// Extents of the larger value.
  Exprs extents() const {
    Exprs result = getExtents(lanes.front().getType());
    result[axis] = mlir::getAffineConstantExpr(size(), lanes.front().getContext());
    return result;
  }
  mlir::Type element() const { return tensorType(lanes.front()).getElementType(); }
};

/// An operand of the op on the larger values.
struct Operand {
  int family = -1;             ///< the larger value of this one; -1: something else
  Value same;                  ///< what all lanes have, below broadcasts
  Attribute splat;             ///< the one value of constants
  mlir::ElementsAttr constant; ///< those of the lanes, to be broadcast
};

/// The same op in each lane.
struct Step {
  llvm::SmallVector<Operation *> ops;
  llvm::SmallVector<Operand> operands;
  unsigned result = 0; ///< its family
};

/// Whether everything that reads the value is a contraction that reads it through a view.
bool isReadThroughViews(Operation *user) {
  if (llvm::isa<MatmulOp, AttentionOp>(user))
    return true;
  if (!llvm::isa<ReshapeOp, TransposeOp, BroadcastOp, SliceOp>(user))
    return false;
  return llvm::all_of(user->getUsers(), isReadThroughViews);
}

/// More than a change of places.
bool computes(Operation *op) { return !llvm::isa<ReshapeOp, TransposeOp, BroadcastOp, SliceOp, ConcatOp>(op); }

class Region {
public:
  Region(llvm::ArrayRef<Piece> pieces) {
    Family family;
    family.axis = pieces.front().axis;
    for (Piece piece : pieces) {
      family.lanes.push_back(piece.op.getY());
      family.sizes.push_back(piece.size);
    }
    start = pieces.front().start;
    block = pieces.front().op->getBlock();
    add(std::move(family));
  }

  /// Follows the family; whether there is something to merge.
  bool find() {
    for (size_t f = 0; f < families.size(); ++f) {
      llvm::SmallVector<Operation *> users(families[f].lanes.front().getUsers());
      // In the order of the program (a value lists its users backwards).
      for (Operation *user : llvm::reverse(users))
        if (steps.size() < kMostSteps && user->getBlock() == block && !taken.contains(user))
          match(user, f);
    }
    dropWhatLeadsElsewhere();
    return llvm::any_of(steps, [](const Step &step) { return computes(step.ops.front()); });
  }

  void rewrite() {
    llvm::DenseMap<unsigned, Value> wholes;
    auto first = families.front().lanes.front().getDefiningOp<SliceOp>();
    mlir::OpBuilder b(earliest(families.front().lanes));
    const Family &all = families.front();
    wholes[0] = sliceAlong(b, first.getLoc(), first.getX(), all.axis, start, all.size());
    for (Step &step : steps) {
      const Family &family = families[step.result];
      Operation *leader = step.ops.front();
      // Operands are there: those of this lane are before the op, and what was made of them stands at the first of its
      // lanes.
      b.setInsertionPoint(earliest(family.lanes));
      llvm::SmallVector<mlir::Location> locations;
      for (Operation *op : step.ops)
        locations.push_back(op->getLoc());
      mlir::Location loc = mlir::FusedLoc::get(b.getContext(), locations);
      Operation *merged = leader->clone();
      for (auto [i, operand] : llvm::enumerate(step.operands)) {
        mlir::Type element = tensorType(leader->getOperand(i)).getElementType();
        merged->setOperand(i, operand.family >= 0 ? wholes[operand.family]
                                                  : materialize(b, loc, operand, family, element));
      }
      merged->setLoc(loc);
      merged->getResult(0).setType(makeTensorType(family.extents(), family.element()));
      b.insert(merged);
      wholes[step.result] = merged->getResult(0);
      // Whoever reads a lane reads its slice from now on; ops that are merged as well will be gone.
      int64_t at = 0;
      for (auto [lane, size] : llvm::zip_equal(family.lanes, family.sizes)) {
        if (llvm::any_of(lane.getUsers(), [&](Operation *user) { return !taken.contains(user); }))
          Value(lane).replaceUsesWithIf(sliceAlong(b, lane.getLoc(), merged->getResult(0), family.axis, at, size),
                                        [&](mlir::OpOperand &use) { return !taken.contains(use.getOwner()); });
        at += size;
      }
    }
    for (Step &step : llvm::reverse(steps))
      for (Operation *op : step.ops)
        op->erase();
    for (Value lane : families.front().lanes)
      if (lane.use_empty())
        lane.getDefiningOp()->erase();
  }

private:
  static Operation *earliest(llvm::ArrayRef<Value> lanes) {
    Operation *first = lanes.front().getDefiningOp();
    for (Value lane : lanes.drop_front())
      if (lane.getDefiningOp()->isBeforeInBlock(first))
        first = lane.getDefiningOp();
    return first;
  }

  unsigned add(Family family) {
    for (auto [lane, value] : llvm::enumerate(family.lanes))
      familyOf[value] = {static_cast<unsigned>(families.size()), static_cast<unsigned>(lane)};
    families.push_back(std::move(family));
    return families.size() - 1;
  }

  /// The op in other lanes that does what `leader` does in the first, as a step; `f`: a family that it reads.
  void match(Operation *leader, unsigned f) {
    if (leader->getNumResults() != 1 || leader->getNumRegions() != 0 || !mlir::isPure(leader))
      return;
    Step step;
    step.ops.push_back(leader);
    for (size_t lane = 1; lane < families[f].lanes.size(); ++lane) {
      Operation *same = nullptr;
      for (Operation *user : families[f].lanes[lane].getUsers())
        if (corresponds(leader, user, lane)) {
          same = user;
          break;
        }
      if (!same)
        return;
      step.ops.push_back(same);
    }
    auto family = resultOf(step, f);
    if (!family || !findOperands(step, *family))
      return;
    for (Operation *op : step.ops)
      taken.insert(op);
    step.result = add(std::move(*family));
    steps.push_back(std::move(step));
  }

  bool corresponds(Operation *leader, Operation *op, size_t lane) {
    if (op->getName() != leader->getName() || op->getBlock() != block || taken.contains(op) || op == leader ||
        op->getNumOperands() != leader->getNumOperands() || op->getAttrDictionary() != leader->getAttrDictionary())
      return false;
    for (auto [a, b] : llvm::zip_equal(leader->getOperands(), op->getOperands())) {
      auto first = familyOf.find(a), other = familyOf.find(b);
      bool varies = first != familyOf.end() && first->second.second == 0;
      if (varies != (other != familyOf.end() && other->second.second == lane))
        return false;
      if (varies && first->second.first != other->second.first)
        return false;
    }
    return true;
  }

  /// The results as a family; nothing where they are no slices of the op on the larger value.
  std::optional<Family> resultOf(const Step &step, unsigned f) {
    const Family &from = families[f];
    Operation *op = step.ops.front();
    std::optional<int64_t> axis;
    if (op->hasTrait<mlir::OpTrait::Elementwise>()) {
      axis = from.axis;
    } else if (auto transpose = llvm::dyn_cast<TransposeOp>(op)) {
      axis = std::distance(transpose.getPermutation().begin(), llvm::find(transpose.getPermutation(), from.axis));
    } else if (llvm::isa<ReshapeOp>(op)) {
      return reshaped(step, from);
    } else if (auto slice = llvm::dyn_cast<SliceOp>(op)) {
      // All of the family's axis.
      for (size_t lane = 0; lane < step.ops.size(); ++lane)
        if (getConstant(getExtent(step.ops[lane]->getResult(0).getType(), from.axis)) != from.sizes[lane])
          return std::nullopt;
      if (slice.getSteps()[from.axis] != 1)
        return std::nullopt;
      axis = from.axis;
    } else if (auto concat = llvm::dyn_cast<ConcatOp>(op)) {
      if (static_cast<int64_t>(concat.getAxis()) != from.axis)
        axis = from.axis;
    } else if (auto softmax = llvm::dyn_cast<SoftmaxOp>(op)) {
      if (static_cast<int64_t>(softmax.getAxis()) != from.axis)
        axis = from.axis;
    } else if (auto norm = llvm::dyn_cast<LayerNormOp>(op)) {
      if (static_cast<int64_t>(norm.getAxis()) > from.axis)
        axis = from.axis;
    } else if (auto rms = llvm::dyn_cast<RmsNormOp>(op)) {
      if (static_cast<int64_t>(rms.getAxis()) > from.axis)
        axis = from.axis;
    }
    if (!axis)
      return std::nullopt;
    Family family;
    family.axis = *axis;
    family.sizes = from.sizes;
    for (Operation *op : step.ops)
      family.lanes.push_back(op->getResult(0));
    return isConsistent(family) ? std::optional(family) : std::nullopt;
  }

  /// Lanes of a family differ along its axis only, as much as their sizes do.
  static bool isConsistent(const Family &family) {
    Exprs first = getExtents(family.lanes.front().getType());
    for (auto [lane, size] : llvm::zip_equal(family.lanes, family.sizes)) {
      Exprs extents = getExtents(lane.getType());
      if (extents.size() != first.size() || getConstant(extents[family.axis]) != size ||
          tensorType(lane).getElementType() != family.element())
        return false;
      extents[family.axis] = first[family.axis];
      if (extents != first)
        return false;
    }
    return true;
  }

  /// Reshapes that split or join axes so that slices stay slices: everything in front of the axis stays together, and
  /// so does what is behind, for all lanes alike.
  static std::optional<Family> reshaped(const Step &step, const Family &from) {
    mlir::MLIRContext *context = step.ops.front()->getContext();
    Exprs source = getExtents(from.lanes.front().getType()),
          first = getExtents(step.ops.front()->getResult(0).getType());
    mlir::AffineExpr before = product(context, llvm::ArrayRef(source).take_front(from.axis));
    Family family;
    for (Operation *op : step.ops)
      family.lanes.push_back(op->getResult(0));
    for (size_t axis = first.size(); axis-- > 0;) {
      if (product(context, llvm::ArrayRef(first).take_front(axis)) != before)
        continue;
      family.axis = static_cast<int64_t>(axis);
      family.sizes.clear();
      for (Value lane : family.lanes) {
        auto size = tensorType(lane).getRank() > family.axis ? getConstant(getExtent(lane.getType(), family.axis))
                                                             : std::nullopt;
        family.sizes.push_back(size.value_or(-1));
      }
      if (isConsistent(family) && isProportional(family, from))
        return family;
    }
    return std::nullopt;
  }

  /// Whether sizes are to those of the other family as 1 is to one number for all lanes.
  static bool isProportional(const Family &family, const Family &from) {
    for (size_t i = 0; i < family.sizes.size(); ++i)
      if (family.sizes[i] <= 0 || family.sizes[i] * from.sizes[0] != family.sizes[0] * from.sizes[i])
        return false;
    return true;
  }

  bool findOperands(Step &step, const Family &result) {
    bool elementwise = step.ops.front()->hasTrait<mlir::OpTrait::Elementwise>();
    for (unsigned i = 0; i < step.ops.front()->getNumOperands(); ++i) {
      auto known = familyOf.find(step.ops.front()->getOperand(i));
      Operand operand;
      if (known != familyOf.end() && known->second.second == 0) {
        // (Lanes were compared.) Along the same axis as all operands; a view has one only.
        operand.family = static_cast<int>(known->second.first);
        const Family &family = families[operand.family];
        if (step.ops.front()->getNumOperands() > 1 && (family.axis != result.axis || family.sizes != result.sizes))
          return false;
      } else if (!elementwise || !findCommon(step, i, result, operand)) {
        return false;
      }
      step.operands.push_back(std::move(operand));
    }
    return true;
  }

  /// Operands that are the same in all lanes, or constants.
  bool findCommon(const Step &step, unsigned i, const Family &result, Operand &operand) {
    auto below = [&](Operation *op) {
      Value value = op->getOperand(i);
      auto broadcast = value.getDefiningOp<BroadcastOp>();
      return broadcast ? broadcast.getX() : value;
    };
    operand.same = below(step.ops.front());
    operand.splat = getSplatValue(step.ops.front()->getOperand(i));
    for (Operation *op : step.ops) {
      // Lanes go.
      if (familyOf.contains(op->getOperand(i)) || familyOf.contains(below(op)))
        return false;
      if (operand.splat && getSplatValue(op->getOperand(i)) != operand.splat)
        operand.splat = {};
      if (operand.same != below(op))
        operand.same = {};
    }
    if (operand.splat)
      return true;
    if (!operand.same)
      return findChannels(step, i, result, operand);
    // It repeats along the family's axis.
    int64_t axis = result.axis - (static_cast<int64_t>(result.extents().size()) - rankOf(operand.same));
    return axis < 0 || getConstant(getExtent(operand.same.getType(), axis)) == 1;
  }

  /// Constants that differ from lane to lane, and along one more axis at most: the weights of norms of queries and
  /// keys.
  static bool findChannels(const Step &step, unsigned i, const Family &result, Operand &operand) {
    int64_t channels = -1, count = 1, total = result.size();
    llvm::SmallVector<Tensor> parts;
    for (Operation *op : step.ops) {
      auto constant = getChannelConstant(op->getOperand(i));
      if (!constant || constant->axis == result.axis || IsPacked(constant->elements.dtype()))
        return false;
      if (constant->axis >= 0) {
        if (channels >= 0 && channels != constant->axis)
          return false;
        channels = constant->axis;
        count = constant->elements.num_elements();
      }
      parts.push_back(constant->elements);
    }
    if (count > kMostConstants / total)
      return false;
    // Over the lanes and the channels, in the order of their axes.
    Dims dims(result.extents().size(), 1);
    dims[result.axis] = total;
    if (channels >= 0)
      dims[channels] = count;
    auto all = Tensor::Allocate(parts.front().dtype(), dims);
    if (!all.ok())
      return false;
    int64_t laneStride = channels > result.axis ? count : 1, channelStride = channels > result.axis ? 1 : total, at = 0;
    for (auto [part, size] : llvm::zip_equal(parts, result.sizes)) {
      Tensor spread = part.View({size, count}, {0, part.num_elements() == 1 ? 0 : 1}, 0);
      if (!CopyElements(spread, all->View({size, count}, {laneStride, channelStride}, at * laneStride)).ok())
        return false;
      at += size;
    }
    auto elements = toElements(step.ops.front()->getContext(), *all);
    if (!elements.ok())
      return false;
    operand.constant = *elements;
    return true;
  }

  static Value materialize(mlir::OpBuilder &b, mlir::Location loc, const Operand &operand, const Family &family,
                           mlir::Type element) {
    Value value = operand.same;
    if (operand.splat) {
      auto scalar = mlir::RankedTensorType::get({}, element);
      value = b.create<ConstantOp>(loc, scalar, mlir::DenseElementsAttr::get(scalar, operand.splat));
    } else if (operand.constant) {
      value = b.create<ConstantOp>(loc, operand.constant.getShapedType(), operand.constant);
    }
    return b.createOrFold<BroadcastOp>(loc, makeTensorType(family.extents(), element), value);
  }

  /// Leaves out steps whose results are read by something that would have taken in what makes them, and what follows
  /// from such steps.
  void dropWhatLeadsElsewhere() {
    for (bool dropped = true; dropped;) {
      dropped = false;
      llvm::SmallDenseSet<unsigned> made{0};
      for (const Step &step : steps)
        made.insert(step.result);
      for (size_t s = steps.size(); s-- > 0;) {
        bool good = llvm::all_of(steps[s].ops, [&](Operation *op) {
          return llvm::all_of(op->getUsers(),
                              [&](Operation *user) { return taken.contains(user) || isReadThroughViews(user); });
        });
        good = good && llvm::all_of(steps[s].operands, [&](const Operand &operand) {
                 return operand.family < 0 || made.contains(static_cast<unsigned>(operand.family));
               });
        if (good)
          continue;
        for (Operation *op : steps[s].ops)
          taken.erase(op);
        made.erase(steps[s].result);
        steps.erase(steps.begin() + static_cast<ptrdiff_t>(s));
        dropped = true;
      }
    }
  }

  Block *block = nullptr;
  int64_t start = 0;
  std::vector<Family> families;
  std::vector<Step> steps;
  llvm::DenseMap<Value, std::pair<unsigned, unsigned>> familyOf; ///< and the lane
  llvm::SmallPtrSet<Operation *, 32> taken;
};

/// Merges what follows slices next to each other; whether there was something.
bool mergeAfter(llvm::ArrayRef<Piece> run) {
  for (size_t count = std::min(run.size(), kMostLanes); count >= 2; --count)
    for (size_t first = 0; first + count <= run.size(); ++first) {
      Region region(run.slice(first, count));
      if (!region.find())
        continue;
      region.rewrite();
      return true;
    }
  return false;
}

struct MergeSlicedOpsPass : impl::MergeSlicedOpsPassBase<MergeSlicedOpsPass> {
  void runOnOperation() override {
    bool changed = false;
    // A merged op is gone, so that this comes to an end.
    while (mergeOne())
      changed = true;
    if (!changed)
      markAllAnalysesPreserved();
  }

  bool mergeOne() {
    llvm::MapVector<std::pair<Value, std::pair<Block *, int64_t>>, llvm::SmallVector<Piece>> families;
    getOperation()->walk([&](SliceOp slice) {
      auto piece = pieceOf(slice);
      if (piece && !slice->getParentOfType<KernelOp>())
        families[{slice.getX(), {slice->getBlock(), piece->axis}}].push_back(*piece);
    });
    for (auto &[key, pieces] : families) {
      llvm::stable_sort(pieces, [](const Piece &a, const Piece &b) { return a.start < b.start; });
      // Runs of neighbours.
      for (size_t first = 0, end = 0; first < pieces.size(); first = end) {
        for (end = first + 1; end < pieces.size() && pieces[end - 1].start + pieces[end - 1].size == pieces[end].start;)
          ++end;
        if (end - first >= 2 && mergeAfter(llvm::ArrayRef(pieces).slice(first, end - first)))
          return true;
      }
    }
    return false;
  }
};

} // namespace
} // namespace tcc::ir
