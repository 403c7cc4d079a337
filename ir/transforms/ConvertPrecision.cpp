//===- ConvertPrecision.cpp - weights and activations in 16 bits ------------===//
//
// What --precision=bf16|f16 means: weights are stored in the narrower type, and so is every activation that goes
// through memory; the arguments and results of the function keep their types. The ops that compute activations become
// ops on the narrower type, which accumulate in float32 and, fused into one kernel, hand float32 on (codegen/fusion/).
//
// Left in float32 is what 8 or 11 bits are too few for:
// - what is computed from integers and constants alone: positions, frequencies, masks, until it meets an activation;
// - what leads, without a contraction in between, to an angle (sin, cos), to an integer (floor, a cast) or to the place
//   that is sampled (grid_sample);
// - running sums, and library kernels other than recurrent networks.
//
// - in float16, what constants beyond its numbers make of the activations, up to where they are small again (softmax):
//   Float16Range. Masks of attention stay as they are.
//
// Finite constants stay finite and other than 0: the lowest float32, a usual mask, is none in bf16.
//
//===----------------------------------------------------------------------===//
#include <cmath>

#include "ir/ElementTypes.h"
#include "ir/OpSupport.h"
#include "ir/transforms/Float16Range.h"
#include "ir/transforms/Passes.h"
#include "runtime/dispatch.h"
#include "llvm/ADT/DenseSet.h"

namespace tcc::ir {
#define GEN_PASS_DEF_CONVERTPRECISIONPASS
#include "ir/transforms/Passes.h.inc"

namespace {

bool isF32(mlir::Value value) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  return type && type.getElementType().isF32();
}

bool isContraction(mlir::Operation *op) { return llvm::isa<MatmulOp, ConvOp, ConvTransposeOp, AttentionOp>(op); }

bool isElementwise(mlir::Operation *op) { return op->hasTrait<mlir::OpTrait::Elementwise>(); }

/// Results that are elements of the operands.
bool isMovement(mlir::Operation *op) {
  return llvm::isa<ReshapeOp, TransposeOp, BroadcastOp, SliceOp, PadOp, ConcatOp, GatherOp, GatherElementsOp,
                   GatherNdOp>(op);
}

bool isRecurrent(mlir::Operation *op) {
  auto library = llvm::dyn_cast<LibraryOp>(op);
  return library && llvm::is_contained({"lstm", "gru", "rnn"}, library.getKernel());
}

/// Ops that exist for the narrow types, with all their float operands and results in one.
bool canNarrow(mlir::Operation *op) {
  if (llvm::isa<CastOp, BitcastOp>(op))
    return false;
  return isContraction(op) || isElementwise(op) || isMovement(op) || isRecurrent(op) ||
         llvm::isa<ReduceOp, SoftmaxOp, LogSoftmaxOp, LayerNormOp, RmsNormOp, TopKOp, MaxPoolOp, AvgPoolOp, ResizeOp,
                   ScatterElementsOp, ScatterNdOp>(op);
}

/// Float32 operands that must be exact.
bool needsExact(mlir::OpOperand &operand) {
  mlir::Operation *op = operand.getOwner();
  if (llvm::isa<SinOp, CosOp, TanOp, FloorOp, CeilOp, RoundOp, TruncOp, ModOp, FmodOp, ScanOp>(op))
    return true;
  if (auto cast = llvm::dyn_cast<CastOp>(op)) {
    mlir::Type to = cast.getType().getElementType();
    return llvm::isa<mlir::IntegerType>(to) && !to.isInteger(1);
  }
  auto sample = llvm::dyn_cast<GridSampleOp>(op);
  return sample && operand.get() == sample.getGrid();
}

struct ConvertPrecisionPass : impl::ConvertPrecisionPassBase<ConvertPrecisionPass> {
  using ConvertPrecisionPassBase::ConvertPrecisionPassBase;

