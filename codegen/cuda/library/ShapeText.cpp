//===- ShapeText.cpp ------------------------------------------------------===//
#include "codegen/cuda/library/ShapeText.h"

#include "ir/OpAttributes.h"
#include "llvm/ADT/bit.h"

using namespace mlir;

namespace tcc::codegen::cuda {
std::optional<unsigned> operandAt(Operation *op, int64_t position) {
  int64_t operand = position;
  if (auto library = dyn_cast<ir::LibraryOp>(op))
    for (int64_t absent : library.getAbsent()) {
      if (absent == position)
        return std::nullopt;
      operand -= absent < position ? 1 : 0;
    }
  return operand < static_cast<int64_t>(op->getNumOperands()) ? std::optional<unsigned>(operand) : std::nullopt;
}

tcc::Attributes attributesOf(Operation *op) {
  absl::StatusOr<tcc::Attributes> attributes = ir::getAttributes(op, nullptr);
  return attributes.ok() ? *std::move(attributes) : tcc::Attributes();
}

std::string axesText(StringRef name, ArrayRef<AffineExpr> extents, SmallVectorImpl<LibraryKernel::Scalar> &scalars) {
  std::string text;
  for (auto [axis, extent] : llvm::enumerate(extents)) {
    std::string scalar = name.str() + std::to_string(axis);
    scalars.push_back({scalar, extent});
    text += (axis == 0 ? "" : ", ") + scalar;
  }
  return "  const tcc::Axes<" + std::to_string(extents.size()) + "> " + name.str() + " = {{" + text + "}};\n";
}

std::string doubleText(double value) {
  return "tcc::bit_cast<double>(" + std::to_string(llvm::bit_cast<uint64_t>(value)) + "ull)";
}

} // namespace tcc::codegen::cuda
