//===- RoiAlign.cpp - regions of interest, on the device ------------------===//
#include "codegen/cuda/library/LibraryKernel.h"
#include "llvm/ADT/bit.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

constexpr int kThreads = 128;

int64_t integer(ir::LibraryOp op, StringRef name, int64_t otherwise) {
  auto attribute = op.getConfig().getAs<IntegerAttr>(name);
  return attribute ? attribute.getValue().getSExtValue() : otherwise;
}
StringRef text(ir::LibraryOp op, StringRef name, StringRef otherwise) {
  auto attribute = op.getConfig().getAs<StringAttr>(name);
  return attribute ? attribute.getValue() : otherwise;
}
bool isHalfPixel(ir::LibraryOp op) { return text(op, "coordinate_transformation_mode", "half_pixel") == "half_pixel"; }

void applyRoiAlign(LibraryKernel &kernel) {
  auto op = cast<ir::LibraryOp>(kernel.op);
  ir::Exprs x = ir::getExtents(op.getInputs()[0].getType()), y = ir::getExtents(op->getResult(0).getType());
  auto scaleAttribute = op.getConfig().getAs<FloatAttr>("spatial_scale");
  double scale = scaleAttribute ? scaleAttribute.getValueAsDouble() : 1;
  AffineExpr count = kernel.product(y);
  std::string scaleText = "tcc::bit_cast<double>(" + std::to_string(llvm::bit_cast<uint64_t>(scale)) + "ull)";
  kernel.launch(
      "roi_align", "roi_align.cuh", kThreads, count.ceilDiv(kThreads),
      {{kernel.input(0), "x"}, {kernel.input(1), "rois"}, {kernel.input(2), "batches"}, {kernel.result(0), "y", true}},
      {{"images", x[0]},
       {"channels", x[1]},
       {"height", x[2]},
       {"width", x[3]},
       {"rows", y[2]},
       {"columns", y[3]},
       {"count", count}},
      "  const tcc::RoiBins bins = {channels, height, width, rows, columns, " +
          std::to_string(integer(op, "sampling_ratio", 0)) + ", " + scaleText + ", " +
          (isHalfPixel(op) ? "0.5" : "0.0") + ", images};\n  tcc::roi_align<" +
          (text(op, "mode", "avg") == "max" ? "true" : "false") + ", " + (isHalfPixel(op) ? "false" : "true") +
          ">(x, rois, batches, y, bins, count, error);\n");
}

bool isRoiAlign(Operation *op) {
  auto library = dyn_cast<ir::LibraryOp>(op);
  if (!library || library.getInputs().size() != 3)
    return false;
  Value x = library.getInputs()[0], rois = library.getInputs()[1], batches = library.getInputs()[2];
  ir::Exprs regions = ir::getExtents(rois.getType()), images = ir::getExtents(x.getType()),
            of = ir::getExtents(batches.getType());
  int64_t ratio = integer(library, "sampling_ratio", 0);
  StringRef mode = text(library, "mode", "avg");
  // The reference says what is wrong with others.
  return isa<FloatType>(elementTypeOf(x)) && elementTypeOf(rois) == elementTypeOf(x) &&
         isa<IntegerType>(elementTypeOf(batches)) && images.size() == 4 && regions.size() == 2 && of.size() == 1 &&
         ir::getConstant(regions[1]) == 4 && of[0] == regions[0] && ratio >= 0 && ratio <= 1024 &&
         (mode == "avg" || mode == "max") &&
         (isHalfPixel(library) || text(library, "coordinate_transformation_mode", "") == "output_half_pixel");
}

} // namespace

const LibrarySchedule roiAlignSchedule = {"roi_align", isRoiAlign, applyRoiAlign};

} // namespace tcc::codegen::cuda
