//===- MergeMatmuls.cpp - products that share an operand become one --------===//
//
// The projections of attention: x Wq + bq, x Wk + bk, x Wv + bv. The weights are put beside each other at compile time,
// and one product makes all results; who reads one of them reads a slice of it.
//
// A slice costs nothing where its reader can begin somewhere else: a contraction that reads its operand through a view,
// a reduction, anything that has a kernel of its own in either case. It costs a kernel where the product took its
// reader in as an epilogue, or where the result has to be in memory by itself; such products stay as they are.
//
//===----------------------------------------------------------------------===//
#include <map>

#include "ir/ElementTypes.h"
#include "ir/OpSupport.h"
#include "ir/transforms/Match.h"
#include "ir/transforms/Passes.h"
#include "ir/transforms/Slices.h"
#include "runtime/dispatch.h"
#include "runtime/reference/reference.h"

namespace tcc::ir {
#define GEN_PASS_DEF_MERGEMATMULSPASS
#include "ir/transforms/Passes.h.inc"

namespace {

using mlir::Attribute;
using mlir::Block;
using mlir::failure;
using mlir::Operation;
using mlir::Value;

/// Weights that others keep in memory as well are merged up to this many bytes.
constexpr int64_t kMostSharedBytes = int64_t(256) << 10;
/// Elements of merged weights, as in constant folding.
constexpr int64_t kMostElements = int64_t(1) << 28;
/// Operations between one product and the next: all results live until the last one is read.
constexpr unsigned kFurthest = 16;
/// Each result begins at a multiple of so many bytes in a row, as vector loads like it.
constexpr int64_t kAlignment = 16;

/// One of the products.
struct Member {
  MatmulOp op;
  ConstantOp weights;
  BroadcastOp broadcast; ///< of the weights to the batch; may be null
  AddOp biased;          ///< the sum with a constant that differs along the merged axis at most; may be null
  llvm::SmallVector<Operation *, 2> between; ///< reshapes from the product to that sum
  Tensor bias;                               ///< one element, or one for each row or column of the weights
  unsigned position = 0;

  Value result() { return biased ? biased.getY() : op.getY(); }
  Attribute value() { return weights.getValue(); }
};

struct Group {
  unsigned shared; ///< the operand that all have: 0 or 1
  std::vector<Member> members;

