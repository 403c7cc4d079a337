//===- Select.cpp - NonZero and Compress on the device --------------------===//
//
// Chunks are counted, the counts become offsets, and the elements that hold find their places. How many there are goes
// to the host, which takes so much of the result's memory.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/library/LibraryKernel.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

constexpr int kThreads = 256, kItems = 4;

/// Buffers: the input as `data`, offsets as `offsets`, and the total as `found`.
struct Selection {
  LibraryKernel &kernel;
  LibraryKernel::Buffer data;
  AffineExpr length;
  std::string condition; ///< makes the functor, over `data`
  AffineExpr chunks = length.ceilDiv(kThreads * kItems);
  std::string block = std::to_string(kThreads) + ", " + std::to_string(kItems);
  int offsets = kernel.temporary(length.ceilDiv(kThreads * kItems), "long long", 8);
  int found = kernel.found();

  void count() {
    kernel.launch("select_count", "select.cuh", kThreads, chunks, {data, {offsets, "offsets", true}},
                  {{"length", length}}, "  tcc::count_selected<" + block + ">(" + condition + ", length, offsets);\n");
    kernel.launch("select_offsets", "select.cuh", kThreads, kernel.constant(1),
                  {{offsets, "offsets", true}, {found, "found", true}}, {{"chunks", chunks}},
                  "  tcc::offsets_of<" + std::to_string(kThreads) + ">(offsets, chunks, found);\n");
  }
  /// `use`: the statements of a lambda over n and i.
  void forEach(LibraryKernel::Buffer result, SmallVector<LibraryKernel::Scalar> scalars, const std::string &before,
               const std::string &use) {
    scalars.push_back({"length", length});
    kernel.launch("select_positions", "select.cuh", kThreads, chunks,
                  {data, {offsets, "offsets"}, {found, "found"}, std::move(result)}, scalars,
                  before + "  tcc::for_selected<" + block + ">(" + condition +
                      ", length, offsets, [&](long long n, long long i) {\n" + use + "  });\n");
  }
};

void applyNonzero(LibraryKernel &kernel) {
  Value x = kernel.op->getOperand(0);
  ir::Exprs extents = ir::getExtents(x.getType());
  AffineExpr length = kernel.product(extents);
  Selection selection{
      kernel, {kernel.input(0), "data"}, length, "tcc::IsNonzero<" + elementText(elementTypeOf(x)) + ">{data}"};
  kernel.setCapacity(0, length * static_cast<int64_t>(extents.size()));
  selection.count();
  if (extents.empty())
    return; // a row of no coordinates
  SmallVector<LibraryKernel::Scalar> scalars;
  std::string use;
  for (size_t axis = extents.size(); axis-- > 0;) {
    std::string place = "y[" + (axis == 0 ? "n" : std::to_string(axis) + " * count + n") + "] = ";
    if (axis == 0) {
      use += "    " + place + "i;\n";
      break;
    }
    std::string extent = "extent" + std::to_string(axis);
    scalars.push_back({extent, extents[axis]});
    use += "    " + place + "i % " + extent + ";\n    i /= " + extent + ";\n";
  }
  bool counts = extents.size() > 1;
  selection.forEach({kernel.result(0), "y", true}, scalars, counts ? "  const long long count = *found;\n" : "", use);
}

void applyCompress(LibraryKernel &kernel) {
  auto op = cast<ir::LibraryOp>(kernel.op);
  Value x = op.getInputs()[0], condition = op.getInputs()[1];
  ir::Exprs extents = ir::getExtents(x.getType());
  auto axisNumber = op.getConfig().getAs<IntegerAttr>("axis");
  Axis axis = axisNumber ? axisOf(kernel, x, axisNumber.getValue().getSExtValue())
                         : Axis{kernel.product(extents), kernel.constant(1), kernel.constant(1)};
  AffineExpr length = ir::getExtent(condition.getType(), 0), all = kernel.product(extents);
  Selection selection{kernel, {kernel.input(1), "data"}, length, "tcc::IsNonzero<unsigned char>{data}"};
  int numbers = kernel.temporary(length, "long long", 8);
  // (A condition that is longer than the axis, and holds there, is an error: its results have room.)
  kernel.setCapacity(0, axis.lines * length);
  selection.count();
  selection.forEach({numbers, "numbers", true}, {}, "", "    numbers[n] = i;\n");
  kernel.launch(
      "compress", "select.cuh", kThreads, all.floorDiv(kThreads) + 1,
      {{kernel.input(0), "x"}, {kernel.result(0), "y", true}, {numbers, "numbers"}, {selection.found, "found"}},
      {{"length", axis.length}, {"inner", axis.inner}, {"lines", axis.lines}},
      "  tcc::copy_selected(x, y, {length, inner}, numbers, *found, lines / (inner > 0 ? inner : 1), error);\n");
}

bool isNonzero(Operation *op) { return isa<ir::LibraryOp>(op) && op->getNumOperands() == 1; }
bool isCompress(Operation *op) {
  return isa<ir::LibraryOp>(op) && op->getNumOperands() == 2 && elementTypeOf(op->getOperand(1)).isInteger(1) &&
         ir::getExtents(op->getOperand(1).getType()).size() == 1 &&
         !ir::getExtents(op->getOperand(0).getType()).empty();
}

} // namespace

const LibrarySchedule nonzeroSchedule = {"nonzero", isNonzero, applyNonzero};
const LibrarySchedule compressSchedule = {"compress", isCompress, applyCompress};

} // namespace tcc::codegen::cuda
