// Kernels that were merged because they read the same, compiled: against the interpreter on the ops they came from.
#include "codegen/fusion/Passes.h"
#include "kernel_runner.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace tcc::codegen {
namespace {

struct Case {
  const char* cpu;
  bool dynamic;
};

class SiblingsTest : public ::testing::TestWithParam<Case> {
 protected:
  SiblingsTest() : runner(GetParam().cpu) { runner.context.loadDialect<mlir::math::MathDialect>(); }

  /// The ops in `body` on %x (and %y, of equal type), over `extents`, become one kernel. `results` are names and types.
  void check(const std::string& element, DType dtype, std::vector<int64_t> extents, const std::string& body,
             const std::vector<std::pair<std::string, std::vector<int>>>& results, double tolerance) {
    Shape shape{extents, GetParam().dynamic};
    std::vector<int> all;
    for (size_t i = 0; i < extents.size(); ++i) all.push_back(static_cast<int>(i));
    std::string t = shape.type(element, all), types, names;
    for (const auto& [name, positions] : results) {
      types += (types.empty() ? "" : ", ") + shape.type(element, positions);
      names += (names.empty() ? "" : ", ") + name;
    }
    std::string text = "func.func @f(%x: " + t + ", %y: " + t + ") -> (" + types + ")" + shape.attributes() + " {\n" +
                       body + "  return " + names + " : " + types + "\n}\n";
    for (std::string::size_type at; (at = text.find("TYPE")) != std::string::npos;) text.replace(at, 4, t);
    for (std::string::size_type at; (at = text.find("ROW")) != std::string::npos;)
      text.replace(at, 3, shape.type(element, {0}));
    SCOPED_TRACE(text);
    mlir::func::FuncOp function = runner.parse(text);
    ASSERT_TRUE(function);
    std::vector<Tensor> inputs = {KernelRunner::random(dtype, extents, 1), KernelRunner::random(dtype, extents, 2)};
    auto expected = ir::interpret(function, inputs);
    ASSERT_TRUE(expected.ok()) << expected.status();

    mlir::PassManager passes(&runner.context);
    passes.addNestedPass<mlir::func::FuncOp>(createLowerToKernelsPass(nullptr));
    passes.addNestedPass<mlir::func::FuncOp>(createFuseKernelsPass(nullptr));
    passes.addPass(mlir::createCSEPass());
    passes.addNestedPass<mlir::func::FuncOp>(createFuseSiblingsPass(nullptr));
    ASSERT_TRUE(mlir::succeeded(passes.run(*runner.module)));
    auto kernels = function.getOps<ir::KernelOp>();
    ASSERT_EQ(std::distance(kernels.begin(), kernels.end()), 1);
    ir::KernelOp kernel = *kernels.begin();
    llvm::SmallVector<Tensor> kernelInputs;
    for (mlir::Value input : kernel.getInputs())
      kernelInputs.push_back(inputs[llvm::cast<mlir::BlockArgument>(input).getArgNumber()]);
    RunResult run = runner.run(function, {kernelInputs.begin(), kernelInputs.end()},
                               shape.dynamic ? extents : std::vector<int64_t>());
    auto returned = function.getBody().front().getTerminator();
    for (size_t i = 0; i < results.size(); ++i) {
      auto result = llvm::cast<mlir::OpResult>(returned->getOperand(static_cast<unsigned>(i)));
      KernelRunner::compare(run.outputs[result.getResultNumber()], (*expected)[i], tolerance, text);
    }
    choices = run.code.choices;
  }
  /// Statistics along the last axis.
  static std::string reduce(const std::string& name, const std::string& kind, const std::string& of) {
    return "  " + name + " = tcc.reduce " + of + " {kind = #tcc.reduce_kind<" + kind +
           ">, axes = array<i64: 1>, keep_dims = false} : (TYPE) -> ROW\n";
  }

