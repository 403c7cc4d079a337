// Convolutions as implicit products on the simulated CUDA device.
#include "tests/codegen_gemm/conv_case.h"
#include "tests/cuda_gemm/harness.h"

namespace tcc::codegen::testing {
namespace {

void CheckAll(const ConvShape& shape, const std::string& element = "f32", bool dynamic = false) {
  for (bool last : {true, false}) {
    SCOPED_TRACE(last ? "channels last" : "channels first");
    Case test = ConvCase(shape, last, dynamic, element);
    if (last) test.constants = {1};  // packed
    CheckCuda(test);
  }
}

TEST(CudaConv, OneByOne) {
  CheckAll({2, 20, 37, 1, {5, 7}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}});
  CheckAll({1, 24, 32, 1, {6, 5}, {1, 1}, {2, 2}, {0, 0}, {0, 0}, {1, 1}}, "f16");
}
TEST(CudaConv, ThreeByThree) {
  CheckAll({2, 17, 35, 1, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
  CheckAll({1, 16, 8, 1, {9, 20}, {3, 3}, {2, 2}, {1, 0}, {1, 2}, {1, 1}}, "f16");
}
TEST(CudaConv, Dynamic) { CheckAll({2, 8, 12, 1, {9, 11}, {3, 3}, {2, 1}, {1, 1}, {1, 1}, {1, 1}}, "f32", true); }
TEST(CudaConv, WeightsThatAreNoConstants) {
  CheckCuda(ConvCase({1, 8, 12, 1, {5, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, true, false));
}
TEST(CudaConv, FirstLayer) { CheckAll({1, 3, 33, 1, {23, 37}, {7, 7}, {2, 2}, {3, 3}, {3, 3}, {1, 1}}); }
TEST(CudaConv, DilatedAndLopsided) { CheckAll({1, 5, 6, 1, {13, 12}, {3, 2}, {1, 3}, {2, 0}, {0, 1}, {2, 4}}); }
TEST(CudaConv, NegativePaddingCrops) { CheckAll({1, 4, 5, 1, {9, 9}, {2, 3}, {1, 1}, {-1, 1}, {1, -2}, {1, 1}}); }
TEST(CudaConv, Groups) { CheckAll({2, 24, 18, 3, {5, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, "bf16"); }
TEST(CudaConv, Depthwise) {
  CheckAll({2, 35, 35, 35, {7, 21}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
  CheckAll({1, 8, 16, 8, {9, 10}, {3, 3}, {1, 2}, {2, 2}, {2, 2}, {2, 2}}, "f16", true);
}
TEST(CudaConv, OneAndThreeAxes) {
  CheckAll({2, 6, 9, 1, {31}, {5}, {2}, {2}, {1}, {1}});
  CheckAll({1, 4, 5, 1, {4, 5, 6}, {3, 2, 3}, {1, 2, 1}, {1, 0, 1}, {1, 1, 1}, {1, 1, 1}});
}
TEST(CudaConv, SplitSums) { CheckAll({1, 200, 20, 1, {4, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}); }
TEST(CudaConv, Empty) { CheckAll({0, 3, 4, 1, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}); }
TEST(CudaConv, Transposed) {
  CheckAll({1, 6, 8, 2, {4, 5}, {3, 3}, {1, 3}, {1, 0}, {0, 1}, {1, 2}, {0, 0}});
  CheckAll({1, 4, 4, 1, {5, 3}, {2, 2}, {3, 1}, {0, 0}, {0, 0}, {1, 1}, {2, 0}});  // kernel smaller than the stride
  // Residues of one tap and of several.
  CheckAll({1, 6, 8, 1, {4, 5}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
  CheckAll({2, 16, 8, 1, {9}, {4}, {3}, {1}, {0}, {1}, {0}}, "f16");
  CheckAll({1, 8, 8, 4, {5, 4}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {0, 0}});
  // Residues without positions: the result is shorter than the stride.
  CheckAll({1, 5, 8, 1, {1, 9}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {0, 0}});
  CheckAll({2, 5, 8, 1, {1}, {1}, {2}, {0}, {0}, {1}, {0}});
}

}  // namespace
}  // namespace tcc::codegen::testing
