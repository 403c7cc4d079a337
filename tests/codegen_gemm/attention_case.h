// Kernels of attention as text.
#pragma once

#include "tests/codegen_gemm/harness.h"

namespace tcc::codegen::testing {

struct AttentionShape {
  int batch = 1, heads = 2, key_heads = 2, queries = 5, keys = 7, depth = 8, width = 8;
  bool causal = false;
  Extents mask = {};  // extents, with "S" and "T" for the lengths; empty: no mask
  std::string mask_element = "f32";
  std::string element = "f32";
  bool split = false;  // operands are read as [B, S, H * D]
  std::string masked_rows = "zero", scale = "0.25";
};

// `dynamic`: the lengths are symbols.
Case AttentionCase(const AttentionShape& shape, bool dynamic);

}  // namespace tcc::codegen::testing
