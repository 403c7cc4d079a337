// Kernels of convolutions as text.
#pragma once

#include "tests/codegen_gemm/harness.h"

namespace tcc::codegen::testing {

struct ConvShape {
  int images, channels, out, groups;
  std::vector<int> space, kernel, strides, low, high, dilations;
  std::vector<int> output_padding = {};  // set: transposed
};

// With a bias per channel and a residual. `dynamic`: images and spatial extents are symbols.
Case ConvCase(const ConvShape& shape, bool last, bool dynamic, const std::string& element = "f32");

}  // namespace tcc::codegen::testing