  void runOnOperation() override {
    if (type == "bf16")
      narrow = mlir::BFloat16Type::get(&getContext());
    else if (type == "f16")
      narrow = mlir::Float16Type::get(&getContext());
    else {
      getOperation()->emitError("type must be bf16 or f16, not '") << type << "'";
      return signalPassFailure();
    }
    narrowed.clear();
    exact.clear();
    activations.clear();
    range = {};
    llvm::SmallVector<mlir::Operation *> ops;
    getOperation()->walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
      findActivations(op);
      if (narrow.isF16())
        range.visit(op);
      for (mlir::OpOperand &operand : op->getOpOperands())
        if (isF32(operand.get()) && needsExact(operand)) {
          exact.insert(op);
          keepExact(operand.get());
        }
      ops.push_back(op);
    });
    bool changed = false;
    for (mlir::Operation *op : ops)
      if (canNarrow(op) && !exact.contains(op) && !range.needsFloat32(op) && computesActivation(op) &&
          llvm::any_of(op->getResults(), isF32)) {
        convert(op);
        changed = true;
      }
    if (!changed)
      markAllAnalysesPreserved();
  }

private:
  /// Activations depend on float arguments or on looked-up weights.
  void findActivations(mlir::Operation *op) {
    for (mlir::Region &region : op->getRegions())
      for (mlir::Block &block : region)
        for (mlir::BlockArgument argument : block.getArguments())
          if (isF32(argument))
            activations.insert(argument);
    bool depends = op->getNumRegions() > 0 || llvm::any_of(op->getOperands(), [&](mlir::Value operand) {
                     return isF32(operand) && activations.contains(operand);
                   });
    if (llvm::isa<GatherOp, GatherElementsOp, GatherNdOp>(op) && isF32(op->getOperand(0)) &&
        op->getOperand(0).getDefiningOp<ConstantOp>())
      depends = true;
    if (depends)
      for (mlir::Value result : op->getResults())
        if (isF32(result))
          activations.insert(result);
  }
  bool computesActivation(mlir::Operation *op) {
    return llvm::any_of(op->getResults(), [&](mlir::Value result) { return activations.contains(result); });
  }

  /// Marks the ops that compute a value, back to where numbers of few bits come from anyway.
  void keepExact(mlir::Value value) {
    llvm::SmallVector<mlir::Value> work = {value};
    while (!work.empty()) {
      mlir::Operation *op = work.pop_back_val().getDefiningOp();
      if (!op || !(isElementwise(op) || isMovement(op)) || !exact.insert(op).second)
        continue;
      for (mlir::Value operand : op->getOperands())
        if (isF32(operand))
          work.push_back(operand);
    }
  }

  void convert(mlir::Operation *op) {
    for (mlir::OpOperand &operand : op->getOpOperands()) {
      if (isF32(operand.get()) && !staysWideMask(operand))
        operand.set(toNarrow(operand.get()));
    }
    mlir::OpBuilder builder(op);
    builder.setInsertionPointAfter(op);
    for (mlir::Value result : op->getResults()) {
      if (!isF32(result))
        continue;
      auto wide = tensorType(result);
      result.setType(withElementType(wide, narrow));
      auto back = builder.create<CastOp>(op->getLoc(), wide, result);
      result.replaceAllUsesExcept(back, back);
      narrowed[back] = result;
    }
  }

  /// The value in the narrow type, made once.
  mlir::Value toNarrow(mlir::Value value) {
    if (mlir::Value known = narrowed.lookup(value))
      return known;
    mlir::OpBuilder builder(&getContext());
    builder.setInsertionPointAfterValue(value);
    mlir::Operation *op = value.getDefiningOp();
    mlir::RankedTensorType to = withElementType(tensorType(value), narrow);
    mlir::Value result;
    if (auto constant = llvm::dyn_cast_or_null<ConstantOp>(op))
      result = narrowConstant(builder, constant, to);
    // Moved constants: the move of the narrow constant, so that they are stored narrow too.
    if (!result && op && isMovement(op) && op->getNumResults() == 1 && !activations.contains(value) &&
        !exact.contains(op)) {
      mlir::Operation *clone = builder.clone(*op);
      for (mlir::OpOperand &operand : clone->getOpOperands())
        if (isF32(operand.get()))
          operand.set(toNarrow(operand.get()));
      clone->getResult(0).setType(to);
      result = clone->getResult(0);
    }
    if (!result) {
      mlir::Value in = value;
      if (!activations.contains(value) || isMask(value))
        in = keepFinite(builder, value);
      result = builder.create<CastOp>(value.getLoc(), to, in);
    }
    narrowed[value] = result;
    return result;
  }

  /// A mask that was not computed in float16, and no constant that fits.
  bool staysWideMask(mlir::OpOperand &operand) const {
    auto attention = llvm::dyn_cast<AttentionOp>(operand.getOwner());
    if (!attention || !narrow.isF16() || attention.getMask() != operand.get() ||
        operand.getOperandNumber() != attention->getNumOperands() - 1)
      return false;
    mlir::Value mask = operand.get();
    return range.isLarge(mask) || !(narrowed.contains(mask) || mask.getDefiningOp<ConstantOp>());
  }
  static bool isMask(mlir::Value value) {
    return llvm::any_of(value.getUsers(), [&](mlir::Operation *user) {
      auto attention = llvm::dyn_cast<AttentionOp>(user);
      return attention && attention.getMask() == value;
    });
  }
  double largest() const { return narrow.isBF16() ? 0x1.FEp127 : 65504; }
  /// Numbers beyond the narrow type's largest become that, infinities stay.
  mlir::Value keepFinite(mlir::OpBuilder &builder, mlir::Value value) {
    mlir::Location loc = value.getLoc();
    auto type = tensorType(value);
    auto limit = [&](double x) -> mlir::Value {
      auto scalar = mlir::RankedTensorType::get({}, type.getElementType());
      mlir::Value one = builder.create<ConstantOp>(
          loc, scalar, mlir::DenseElementsAttr::get(scalar, llvm::ArrayRef(static_cast<float>(x))));
      return type.getRank() == 0 ? one : builder.create<BroadcastOp>(loc, type, one).getResult();
    };
    mlir::Value inside = builder.create<MinOp>(loc, value, limit(largest()));
    inside = builder.create<MaxOp>(loc, inside, limit(-largest()));
    mlir::Value infinite = builder.create<IsInfOp>(loc, value, true, true);
    return builder.create<SelectOp>(loc, infinite, value, inside);
  }

  /// Null where the elements cannot be read.
  mlir::Value narrowConstant(mlir::OpBuilder &builder, ConstantOp constant, mlir::RankedTensorType to) {
    auto elements = llvm::dyn_cast<mlir::ElementsAttr>(constant.getValue());
    if (!elements || !to.hasStaticShape())
      return {};
    const DType dtype = getDType(narrow);
    const double most = largest(), smallest = narrow.isBF16() ? 0x1p-126 : 0x1p-24;
    auto fit = [&](double x) {
      if (x == 0 || !std::isfinite(x))
        return x;
      return std::copysign(std::min(std::max(std::abs(x), smallest), most), x);
    };
    if (auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue()); dense && dense.isSplat()) {
      llvm::APFloat x(fit(dense.getSplatValue<llvm::APFloat>().convertToDouble()));
      bool lost = false;
      x.convert(llvm::cast<mlir::FloatType>(narrow).getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &lost);
      return builder.create<ConstantOp>(constant.getLoc(), to, mlir::DenseElementsAttr::get(to, llvm::ArrayRef(x)));
    }
    auto from = toTensor(elements);
    if (!from.ok() || from->dtype() != DType::kF32 || !from->is_contiguous())
      return {};
    auto tensor = Tensor::Allocate(dtype, from->dims());
    if (!tensor.ok())
      return {};
    const float *x = from->data_as<float>();
    DispatchFloat(dtype, [&]<typename T>() -> absl::Status {
      for (int64_t i = 0, count = from->num_elements(); i < count; ++i)
        tensor->data_as<T>()[i] = static_cast<T>(static_cast<float>(fit(x[i])));
      return absl::OkStatus();
    }).IgnoreError();
    auto attribute = toElements(&getContext(), *tensor);
    if (!attribute.ok())
      return {};
    return builder.create<ConstantOp>(constant.getLoc(), to, *attribute);
  }

  mlir::Type narrow;
  llvm::DenseMap<mlir::Value, mlir::Value> narrowed; ///< from a float32 value to the same in the narrow type
  llvm::DenseSet<mlir::Operation *> exact;           ///< stay in float32
  llvm::DenseSet<mlir::Value> activations;
  Float16Range range; ///< of nothing for bf16
};

} // namespace
} // namespace tcc::ir
