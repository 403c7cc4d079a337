//===- CublasLt.cpp - products that cuBLASLt can do -----------------------===//
#include "codegen/cuda/extern/CublasLt.h"

#include "codegen/cuda/Tuning.h"
#include "ir/ElementTypes.h"
#include "ir/Extents.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

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

/// What follows the product: nothing, a bias along n, max(x, 0).
struct Epilogue {
  int bias = -1;
  bool relu = false;
};

bool isZero(Value value) {
  llvm::APFloat number(0.0);
  return matchPattern(value, m_ConstantFloat(&number)) && number.isZero();
}

std::optional<Epilogue> epilogueOf(const gemm::TemplateKernel &kernel) {
  const gemm::Output &output = kernel.outputs.front();
  Epilogue epilogue;
  if (output.tensor == kernel.result())
    return epilogue;
  auto loops = output.tensor.getDefiningOp<ir::LoopsOp>();
  if (!loops || loops.getNumReductions() != 0 || loops.getNumResults() != 1)
    return std::nullopt;
  MLIRContext *context = loops.getContext();
  Block &body = loops.getBody().front();
  unsigned rank = body.getNumArguments();
  auto isElement = [&](Value value, Value tensor) {
    auto load = value.getDefiningOp<ir::LoadOp>();
    return load && load.getTensor() == tensor && !load.getMask() && load.getMap().isIdentity() &&
           llvm::equal(load.getIndices(), body.getArguments());
  };
  Value value = body.getTerminator()->getOperand(0);
  if (auto relu = value.getDefiningOp<arith::MaximumFOp>())
    for (bool swapped : {false, true}) {
      Value other = swapped ? relu.getLhs() : relu.getRhs();
      if (!isZero(other) || epilogue.relu)
        continue;
      epilogue.relu = true;
      value = swapped ? relu.getRhs() : relu.getLhs();
    }
  auto sum = value.getDefiningOp<arith::AddFOp>();
  if (!sum)
    return isElement(value, kernel.result()) ? std::optional(epilogue) : std::nullopt;
  Value product = sum.getLhs(), bias = sum.getRhs();
  if (!isElement(product, kernel.result()))
    std::swap(product, bias);
  auto load = bias.getDefiningOp<ir::LoadOp>();
  if (!isElement(product, kernel.result()) || !load || load.getMask())
    return std::nullopt;
  auto argument = dyn_cast<BlockArgument>(load.getTensor());
  auto type = cast<RankedTensorType>(load.getTensor().getType());
  if (!argument || argument.getOwner() != &kernel.kernel.getBody().front() ||
      type.getElementType() != kernel.resultElement() || !llvm::equal(load.getIndices(), body.getArguments()))
    return std::nullopt;
  Exprs at(load.getMap().getResults());
  AffineExpr offset = gemm::simplify(gemm::rowMajorOffset(at, ir::getExtents(type), context));
  if (offset != getAffineDimExpr(rank - 1, context))
    return std::nullopt;
  epilogue.bias = static_cast<int>(argument.getArgNumber());
  return epilogue;
}

} // namespace

std::optional<devices::GemmDescriptor> libraryCall(const KernelBuilder &builder, const Product &product) {
  const gemm::TemplateKernel &kernel = builder.kernel;
  auto batch = ir::getConstant(product.batch), m = ir::getConstant(product.m), n = ir::getConstant(product.n),
       k = ir::getConstant(product.k);
  if (!isa<ir::MatmulOp>(kernel.op) || !batch || !m || !n || !k || *batch < 1 || *m < 1 || *n < 1 || *k < 1 ||
      kernel.outputs.size() != 1 || !product.a.windows.empty() || !product.b.windows.empty() || product.a.buffer < 0 ||
      product.b.buffer < 0)
    return std::nullopt;
  devices::GemmDescriptor call;
  call.element = ir::getDType(product.a.element);
  if (!llvm::is_contained({DType::kF16, DType::kBF16, DType::kF32, DType::kF64}, call.element) ||
      product.b.element != product.a.element || kernel.resultElement() != product.a.element ||
      cast<RankedTensorType>(kernel.outputs.front().tensor.getType()).getElementType() != product.a.element)
    return std::nullopt;
  call.batch = *batch;
  call.m = *m;
  call.n = *n;
  call.k = *k;
  // B is indexed (g, n, k): its rows are columns here.
  std::optional<Strides> a = stridesOf(product.a.offset, {product.batch, product.m, product.k}),
                         b = stridesOf(product.b.offset, {product.batch, product.n, product.k});
  const gemm::Output &output = kernel.outputs.front();
  Exprs at;
  for (AffineExpr expr : output.coordinate)
    at.push_back(gemm::simplify(gemm::substitute(expr, product.result)));
  std::optional<Strides> c =
      stridesOf(gemm::rowMajorOffset(at, ir::getExtents(output.tensor.getType()), builder.context),
                {product.batch, product.m, product.n});
  std::optional<Epilogue> epilogue = epilogueOf(kernel);
  if (!a || !b || !c || !epilogue)
    return std::nullopt;
  std::swap(b->row, b->column);
  auto matrixA = matrixOf(product.a.buffer, *a, *m, *k), matrixB = matrixOf(product.b.buffer, *b, *k, *n),
       matrixC = matrixOf(builder.numInputs(), *c, *m, *n);
  if (!matrixA || !matrixB || !matrixC || matrixC->transposed)
    return std::nullopt;
  call.a = *matrixA;
  call.b = *matrixB;
  call.c = *matrixC;
  call.bias = epilogue->bias;
  call.relu = epilogue->relu;
  return call;
}

std::optional<devices::GemmDescriptor> measuredLibrary(KernelBuilder &builder, const Product &product) {
  std::optional<devices::GemmDescriptor> call = libraryCall(builder, product);
  builder.hasLibraryCall |= call.has_value();
  std::vector<int64_t> choice = getChoice(builder.kernel.kernel, ChoiceKind::Library, 1);
  return choice == std::vector<int64_t>{kLibraryCublasLt} ? call : std::nullopt;
}

} // namespace tcc::codegen::cuda
