// https://onnx.ai/onnx/operators/onnx__Slice.html: numpy's slicing with clamping, for constant and symbolic bounds.
#include "frontend/onnx/import/Conversions.h"

#include <algorithm>
#include <limits>

using namespace mlir;

namespace tcc::onnx {

namespace {
// What is known of a bound of one axis: clamping picks a side only where the ranges prove which one.
class Bounds {
public:
  Bounds(NodeBuilder &b, AffineExpr extent) : b(b), extent(extent) {}

  // Whatever the symbols' ranges say of its expression, the extent is not negative.
  std::pair<int64_t, int64_t> range(AffineExpr e) const {
    auto [low, high] = b.range(ir::simplifyExtent(e));
    if (std::optional<int64_t> more = ir::getConstant(ir::simplifyExtent(e - extent)))
      low = std::max(low, *more);
    if (std::optional<int64_t> most = ir::getConstant(ir::simplifyExtent(e + extent)))
      high = std::min(high, *most);
    return {low, high};
  }
  std::optional<AffineExpr> smaller(AffineExpr x, AffineExpr y) const {
    auto [low, high] = range(y - x);
    if (low >= 0)
      return x;
    if (high <= 0)
      return y;
    return std::nullopt;
  }
  std::optional<AffineExpr> clamp(AffineExpr x, AffineExpr low, AffineExpr high) const {
    std::optional<AffineExpr> upper = smaller(x, high);
    if (!upper)
      return std::nullopt;
    std::optional<AffineExpr> least = smaller(*upper, low);
    if (!least)
      return std::nullopt;
    return *least == *upper ? low : *upper;
  }
  // Where a backward slice starts, by the specification in [0, last]: numpy's is empty where it starts before the axis.
  // An empty axis has the last element -1, and so nothing to start from.
  std::optional<AffineExpr> clampStart(AffineExpr x, AffineExpr last) const {
    if (range(x - last).first >= 0)
      return last;
    std::optional<AffineExpr> least = smaller(x, b.expr(0));
    if (!least)
      return std::nullopt;
    return smaller(*least == x ? b.expr(0) : x, last);
  }
  // Counts a negative index from the end. Huge constants stand for "to the end", whatever the extent, and must not
  // overflow; huge negative ones are before the first element. So do the limits of int32 where the extent varies: the
  // specification recommends them for axes of unknown extent.
  std::optional<AffineExpr> fromEnd(AffineExpr x) const {
    constexpr int64_t kHuge = int64_t(1) << 60;
    if (std::optional<int64_t> c = ir::getConstant(x)) {
      bool varies = !ir::getConstant(extent);
      if (*c >= kHuge || (varies && *c == std::numeric_limits<int32_t>::max()))
        return extent;
      if (*c <= -kHuge || (varies && *c == std::numeric_limits<int32_t>::min()))
        return b.expr(-kHuge);
      return *c < 0 ? extent + *c : b.expr(*c);
    }
    auto [low, high] = b.range(x);
    if (low >= 0)
      return x;
    if (high < 0)
      return extent + x;
    return std::nullopt;
  }

private:
  NodeBuilder &b;
  AffineExpr extent;
};
} // namespace

// Start and number of elements along one axis, or nothing where only the run can tell.
static std::optional<std::pair<AffineExpr, AffineExpr>> sliceAxis(NodeBuilder &b, AffineExpr extent, AffineExpr start,
                                                                  AffineExpr end, int64_t step) {
  Bounds bounds(b, extent);
  std::optional<AffineExpr> from = bounds.fromEnd(start), to = bounds.fromEnd(end);
  if (!from || !to)
    return std::nullopt;
  AffineExpr zero = b.expr(0), minusOne = b.expr(-1), last = ir::simplifyExtent(extent - 1);
  from = step > 0 ? bounds.clamp(*from, zero, extent) : bounds.clampStart(*from, last);
  to = step > 0 ? bounds.clamp(*to, zero, extent) : bounds.clamp(*to, minusOne, last);
  if (!from || !to)
    return std::nullopt;
  AffineExpr span = ir::simplifyExtent(step > 0 ? *to - *from : *from - *to);
  auto [low, high] = bounds.range(span);
  if (high <= 0)
    return std::pair(zero, zero);
  if (low < 0)
    return std::nullopt;
  AffineExpr count = ir::simplifyExtent(span.ceilDiv(step > 0 ? step : -step));
  if (ir::getConstant(count) == 0)
    return std::pair(zero, zero);
  return std::pair(ir::simplifyExtent(*from), count);
}

static Value dynamicSlice(NodeBuilder &b, Value x, Value starts, Value ends, ArrayRef<int64_t> axes,
                          ArrayRef<int64_t> steps) {
  Exprs target = b.extents(x);
  for (int64_t axis : axes)
    target[axis] = b.freshExtent("slice");
  Value axesValue = b.vectorI64(axes), stepsValue = b.vectorI64(steps);
  return b.libraryOne("dynamic_slice", {x, starts, ends, axesValue, stepsValue}, {},
                      b.tensorType(target, b.elementType(x)));
}

static void sliceWith(NodeBuilder &b, std::optional<Exprs> starts, std::optional<Exprs> ends, Ints axes, Ints steps,
                      Value startsValue, Value endsValue) {
  Value x = b.input(0);
  for (int64_t &step : steps) {
    b.check(step != 0, "a step of 0");
    // Any step beyond the axis takes one element; extents are computed with it, which must not overflow.
    constexpr int64_t kHuge = int64_t(1) << 60;
    step = std::clamp(step, -kHuge, kHuge);
  }
  if (starts && ends) {
    b.check(starts->size() == axes.size() && ends->size() == axes.size() && steps.size() == axes.size(),
            "starts, ends, axes and steps have different lengths");
    Exprs from(b.rank(x), b.expr(0)), target = b.extents(x);
    Ints by(b.rank(x), 1);
    bool known = true;
    for (auto [i, axis] : llvm::enumerate(axes)) {
      auto bounds = sliceAxis(b, target[axis], (*starts)[i], (*ends)[i], steps[i]);
      if (!bounds) {
        known = false;
        break;
      }
      from[axis] = bounds->first;
      target[axis] = bounds->second;
      by[axis] = steps[i];
    }
    if (known) {
      b.result(b.slice(x, from, by, target));
      return;
    }
  }
  b.result(dynamicSlice(b, x, startsValue, endsValue, axes, steps));
}

void convertSlice(NodeBuilder &b) {
  Value x = b.input(0);
  std::optional<Exprs> starts = b.knownInput(1), ends = b.knownInput(2);
  int64_t count = b.requireExtent(b.input(1), 0, "starts");
  Ints axes;
  if (b.has(3)) {
    for (int64_t axis : b.constantInput(3, "axes"))
      axes.push_back(b.normalizeAxis(axis, b.rank(x)));
  } else {
    b.check(count <= b.rank(x), "more starts than axes");
    axes = llvm::to_vector(llvm::seq<int64_t>(0, count));
  }
  Ints steps = b.has(4) ? b.constantInput(4, "steps") : Ints(axes.size(), 1);
  sliceWith(b, starts, ends, axes, steps, b.input(1), b.input(2));
}

void convertSliceAttributes(NodeBuilder &b) {
  std::optional<Ints> starts = b.intsAttr("starts"), ends = b.intsAttr("ends"), given = b.intsAttr("axes");
  b.check(starts && ends, "attributes 'starts' and 'ends' are missing");
  Ints axes = given ? Ints() : llvm::to_vector(llvm::seq<int64_t>(0, starts->size()));
  for (int64_t axis : given.value_or(Ints()))
    axes.push_back(b.normalizeAxis(axis, b.rank(b.input(0))));
  b.check(axes.size() <= static_cast<size_t>(b.rank(b.input(0))), "more axes than the input has");
  sliceWith(b, b.exprs(*starts), b.exprs(*ends), axes, Ints(axes.size(), 1), b.vectorI64(*starts), b.vectorI64(*ends));
}

} // namespace tcc::onnx