  /// Equal where the merged weights are.
  std::pair<unsigned, std::vector<const void *>> key() {
    std::vector<const void *> values;
    for (Member &member : members)
      values.push_back(member.value().getAsOpaquePointer());
    return {shared, values};
  }
  int64_t rank() { return rankOf(members.front().op.getY()); }
  /// The axis of the products along which the weights differ. Of weights as of results it is as far from the end.
  int64_t axis() { return shared == 0 ? rank() - 1 : rank() - 2; }
  int64_t weightAxis(Member &member) { return axis() - (rank() - rankOf(member.weights)); }
  int64_t size(Member &member) { return tensorType(member.weights).getDimSize(weightAxis(member)); }
};

/// Constant weights below a broadcast to the batch, or null.
ConstantOp weightsBelow(Value operand, BroadcastOp &broadcast) {
  broadcast = operand.getDefiningOp<BroadcastOp>();
  Value below = broadcast ? broadcast.getX() : operand;
  auto constant = below.getDefiningOp<ConstantOp>();
  if (!constant || rankOf(below) < 2 || constant.getValue().getNumElements() == 0)
    return {};
  Exprs from = getExtents(below.getType()), to = getExtents(operand.getType());
  if (llvm::ArrayRef(from).take_back(2) != llvm::ArrayRef(to).take_back(2))
    return {};
  return constant;
}

/// Finds the bias that is added to the product, also behind reshapes that leave its columns alone.
void findBias(Member &member, unsigned shared) {
  Value value = member.op.getY();
  llvm::SmallVector<Operation *, 2> between;
  while (value.hasOneUse()) {
    Operation *user = *value.user_begin();
    if (auto reshape = llvm::dyn_cast<ReshapeOp>(user)) {
      Exprs from = getExtents(value.getType()), to = getExtents(reshape.getType());
      if (shared != 0 || to.empty() || from.back() != to.back())
        return;
      between.push_back(reshape);
      value = reshape;
      continue;
    }
    auto add = llvm::dyn_cast<AddOp>(user);
    if (!add)
      return;
    auto constant = getChannelConstant(add.getA() == value ? add.getB() : add.getA());
    int64_t axis = rankOf(value) - (shared == 0 ? 1 : 2);
    if (!constant || (constant->axis >= 0 && constant->axis != axis))
      return;
    member.biased = add;
    member.between = std::move(between);
    member.bias = std::move(constant->elements);
    return;
  }
}

/// Whether those who read the value read a slice of something larger at no cost.
bool isServedBySlice(Value value) {
  bool pointwise = false, other = false;
  llvm::SmallVector<Value> views{value};
  while (!views.empty()) {
    for (mlir::OpOperand &use : views.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      if (llvm::isa<ReshapeOp, TransposeOp>(user))
        views.push_back(user->getResult(0));
      else if (user->hasTrait<mlir::OpTrait::Elementwise>())
        pointwise = true;
      else if (llvm::isa<MatmulOp, AttentionOp, SliceOp, ConcatOp, PadOp, BroadcastOp, ReduceOp, SoftmaxOp,
                         LogSoftmaxOp, LayerNormOp, RmsNormOp>(user))
        other = true;
      else
        return false;
    }
  }
  // If all that reads it is pointwise, that may be its epilogue.
  return other || !pointwise;
}

class Merger {
public:
  explicit Merger(Operation *root) : root(root) {}

  bool run() {
    root->walk<mlir::WalkOrder::PreOrder>([&](Operation *op) {
      if (llvm::isa<KernelOp>(op))
        return mlir::WalkResult::skip();
      for (mlir::Region &region : op->getRegions())
        for (Block &block : region)
          collect(block);
      return mlir::WalkResult::advance();
    });
    llvm::erase_if(groups, [](Group &group) { return group.members.size() < 2; });
    dropThoseThatDuplicate();
    for (Group &group : groups)
      merge(group);
    return !groups.empty();
  }

private:
  void collect(Block &block) {
    size_t first = groups.size();
    unsigned position = 0;
    for (Operation &op : block) {
      position += !op.hasTrait<mlir::OpTrait::ConstantLike>();
      auto matmul = llvm::dyn_cast<MatmulOp>(op);
      if (!matmul)
        continue;
      Member member;
      member.op = matmul;
      member.position = position;
      auto element = tensorType(matmul.getY()).getElementType();
      if (!element.isF16() && !element.isBF16() && !element.isF32() && !element.isF64())
        continue;
      BroadcastOp broadcasts[2];
      ConstantOp weights[] = {weightsBelow(matmul.getA(), broadcasts[0]), weightsBelow(matmul.getB(), broadcasts[1])};
      if (!weights[0] == !weights[1])
        continue;
      unsigned shared = weights[0] ? 1 : 0;
      member.weights = weights[1 - shared];
      member.broadcast = broadcasts[1 - shared];
      findBias(member, shared);
      if (isServedBySlice(member.result()))
        add(std::move(member), shared, first);
    }
  }

  /// Puts a product to the others of its kind in its block.
  void add(Member member, unsigned shared, size_t first) {
    for (size_t i = first; i < groups.size(); ++i) {
      Group &group = groups[i];
      Member &last = group.members.back();
      if (group.shared != shared || last.op->getOperand(shared) != member.op->getOperand(shared) ||
          !last.broadcast != !member.broadcast || member.position - last.position > kFurthest)
        continue;
      auto before = tensorType(last.weights), now = tensorType(member.weights);
      if (before.getRank() != now.getRank())
        continue;
      llvm::SmallVector<int64_t> extents(now.getShape());
      extents[group.weightAxis(last)] = before.getDimSize(group.weightAxis(last));
      if (llvm::ArrayRef(extents) == before.getShape()) {
        group.members.push_back(std::move(member));
        return;
      }
    }
    groups.push_back(Group{shared, {std::move(member)}});
  }

