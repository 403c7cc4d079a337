//===- Matmul.cpp - schedule of kernels around tcc.matmul ------------------===//
#include "codegen/cuda/extern/CublasLt.h"
#include "codegen/cuda/gemm/NarrowIntegers.h"
#include "codegen/cuda/gemm/Schedule.h"
#include "codegen/schedule/template/MatmulView.h"
#include "ir/Extents.h"

using namespace mlir;

namespace tcc::codegen::cuda {

FailureOr<KernelCode> scheduleMatmul(KernelBuilder &builder, const ScheduleOptions &options) {
  const gemm::TemplateKernel &kernel = builder.kernel;
  gemm::MatmulView view = gemm::viewOf(kernel);
  MLIRContext *context = builder.context;
  Product product;
  product.batch = view.batch;
  product.m = view.m;
  product.n = view.n;
  product.k = view.k;
  product.result = view.c;
  product.a = specOf(kernel.operands[0], view.a, {view.batch, view.m, view.k});
  // B is indexed (g, n, k) here.
  AffineExpr swapped[] = {getAffineDimExpr(0, context), getAffineDimExpr(2, context), getAffineDimExpr(1, context)};
  Exprs b;
  for (AffineExpr expr : view.b)
    b.push_back(gemm::substitute(expr, swapped));
  product.b = specOf(kernel.operands[1], b, {view.batch, view.n, view.k});

  if (kernel.resultElement().isInteger(32))
    narrowProduct(builder, product, view.a, b);

  // Where a tile would be empty for the most part.
  constexpr int64_t kFew = 8;
  auto m = ir::getConstant(view.m), n = ir::getConstant(view.n), k = ir::getConstant(view.k);
  bool tiny = m && n && k && *m <= kFew && *n <= kFew && *k <= 64 && product.zeroA.empty() && product.zeroB.empty();
  if (std::optional<devices::GemmDescriptor> call = cublasLtCall(builder, product, options.tf32); call && !tiny)
    product.library = chooseLibrary(builder, *call, options);
  if (failed(tiny ? launchDirect(builder, "matmul", product) : launchProduct(builder, "gemm", product, options)))
    return failure();
  return builder.take("gemm");
}

} // namespace tcc::codegen::cuda
