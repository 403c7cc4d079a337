//===- Epilogue.cpp - what libraries can do after a template op -----------===//
#include "codegen/cuda/extern/Epilogue.h"

#include "codegen/schedule/template/TileExpr.h"
#include "ir/Extents.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

Value withoutExtension(Value value) {
  auto extended = value.getDefiningOp<arith::ExtFOp>();
  return extended ? extended.getIn() : value;
}

bool isZero(Value value) {
  llvm::APFloat number(0.0);
  return matchPattern(withoutExtension(value), m_ConstantFloat(&number)) && number.isZero();
}

/// What is added up; false for anything but sums.
bool flatten(Value value, SmallVectorImpl<ir::LoadOp> &loads) {
  if (auto sum = value.getDefiningOp<arith::AddFOp>())
    return flatten(sum.getLhs(), loads) && flatten(sum.getRhs(), loads);
  auto load = withoutExtension(value).getDefiningOp<ir::LoadOp>();
  if (!load || load.getMask())
    return false;
  loads.push_back(load);
  return true;
}

AffineExpr resultOffset(const gemm::Output &output) {
  return gemm::simplify(
      gemm::rowMajorOffset(output.coordinate, ir::getExtents(output.tensor.getType()), output.tensor.getContext()));
}

} // namespace

std::optional<LibraryEpilogue> libraryEpilogue(const gemm::TemplateKernel &kernel) {
  const Type element = kernel.resultElement();
  if (kernel.outputs.size() != 1 || !isa<FloatType>(element))
    return std::nullopt;
  const gemm::Output &output = kernel.outputs.front();
  LibraryEpilogue epilogue;
  epilogue.result = resultOffset(output);
  if (output.tensor == kernel.result())
    return epilogue;
  auto loops = output.tensor.getDefiningOp<ir::LoopsOp>();
  if (!loops || loops.getNumReductions() != 0 || loops.getNumResults() != 1 ||
      cast<RankedTensorType>(output.tensor.getType()).getElementType() != element)
    return std::nullopt;
  Block &body = loops.getBody().front();
  Value value = body.getTerminator()->getOperand(0);
  if (auto rounded = value.getDefiningOp<arith::TruncFOp>())
    value = rounded.getIn();
  if (auto relu = value.getDefiningOp<arith::MaximumFOp>()) {
    if (!isZero(relu.getLhs()) && !isZero(relu.getRhs()))
      return std::nullopt;
    epilogue.relu = true;
    value = isZero(relu.getRhs()) ? relu.getLhs() : relu.getRhs();
  }
  SmallVector<ir::LoadOp> loads;
  if (!flatten(value, loads))
    return std::nullopt;
  MLIRContext *context = loops.getContext();
  bool hasProduct = false;
  for (ir::LoadOp load : loads) {
    if (load.getTensor() == kernel.result()) {
      if (hasProduct)
        return std::nullopt;
      hasProduct = true; // at the one index that a TemplateKernel is read at
      continue;
    }
    auto argument = dyn_cast<BlockArgument>(load.getTensor());
    auto type = cast<RankedTensorType>(load.getTensor().getType());
    if (!argument || argument.getOwner() != &kernel.kernel.getBody().front() || type.getElementType() != element)
      return std::nullopt;
    // Loop indices are what the output's coordinate says.
    SmallVector<AffineExpr> indices;
    for (Value index : load.getIndices()) {
      auto loop = dyn_cast<BlockArgument>(index);
      if (!loop || loop.getOwner() != &body)
        return std::nullopt;
      indices.push_back(output.coordinate[loop.getArgNumber()]);
    }
    SmallVector<AffineExpr> at;
    for (AffineExpr expr : load.getMap().getResults())
      at.push_back(gemm::substitute(expr, indices));
    epilogue.terms.push_back({static_cast<int>(argument.getArgNumber()),
                              gemm::simplify(gemm::rowMajorOffset(at, ir::getExtents(type), context))});
  }
  if (!hasProduct || epilogue.terms.size() > 2)
    return std::nullopt;
  return epilogue;
}

} // namespace tcc::codegen::cuda
