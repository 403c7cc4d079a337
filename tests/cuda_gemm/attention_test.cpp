// Attention on the simulated CUDA device: odd lengths, masks, causal, grouped heads, strided operands.
#include "tests/codegen_gemm/attention_case.h"
#include "tests/cuda_gemm/harness.h"

namespace tcc::codegen::testing {
namespace {

void CheckOne(const AttentionShape& shape, bool dynamic = false) { CheckCuda(AttentionCase(shape, dynamic)); }

TEST(CudaAttention, Sizes) {
  CheckOne({});
  CheckOne({.queries = 1, .keys = 1, .depth = 3, .width = 5});
  CheckOne({.batch = 2, .heads = 1, .key_heads = 1, .queries = 61, .keys = 67, .depth = 33, .width = 40}, true);
  CheckOne({.heads = 1, .key_heads = 1, .queries = 66, .keys = 65, .depth = 64, .width = 64});
  CheckOne({.queries = 0, .keys = 4}, true);
  CheckOne({.queries = 4, .keys = 0}, true);
}
TEST(CudaAttention, WideHeads) {
  CheckOne({.heads = 1, .key_heads = 1, .queries = 5, .keys = 33, .depth = 128, .width = 100});
  CheckOne({.heads = 1, .key_heads = 1, .queries = 5, .keys = 19, .depth = 256, .width = 256});
  CheckOne({.heads = 1, .key_heads = 1, .queries = 5, .keys = 70, .depth = 80, .width = 96, .element = "f16"});
  CheckOne({.heads = 1, .key_heads = 1, .queries = 17, .keys = 19, .depth = 256, .width = 256, .element = "bf16"});
}
// Wider than what tiles in registers hold: one query a block.
TEST(CudaAttention, HeadsWithoutTiles) {
  Case plain = AttentionCase({.heads = 1, .key_heads = 1, .queries = 3, .keys = 37, .depth = 300, .width = 270}, false);
  EXPECT_NE(CudaTexts(plain, "sm_80")[0].text.find("attend_rows"), std::string::npos);
  CheckCuda(plain);
  CheckOne({.batch = 2,
            .heads = 4,
            .key_heads = 2,
            .queries = 5,
            .keys = 34,
            .depth = 40,
            .width = 260,
            .causal = true,
            .mask = {"2", "1", "1", "T"},
            .mask_element = "i1",
            .element = "f16"},
           true);
  for (const char* masked_rows : {"nan", "zero", "guarded"}) {
    SCOPED_TRACE(masked_rows);
    CheckOne({.heads = 1,
              .key_heads = 1,
              .queries = 4,
              .keys = 2,
              .depth = 130,
              .width = 9,
              .mask = {"S", "T"},
              .mask_element = "i1",
              .element = "f64",
              .masked_rows = masked_rows});
  }
}
TEST(CudaAttention, GroupedHeads) { CheckOne({.batch = 2, .heads = 6, .key_heads = 2, .queries = 9, .keys = 11}); }
TEST(CudaAttention, Causal) {
  CheckOne({.heads = 1, .key_heads = 1, .queries = 70, .keys = 70, .causal = true});
  CheckOne({.queries = 3, .keys = 70, .causal = true, .element = "f16"});
  CheckOne({.queries = 40, .keys = 3, .causal = true}, true);  // the first queries see no key: zero
}
TEST(CudaAttention, Masks) {
  CheckOne({.batch = 2, .queries = 9, .keys = 37, .mask = {"2", "1", "1", "T"}, .mask_element = "i1"});
  CheckOne({.batch = 2, .queries = 9, .keys = 37, .causal = true, .mask = {"2", "2", "S", "T"}}, true);
  CheckOne({.queries = 9, .keys = 37, .mask = {"1", "2", "S", "1"}});
  CheckOne({.queries = 9, .keys = 37, .mask = {"S", "T"}, .mask_element = "f32", .element = "bf16"});
}
TEST(CudaAttention, MaskedRows) {
  for (const char* masked_rows : {"nan", "zero", "guarded"}) {
    SCOPED_TRACE(masked_rows);
    CheckOne({.queries = 9, .keys = 2, .mask = {"S", "T"}, .mask_element = "i1", .masked_rows = masked_rows});
    CheckOne({.queries = 4, .keys = 0, .masked_rows = masked_rows});
    if (masked_rows != std::string("zero"))  // scores are infinite or NaN
      CheckOne({.queries = 9, .keys = 37, .masked_rows = masked_rows, .scale = "0x7FF0000000000000"});
  }
}
TEST(CudaAttention, StridedOperands) {
  for (const char* element : {"f32", "f16"})
    CheckOne({.batch = 2, .heads = 3, .key_heads = 3, .queries = 17, .keys = 19, .element = element, .split = true});
}

}  // namespace
}  // namespace tcc::codegen::testing
