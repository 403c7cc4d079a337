//===- Resize.cpp - resizes by scales or sizes that are data, on the device ===//
//
// (Where the model has them as constants, a resize is loops.)
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/library/ShapeText.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

constexpr int kThreads = 128;

/// What resize.cuh calls an attribute's value; empty for other values.
std::string choice(const tcc::Attributes &attributes, const std::string &name, const char *otherwise,
                   ArrayRef<std::pair<StringRef, StringRef>> choices) {
  std::string value = attributes.StringOr(name, otherwise);
  for (auto [text, constant] : choices)
    if (value == text)
      return ("tcc::" + constant).str();
  return "";
}
std::string modeText(const tcc::Attributes &attributes) {
  return choice(attributes, "mode", "nearest",
                {{"nearest", "Interpolation::kNearest"},
                 {"linear", "Interpolation::kLinear"},
                 {"cubic", "Interpolation::kCubic"}});
}
std::string coordinateText(const tcc::Attributes &attributes) {
  return choice(attributes, "coordinate", "half_pixel",
                {{"half_pixel", "Coordinate::kHalfPixel"},
                 {"half_pixel_symmetric", "Coordinate::kHalfPixelSymmetric"},
                 {"pytorch_half_pixel", "Coordinate::kPytorchHalfPixel"},
                 {"align_corners", "Coordinate::kAlignCorners"},
                 {"asymmetric", "Coordinate::kAsymmetric"},
                 {"tf_half_pixel_for_nn", "Coordinate::kTfHalfPixelForNn"},
                 {"tf_crop_and_resize", "Coordinate::kTfCropAndResize"}});
}
std::string nearestText(const tcc::Attributes &attributes) {
  return choice(attributes, "nearest_mode", "round_prefer_floor",
                {{"floor", "NearestMode::kFloor"},
                 {"ceil", "NearestMode::kCeil"},
                 {"round_prefer_ceil", "NearestMode::kRoundPreferCeil"},
                 {"round_prefer_floor", "NearestMode::kRoundPreferFloor"}});
}
std::string policyText(const tcc::Attributes &attributes) {
  return choice(attributes, "keep_aspect_ratio_policy", "stretch",
                {{"stretch", "AspectRatio::kStretch"},
                 {"not_larger", "AspectRatio::kNotLarger"},
                 {"not_smaller", "AspectRatio::kNotSmaller"}});
}
/// The axes that lists are of, distinct and not negative; nothing where they are not.
std::optional<SmallVector<int64_t>> axesOf(Operation *op, const tcc::Attributes &attributes) {
  int64_t rank = cast<RankedTensorType>(op->getOperand(0).getType()).getRank();
  SmallVector<int64_t> axes;
  if (attributes.Has("axes"))
    llvm::append_range(axes, attributes.IntsOr("axes", {}));
  else
    axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  SmallVector<bool> seen(rank, false);
  for (int64_t &axis : axes) {
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank || seen[axis])
      return std::nullopt;
    seen[axis] = true;
  }
  return axes;
}

std::string samplingText(const tcc::Attributes &attributes) {
  auto flag = [&](const char *name) { return attributes.IntOr(name, 0) != 0 ? "true" : "false"; };
  return "tcc::Sampling<" + modeText(attributes) + ", " + coordinateText(attributes) + ", " + nearestText(attributes) +
         ", " + flag("antialias") + ", " + flag("exclude_outside") + ">";
}
/// The launch that makes the result of `axes`, which `before` defines.
void launchResize(LibraryKernel &kernel, const tcc::Attributes &attributes, SmallVector<LibraryKernel::Buffer> buffers,
                  SmallVector<LibraryKernel::Scalar> scalars, const std::string &before) {
  ir::Exprs out = ir::getExtents(kernel.op->getResult(0).getType());
  buffers.push_back({kernel.input(0), "x"});
  buffers.push_back({kernel.result(0), "y", true});
  AffineExpr count = kernel.product(out);
  scalars.push_back({"count", count});
  kernel.launch("resize", "resize.cuh", kThreads, count.ceilDiv(kThreads), buffers, scalars,
                before + "  const " + samplingText(attributes) + " samples = {" +
                    doubleText(attributes.FloatOr("cubic_coeff_a", -0.75)) + ", " +
                    doubleText(attributes.FloatOr("extrapolation_value", 0)) + "};\n  tcc::write_resized<" +
                    std::to_string(out.size()) + ">(x, y, samples, axes, count);\n");
}

/// Scales that are known, extents that need not be.
void applyResize(LibraryKernel &kernel) {
  auto op = cast<ir::ResizeOp>(kernel.op);
  tcc::Attributes attributes = attributesOf(op);
  ir::Exprs in = ir::getExtents(op.getX().getType()), out = ir::getExtents(op.getY().getType());
  const size_t rank = in.size();
  SmallVector<LibraryKernel::Scalar> scalars;
  std::string before = axesText("in", in, scalars) + axesText("out", out, scalars);
  const std::string type = "<" + std::to_string(rank) + ">";
  before += "  tcc::Resized" + type + " axes = tcc::unresized" + type + "(in);\n  axes.out = out;\n";
  const bool crops = op.getCoordinate() == ir::Coordinate::TfCropAndResize;
  for (size_t axis = 0; axis < rank; ++axis) {
    auto set = [&](const char *field, double value, double usual) {
      if (value != usual)
        before += "  axes." + std::string(field) + "[" + std::to_string(axis) + "] = " + doubleText(value) + ";\n";
    };
    set("scale", op.getScales()[axis], 1);
    if (!crops)
      continue;
    set("start", op.getRoi()[axis], 0);
    set("end", op.getRoi()[rank + axis], 1);
  }
  before += "  if (!tcc::has_elements" + type +
            "(in)) {\n    tcc::report_error(error, 1);  // kTccIndexOutOfRange\n"
            "    return;\n  }\n";
  launchResize(kernel, attributes, {}, std::move(scalars), before);
}

