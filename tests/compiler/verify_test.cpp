// Verification finds the phase that changed the numbers.
#include "compiler/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/pipeline/Pipeline.h"
#include "compiler/pipeline/Target.h"
#include "compiler/reproducer.h"
#include "ir/Dialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/npy.h"
#include "tests/runtime/temp_folder.h"

namespace tcc {
namespace {

using ::testing::HasSubstr;

class VerifyTest : public ::testing::Test {
 protected:
  VerifyTest() {
    context_.loadDialect<ir::TCCDialect, mlir::func::FuncDialect>();
    EXPECT_TRUE(SaveNpz(folder_ / "in.npz", {{"x", Tensor::Vector<float>({1, 2, 3, 4})}}).ok());
  }
  // y = op(x, x)
  mlir::OwningOpRef<mlir::ModuleOp> Module(const std::string& op) {
    return mlir::parseSourceString<mlir::ModuleOp>(
        "func.func @main(%x: tensor<4xf32> {tcc.name = \"x\"}) -> tensor<4xf32> attributes {tcc.symbols = []} {\n  %y "
        "= tcc." +
            op + " %x, %x : tensor<4xf32>\n  return %y : tensor<4xf32>\n}",
        &context_);
  }
  absl::StatusOr<Verification> Run(const std::string& imported, const std::string& simplified, const std::string& fused,
                                   const std::string& compiled) {
    auto a = Module(imported), b = Module(simplified), c = Module(fused), d = Module(compiled);
    const auto built = codegen::buildPlan(d->lookupSymbol<mlir::func::FuncOp>("main"), nullptr);
    if (mlir::failed(built)) return absl::InternalError("no plan");
    return Verify({*a, *b, *c}, *built, folder_ / "in.npz",
                  []() -> absl::StatusOr<std::unique_ptr<codegen::Target>> { return nullptr; });
  }

  mlir::MLIRContext context_;
  TempFolder folder_;
};

TEST_F(VerifyTest, Agrees) {
  const auto result = Run("add", "add", "add", "add");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->agrees);
  EXPECT_EQ(result->max_error, 0);
}

TEST_F(VerifyTest, NamesThePhase) {
  auto result = Run("add", "mul", "mul", "mul");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->agrees);
  EXPECT_THAT(result->where, HasSubstr("phase simplify"));
  EXPECT_EQ(result->max_error, 1);  // 16 instead of 8
  result = Run("add", "add", "mul", "mul");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->where, HasSubstr("phase fuse"));
  result = Run("add", "add", "add", "mul");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->agrees);
  EXPECT_THAT(result->where, HasSubstr("code generation"));
}

// Compiles sums as differences: a fault of code generation.
class WrongTarget : public codegen::Target {
 public:
  explicit WrongTarget(std::unique_ptr<codegen::Target> right) : right_(std::move(right)) {}
  bool canCompile(mlir::Operation* kernel) override { return right_->canCompile(kernel); }
  mlir::FailureOr<codegen::KernelCode> addKernel(mlir::Operation* kernel, codegen::ConstantInputs constants) override {
    mlir::OpBuilder builder(kernel);
    mlir::Operation* copy = builder.clone(*kernel);
    copy->walk([](mlir::arith::AddFOp sum) {
      mlir::OpBuilder b(sum);
      sum.replaceAllUsesWith(b.create<mlir::arith::SubFOp>(sum.getLoc(), sum.getLhs(), sum.getRhs()).getResult());
      sum.erase();
    });
    auto code = right_->addKernel(copy, constants);
    copy->erase();
    return code;
  }
  llvm::Expected<codegen::CodeBundle> finish() override { return right_->finish(); }

 private:
  std::unique_ptr<codegen::Target> right_;
};

