#include "runtime/code_object.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "tests/runtime/temp_folder.h"

namespace tcc {
namespace {

float Value(const CodeObject& code) {
  float result = 0;
  void* buffers[] = {&result};
  const TccKernelContext context = {kKernelAbiVersion, buffers, nullptr, nullptr, nullptr};
  (*code.Function("value"))(&context, 0, 1);
  return result;
}

// dlopen takes /proc/self/fd/N for the library it has seen under that name; N is reused at once.
TEST(CodeObject, EachLoadGetsItsOwnCode) {
  const std::string one = ReadFile(TCC_TEST_KERNELS_1), two = ReadFile(TCC_TEST_KERNELS_2);
  std::vector<std::shared_ptr<const CodeObject>> loaded;
  for (int i = 0; i < 20; ++i) {
    const auto code = CodeObject::Load(i % 2 == 0 ? one : two, "test");
    ASSERT_TRUE(code.ok()) << code.status();
    EXPECT_EQ(Value(**code), i % 2 == 0 ? 1 : 2);
    if (i % 3 == 0) loaded.push_back(*code);
  }
  EXPECT_EQ(Value(*loaded[0]), 1);
  EXPECT_EQ(Value(*loaded[1]), 2);
}

TEST(CodeObject, Errors) {
  const std::string good = ReadFile(TCC_TEST_KERNELS_1);
  const auto code = CodeObject::Load(good, "test");
  ASSERT_TRUE(code.ok());
  EXPECT_EQ((*code)->Function("missing").status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(CodeObject::Load("", "test").ok());
  EXPECT_FALSE(CodeObject::Load("#!/bin/sh", "test").ok());
  EXPECT_FALSE(CodeObject::Load(std::string(1000, '\x7f'), "test").ok());
  std::string other = good;
  other[18] = 40;  // e_machine
  const auto wrong = CodeObject::Load(other, "test");
  EXPECT_EQ(wrong.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(wrong.status().message()), testing::HasSubstr("compile for this machine"));
  EXPECT_FALSE(CodeObject::Load(good.substr(0, 64), "test").ok());
}

}  // namespace
}  // namespace tcc
