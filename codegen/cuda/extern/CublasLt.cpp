//===- CublasLt.cpp - products that cuBLASLt can do -----------------------===//
#include "codegen/cuda/extern/CublasLt.h"

#include "codegen/cuda/extern/Epilogue.h"
#include "ir/ElementTypes.h"
#include "ir/Extents.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

/// An offset over (d0, d1, d2) as start + strides; nothing for other forms.
struct Strides {
  int64_t start = 0, batch = 0, row = 0, column = 0;
};

std::optional<Strides> stridesOf(AffineExpr offset, ArrayRef<AffineExpr> extents) {
  if (!offset)
    return std::nullopt;
  MLIRContext *context = offset.getContext();
  for (unsigned i = 0; i < extents.size(); ++i)
    if (ir::getConstant(extents[i]) == 1)
      offset = offset.replace(getAffineDimExpr(i, context), getAffineConstantExpr(0, context));
  offset = gemm::simplify(offset);
  auto at = [&](int64_t g, int64_t row, int64_t column) { return gemm::evaluate(offset, {g, row, column}, {}); };
  // (Symbols have no values here: the extents are known, and so are offsets.)
  bool hasSymbols = false;
  offset.walk([&](AffineExpr expr) { hasSymbols |= isa<AffineSymbolExpr>(expr); });
  if (hasSymbols)
    return std::nullopt;
  Strides strides;
  strides.start = at(0, 0, 0);
  strides.batch = at(1, 0, 0) - strides.start;
  strides.row = at(0, 1, 0) - strides.start;
  strides.column = at(0, 0, 1) - strides.start;
  if (llvm::all_of(llvm::seq(0u, 3u), [&](unsigned i) { return gemm::dimStride(offset, i, 3).has_value(); }))
    return strides;
  // The same step along the last dimension everywhere; batches and rows may be several axes as one: all of them are
  // looked at.
  constexpr int64_t kMostPlaces = 1 << 20;
  AffineExpr d2 = getAffineDimExpr(2, context);
  const int64_t batches = ir::getConstant(extents[0]).value_or(0), rows = ir::getConstant(extents[1]).value_or(0);
  if (batches > kMostPlaces || rows > kMostPlaces / std::max<int64_t>(batches, 1) ||
      gemm::simplify(offset.replace(d2, d2 + 1) - offset) != getAffineConstantExpr(strides.column, context))
    return std::nullopt;
  for (int64_t g = 0; g < batches; ++g)
    for (int64_t row = 0; row < rows; ++row)
      if (at(g, row, 0) != strides.start + g * strides.batch + row * strides.row)
        return std::nullopt;
  return strides;
}

/// A matrix of these extents. Neighbours lie along columns, or, transposed, along rows.
std::optional<devices::GemmDescriptor::Matrix> matrixOf(int buffer, const Strides &strides, int64_t rows,
                                                        int64_t columns) {
  if (strides.start < 0 || strides.batch < 0)
    return std::nullopt;
  devices::GemmDescriptor::Matrix matrix;
  matrix.parameter = buffer;
  matrix.start = strides.start;
  matrix.batch_stride = strides.batch;
  if ((strides.column == 1 || columns == 1) && (rows == 1 || strides.row >= columns)) {
    matrix.pitch = rows == 1 ? columns : strides.row;
    return matrix;
  }
  if ((strides.row == 1 || rows == 1) && (columns == 1 || strides.column >= rows)) {
    matrix.transposed = true;
    matrix.pitch = columns == 1 ? rows : strides.column;
    return matrix;
  }
  return std::nullopt;
}

} // namespace

std::optional<devices::GemmDescriptor> cublasLtCall(const KernelBuilder &builder, const Product &product, bool tf32) {
  const gemm::TemplateKernel &kernel = builder.kernel;
  auto batch = ir::getConstant(product.batch), m = ir::getConstant(product.m), n = ir::getConstant(product.n),
       k = ir::getConstant(product.k);
  if (!batch || !m || !n || !k || *batch < 1 || *m < 1 || *n < 1 || *k < 1 || !product.a.windows.empty() ||
      !product.b.windows.empty() || product.a.buffer < 0 || product.b.buffer < 0)
    return std::nullopt;
  devices::GemmDescriptor call;
  call.element = ir::getDType(product.a.element);
  if (!llvm::is_contained({DType::kF16, DType::kBF16, DType::kF32, DType::kF64}, call.element) ||
      product.b.element != product.a.element || kernel.resultElement() != product.a.element)
    return std::nullopt;
  std::optional<LibraryEpilogue> epilogue = libraryEpilogue(kernel);
  if (!epilogue)
    return std::nullopt;
  call.tf32 = tf32 && call.element == DType::kF32;
  call.batch = *batch;
  call.m = *m;
  call.n = *n;
  call.k = *k;
  auto over = [&](AffineExpr offset) { return gemm::simplify(gemm::substitute(offset, product.result)); };
  const AffineExpr extents[] = {product.batch, product.m, product.n};
  // B is indexed (g, n, k): its rows are columns here.
  std::optional<Strides> a = stridesOf(product.a.offset, {product.batch, product.m, product.k}),
                         b = stridesOf(product.b.offset, {product.batch, product.n, product.k}),
                         c = stridesOf(over(epilogue->result), extents);
  if (!a || !b || !c)
    return std::nullopt;
  std::swap(b->row, b->column);
  auto matrixA = matrixOf(product.a.buffer, *a, *m, *k), matrixB = matrixOf(product.b.buffer, *b, *k, *n),
       matrixC = matrixOf(builder.numInputs(), *c, *m, *n);
  if (!matrixA || !matrixB || !matrixC || matrixC->transposed)
    return std::nullopt;
  call.a = *matrixA;
  call.b = *matrixB;
  call.c = *matrixC;
  call.relu = epilogue->relu;
  for (const LibraryEpilogue::Term &term : epilogue->terms) {
    const AffineExpr offset = over(term.offset);
    if (call.bias < 0 && offset == getAffineDimExpr(2, builder.context)) {
      call.bias = term.buffer;
      continue;
    }
    std::optional<Strides> strides = stridesOf(offset, extents);
    auto matrix = strides ? matrixOf(term.buffer, *strides, *m, *n) : std::nullopt;
    if (call.addend.parameter >= 0 || !matrix || matrix->transposed)
      return std::nullopt;
    call.addend = *matrix;
  }
  return call;
}

} // namespace tcc::codegen::cuda
