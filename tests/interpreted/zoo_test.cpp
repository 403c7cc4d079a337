// The models of the small zoo, imported, simplified and interpreted, against PyTorch's outputs.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>

#include "frontend/onnx/import/Import.h"
#include "frontend/onnx/program/Program.h"
#include "ir/Dialect.h"
#include "ir/Interpreter.h"
#include "ir/transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "runtime/dispatch.h"
#include "runtime/npy.h"
#include "tests/runtime/relative_error.h"

namespace tcc {
namespace {

std::vector<std::string> models() {
  std::vector<std::string> result;
  for (const auto& entry : std::filesystem::directory_iterator(TCC_ZOO))
    if (entry.path().extension() == ".onnx") result.push_back(entry.path().stem().string());
  std::sort(result.begin(), result.end());
  return result;
}

class ZooTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    context.loadDialect<ir::TCCDialect, mlir::func::FuncDialect>();
    std::string base = std::string(TCC_ZOO "/") + GetParam();
    absl::StatusOr<NamedTensors> reference = LoadNpz(base + ".npz");
    ASSERT_TRUE(reference.ok()) << reference.status();
    for (auto& [name, tensor] : *reference) (name[0] == 'i' ? inputs : outputs)[std::stoi(name.substr(1))] = tensor;
    absl::StatusOr<std::shared_ptr<const onnx::Program>> loaded = onnx::Program::load(base + ".onnx");
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    program = *loaded;
  }

  /// With the extents of the inputs, or with symbols for their first extents (the batch): equal ones share a symbol.
  mlir::OwningOpRef<mlir::ModuleOp> import(bool symbolicBatch) {
    onnx::ImportOptions options;
    std::vector<int64_t> batches;
    for (size_t k = 0; k < program->inputs().size(); ++k) {
      InputSpec spec;
      spec.name = program->inputs()[k].name;
      spec.dtype = inputs[k].dtype();
      for (int64_t extent : inputs[k].dims()) spec.dims.push_back(Extent::Constant(extent));
      if (symbolicBatch) {
        auto batch = std::find(batches.begin(), batches.end(), inputs[k].dim(0));
        spec.dims[0] = Extent::Of(static_cast<int32_t>(batch - batches.begin()));
        if (batch == batches.end()) {
          batches.push_back(inputs[k].dim(0));
          options.signature.symbols.push_back({"batch" + std::to_string(inputs[k].dim(0)), 1, 64, 1});
        }
      }
      options.signature.inputs.push_back(spec);
    }
    auto module = onnx::importModel(*program, options, &context);
    return mlir::succeeded(module) ? *std::move(module) : nullptr;
  }

  void check(mlir::ModuleOp module, const char* what) {
    std::vector<Tensor> arguments;
    for (const auto& [position, tensor] : inputs) arguments.push_back(tensor);
    auto results = ir::interpret(module.lookupSymbol<mlir::func::FuncOp>("main"), arguments);
    ASSERT_TRUE(results.ok()) << what << ": " << results.status();
    ASSERT_FALSE(outputs.empty());
    for (const auto& [position, expected] : outputs) {
      ASSERT_LT(position, static_cast<int>(results->size()));
      ASSERT_EQ((*results)[position].type(), expected.type()) << what;
      EXPECT_LT(RelativeError(expected, (*results)[position]), 2e-5) << what << ", output " << position;
    }
  }

  void run(bool symbolicBatch) {
    mlir::OwningOpRef<mlir::ModuleOp> module = import(symbolicBatch);
    ASSERT_TRUE(module);
    ASSERT_TRUE(mlir::succeeded(mlir::verify(*module)));
    for (mlir::Type type : module->lookupSymbol<mlir::func::FuncOp>("main").getArgumentTypes())
      ASSERT_EQ(llvm::cast<mlir::RankedTensorType>(type).isDynamicDim(0), symbolicBatch);
    check(*module, "imported");
    mlir::PassManager passes(&context);
    passes.addPass(mlir::createCanonicalizerPass());
    passes.addPass(mlir::createCSEPass());
    passes.addPass(ir::createFoldConstantsPass());
    passes.addPass(ir::createSimplifyViewsPass());
    passes.addPass(ir::createRecognizeNormalizationPass());
    passes.addPass(ir::createRecognizeSoftmaxPass());
    passes.addPass(ir::createRecognizeAttentionPass());
    passes.addPass(ir::createFoldScaleIntoWeightsPass());
    passes.addPass(ir::createPropagateChannelsLastPass());
    passes.addPass(mlir::createCanonicalizerPass());
    passes.addPass(mlir::createCSEPass());
    ASSERT_TRUE(mlir::succeeded(passes.run(*module)));
    check(*module, "after the graph passes");
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  std::shared_ptr<const onnx::Program> program;
  std::map<int, Tensor> inputs, outputs;
};

TEST_P(ZooTest, StaticExtents) { run(/*symbolicBatch=*/false); }
TEST_P(ZooTest, SymbolicBatch) { run(/*symbolicBatch=*/true); }

INSTANTIATE_TEST_SUITE_P(Models, ZooTest, testing::ValuesIn(models()), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tcc
