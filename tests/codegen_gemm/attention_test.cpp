// Attention: odd sizes around the blocks, masks of every form, causal, grouped heads, strided operands, dynamic
// lengths.
#include "gtest/gtest.h"
#include "tests/codegen_gemm/attention_case.h"
#include "tests/codegen_gemm/harness.h"

namespace tcc::codegen::testing {
namespace {

void CheckAll(const AttentionShape& shape) {
  for (bool dynamic : {false, true})
    for (const char* cpu : {"", "x86-64-v3"}) {
      SCOPED_TRACE(dynamic ? "dynamic" : "static");
      Case test = AttentionCase(shape, dynamic);
      test.cpu = cpu;
      Check(test);
    }
}

// Softmax needs exponentials, which the backend expands: its own tests are the ones to fail where it cannot.
class Attention : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!CanCompileExp()) GTEST_SKIP() << "the backend does not expand math.exp";
  }
};

TEST_F(Attention, Sizes) {
  CheckAll({});
  CheckAll({.queries = 1, .keys = 1, .depth = 3, .width = 5});
  CheckAll({.batch = 2, .queries = 61, .keys = 67, .depth = 33, .width = 40});
  CheckAll({.queries = 1, .keys = 600, .depth = 16, .width = 16});
  CheckAll({.queries = 15, .keys = 1025, .depth = 64, .width = 64});
  CheckAll({.queries = 0, .keys = 4});
  CheckAll({.queries = 4, .keys = 0});
}
TEST_F(Attention, GroupedHeads) { CheckAll({.batch = 2, .heads = 6, .key_heads = 2, .queries = 9, .keys = 11}); }
TEST_F(Attention, Causal) {
  CheckAll({.queries = 70, .keys = 70, .causal = true});
  CheckAll({.queries = 3, .keys = 40, .causal = true});
  CheckAll({.queries = 40, .keys = 3, .causal = true});  // the first queries see no key: zero
}
TEST_F(Attention, Masks) {
  CheckAll({.batch = 2, .queries = 9, .keys = 37, .mask = {"2", "1", "1", "T"}, .mask_element = "i1"});
  CheckAll({.queries = 9, .keys = 37, .mask = {"S", "T"}});
  CheckAll({.batch = 2, .queries = 9, .keys = 37, .causal = true, .mask = {"2", "2", "S", "T"}});
  CheckAll({.queries = 9, .keys = 37, .mask = {"1", "2", "S", "1"}});
  CheckAll({.queries = 3, .keys = 2, .mask = {"S", "T"}, .mask_element = "i1"});
}
TEST_F(Attention, MaskedRows) {
  const std::string infinite = "0x7FF0000000000000";  // scores are infinite or NaN
  for (const char* masked_rows : {"nan", "zero", "guarded"}) {
    SCOPED_TRACE(masked_rows);
    CheckAll({.queries = 40, .keys = 3, .causal = true, .masked_rows = masked_rows});
    CheckAll({.queries = 9, .keys = 2, .mask = {"S", "T"}, .mask_element = "i1", .masked_rows = masked_rows});
    CheckAll({.queries = 4, .keys = 0, .masked_rows = masked_rows});
    if (masked_rows != std::string("zero"))
      CheckAll({.queries = 9, .keys = 37, .masked_rows = masked_rows, .scale = infinite});
  }
}
TEST_F(Attention, StridedOperands) {
  CheckAll({.batch = 2, .heads = 3, .key_heads = 3, .queries = 17, .keys = 19, .split = true});
}
TEST_F(Attention, HalfPrecision) {
  for (const char* element : {"f16", "bf16"}) {
    CheckAll({.queries = 17, .keys = 19, .depth = 16, .width = 16, .element = element});
    for (const char* mask : {element, "f32"})
      CheckAll({.queries = 9, .keys = 37, .mask = {"S", "T"}, .mask_element = mask, .element = element});
  }
}

}  // namespace
}  // namespace tcc::codegen::testing
