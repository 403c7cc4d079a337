#include "codegen/cuda/compile/CompileLog.h"
#include "tests/cuda_compile/compile_test_util.h"

namespace tcc::codegen {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(CompileLog, MessagesOfNvrtc) {
  const std::vector<CompileMessage> messages = parseNvrtcLog(
      "k.cu(12): error: identifier \"x\" is undefined\n    x = 1;\n    ^\n\n"
      "tcc/vec.cuh(3): warning #177-D: variable \"z\" was declared but never referenced\n"
      "          detected during instantiation of \"f(T)\" at line 5 of k.cu\n\n"
      "Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"\n\n"
      "1 error detected in the compilation of \"k.cu\".\n");
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0].file, "k.cu");
  EXPECT_EQ(messages[0].line, 12u);
  EXPECT_TRUE(messages[0].error);
  EXPECT_EQ(messages[0].text, "error: identifier \"x\" is undefined");
  EXPECT_EQ(messages[1].file, "tcc/vec.cuh");
  EXPECT_FALSE(messages[1].error);
  EXPECT_THAT(messages[1].details, HasSubstr("at line 5 of k.cu"));
}

TEST(CompileLog, ResourcesAreNoMessages) {
  constexpr const char* log =
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
      "ptxas info    : Function properties for k\n"
      "ptxas         .     72 bytes stack frame, 68 bytes spill stores, 112 bytes spill loads\n"
      "ptxas info    : Used 64 registers, used 1 barriers, 72 bytes cumulative stack size, 1024 bytes smem, 400 bytes "
      "cmem[0]\n"
      "ptxas info    : Compile time = 9.018 ms\n";
  EXPECT_THAT(parseNvrtcLog(log), IsEmpty());
  std::optional<KernelResources> resources = parseResources(log, "k");
  ASSERT_TRUE(resources.has_value());
  EXPECT_EQ(resources->registers, 64);
  EXPECT_EQ(resources->stack, 72);
  EXPECT_EQ(resources->spillStores, 68);
  EXPECT_EQ(resources->spillLoads, 112);
  EXPECT_EQ(resources->sharedBytes, 1024);
  EXPECT_EQ(resources->constantBytes, 400);
  EXPECT_FALSE(parseResources(log, "other").has_value());
  EXPECT_FALSE(parseResources("", "k").has_value());
}

TEST(CompileLog, MessagesOfTheAssembler) {
  const std::vector<CompileMessage> messages = parseNvrtcLog(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized\n"
      "ptxas warning : Value of threads per SM for entry k is out of range\n"
      "ptxas error   : Entry function 'k' uses too much shared data (0x61a80 bytes, 0xc000 max)\n");
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_FALSE(messages[0].error);
  EXPECT_THAT(messages[0].text, HasSubstr("wgmma"));
  EXPECT_FALSE(messages[1].error);
  EXPECT_TRUE(messages[2].error);
}

TEST(CompileLog, WhatIsNotUnderstoodIsNotLost) {
  const std::vector<CompileMessage> messages = parseNvrtcLog("something new: perhaps bad\nmore of it\n");
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].text, "something new: perhaps bad");
  EXPECT_EQ(messages[0].details, "more of it\n");
}

TEST(CompileLog, MessagesOfClang) {
  const std::vector<CompileMessage> messages = parseClangLog(
      "In file included from k.cu:1:\ntcc/vec.cuh:30:7: error: no member named 'f'\n"
      "k.cu:5:9: note: in instantiation of 'g' requested here\n"
      "k.cu:9:1: warning: unused variable 'x' [-Wunused-variable]\n2 errors generated.\n");
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0].file, "tcc/vec.cuh");
  EXPECT_EQ(messages[0].line, 30u);
  EXPECT_TRUE(messages[0].error);
  EXPECT_THAT(messages[0].details, HasSubstr("In file included from k.cu:1:"));
  EXPECT_THAT(messages[0].details, HasSubstr("k.cu:5:9: note"));
  EXPECT_EQ(messages[1].line, 9u);
  EXPECT_FALSE(messages[1].error);
}

}  // namespace
}  // namespace tcc::codegen
