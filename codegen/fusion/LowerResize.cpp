//===- LowerResize.cpp - resize of static extents by tables ---------------===//
#include "codegen/fusion/Lowering.h"
#include "ir/ElementTypes.h"
#include "ir/OpAttributes.h"
#include "runtime/reference/reference.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

/// Which elements of an axis each index of the resized axis reads, and with which weights.
struct AxisTable {
  unsigned taps = 0;
  std::vector<int32_t> sources; ///< [taps, out]
  std::vector<float> weights;   ///< [taps, out]
  /// All taps weigh 1 and index i reads floor(i / factor): no table needed.
  std::optional<int64_t> factor;
};

constexpr int64_t kMostTableWork = 1 << 22;
constexpr unsigned kMostTaps = 16;

/// The op's own reference kernel applied to the unit vectors of one axis tells the weights: one definition of every
/// mode.
std::optional<AxisTable> makeTable(ir::ResizeOp op, unsigned axis, int64_t in, int64_t out) {
  if (in <= 0 || out <= 0 || in > kMostTableWork / in || in * out > kMostTableWork)
    return std::nullopt;
  absl::StatusOr<Attributes> attributes = ir::getAttributes(op, nullptr);
  if (!attributes.ok())
    return std::nullopt;
  unsigned rank = op.getScales().size();
  attributes->Set("scales", std::vector<double>{1.0, op.getScales()[axis]});
  if (op.getRoi().size() == 2 * rank)
    attributes->Set("roi", std::vector<double>{0, op.getRoi()[axis], 1, op.getRoi()[rank + axis]});
  std::vector<float> units(in * in, 0.0f);
  for (int64_t i = 0; i < in; ++i)
    units[i * in + i] = 1.0f;
  Tensor input = Tensor::Wrap(units.data(), DType::kF32, {in, in});
  TensorType resultType{DType::kF32, {in, out}};
  auto result =
      reference::Find("resize")({absl::MakeConstSpan(&input, 1), *attributes, absl::MakeConstSpan(&resultType, 1)});
  if (!result.ok())
    return std::nullopt;
  absl::StatusOr<Tensor> weights = result->front().Contiguous();
  if (!weights.ok())
    return std::nullopt;
  const float *w = weights->data_as<float>();
  AxisTable table;
  std::vector<std::vector<int32_t>> used(out);
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t i = 0; i < in; ++i)
      if (w[i * out + o] != 0.0f)
        used[o].push_back(static_cast<int32_t>(i));
    table.taps = std::max<unsigned>(table.taps, used[o].size());
  }
  table.taps = std::max(table.taps, 1u);
  table.sources.assign(table.taps * out, 0);
  table.weights.assign(table.taps * out, 0.0f);
  bool isCopy = table.taps == 1;
  for (int64_t o = 0; o < out; ++o) {
    for (auto [tap, source] : llvm::enumerate(used[o])) {
      table.sources[tap * out + o] = source;
      table.weights[tap * out + o] = w[source * out + o];
    }
    // Unused taps repeat a source, so that no other element is touched.
    for (unsigned tap = used[o].size(); tap < table.taps; ++tap)
      table.sources[tap * out + o] = used[o].empty() ? 0 : used[o].back();
    isCopy = isCopy && table.weights[o] == 1.0f;
  }
  if (isCopy && out % in == 0) {
    int64_t factor = out / in;
    bool affine = true;
    for (int64_t o = 0; o < out; ++o)
      affine = affine && table.sources[o] == o / factor;
    if (affine)
      table.factor = factor;
  }
  return table;
}

} // namespace

LoweredValues lowerResize(ir::ResizeOp op, KernelBuilder &kernel) {
  Type element = elementOf(op.getX()), compute = computeType(element);
  auto from = cast<RankedTensorType>(op.getX().getType()), to = cast<RankedTensorType>(op.getY().getType());
  if (!isa<FloatType>(element) || !from.hasStaticShape() || !to.hasStaticShape() ||
      op.getCoordinate() == ir::Coordinate::TfCropAndResize)
    return failure();

  struct Axis {
    unsigned axis;
    AxisTable table;
    Value sources, weights; // inputs of the kernel
  };
  llvm::SmallVector<Axis> axes;
  unsigned taps = 1;
  for (unsigned i = 0; i < static_cast<unsigned>(from.getRank()); ++i) {
    if (op.getScales()[i] == 1.0 && from.getDimSize(i) == to.getDimSize(i))
      continue;
    std::optional<AxisTable> table = makeTable(op, i, from.getDimSize(i), to.getDimSize(i));
    if (!table)
      return failure();
    taps *= table->taps;
    axes.push_back({i, std::move(*table), {}, {}});
  }
  if (taps > kMostTaps)
    return failure();
  for (Axis &axis : axes) {
    int64_t out = to.getDimSize(axis.axis);
    auto type = [&](Type e) { return RankedTensorType::get({axis.table.taps, out}, e); };
    if (!axis.table.factor)
      axis.sources = kernel.addConstant(
          DenseElementsAttr::get(type(IntegerType::get(kernel.context(), 32)), ArrayRef<int32_t>(axis.table.sources)));
    if (axis.table.taps > 1)
      axis.weights = kernel.addConstant(
          DenseElementsAttr::get(type(Float32Type::get(kernel.context())), ArrayRef<float>(axis.table.weights)));
  }
  return lowered(kernel.map(extentsOf(op.getY()), element, [&](Nest &nest) {
    // The sum over all combinations of taps, the last axis innermost.
    std::function<Value(unsigned, ir::Exprs, llvm::SmallVector<Value>)> sum =
        [&](unsigned which, ir::Exprs at, llvm::SmallVector<Value> extra) -> Value {
      if (which == axes.size())
        return toCompute(nest.b, nest.loc, nest.load(kernel.input(0), at, {}, {}, extra));
      const Axis &axis = axes[which];
      Value total;
      for (unsigned tap = 0; tap < axis.table.taps; ++tap) {
        ir::Exprs tableAt = {nest.constant(tap), nest.dim(axis.axis)}, inner = at;
        llvm::SmallVector<Value> innerExtra = extra;
        if (axis.table.factor) {
          inner[axis.axis] = nest.dim(axis.axis).floorDiv(*axis.table.factor);
        } else {
          Value source = nest.load(axis.sources, tableAt);
          inner[axis.axis] = nest.dim(at.size() + extra.size());
          innerExtra.push_back(nest.b.create<arith::IndexCastOp>(nest.loc, nest.b.getIndexType(), source));
        }
        Value value = sum(which + 1, inner, innerExtra);
        if (axis.table.taps > 1) {
          Value weight = nest.load(axis.weights, tableAt);
          if (compute.isF64())
            weight = nest.b.create<arith::ExtFOp>(nest.loc, compute, weight);
          value = nest.b.create<arith::MulFOp>(nest.loc, value, weight);
        }
        total = total ? nest.b.create<arith::AddFOp>(nest.loc, total, value) : value;
      }
      return total;
    };
    return fromCompute(nest.b, nest.loc, sum(0, nest.dims(), {}), element);
  }));
}

} // namespace tcc::codegen
