// Kernels and shorthands for plans written by hand.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/executor.h"
#include "tests/runtime/temp_folder.h"

namespace tcc {

inline Tensor F32(std::vector<float> values, Dims dims = {}) {
  if (dims.empty()) dims = {static_cast<int64_t>(values.size())};
  Tensor tensor = *Tensor::Allocate(DType::kF32, dims);
  std::copy(values.begin(), values.end(), tensor.data_as<float>());
  return tensor;
}

inline std::vector<float> Floats(const Tensor& tensor) {
  const Tensor flat = *tensor.Contiguous();
  return {flat.data_as<float>(), flat.data_as<float>() + flat.num_elements()};
}

// Library kernels: "sum" (all inputs, elementwise), "view" (its input, by no copy), "less" (i64 scalars), "increment"
// (i64), "fill" (attribute `shape`), "fail", "wrong" (a result of another type), "throw".
reference::Kernel FindTestKernel(std::string_view op);

inline std::shared_ptr<const CodeObject> TestCode() { return *CodeObject::Load(ReadFile(TCC_TEST_KERNELS_1), "test"); }

inline absl::StatusOr<std::shared_ptr<const PreparedPlan>> Prepare(Plan plan, std::string_view constants = {}) {
  PreparedPlan::Options options;
  options.find = FindTestKernel;
  auto code = plan.functions.empty() ? nullptr : TestCode();
  return PreparedPlan::Create(std::move(plan), code, constants, nullptr, options);
}

// out = (a + b) * 3, over a symbolic extent, with an intermediate in a slot.
inline Plan AddScale() {
  Plan plan;
  plan.num_values = 4;
  plan.num_registers = 2;
  plan.inputs = {0, 1};
  plan.outputs = {3};
  plan.symbol_registers = {0};
  plan.slot_bytes = {Operand::Reg(1)};
  plan.functions = {"add", "scale"};
  plan.body.instructions = {plan::Compute{1, IntOp::kMul, Operand::Reg(0), Operand::Imm(4)},
                            plan::Allocate{2, DType::kF32, {Operand::Reg(0)}, 0, 0},
                            plan::Launch{0, {0, 1, 2}, {}, Operand::Reg(0), 3, {}, "add"},
                            plan::Allocate{3, DType::kF32, {Operand::Reg(0)}},
                            plan::Launch{1, {2, 3}, {Operand::Imm(3)}, Operand::Reg(0), 3, Operand::Imm(100), "scale"}};
  return plan;
}

// out = condition ? x + x : what `otherwise` makes of x, over two elements; values 0, 1 and 3 are condition, x and out.
inline Plan DoubleIf(Block otherwise) {
  Plan plan;
  plan.num_values = 4;
  plan.inputs = {0, 1};
  plan.outputs = {3};
  plan.slot_bytes = {Operand::Imm(64)};
  plan.functions = {"add"};
  plan.body.instructions = {
      plan::If{0,
               {Block{{plan::Allocate{2, DType::kF32, {Operand::Imm(2)}, 0, 0},
                       plan::Launch{0, {1, 1, 2}, {}, Operand::Imm(2), 1, {}, ""}, plan::Move{3, 2}}},
                std::move(otherwise)}}};
  return plan;
}

// The tests of the executor are built twice: without and with recorded plans.
#ifndef TCC_TEST_MAX_RECORDINGS
#define TCC_TEST_MAX_RECORDINGS 0
#endif
struct TestContext : ExecutionContext {
  explicit TestContext(std::shared_ptr<const PreparedPlan> plan, ThreadPool* pool = nullptr)
      : ExecutionContext(std::move(plan), pool, TCC_TEST_MAX_RECORDINGS) {}
};

}  // namespace tcc
