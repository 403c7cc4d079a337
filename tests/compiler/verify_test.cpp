// Verification finds the phase that changed the numbers.
#include "compiler/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
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

TEST_F(VerifyTest, MissingInputs) {
  EXPECT_TRUE(SaveNpz(folder_ / "in.npz", {{"other", Tensor::Vector<float>({1, 2, 3, 4})}}).ok());
  EXPECT_FALSE(Run("add", "add", "add", "add").ok());
}

}  // namespace
}  // namespace tcc
