//===- MatmulView.cpp -----------------------------------------------------===//
#include "codegen/schedule/template/MatmulView.h"

#include "ir/Extents.h"

using namespace mlir;

namespace tcc::codegen::gemm {

MatmulView viewOf(const TemplateKernel &kernel) {
  const Operand &a = kernel.operands[0], &b = kernel.operands[1];
  MLIRContext *context = kernel.op->getContext();
  unsigned rank = a.extents.size(), batchRank = rank - 2;
  AffineExpr d0 = getAffineDimExpr(0, context), d1 = getAffineDimExpr(1, context), d2 = getAffineDimExpr(2, context);
  AffineExpr zero = getAffineConstantExpr(0, context);
  MatmulView view;
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

} // namespace tcc::codegen::gemm
