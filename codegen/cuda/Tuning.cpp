//===- Tuning.cpp - choices that can be measured --------------------------===//
#include "codegen/cuda/Tuning.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace tcc::codegen {

static constexpr llvm::StringLiteral kChoice = "tcc.cuda_choice";

void setChoice(Operation *kernel, llvm::ArrayRef<int64_t> parameters) {
  if (parameters.empty())
    kernel->removeAttr(kChoice);
  else
    kernel->setAttr(kChoice, DenseI64ArrayAttr::get(kernel->getContext(), parameters));
}

bool hasChoice(Operation *kernel) { return kernel->hasAttr(kChoice); }

std::vector<int64_t> getChoice(Operation *kernel, ChoiceKind kind, size_t count) {
  auto attribute = kernel->getAttrOfType<DenseI64ArrayAttr>(kChoice);
  if (!attribute || attribute.size() != static_cast<int64_t>(count) + 1 || attribute[0] != static_cast<int64_t>(kind))
    return {};
  return attribute.asArrayRef().drop_front().vec();
}

} // namespace tcc::codegen
