// What options make of the target.
#include "compiler/pipeline/Target.h"

#include <gtest/gtest.h>

#include "ir/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

namespace tcc {
namespace {

// float32 goes to tensor cores only where that is asked for.
TEST(MakeTarget, Tf32) {
  mlir::MLIRContext context;
  context.loadDialect<ir::TCCDialect, mlir::func::FuncDialect>();
  for (Precision precision : {Precision::kModel, Precision::kF32, Precision::kTF32}) {
    auto made = compiler::MakeTarget({.target = "cuda-sim", .precision = precision}, {}, &context);
    ASSERT_TRUE(made.ok()) << made.status();
    auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
      func.func @f(%x: tensor<32x32xf32>) -> tensor<32x32xf32> {
        %y = tcc.kernel(%x) ["matmul"] : (tensor<32x32xf32>) -> (tensor<32x32xf32>) {
        ^bb0(%a: tensor<32x32xf32>):
          %c = tcc.matmul %a, %a : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
          tcc.yield %c : tensor<32x32xf32>
        }
        return %y : tensor<32x32xf32>
      })",
                                                          &context);
    ASSERT_TRUE(module);
    module->walk([&](ir::KernelOp kernel) { EXPECT_TRUE(mlir::succeeded(made->target->addKernel(kernel, {}))); });
    auto bundle = made->target->finish();
    ASSERT_TRUE(static_cast<bool>(bundle)) << llvm::toString(bundle.takeError());
    ASSERT_EQ(bundle->images.size(), 1u);
    EXPECT_EQ(bundle->images[0].source.find("Mma<") != std::string::npos, precision == Precision::kTF32);
  }
}

}  // namespace
}  // namespace tcc