  KernelRunner runner;
  llvm::SmallVector<std::string> choices;
};

const std::vector<std::vector<int64_t>> kShapes = {{131, 257}, {7, 20011}, {4099, 67}};

TEST_P(SiblingsTest, Pointwise) {
  for (const auto& [element, dtype] : {std::pair("f32", DType::kF32), {"f16", DType::kF16}, {"f64", DType::kF64}})
    for (const auto& extents : kShapes) {
      check(element, dtype, extents,
            "  %a = tcc.tanh %x : TYPE\n  %b = tcc.sigmoid %x : TYPE\n  %d = tcc.sub %x, %y : TYPE\n",
            {{"%a", {0, 1}}, {"%b", {0, 1}}, {"%d", {0, 1}}}, dtype == DType::kF16 ? 2e-3 : 2e-5);
      // One loop, with vectors in it.
      ASSERT_EQ(choices.size(), 1u);
      EXPECT_NE(choices[0].find("vectors"), std::string::npos) << choices[0];
    }
}

TEST_P(SiblingsTest, Reductions) {
  for (const auto& [element, dtype] : {std::pair("f32", DType::kF32), {"f16", DType::kF16}, {"i32", DType::kI32}})
    for (const auto& extents : kShapes) {
      check(element, dtype, extents,
            reduce("%a", "max", "%x") + reduce("%b", "min", "%x") + reduce("%c", "sum", "%x") +
                "  %q = tcc.mul %x, %x : TYPE\n" + reduce("%d", "sum", "%q"),
            {{"%a", {0}}, {"%b", {0}}, {"%c", {0}}, {"%d", {0}}}, dtype == DType::kF16 ? 2e-3 : 1e-4);
      // One loop over the elements; half floats are rounded after it, each result once a row.
      ASSERT_EQ(choices.size(), dtype == DType::kF16 ? 5u : 1u);
      EXPECT_NE(choices[0].find("vectors"), std::string::npos) << choices[0];
    }
}

// The mean's sum is also a result.
TEST_P(SiblingsTest, MeanAndSum) {
  for (const auto& extents : kShapes)
    check("f32", DType::kF32, extents,
          reduce("%a", "mean", "%x") + reduce("%b", "sum", "%x") + reduce("%c", "max", "%x"),
          {{"%a", {0}}, {"%b", {0}}, {"%c", {0}}}, 1e-4);
}

TEST_P(SiblingsTest, MeanOfSquaresLessSquareOfMean) {
  for (const auto& extents : kShapes)
    check("f32", DType::kF32, extents,
          reduce("%a", "mean", "%x") + "  %e = tcc.exp %a : ROW\n  %q = tcc.mul %x, %x : TYPE\n" +
              reduce("%m", "mean", "%q") + "  %v = tcc.sub %m, %e : ROW\n",
          {{"%e", {0}}, {"%v", {0}}}, 1e-4);
}

// What follows a normalisation is made beside it, where the normalisation is read elsewhere too.
TEST_P(SiblingsTest, NormAndSum) {
  for (const auto& [element, dtype] : {std::pair("f32", DType::kF32), {"f16", DType::kF16}})
    for (const auto& extents : kShapes)
      check(element, dtype, extents,
            "  %n = tcc.layer_norm %x {axis = 1 : i64, epsilon = 1.0e-5} : (TYPE) -> TYPE\n"
            "  %s = tcc.add %n, %y : TYPE\n",
            {{"%s", {0, 1}}, {"%n", {0, 1}}}, dtype == DType::kF16 ? 4e-3 : 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Cpus, SiblingsTest,
                         ::testing::Values(Case{"", false}, Case{"", true}, Case{"x86-64-v3", false},
                                           Case{"x86-64-v3", true}),
                         [](const auto& info) {
                           return std::string(*info.param.cpu ? "v3" : "host") +
                                  (info.param.dynamic ? "_dynamic" : "_static");
                         });

}  // namespace
}  // namespace tcc::codegen
