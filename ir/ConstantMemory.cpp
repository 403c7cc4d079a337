//===- ConstantMemory.cpp - the memory of large constants -----------------===//
#include "ir/ConstantMemory.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/DenseSet.h"

namespace tcc::ir {

const ConstantMemory *ConstantMemory::of(mlir::MLIRContext *context) {
  auto *dialect = context->getLoadedDialect<TCCDialect>();
  return dialect ? dialect->getRegisteredInterface<ConstantMemory>() : nullptr;
}

void ConstantMemory::add(mlir::DenseResourceElementsHandle handle, std::shared_ptr<const Tensor> elements) const {
  std::lock_guard<std::mutex> lock(mutex);
  resources[handle.getResource()] = std::move(elements);
}

std::shared_ptr<const Tensor> ConstantMemory::elements(mlir::DenseResourceElementsHandle handle) const {
  std::lock_guard<std::mutex> lock(mutex);
  return resources.lookup(handle.getResource());
}

void ConstantMemory::release(llvm::ArrayRef<mlir::ModuleOp> inUse) const {
  llvm::DenseSet<mlir::DialectResourceBlobManager::BlobEntry *> used;
  for (mlir::ModuleOp module : inUse)
    module->walk([&](mlir::Operation *op) {
      op->getAttrDictionary().walk(
          [&](mlir::DenseResourceElementsAttr elements) { used.insert(elements.getRawHandle().getResource()); });
    });
  std::lock_guard<std::mutex> lock(mutex);
  for (auto it = resources.begin(), end = resources.end(); it != end; ++it) {
    auto [resource, elements] = *it;
    if (used.contains(resource))
      continue;
    resource->setBlob(mlir::AsmResourceBlob());
    resources.erase(it);
  }
}

} // namespace tcc::ir