// From a wrong kernel in the middle of a model to a folder that shows the fault by itself. One extent is a symbol that
// no operand of the kernel shows as it is.
TEST_F(VerifyTest, AWrongKernelLeavesAReproducer) {
  ::setenv("TCC_REPRODUCER_DIR", folder_.path().c_str(), 1);
  EXPECT_TRUE(
      SaveNpz(folder_ / "in.npz", {{"x", *Tensor::Vector<float>({1, 2, 3, 4, 5, 6}).Reshaped({3, 2}).Clone()}}).ok());
  const auto target = [&](bool wrong) -> absl::StatusOr<std::unique_ptr<codegen::Target>> {
    auto made = compiler::MakeTarget(Options(), {}, &context_);
    if (!made.ok()) return made.status();
    if (!wrong) return std::move(made->target);
    return std::make_unique<WrongTarget>(std::move(made->target));
  };
  const auto right = target(false);
  ASSERT_TRUE(right.ok()) << right.status();
  auto imported = mlir::parseSourceString<mlir::ModuleOp>(R"(
    func.func @main(%x: tensor<?x2xf32, #tcc.extents<s0, 2>> {tcc.name = "x"}) -> tensor<?xf32, #tcc.extents<2 * s0>>
        attributes {tcc.symbols = [#tcc.symbol<"n", 2, 100, 1>]} {
      %w = tcc.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
      %a = tcc.matmul %x, %w : (tensor<?x2xf32, #tcc.extents<s0, 2>>, tensor<2x2xf32>) -> tensor<?x2xf32, #tcc.extents<s0, 2>> loc("first")
      %b = tcc.reshape %a : (tensor<?x2xf32, #tcc.extents<s0, 2>>) -> tensor<?xf32, #tcc.extents<2 * s0>>
      %c = tcc.softmax %b {axis = 0 : i64} : (tensor<?xf32, #tcc.extents<2 * s0>>) -> tensor<?xf32, #tcc.extents<2 * s0>> loc("middle")
      %d = tcc.add %c, %b : tensor<?xf32, #tcc.extents<2 * s0>> loc("wrong")
      return %d : tensor<?xf32, #tcc.extents<2 * s0>>
    })",
                                                          &context_);
  ASSERT_TRUE(imported);
  mlir::OwningOpRef<mlir::ModuleOp> fused = imported->clone();
  mlir::PassManager passes(&context_, mlir::ModuleOp::getOperationName());
  compiler::addFusionPipeline(passes, {.target = right->get(), .precision = ""});
  ASSERT_TRUE(mlir::succeeded(passes.run(*fused)));

  auto faulty = target(true);
  const auto built = codegen::buildPlan(fused->lookupSymbol<mlir::func::FuncOp>("main"), faulty->get());
  ASSERT_TRUE(mlir::succeeded(built));
  const auto result =
      Verify({*imported, *imported, *fused}, *built, folder_ / "in.npz", [&] { return target(/*wrong=*/true); });
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->agrees);
  EXPECT_THAT(result->where, HasSubstr("code generation: "));
  EXPECT_THAT(result->where, HasSubstr("middle"));
  ASSERT_FALSE(result->reproducer.empty());

  // The folder alone shows the fault, with the compiler that has it, and only with that one.
  mlir::MLIRContext other;
  other.loadDialect<ir::TCCDialect, mlir::func::FuncDialect>();
  const auto in_other = [&](bool wrong) {
    return [&other, wrong]() -> absl::StatusOr<std::unique_ptr<codegen::Target>> {
      auto made = compiler::MakeTarget(Options(), {}, &other);
      if (!made.ok()) return made.status();
      if (!wrong) return std::move(made->target);
      return std::make_unique<WrongTarget>(std::move(made->target));
    };
  };
  ASSERT_TRUE(in_other(false)().ok());
  auto again = VerifyReproducer(result->reproducer, &other, in_other(true));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE(again->agrees);
  EXPECT_EQ(again->reproducer, result->reproducer);
  again = VerifyReproducer(result->reproducer, &other, in_other(false));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->agrees) << again->where;
  EXPECT_FALSE(VerifyReproducer(folder_ / "nothing", &other, in_other(false)).ok());
}

TEST_F(VerifyTest, MissingInputs) {
  EXPECT_TRUE(SaveNpz(folder_ / "in.npz", {{"other", Tensor::Vector<float>({1, 2, 3, 4})}}).ok());
  EXPECT_FALSE(Run("add", "add", "add", "add").ok());
}

}  // namespace
}  // namespace tcc
