// Passes keep what a function computes: every function of the passes' lit tests, run before and after every pass on
// random inputs.
#include "ir/transforms/Passes.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <random>

#include "ir/ElementTypes.h"
#include "ir/Extents.h"
#include "ir/OpAttributes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "parse.h"
#include "runtime/dispatch.h"
#include "tests/runtime/relative_error.h"

namespace tcc::ir {
namespace {

const std::map<std::string, std::unique_ptr<mlir::Pass> (*)()>& passes() {
  static const auto* list = new std::map<std::string, std::unique_ptr<mlir::Pass> (*)()>{
      {"Canonicalize", mlir::createCanonicalizerPass},
      {"SimplifyViews", createSimplifyViewsPass},
      {"RecognizeNormalization", createRecognizeNormalizationPass},
      {"RecognizeSoftmax", createRecognizeSoftmaxPass},
      {"RecognizeAttention", createRecognizeAttentionPass},
      {"FoldScaleIntoWeights", createFoldScaleIntoWeightsPass},
      {"FoldConstants", [] { return createFoldConstantsPass(); }},
      {"MergeMatmuls", createMergeMatmulsPass},
      {"MergeSlicedOps", createMergeSlicedOpsPass},
      {"SplitConcats", [] { return createSplitConcatsPass({2}); }},
      {"PropagateChannelsLast", createPropagateChannelsLastPass},
  };
  return *list;
}

std::vector<std::string> files() {
  std::vector<std::string> result;
  for (const auto& entry : std::filesystem::directory_iterator(TCC_TRANSFORMS_TESTS))
    if (entry.path().extension() == ".mlir") result.push_back(entry.path().filename().string());
  std::sort(result.begin(), result.end());
  return result;
}

class PassesTest : public IrTest, public testing::WithParamInterface<std::string> {};

/// Random values for the arguments, and for the symbols in their types.
std::vector<Tensor> randomInputs(mlir::func::FuncOp function, std::mt19937& random) {
  std::map<unsigned, int64_t> symbols;
  auto symbol = [&](unsigned position) -> std::optional<int64_t> {
    auto [it, added] = symbols.try_emplace(position, 0);
    if (added) {
      auto [low, high] = getRange(mlir::getAffineSymbolExpr(position, function.getContext()), getSymbols(function));
      it->second = low + static_cast<int64_t>(random() % (std::min<int64_t>(high - low, 6) + 1));
    }
    return it->second;
  };
  std::vector<Tensor> inputs;
  for (mlir::Type type : function.getArgumentTypes()) {
    Dims dims;
    for (mlir::AffineExpr extent : getExtents(type)) dims.push_back(*evaluate(extent, symbol));
    DType dtype = getDType(llvm::cast<mlir::RankedTensorType>(type).getElementType());
    Tensor input = *Tensor::Allocate(dtype, dims);
    std::normal_distribution<double> normal;
    for (int64_t i = 0; i < input.num_elements(); ++i)
      if (IsFloat(dtype))
        StoreDouble(input.data(), dtype, i, normal(random));
      else
        StoreInt(input.data(), dtype, i, static_cast<int64_t>(random() % 2));
    inputs.push_back(input);
  }
  return inputs;
}

TEST_P(PassesTest, KeepsTheResults) {
  auto text = mlir::parseSourceFile<mlir::ModuleOp>(std::string(TCC_TRANSFORMS_TESTS "/") + GetParam(), &context);
  ASSERT_TRUE(text);
  std::mt19937 random(11);
  for (mlir::func::FuncOp function : text->getOps<mlir::func::FuncOp>())
    for (int round = 0; round < 3; ++round) {
      std::vector<Tensor> inputs = randomInputs(function, random);
      absl::StatusOr<std::vector<Tensor>> expected = interpret(function, inputs);
      ASSERT_TRUE(expected.ok()) << function.getName().str() << ": " << expected.status();
      for (const auto& [name, create] : passes()) {
        mlir::OwningOpRef<mlir::ModuleOp> changed(text->clone());
        mlir::PassManager manager(&context);
        manager.addPass(create());
        ASSERT_TRUE(mlir::succeeded(manager.run(*changed))) << name;
        absl::StatusOr<std::vector<Tensor>> results =
            interpret(changed->lookupSymbol<mlir::func::FuncOp>(function.getName()), inputs);
        ASSERT_TRUE(results.ok()) << name << " on " << function.getName().str() << ": " << results.status();
        ASSERT_EQ(results->size(), expected->size());
        for (size_t k = 0; k < results->size(); ++k) {
          ASSERT_EQ((*results)[k].type(), (*expected)[k].type());
          EXPECT_LT(RelativeError((*expected)[k], (*results)[k], 1e-6), 1e-5)
              << name << " on " << function.getName().str() << ", result " << k;
        }
      }
    }
}

INSTANTIATE_TEST_SUITE_P(LitTests, PassesTest, testing::ValuesIn(files()),
                         [](const auto& info) { return info.param.substr(0, info.param.find('.')); });

}  // namespace
}  // namespace tcc::ir
