//===- Matmul.cpp - schedule of kernels around tcc.matmul ------------------===//
#include "codegen/cpu/gemm/Schedule.h"

#include "codegen/cpu/gemm/PackRows.h"
#include "codegen/schedule/template/MatmulView.h"
#include "ir/Extents.h"

using namespace mlir;

namespace tcc::codegen::gemm {
namespace {

GemmShape shapeOf(const MatmulView &view, Type compute) {
  GemmShape shape;
  shape.batch = ir::getConstant(view.batch);
  shape.m = ir::getConstant(view.m);
  shape.n = ir::getConstant(view.n);
  shape.k = ir::getConstant(view.k);
  shape.elementBits = compute.getIntOrFloatBitWidth();
  return shape;
}

// The operand's offset over the dims of its GEMM coordinate, for plain reads.
AffineExpr offsetOf(const Operand &operand, ArrayRef<AffineExpr> coordinate) {
  return operand.offset ? simplify(substitute(operand.offset, coordinate)) : AffineExpr();
}

// The offset of A where the micro-kernel can read it in place: static rows of the accumulation type, contiguous along
// k.
AffineExpr readsRows(const Operand &a, const MatmulView &view, Type compute) {
  AffineExpr offset = offsetOf(a, view.a);
  if (!offset || a.element != compute || !ir::getConstant(view.m))
    return {};
  auto row = dimStride(offset, 1, 3), column = dimStride(offset, 2, 3);
  return row && column && ir::getConstant(*row) && ir::getConstant(*column) == 1 ? offset : AffineExpr();
}

} // namespace

GemmShape shapeOfMatmul(const TemplateKernel &kernel) {
  return shapeOf(viewOf(kernel), accumulationType(kernel.resultElement()));
}

FailureOr<KernelCode> scheduleMatmul(KernelBuilder &builder) {
  const TemplateKernel &kernel = builder.kernel;
  MatmulView view = viewOf(kernel);
  const Operand &a = kernel.operands[0], &b = kernel.operands[1];

  GemmCore core;
  core.batch = view.batch;
  core.m = view.m;
  core.n = view.n;
  core.k = view.k;
  core.compute = accumulationType(kernel.resultElement());
  GemmShape shape = shapeOf(view, core.compute);
  AffineExpr aOffset = readsRows(a, view, core.compute);
  // Rows a multiple of 4 KiB apart share a set of L1: copied, unless there are few of them.
  int64_t bytes = core.compute.getIntOrFloatBitWidth() / 8;
  bool farApart = aOffset && *ir::getConstant(*dimStride(aOffset, 1, 3)) * bytes % 4096 == 0;
  shape.packsA = !aOffset || (farApart && *shape.m > 4);
  core.tiles = builder.options.tiles ? *builder.options.tiles : chooseTiles(shape, builder.machine);
  core.unrollEpilogue = kernel.cheapEpilogue(view.c, 2, core.tiles.lanes);
  if (aOffset && (!farApart || core.tiles.rows <= 4)) {
    core.aOffset = aOffset;
    core.aBuffer = a.argument;
  }
  if (!core.aOffset)
    core.packA = packRowsOf(kernel, a, view.a, core.tiles.lanes);

  AffineExpr bOffset = offsetOf(b, view.b);
  auto bRow = bOffset ? dimStride(bOffset, 1, 3) : std::nullopt;
  auto bColumn = bOffset ? dimStride(bOffset, 2, 3) : std::nullopt;
  bool bRows = bRow && bColumn && ir::getConstant(*bColumn) == 1;
  bool fewRows = shape.m && *shape.m <= 2 * core.tiles.rows;
  if (bRows && fewRows && !isConstantOperand(builder, b)) {
    core.b = GemmCore::B::InPlace;
    core.bOffset = bOffset;
    core.bBuffer = b.argument;
  } else {
    PackedPanels panels = packPanels(builder, b, view.b, !view.sharedB, view.batch, view.k, view.n, core.tiles);
    core.bBuffer = panels.buffer;
    core.bBatched = panels.batched;
  }

  core.epilogue = [&kernel, view](Emit &e, const Frame &frame, Value g, Value m, Value n, Value value, int64_t lanes,
                                  Value count, Value mask) {
    Point point{{g, m, n}, frame.symbols, 2, lanes, count, mask};
    kernel.finish(e, frame, std::move(point), value, view.c);
  };
  core.layout();
  SmallVector<int> uses = builder.inputsAndResults();
  if (core.bBuffer >= kernel.numInputs() + static_cast<int>(kernel.outputs.size()))
    uses.push_back(core.bBuffer);
  double flops =
      2.0 * core.tiles.rowTiles * core.tiles.rows * core.tiles.panels * core.tiles.panelWidth() * shape.k.value_or(512);
  builder.noteTiles(core.tiles);
  builder.addLaunch("gemm", uses, core.items(), grainOf(flops), core.scratchBytes(),
                    [&](Emit &e, const Frame &frame) { core.emit(e, frame); });
  return builder.take("gemm");
}

} // namespace tcc::codegen::gemm
