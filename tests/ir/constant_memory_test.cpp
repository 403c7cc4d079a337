// The elements of constants that no module uses any more are freed; those in use, also deep inside, stay.
#include <gmock/gmock.h>

#include "ir/ConstantMemory.h"
#include "ir/ElementTypes.h"
#include "parse.h"

namespace tcc::ir {
namespace {

class ConstantMemoryTest : public IrTest {
 protected:
  // Beyond what is kept inside the context.
  static constexpr int64_t kElements = 5000;

  mlir::ElementsAttr constant(float value) {
    return *toElements(&context, tensor<float>({kElements}, std::vector<float>(kElements, value)));
  }
  // As the value of all constants of the module.
  void use(mlir::ElementsAttr elements) {
    module->walk([&](ConstantOp op) { op.setValueAttr(elements); });
  }

  const std::string nested_ = R"(
    func.func @main(%c: tensor<i1>) -> tensor<5000xf32> {
      %r = tcc.if %c : (tensor<i1>) -> tensor<5000xf32> {
        %w = tcc.constant dense<1.0> : tensor<5000xf32>
        tcc.yield %w : tensor<5000xf32>
      } else {
        %w = tcc.constant dense<1.0> : tensor<5000xf32>
        tcc.yield %w : tensor<5000xf32>
      }
      return %r : tensor<5000xf32>
    })";
};

TEST_F(ConstantMemoryTest, FreesWhatIsUnusedOnly) {
  ASSERT_TRUE(parse(nested_));
  mlir::ElementsAttr used = constant(2), replaced = constant(3), cloned = constant(4);
  use(cloned);
  mlir::OwningOpRef<mlir::ModuleOp> other = module->clone();
  use(used);
  ConstantMemory::of(&context)->release({*module, *other});
  EXPECT_EQ(values<float>(*toTensor(used))[kElements - 1], 2);
  EXPECT_EQ(values<float>(*toTensor(cloned))[kElements - 1], 4);
  EXPECT_EQ(toTensor(replaced).status().code(), absl::StatusCode::kInvalidArgument);
  // What is released later was known before.
  ConstantMemory::of(&context)->release({*module});
  EXPECT_EQ(values<float>(*toTensor(used))[0], 2);
  EXPECT_FALSE(toTensor(cloned).ok());
}

TEST_F(ConstantMemoryTest, AReshapedConstantSharesItsMemory) {
  ASSERT_TRUE(parse(nested_));
  auto elements = llvm::cast<mlir::DenseResourceElementsAttr>(constant(2));
  auto type = mlir::RankedTensorType::get({kElements / 50, 50}, mlir::Float32Type::get(&context));
  use(mlir::DenseResourceElementsAttr::get(type, elements.getRawHandle()));
  ConstantMemory::of(&context)->release({*module});
  EXPECT_TRUE(toTensor(elements).ok());
}

// Folding a slice or a reshape gives a view of the weights it was made from.
TEST_F(ConstantMemoryTest, AViewKeepsTheMemoryOfWhatItWasTakenFrom) {
  ASSERT_TRUE(parse(nested_));
  mlir::ElementsAttr whole = constant(2);
  mlir::ElementsAttr part = *toElements(&context, toTensor(whole)->View({kElements - 2}, {1}, 1));
  module->walk([&](ConstantOp op) { op->setAttr("value", part); });
  ConstantMemory::of(&context)->release({*module});
  EXPECT_FALSE(toTensor(whole).ok());
  EXPECT_THAT(values<float>(*toTensor(part)), testing::Each(2.0f));
}

TEST_F(ConstantMemoryTest, ATensorOutlivesTheRelease) {
  ASSERT_TRUE(parse(nested_));
  Tensor tensor = *toTensor(constant(2));
  ConstantMemory::of(&context)->release({*module});
  EXPECT_THAT(values<float>(tensor), testing::Each(2.0f));
}

}  // namespace
}  // namespace tcc::ir
