//===- OpsControl.cpp - control flow and library calls ---------------------===//
#include "ir/OpSupport.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseSet.h"

#define GET_OP_CLASSES
#include "ir/OpsControl.cpp.inc"

namespace tcc::ir {

void TCCDialect::registerControlOps() {
  addOperations<
#define GET_OP_LIST
#include "ir/OpsControl.cpp.inc"
      >();
}

using mlir::LogicalResult;
using mlir::success;

//===- Symbols as effects -------------------------------------------------------===//

static void addSymbols(mlir::Type type, llvm::SmallDenseSet<unsigned> &symbols) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  auto extents = tensor ? llvm::dyn_cast_or_null<ExtentsAttr>(tensor.getEncoding()) : ExtentsAttr();
  if (!extents)
    return;
  for (mlir::AffineExpr expr : extents.getExprs())
    expr.walk([&](mlir::AffineExpr e) {
      if (auto symbol = llvm::dyn_cast<mlir::AffineSymbolExpr>(e))
        symbols.insert(symbol.getPosition());
    });
}

/// Whether a result has a symbol that neither the operands nor the function's inputs have.
static bool bindsSymbols(mlir::Operation *op) {
  llvm::SmallDenseSet<unsigned> known, results;
  for (mlir::Type type : op->getResultTypes())
    addSymbols(type, results);
  if (results.empty())
    return false;
  for (mlir::Type type : op->getOperandTypes())
    addSymbols(type, known);
  if (auto function = op->getParentOfType<mlir::FunctionOpInterface>())
    for (mlir::Type type : function.getArgumentTypes())
      addSymbols(type, known);
  return llvm::any_of(results, [&](unsigned symbol) { return !known.contains(symbol); });
}

using Effects = llvm::SmallVectorImpl<mlir::SideEffects::EffectInstance<mlir::MemoryEffects::Effect>>;
static void addEffects(mlir::Operation *op, Effects &effects) {
  if (bindsSymbols(op))
    effects.emplace_back(mlir::MemoryEffects::Write::get());
}
void IfOp::getEffects(Effects &effects) { addEffects(*this, effects); }
void LoopOp::getEffects(Effects &effects) { addEffects(*this, effects); }
void LibraryOp::getEffects(Effects &effects) { addEffects(*this, effects); }

//===- Verifiers ----------------------------------------------------------------===//

/// Same rank and element type: extents may differ, they are symbols then.
static bool sameRankAndElement(mlir::Type a, mlir::Type b) {
  auto l = llvm::dyn_cast<mlir::RankedTensorType>(a), r = llvm::dyn_cast<mlir::RankedTensorType>(b);
  return l && r && l.getRank() == r.getRank() && l.getElementType() == r.getElementType();
}

LogicalResult IfOp::verify() {
  if (tensorType(getCondition()).getRank() != 0)
    return emitOpError("condition must be a scalar");
  for (mlir::Region *region : {&getThenRegion(), &getElseRegion()}) {
    auto yield = llvm::dyn_cast<YieldOp>(region->front().back());
    if (!yield || yield.getValues().size() != getNumResults())
      return emitOpError("each branch must yield one value for each result");
    for (auto [value, result] : llvm::zip(yield.getValues(), getResults()))
      if (!sameRankAndElement(value.getType(), result.getType()))
        return emitOpError("branches must yield values of the result's rank and element type");
  }
  return success();
}

LogicalResult LoopOp::verify() {
  mlir::Block &block = getBody().front();
  auto isScalar = [](mlir::Type type, unsigned width) {
    auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
    return tensor && tensor.getRank() == 0 && tensor.getElementType().isSignlessInteger(width);
  };
  if ((getTripCount() && !isScalar(getTripCount().getType(), 64)) ||
      (getCondition() && !isScalar(getCondition().getType(), 1)))
    return emitOpError("the trip count must be an i64 scalar, the condition a bool scalar");
  size_t carried = getInitial().size();
  if (block.getNumArguments() != carried + 1)
    return emitOpError("the body needs the iteration and one argument for each carried value");
  auto yield = llvm::dyn_cast<YieldOp>(block.back());
  if (!yield || yield.getValues().size() != getNumResults() + 1 || getNumResults() < carried)
    return emitOpError("the body must yield the condition, the carried values and the scan outputs");
  if (!isScalar(block.getArgument(0).getType(), 64) || !isScalar(yield.getValues()[0].getType(), 1))
    return emitOpError("the iteration must be an i64 scalar, the yielded condition a bool scalar");
  for (size_t k = carried; k < getNumResults(); ++k) {
    auto element = llvm::dyn_cast<mlir::RankedTensorType>(yield.getValues()[k + 1].getType());
    mlir::RankedTensorType stack = tensorType(getResult(k));
    if (!element || stack.getRank() != element.getRank() + 1 || stack.getElementType() != element.getElementType())
      return emitOpError() << "scan output " << k - carried << " must have one axis more than the element it stacks";
  }
  for (size_t k = 0; k < carried; ++k)
    if (!sameRankAndElement(getInitial()[k].getType(), block.getArgument(k + 1).getType()) ||
        !sameRankAndElement(yield.getValues()[k + 1].getType(), block.getArgument(k + 1).getType()) ||
        !sameRankAndElement(getResult(k).getType(), block.getArgument(k + 1).getType()))
      return emitOpError() << "carried value " << k << " changes its rank or element type";
  return success();
}

LogicalResult LibraryOp::verify() {
  if (getKernel().empty())
    return emitOpError("needs the name of a kernel");
  llvm::ArrayRef<int64_t> absent = getAbsent();
  int64_t total = getInputs().size() + absent.size();
  for (size_t k = 0; k < absent.size(); ++k)
    if (absent[k] < 0 || absent[k] >= total || (k > 0 && absent[k] <= absent[k - 1]))
      return emitOpError() << "absent operands must be ascending positions below " << total;
  return success();
}

} // namespace tcc::ir
