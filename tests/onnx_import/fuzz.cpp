// libFuzzer over loader, ONNX's checker and importer, with the folding of shapes and constants that importing does:
// once with the extents the model states, once with every extent of its inputs open. Build with -DTCC_BUILD_FUZZERS=ON
// -DTCC_SANITIZE=address,undefined, start from small models (ONNX's node tests).
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "frontend/onnx/import/Import.h"
#include "frontend/onnx/program/Check.h"
#include "frontend/onnx/program/Program.h"
#include "ir/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

namespace {

mlir::MLIRContext& context() {
  static auto* const context = [] {
    auto* made = new mlir::MLIRContext(mlir::MLIRContext::Threading::DISABLED);
    made->loadDialect<tcc::ir::TCCDialect, mlir::func::FuncDialect>();
    return made;
  }();
  return *context;
}

void import(const tcc::onnx::Program& program, const tcc::onnx::ImportOptions& options) {
  std::set<std::string> values;
  std::set<unsigned> symbols;
  mlir::ScopedDiagnosticHandler silent(&context(), [](mlir::Diagnostic&) { return mlir::success(); });
  mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> module =
      tcc::onnx::importModel(program, options, &context(), &values, &symbols);
  // What was imported without complaint is valid.
  if (mlir::succeeded(module) && mlir::failed(mlir::verify(**module))) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tcc::onnx::LoadOptions load;
  load.limits.nodes = 10'000;
  load.limits.inlinedBytes = 1 << 20;
  load.limits.denseBytes = 1 << 20;
  load.check = tcc::onnx::checkModel;
  auto program = tcc::onnx::Program::parse({reinterpret_cast<const char*>(data), size}, "", load);
  if (!program.ok()) return 0;
  tcc::onnx::ImportOptions options;
  import(**program, options);
  for (const tcc::onnx::ValueInfo& input : (*program)->inputs()) {
    if (input.kind != tcc::onnx::ValueInfo::Kind::Tensor || !input.hasShape) return 0;
    tcc::InputSpec& spec = options.signature.inputs.emplace_back();
    spec.name = input.name;
    spec.dtype = input.dtype;
    for (size_t axis = 0; axis < input.dims.size(); ++axis) {
      spec.dims.push_back(tcc::Extent::Of(static_cast<int32_t>(options.signature.symbols.size())));
      options.signature.symbols.push_back({.name = "s" + std::to_string(options.signature.symbols.size())});
    }
  }
  import(**program, options);
  return 0;
}