  /// Weights that stay in memory for others would be there twice. Those that several groups merge alike would not:
  /// layers that share their weights.
  void dropThoseThatDuplicate() {
    llvm::DenseMap<Attribute, int64_t> uses;
    root->walk([&](ConstantOp constant) {
      int64_t &count = uses[constant.getValue()];
      for (Operation *user : constant->getUsers())
        count += llvm::isa<BroadcastOp>(user) ? std::distance(user->use_begin(), user->use_end()) : 1;
    });
    for (bool dropped = true; dropped;) {
      std::map<std::pair<unsigned, std::vector<const void *>>, int64_t> merged; // how many groups have these weights
      for (Group &group : groups)
        ++merged[group.key()];
      size_t before = groups.size();
      llvm::erase_if(groups, [&](Group &group) {
        int64_t twice = 0, elements = 0;
        for (Member &member : group.members) {
          elements += member.weights.getValue().getNumElements();
          if (uses[member.value()] > merged[group.key()])
            twice +=
                member.weights.getValue().getNumElements() * (tensorType(member.weights).getElementTypeBitWidth() / 8);
        }
        return twice > kMostSharedBytes || elements > kMostElements;
      });
      dropped = groups.size() != before;
    }
  }

  /// Tensors one after the other.
  mlir::FailureOr<mlir::ElementsAttr> concatenate(llvm::ArrayRef<Tensor> parts, int64_t axis) {
    Dims dims = parts.front().dims();
    dims[axis] = 0;
    for (const Tensor &part : parts)
      dims[axis] += part.dim(static_cast<int>(axis));
    TensorType results[] = {{parts.front().dtype(), dims}};
    Attributes attributes{{"axis", axis}};
    reference::Kernel concat = reference::Find("concat");
    if (!concat)
      return failure();
    auto whole = concat({parts, attributes, results});
    if (!whole.ok())
      return failure();
    auto elements = toElements(root->getContext(), whole->front());
    if (!elements.ok())
      return failure();
    return *elements;
  }

  /// Equal elements, of which there is one in memory.
  static Tensor filled(DType dtype, const Dims &dims, double value) {
    absl::StatusOr<Tensor> scalar = Tensor::Allocate(dtype, {});
    if (!scalar.ok())
      return Tensor();
    StoreDouble(scalar->data(), dtype, 0, value);
    return scalar->View(dims, Dims(dims.size(), 0), 0);
  }

  /// How many rows or columns a member takes in the merged product.
  int64_t place(Group &group, Member &member) {
    // Rows are next to each other whatever their number is.
    if (group.shared == 1)
      return group.size(member);
    int64_t unit = kAlignment * 8 / tensorType(member.weights).getElementTypeBitWidth();
    return llvm::divideCeil(group.size(member), unit) * unit;
  }

  mlir::FailureOr<mlir::ElementsAttr> mergedWeights(Group &group) {
    mlir::ElementsAttr &known = weights[group.key()];
    if (known)
      return known;
    llvm::SmallVector<Tensor> parts;
    int64_t axis = group.weightAxis(group.members.front());
    for (Member &member : group.members) {
      auto part = toTensor(member.weights.getValue());
      if (!part.ok())
        return failure();
      parts.push_back(*part);
      if (int64_t more = place(group, member) - group.size(member)) {
        Dims dims = part->dims();
        dims[axis] = more;
        parts.push_back(filled(part->dtype(), dims, 0));
      }
    }
    auto merged = concatenate(parts, axis);
    if (succeeded(merged))
      known = *merged;
    return merged;
  }

