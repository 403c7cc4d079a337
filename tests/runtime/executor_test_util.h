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

// The tests of the executor are built twice: without and with recorded plans.
#ifndef TCC_TEST_MAX_RECORDINGS
#define TCC_TEST_MAX_RECORDINGS 0
#endif
struct TestContext : ExecutionContext {
  explicit TestContext(std::shared_ptr<const PreparedPlan> plan, ThreadPool* pool = nullptr)
      : ExecutionContext(std::move(plan), pool, TCC_TEST_MAX_RECORDINGS) {}
};

}  // namespace tcc
