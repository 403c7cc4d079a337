//===- Scatter.cpp - the kernel that does a scatter's updates -------------===//
//
// Points that differ along a dimension which is an index of the result as it is never meet: threads have those, and
// each does its updates in the order of the nest.
//
//===----------------------------------------------------------------------===//
#include "codegen/schedule/ScatterNest.h"

#include "codegen/cuda/loops/LoopFunction.h"
#include "ir/Extents.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

constexpr int kThreads = 128;

} // namespace

LogicalResult LoopFunction::emitScatter(KernelCode &code) {
  const LoopNest &nest = nests[0];
  ir::ScatterOp scatter = group.scatter;
  IndexSimplifier simplifier = nest.simplifier();
  AffineExpr target = nest.offset.lookup(scatter);
  llvm::SmallVector<bool> separate = separateDims(nest, scatter);
  llvm::SmallVector<unsigned> parallel;
  int inner = -1;
  for (unsigned dim = 0; dim < nest.numDims(); ++dim) {
    if (!separate[dim])
      continue;
    AffineExpr stride = simplifier.stride(target, dim);
    if (stride && ir::getConstant(stride) == 1 && nest.constantExtent(dim) != 1)
      inner = dim;
    else
      parallel.push_back(dim);
  }
  if (inner >= 0)
    parallel.push_back(inner); // neighbouring threads
  Exprs extents;
  for (unsigned dim : parallel)
    extents.push_back(nest.extents[dim]);
  AffineExpr count = product(extents);

  begin("scatter", kThreads);
  BodyEmitter body(b, nest, context);
  Value index = named(add(mul(block, kThreads), thread), "index");
  when(less(index, extent(count)), [&] {
    Values dims(nest.numDims());
    for (auto [dim, value] : llvm::zip(parallel, delinearize(index, extents)))
      dims[dim] = value;
    std::function<void(unsigned)> over = [&](unsigned dim) {
      while (dim < nest.numDims() && dims[dim])
        ++dim;
      if (dim == nest.numDims()) {
        Point point{dims};
        Values results = body.evaluate(point);
        emitScatterUpdate(b, nest, scatter, point, results, memrefOf(scatter.getY()), context.symbols,
                          context.nativeBf16);
        return;
      }
      loop(constant(0), extent(nest.extents[dim]), constant(1), {}, [&](Value at, ValueRange) -> Values {
        dims[dim] = at;
        over(dim + 1);
        dims[dim] = nullptr;
        return {};
      });
    };
    over(0);
  });
  return finish(code, count.ceilDiv(kThreads), "updates in order, a thread for elements that never meet");
}

} // namespace tcc::codegen::cuda
