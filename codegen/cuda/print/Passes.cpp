//===- Passes.cpp -----------------------------------------------------------===//
#include "codegen/cuda/print/Passes.h"

#include "codegen/cuda/print/Print.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

struct PrintCudaPass : PassWrapper<PrintCudaPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrintCudaPass)

  llvm::StringRef getArgument() const override { return "tcc-print-cuda"; }
  llvm::StringRef getDescription() const override { return "print scheduled functions as CUDA C++"; }

  void runOnOperation() override {
    markAllAnalysesPreserved();
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      FailureOr<std::string> text;
      if (function->hasAttr("tcc.block"))
        text = printCudaKernel(function);
      else if (!function->hasAttr("tcc.device_function") || !SymbolTable::symbolKnownUseEmpty(function, getOperation()))
        continue;
      else if (auto members = function->getAttrOfType<IntegerAttr>("tcc.members"))
        text = printCudaFunctor(function, members.getInt());
      else
        text = printCudaFunction(function);
      if (failed(text))
        return signalPassFailure();
      llvm::outs() << *text;
    }
  }
};

} // namespace

void registerPrintCudaPass() { PassRegistration<PrintCudaPass>(); }

} // namespace tcc::codegen
