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

static SmallVector<NamedAttribute> resizeAttrs(NodeBuilder &b, const Options &o) {
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
  return {b.attr("mode", ir::ResizeModeAttr::get(b.context(), *mode)),
          b.attr("coordinate", ir::CoordinateAttr::get(b.context(), *coordinate)),
          b.attr("nearest_mode", ir::NearestModeAttr::get(b.context(), *nearest)),
          b.f64("cubic_coeff_a", o.cubic),
          b.flag("exclude_outside", o.excludeOutside),
          b.flag("antialias", o.antialias),
          b.f64("extrapolation_value", o.extrapolation)};
}

// Scales or sizes that only the run knows.
static void dynamicResize(NodeBuilder &b, ArrayRef<int64_t> axes, Value roi, Value scales, Value sizes,
                          const Options &o) {
  Value x = b.input(0);
  Exprs target = b.extents(x);
  for (int64_t axis : axes)
    target[axis] = b.freshExtent("resize");
  SmallVector<NamedAttribute> attrs = resizeAttrs(b, o);
  attrs.push_back(b.i64s("axes", axes));
  attrs.push_back(b.str("keep_aspect_ratio_policy", b.stringAttr("keep_aspect_ratio_policy", "stretch")));
  b.result(b.libraryOne("dynamic_resize", {x, roi, scales, sizes}, attrs, b.tensorType(target, b.elementType(x))));
}

static void emitResize(NodeBuilder &b, Value x, ArrayRef<AffineExpr> target, ArrayRef<double> scales,
                       ArrayRef<double> roi, const Options &o) {
  SmallVector<NamedAttribute> attrs = resizeAttrs(b, o);
  attrs.push_back(b.f64s("scales", scales));
  attrs.push_back(b.f64s("roi", roi));
  b.result(b.emit<ir::ResizeOp>(x, attrs, b.tensorType(target, b.elementType(x))));
}

// floor(extent * scale), exactly where the scale is a small binary fraction; null where it cannot be written down.
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
  return nullptr;
}

// False where the extents cannot be written down.
static bool byScales(NodeBuilder &b, ArrayRef<int64_t> axes, ArrayRef<double> given, ArrayRef<double> roi,
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
    if (!target[axis])
      return false;
  }
  emitResize(b, x, target, scales, roi, o);
  return true;
}

// False where a ratio of extents is not constant.
static bool bySizes(NodeBuilder &b, ArrayRef<int64_t> axes, ArrayRef<AffineExpr> sizes, ArrayRef<double> roi,
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
        return false;
      scales[axis] = static_cast<double>(*times);
      continue;
    }
    b.check(*out >= 0 && *in > 0, "sizes and extents must be positive");
    scales[axis] = static_cast<double>(*out) / static_cast<double>(*in);
  }
  if (policy != "stretch") {
    b.check(policy == "not_larger" || policy == "not_smaller",
            "attribute 'keep_aspect_ratio_policy' is '" + policy + "'");
    double common = policy == "not_larger" ? INFINITY : 0;
    for (int64_t axis : axes)
      common = policy == "not_larger" ? std::min(common, scales[axis]) : std::max(common, scales[axis]);
    for (int64_t axis : axes) {
      if (!ir::getConstant(from[axis]))
        return false;
      int64_t in = *ir::getConstant(from[axis]);
      scales[axis] = common;
      double size = std::floor(common * static_cast<double>(in) + 0.5);
      b.check(size < 0x1p62, "the aspect ratio kept makes an axis of " + std::to_string(in) + " too large");
      target[axis] = b.expr(static_cast<int64_t>(size));
    }
  }
  emitResize(b, x, target, scales, roi, o);
  return true;
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
  bool crops = o.coordinate == "tf_crop_and_resize";
  // An empty scales tensor stands for an absent one (op set 11).
  bool withScales = b.has(2) && !(b.rank(b.input(2)) == 1 && b.constantExtent(b.input(2), 0) == 0);
  b.check(withScales || b.has(3), "needs scales or sizes");
  auto scales = withScales ? b.constantFloats(b.input(2)) : std::nullopt;
  auto sizes = withScales ? std::nullopt : b.knownInput(3);
  auto given = crops ? b.constantFloats(b.input(1)) : std::nullopt;
  auto fallBack = [&] {
    dynamicResize(b, axes, crops ? b.input(1) : Value(), withScales ? b.input(2) : Value(),
                  withScales ? Value() : b.input(3), o);
  };
  if ((!scales && !sizes) || (crops && !given)) {
    fallBack();
    return;
  }
  SmallVector<double> roi;
  if (crops) {
    b.check(given->size() == 2 * axes.size(), "roi must have two entries an axis");
    roi.assign(2 * b.rank(x), 0.0);
    std::fill(roi.begin() + b.rank(x), roi.end(), 1.0);
    for (auto [i, axis] : llvm::enumerate(axes)) {
      roi[axis] = (*given)[i];
      roi[b.rank(x) + axis] = (*given)[axes.size() + i];
    }
  }
  if (!(scales ? byScales(b, axes, *scales, roi, o) : bySizes(b, axes, *sizes, roi, o)))
    fallBack();
}

// Op set 10, and Upsample: scales only, coordinates asymmetric, nearest rounds down.
static void legacyResize(NodeBuilder &b, std::optional<SmallVector<double>> scales, Value scalesValue) {
  Options o;
  o.mode = b.stringAttr("mode", "nearest");
  o.coordinate = "asymmetric";
  o.nearest = "floor";
  Ints axes = llvm::to_vector(llvm::seq<int64_t>(0, b.rank(b.input(0))));
  if (!scales || !byScales(b, axes, *scales, {}, o))
    dynamicResize(b, axes, {}, scalesValue, {}, o);
}

void convertResizeScales(NodeBuilder &b) { legacyResize(b, b.constantFloats(b.input(1)), b.input(1)); }

void convertUpsampleAttributes(NodeBuilder &b) {
  auto scales = b.floatsAttr("scales");
  if (!scales && b.hasAttr("height_scale"))
    scales = SmallVector<double>{1, 1, b.floatAttr("height_scale", 1), b.floatAttr("width_scale", 1)};
  b.check(scales.has_value(), "attribute 'scales' is missing");
  legacyResize(b, scales, b.vectorF(*scales, b.f32Type()));
}

} // namespace tcc::onnx
