//===- Matmul.cpp - schedule of kernels around tcc.matmul ------------------===//
#include "codegen/cpu/gemm/Schedule.h"

#include "codegen/cpu/gemm/PackRows.h"
#include "ir/Extents.h"

using namespace mlir;

namespace tcc::codegen::gemm {
namespace {

// A matmul as C[g, m, n]: where g, m, n and k come from, and the operands' indices in terms of them.
struct View {
  AffineExpr batch, m, n, k;
  Exprs a, b, c; // coordinates over (g, m, k), (g, k, n), (g, m, n)
  bool sharedB = false;
};

View viewOf(const TemplateKernel &kernel) {
  const Operand &a = kernel.operands[0], &b = kernel.operands[1];
  MLIRContext *context = kernel.op->getContext();
  unsigned rank = a.extents.size(), batchRank = rank - 2;
  AffineExpr d0 = getAffineDimExpr(0, context), d1 = getAffineDimExpr(1, context), d2 = getAffineDimExpr(2, context);
  AffineExpr zero = getAffineConstantExpr(0, context);
  View view;
  view.m = a.extents[rank - 2];
  view.k = a.extents[rank - 1];
  view.n = b.extents[rank - 1];
  ArrayRef<AffineExpr> batchExtents = ArrayRef<AffineExpr>(a.extents).take_front(batchRank);
  view.batch = ir::product(context, batchExtents);
  view.sharedB = ir::getConstant(view.batch) == 1;
  // A matrix B for all: then the batch is just more rows.
  if (b.offset && batchRank > 0) {
    bool shared = true;
    for (unsigned i = 0; i < batchRank; ++i)
      shared &= !b.offset.isFunctionOfDim(i);
    view.sharedB |= shared;
  }
  if (view.sharedB && batchRank > 0) {
    Exprs rows(batchExtents.begin(), batchExtents.end());
    rows.push_back(view.m);
    view.a = delinearize(d1, rows);
    view.c = view.a;
    view.m = simplify(view.batch * view.m);
    view.batch = getAffineConstantExpr(1, context);
    view.b.assign(batchRank, zero);
  } else if (batchRank > 0) {
    view.a = delinearize(d0, batchExtents);
    view.b = view.a;
    view.a.push_back(d1);
    view.c = view.a;
  } else {
    view.a = {d1};
    view.c = {d1};
  }
  view.a.push_back(d2);
  view.c.push_back(d2);
  view.b.push_back(d1);
  view.b.push_back(d2);
  return view;
}

GemmShape shapeOf(const View &view, Type compute) {
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
AffineExpr readsRows(const Operand &a, const View &view, Type compute) {
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
  View view = viewOf(kernel);
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
