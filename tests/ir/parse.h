// A context with the dialects that tests need, and functions parsed into it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/Dialect.h"
#include "ir/Interpreter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

namespace tcc::ir {

class IrTest : public testing::Test {
 protected:
  IrTest() {
    context.loadDialect<TCCDialect, mlir::func::FuncDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
  }

  /// The first function of a module.
  mlir::func::FuncOp parse(const std::string& text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    return module ? *module->getOps<mlir::func::FuncOp>().begin() : mlir::func::FuncOp();
  }

  /// Runs it; fails the test where that is an error.
  std::vector<Tensor> run(const std::string& text, const std::vector<Tensor>& inputs) {
    absl::StatusOr<std::vector<Tensor>> results = interpret(parse(text), inputs);
    EXPECT_TRUE(results.ok()) << results.status();
    return results.ok() ? *results : std::vector<Tensor>();
  }
  absl::Status error(const std::string& text, const std::vector<Tensor>& inputs) {
    return interpret(parse(text), inputs).status();
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

template <typename T>
Tensor tensor(std::vector<int64_t> dims, std::vector<T> values) {
  Tensor result = *Tensor::Allocate(kDTypeOf<T>, dims);
  for (size_t i = 0; i < values.size(); ++i) result.data_as<T>()[i] = values[i];
  return result;
}

template <typename T>
std::vector<T> values(const Tensor& tensor) {
  EXPECT_EQ(tensor.dtype(), kDTypeOf<T>);
  Tensor packed = *tensor.Contiguous();
  return std::vector<T>(packed.data_as<T>(), packed.data_as<T>() + packed.num_elements());
}

}  // namespace tcc::ir
