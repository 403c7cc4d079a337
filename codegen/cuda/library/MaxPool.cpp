//===- MaxPool.cpp - maxima of windows and their places, on the device ----===//
#include "codegen/cuda/library/ShapeText.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

constexpr int kThreads = 256;

// `pool`: max_pool_indices, or max_pool of integers, which have no form as loops.
template <typename Op> void emitMaxPool(LibraryKernel &kernel, Op op, bool places, bool columnMajor) {
  ir::Exprs in = ir::getExtents(op.getX().getType()), out = ir::getExtents(op.getY().getType());
  SmallVector<LibraryKernel::Scalar> scalars;
  std::string text =
      axesText("in", ArrayRef(in).drop_front(2), scalars) + axesText("out", ArrayRef(out).drop_front(2), scalars);
  std::string axes = std::to_string(in.size() - 2), type = elementText(elementTypeOf(op.getX()));
  auto list = [&](ArrayRef<int64_t> values) {
    std::string numbers;
    for (int64_t value : values)
      numbers += (numbers.empty() ? "" : ", ") + std::to_string(value);
    return "{{" + numbers + "}}";
  };
  AffineExpr count = kernel.product(out);
  scalars.push_back({"count", count});
  SmallVector<LibraryKernel::Buffer> buffers = {{kernel.input(0), "x"}, {kernel.result(0), "y", true}};
  if (places)
    buffers.push_back({kernel.result(1), "indices", true});
  kernel.launch(places ? "max_pool_indices" : "max_pool", "max_pool.cuh", kThreads, count.ceilDiv(kThreads), buffers,
                scalars,
                text + "  const tcc::Windows<" + axes + "> windows = {in, out, " + list(op.getKernel()) + ", " +
                    list(op.getStrides()) + ", " + list(op.getPaddingLow()) + ", " + list(op.getDilations()) +
                    "};\n  tcc::max_pool<" + axes + ", " + (columnMajor ? "true" : "false") + ", " + type + ">(x, y, " +
                    (places ? "indices" : "nullptr") + ", windows, tcc::Plain<" + type +
                    ">::bits(-tcc::inf<double>(), false), count);\n");
}

void applyMaxPoolIndices(LibraryKernel &kernel) {
  auto op = cast<ir::MaxPoolIndicesOp>(kernel.op);
  emitMaxPool(kernel, op, /*places=*/true, op.getColumnMajor());
}
void applyMaxPool(LibraryKernel &kernel) {
  emitMaxPool(kernel, cast<ir::MaxPoolOp>(kernel.op), /*places=*/false, /*columnMajor=*/false);
}

bool isPlanes(Value x) { return cast<RankedTensorType>(x.getType()).getRank() > 2 && !elementTypeOf(x).isInteger(1); }
bool isMaxPoolIndices(Operation *op) { return isa<ir::MaxPoolIndicesOp>(op) && isPlanes(op->getOperand(0)); }
bool isMaxPool(Operation *op) {
  auto pool = dyn_cast<ir::MaxPoolOp>(op);
  return pool && !pool.getChannelsLast() && isPlanes(pool.getX());
}

} // namespace

const LibrarySchedule maxPoolIndicesSchedule = {"max_pool_indices", isMaxPoolIndices, applyMaxPoolIndices};
const LibrarySchedule maxPoolSchedule = {"max_pool", isMaxPool, applyMaxPool};

} // namespace tcc::codegen::cuda
