//===- KernelCall.cpp - reference kernels on the operands of an op ---------===//
#include "ir/KernelCall.h"

#include "absl/strings/str_cat.h"
#include "ir/ElementTypes.h"
#include "ir/Extents.h"
#include "runtime/reference/reference.h"
#include "runtime/status.h"

namespace tcc::ir {

absl::StatusOr<std::vector<Tensor>> callReference(mlir::Operation *op, absl::Span<const Tensor> operands,
                                                  SymbolValue symbolValue, absl::Span<const TensorType> results) {
  std::string name = getKernelName(op).str();
  reference::Kernel kernel = reference::Find(name);
  if (!kernel)
    return absl::UnimplementedError(absl::StrCat("there is no reference kernel '", name, "'"));
  TCC_ASSIGN_OR_RETURN(Attributes attributes, getAttributes(op, symbolValue));
  std::vector<Tensor> inputs(operands.begin(), operands.end());
  if (auto library = llvm::dyn_cast<LibraryOp>(op))
    for (int64_t position : library.getAbsent()) {
      if (position < 0 || position > static_cast<int64_t>(inputs.size()))
        return absl::InvalidArgumentError(absl::StrCat(name, ": absent operand ", position, " is out of place"));
      inputs.insert(inputs.begin() + position, Tensor());
    }
  return kernel({inputs, attributes, results});
}

absl::StatusOr<std::vector<Tensor>> callReference(mlir::Operation *op, absl::Span<const Tensor> operands,
                                                  SymbolValue symbolValue) {
  std::vector<TensorType> results;
  for (mlir::Type type : op->getResultTypes()) {
    auto tensor = llvm::cast<mlir::RankedTensorType>(type);
    results.push_back({getDType(tensor.getElementType()), {}});
    for (mlir::AffineExpr extent : getExtents(tensor))
      results.back().dims.push_back(evaluate(extent, symbolValue).value_or(-1));
  }
  return callReference(op, operands, symbolValue, results);
}

} // namespace tcc::ir
