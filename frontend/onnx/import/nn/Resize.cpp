// Resize of all op sets, and Upsample, its predecessor.
#include "frontend/onnx/import/Conversions.h"

#include <cmath>

using namespace mlir;

namespace tcc::onnx {

namespace {
struct Options {
  std::string mode = "nearest", coordinate = "half_pixel", nearest = "round_prefer_floor";
  double cubic = -0.75, extrapolation = 0;
  bool excludeOutside = false, antialias = false;
};
} // namespace

static void emitResize(NodeBuilder &b, Value x, ArrayRef<AffineExpr> target, ArrayRef<double> scales,
                       ArrayRef<double> roi, const Options &o) {
  std::string modeName = o.mode == "bilinear" ? "linear" : o.mode;
  auto mode = ir::symbolizeResizeMode(modeName);
  auto coordinate = ir::symbolizeCoordinate(o.coordinate);
  auto nearest = ir::symbolizeNearestMode(o.nearest);
  if (!mode)
    b.fail("attribute 'mode' must be nearest, linear or cubic, not '" + o.mode + "'");
  if (!coordinate)
    b.fail("attribute 'coordinate_transformation_mode' is '" + o.coordinate + "'");
  if (!nearest)
    b.fail("attribute 'nearest_mode' is '" + o.nearest + "'");
  b.result(b.emit<ir::ResizeOp>(
      x,
      {b.f64s("scales", scales), b.f64s("roi", roi), b.attr("mode", ir::ResizeModeAttr::get(b.context(), *mode)),
       b.attr("coordinate", ir::CoordinateAttr::get(b.context(), *coordinate)),
       b.attr("nearest_mode", ir::NearestModeAttr::get(b.context(), *nearest)), b.f64("cubic_coeff_a", o.cubic),
       b.flag("exclude_outside", o.excludeOutside), b.flag("antialias", o.antialias),
       b.f64("extrapolation_value", o.extrapolation)},
      b.tensorType(target, b.elementType(x))));
}

// floor(extent * scale), exactly where the scale is a small binary fraction.
static AffineExpr scaled(NodeBuilder &b, AffineExpr extent, double scale) {
  if (std::optional<int64_t> n = ir::getConstant(extent)) {
    double product = std::floor(static_cast<double>(*n) * scale);
    b.check(product >= 0 && product < 9e15, "the scale " + Twine(std::to_string(scale)) + " gives no valid extent");
    return b.expr(static_cast<int64_t>(product));
  }
  for (int64_t divisor = 1; divisor <= 1024; divisor *= 2)
    if (double p = scale * divisor; p == std::floor(p) && p < 1e9)
      return ir::simplifyExtent((extent * static_cast<int64_t>(p)).floorDiv(divisor));
  for (int64_t divisor : {3, 5, 6, 7, 9, 10, 12})
    if (static_cast<float>(1.0 / divisor) == static_cast<float>(scale))
      return ir::simplifyExtent(extent.floorDiv(divisor));
  b.fail("a symbolic extent times the scale " + Twine(std::to_string(scale)) + "; give the model input static extents");
}

static void byScales(NodeBuilder &b, ArrayRef<int64_t> axes, ArrayRef<double> given, ArrayRef<double> roi,
                     const Options &o) {
  Value x = b.input(0);
  b.check(given.size() == axes.size(), "scales must have one entry an axis");
  Exprs target = b.extents(x), from = target;
  SmallVector<double> scales(b.rank(x), 1.0);
  for (auto [i, axis] : llvm::enumerate(axes)) {
    b.check(given[i] > 0, "scales must be positive");
    scales[axis] = given[i];
    double width = 1;
    if (o.coordinate == "tf_crop_and_resize")
      width = roi[b.rank(x) + axis] - roi[axis];
    target[axis] = scaled(b, from[axis], width == 1 ? given[i] : given[i] * width);
  }
  emitResize(b, x, target, scales, roi, o);
}

static void bySizes(NodeBuilder &b, ArrayRef<int64_t> axes, ArrayRef<AffineExpr> sizes, ArrayRef<double> roi,
                    const Options &o) {
  Value x = b.input(0);
  b.check(sizes.size() == axes.size(), "sizes must have one entry an axis");
  std::string policy = b.stringAttr("keep_aspect_ratio_policy", "stretch");
  Exprs target = b.extents(x), from = target;
  SmallVector<double> scales(b.rank(x), 1.0);
  for (auto [i, axis] : llvm::enumerate(axes)) {
    std::optional<int64_t> out = ir::getConstant(sizes[i]), in = ir::getConstant(from[axis]);
    target[axis] = sizes[i];
    if (sizes[i] == from[axis])
      continue;
    // Symbolic extents with a constant ratio.
    if (!out || !in) {
      AffineExpr ratio = b.divideProducts({sizes[i]}, {from[axis]});
      std::optional<int64_t> times = ir::getConstant(ratio);
      if (!times || ir::simplifyExtent(from[axis] * *times) != sizes[i])
        b.fail("the ratio of sizes along axis " + Twine(axis) + " is not constant; give the model input static extents");
      scales[axis] = static_cast<double>(*times);
      continue;
    }
    b.check(*out >= 0 && *in > 0, "sizes and extents must be positive");
    scales[axis] = static_cast<double>(*out) / static_cast<double>(*in);
  }
  if (policy != "stretch") {
    b.check(policy == "not_larger" || policy == "not_smaller", "attribute 'keep_aspect_ratio_policy' is '" + policy + "'");
    double common = policy == "not_larger" ? INFINITY : 0;
    for (int64_t axis : axes)
      common = policy == "not_larger" ? std::min(common, scales[axis]) : std::max(common, scales[axis]);
    for (int64_t axis : axes) {
      int64_t in = b.requireExtent(x, axis, "keep_aspect_ratio_policy");
      scales[axis] = common;
      target[axis] = b.expr(static_cast<int64_t>(std::floor(common * static_cast<double>(in) + 0.5)));
    }
  }
  emitResize(b, x, target, scales, roi, o);
}

static Options readOptions(NodeBuilder &b) {
  Options o;
  o.mode = b.stringAttr("mode", "nearest");
  o.coordinate = b.stringAttr("coordinate_transformation_mode", "half_pixel");
  o.nearest = b.stringAttr("nearest_mode", "round_prefer_floor");
  o.cubic = b.floatAttr("cubic_coeff_a", -0.75);
  o.extrapolation = b.floatAttr("extrapolation_value", 0);
  o.excludeOutside = b.intAttr("exclude_outside", 0) != 0;
  o.antialias = b.intAttr("antialias", 0) != 0;
  return o;
}

void convertResize(NodeBuilder &b) {
  Value x = b.input(0);
  Options o = readOptions(b);
  Ints axes;
  if (std::optional<Ints> given = b.intsAttr("axes"))
    for (int64_t axis : *given)
      axes.push_back(b.normalizeAxis(axis, b.rank(x)));
  else
    axes = llvm::to_vector(llvm::seq<int64_t>(0, b.rank(x)));
  SmallVector<double> roi;
  if (o.coordinate == "tf_crop_and_resize") {
    SmallVector<double> given = b.constantFloatsInput(1, "roi");
    b.check(given.size() == 2 * axes.size(), "roi must have two entries an axis");
    roi.assign(2 * b.rank(x), 0.0);
    std::fill(roi.begin() + b.rank(x), roi.end(), 1.0);
    for (auto [i, axis] : llvm::enumerate(axes)) {
      roi[axis] = given[i];
      roi[b.rank(x) + axis] = given[axes.size() + i];
    }
  }
  // An empty scales tensor stands for an absent one (op set 11).
  bool withScales = b.has(2) && !(b.rank(b.input(2)) == 1 && b.constantExtent(b.input(2), 0) == 0);
  if (withScales) {
    byScales(b, axes, b.constantFloatsInput(2, "scales"), roi, o);
    return;
  }
  bySizes(b, axes, b.requireKnown(3, "sizes"), roi, o);
}

// Op set 10, and Upsample: scales only, coordinates asymmetric, nearest rounds down.
static void legacyResize(NodeBuilder &b, ArrayRef<double> scales) {
  Options o;
  o.mode = b.stringAttr("mode", "nearest");
  o.coordinate = "asymmetric";
  o.nearest = "floor";
  byScales(b, llvm::to_vector(llvm::seq<int64_t>(0, b.rank(b.input(0)))), scales, {}, o);
}

void convertResizeScales(NodeBuilder &b) { legacyResize(b, b.constantFloatsInput(1, "scales")); }

void convertUpsampleAttributes(NodeBuilder &b) {
  auto scales = b.floatsAttr("scales");
  if (!scales && b.hasAttr("height_scale"))
    scales = SmallVector<double>{1, 1, b.floatAttr("height_scale", 1), b.floatAttr("width_scale", 1)};
  b.check(scales.has_value(), "attribute 'scales' is missing");
  legacyResize(b, *scales);
}

} // namespace tcc::onnx