void applyDynamicResize(LibraryKernel &kernel) {
  Operation *op = kernel.op;
  tcc::Attributes attributes = attributesOf(op);
  SmallVector<int64_t> axes = *axesOf(op, attributes);
  ir::Exprs in = ir::getExtents(op->getOperand(0).getType());
  std::string rank = std::to_string(in.size()), wanted = std::to_string(axes.size());

  SmallVector<LibraryKernel::Buffer> buffers;
  SmallVector<LibraryKernel::Scalar> scalars;
  std::string entries, before = axesText("in", in, scalars);
  for (int64_t axis = 0; axis < static_cast<int64_t>(in.size()); ++axis) {
    auto *at = llvm::find(axes, axis);
    entries += (axis == 0 ? "" : ", ") + (at == axes.end() ? "-1" : std::to_string(at - axes.begin()));
  }
  before += "  const tcc::Axes<" + rank + "> entry = {{" + entries + "}};\n  tcc::Resized<" + rank +
            "> axes = tcc::unresized<" + rank + ">(in);\n";
  auto read = [&](int64_t position, const std::string &name, const std::string &function, const std::string &more) {
    std::optional<unsigned> operand = operandAt(op, position);
    if (!operand)
      return;
    buffers.push_back({kernel.input(*operand), name});
    scalars.push_back({name + "_count", kernel.product(ir::getExtents(op->getOperand(*operand).getType()))});
    before += "  tcc::" + function + "<" + rank + ">(axes, entry, " + name + ", " + name + "_count, " + wanted + more +
              ");\n";
  };
  read(2, "scales", "read_scales", "");
  read(3, "sizes", "read_sizes", ", " + policyText(attributes));
  if (coordinateText(attributes) == "tcc::Coordinate::kTfCropAndResize")
    read(1, "roi", "read_crop", "");

  buffers.push_back({kernel.foundExtents(), "found", true});
  kernel.launch("find_extents", "resize.cuh", 1, kernel.constant(1), buffers, scalars,
                before + "  tcc::find_resized<" + rank + ", " + samplingText(attributes) + ">(axes, found, error);\n");
  kernel.endFinding();
  buffers.pop_back();
  launchResize(kernel, attributes, std::move(buffers), std::move(scalars), before);
}

bool isResize(Operation *op) {
  auto resize = dyn_cast<ir::ResizeOp>(op);
  if (!resize)
    return false;
  auto type = cast<RankedTensorType>(resize.getX().getType());
  const bool crops = resize.getCoordinate() == ir::Coordinate::TfCropAndResize;
  // The reference says what is wrong with others. (Samples of an axis are counted by 32 bits.)
  constexpr double kLeastScale = 1e-6;
  return !type.getElementType().isInteger(1) && type.getRank() <= 8 &&
         static_cast<int64_t>(resize.getScales().size()) == type.getRank() &&
         (!crops || static_cast<int64_t>(resize.getRoi().size()) == 2 * type.getRank()) &&
         llvm::all_of(resize.getScales(), [&](double scale) { return scale >= kLeastScale; });
}

bool isDynamicResize(Operation *op) {
  if (!isa<ir::LibraryOp>(op) || op->getNumResults() != 1 || !operandAt(op, 0))
    return false;
  tcc::Attributes attributes = attributesOf(op);
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  // The reference says what is wrong with others.
  auto isListOf = [&](int64_t position, auto isElement) {
    std::optional<unsigned> operand = operandAt(op, position);
    if (!operand)
      return true;
    auto list = cast<RankedTensorType>(op->getOperand(*operand).getType());
    return list.getRank() == 1 && isElement(list.getElementType());
  };
  auto isFloat = [](Type element) { return isa<FloatType>(element); };
  auto isSize = [](Type element) { return element.isSignlessInteger(64); };
  return !type.getElementType().isInteger(1) && type.getRank() <= 8 && !modeText(attributes).empty() &&
         !coordinateText(attributes).empty() && !nearestText(attributes).empty() && !policyText(attributes).empty() &&
         axesOf(op, attributes) && operandAt(op, 2).has_value() != operandAt(op, 3).has_value() &&
         isListOf(1, isFloat) && isListOf(2, isFloat) && isListOf(3, isSize);
}

} // namespace

const LibrarySchedule dynamicResizeSchedule = {"dynamic_resize", isDynamicResize, applyDynamicResize};
const LibrarySchedule resizeSchedule = {"resize", isResize, applyResize};

} // namespace tcc::codegen::cuda