  mlir::FailureOr<mlir::ElementsAttr> mergedBias(Group &group) {
    llvm::SmallVector<Tensor> parts;
    DType dtype = getDType(tensorType(group.members.front().op.getY()).getElementType());
    for (Member &member : group.members) {
      int64_t size = group.size(member), more = place(group, member) - size;
      // Without a bias: what changes no number, not even -0.
      if (!member.biased)
        parts.push_back(filled(dtype, {size}, -0.0));
      else if (member.bias.num_elements() == size)
        parts.push_back(member.bias.Reshaped({size}));
      else
        parts.push_back(member.bias.View({size}, {0}, 0));
      if (more > 0)
        parts.push_back(filled(dtype, {more}, 0));
    }
    auto merged = concatenate(parts, 0);
    if (failed(merged) || group.shared == 0)
      return merged;
    // One a row: a column to broadcast.
    auto tensor = toTensor(*merged);
    if (!tensor.ok())
      return failure();
    auto column = toElements(root->getContext(), tensor->Reshaped({tensor->num_elements(), 1}));
    if (!column.ok())
      return failure();
    return *column;
  }

  void merge(Group &group) {
    MatmulOp first = group.members.front().op;
    bool biased = llvm::any_of(group.members, [](Member &member) { return static_cast<bool>(member.biased); });
    auto elements = mergedWeights(group);
    auto bias = biased ? mergedBias(group) : mlir::FailureOr<mlir::ElementsAttr>(mlir::ElementsAttr());
    if (failed(elements) || failed(bias))
      return;
    llvm::SmallVector<mlir::Location> locations;
    for (Member &member : group.members)
      locations.push_back(member.op.getLoc());
    mlir::Location loc = mlir::FusedLoc::get(root->getContext(), locations);
    mlir::OpBuilder b(first);
    Value merged = b.create<ConstantOp>(loc, elements->getShapedType(), *elements);
    Exprs extents = getExtents(first.getType());
    extents[group.axis()] = getExtent(merged.getType(), group.weightAxis(group.members.front()));
    auto type = makeTensorType(extents, tensorType(first).getElementType());
    if (BroadcastOp broadcast = group.members.front().broadcast) {
      Exprs batch = getExtents(broadcast.getType());
      batch[group.axis()] = extents[group.axis()];
      merged = b.create<BroadcastOp>(loc, makeTensorType(batch, type.getElementType()), merged);
    }
    Value shared = first->getOperand(group.shared);
    Value product =
        b.create<MatmulOp>(loc, type, group.shared == 0 ? shared : merged, group.shared == 0 ? merged : shared);
    if (biased) {
      locations.clear();
      for (Member &member : group.members)
        if (member.biased)
          locations.push_back(member.biased.getLoc());
      loc = mlir::FusedLoc::get(root->getContext(), locations);
      Value constant = b.create<ConstantOp>(loc, bias->getShapedType(), *bias);
      product = b.create<AddOp>(loc, product, b.create<BroadcastOp>(loc, type, constant));
    }
    int64_t offset = 0;
    for (Member &member : group.members) {
      Value part = sliceAlong(b, member.op.getLoc(), product, group.axis(), offset, group.size(member));
      Value old = member.result();
      old.replaceAllUsesWith(b.createOrFold<ReshapeOp>(member.op.getLoc(), old.getType(), part));
      offset += place(group, member);
    }
    for (Member &member : group.members) {
      if (member.biased)
        member.biased.erase();
      for (Operation *reshape : llvm::reverse(member.between))
        reshape->erase();
      member.op.erase();
    }
  }

  Operation *root;
  std::vector<Group> groups;
  std::map<std::pair<unsigned, std::vector<const void *>>, mlir::ElementsAttr> weights;
};

struct MergeMatmulsPass : impl::MergeMatmulsPassBase<MergeMatmulsPass> {
  void runOnOperation() override {
    if (!Merger(getOperation()).run())
      markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace tcc::ir
