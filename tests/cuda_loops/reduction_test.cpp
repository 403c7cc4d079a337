// Reductions on the simulated CUDA device: along and across rows, by lanes, warps, blocks, and several blocks.
#include "sim_runner.h"

namespace tcc::codegen {
namespace {

std::string Join(const std::vector<int64_t>& values, const char* separator) {
  std::string text;
  for (int64_t value : values) text += (text.empty() ? "" : separator) + std::to_string(value);
  return text;
}

void AddReduction(SimRunner& runner, const std::string& element, DType dtype, const std::string& kind,
                  const std::vector<int64_t>& dims, const std::vector<int64_t>& axes, double tolerance, double low = -2,
                  double high = 2) {
  std::string x = "tensor<", y = "tensor<";
  for (size_t i = 0; i < dims.size(); ++i) {
    x += std::to_string(dims[i]) + "x";
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) == axes.end()) y += std::to_string(dims[i]) + "x";
  }
  x += element + ">";
  y += element + ">";
  runner.Add("func.func @f(%x: " + x + ") -> " + y + " {\n%y = tcc.reduce %x {kind = #tcc.reduce_kind<" + kind +
                 ">, axes = array<i64: " + Join(axes, ", ") + ">, keep_dims = false} : (" + x + ") -> " + y +
                 "\nreturn %y : " + y + "\n}",
             {{.inputs = {RandomTensor(dtype, dims, 1, low, high)}, .tolerance = tolerance}});
}

TEST(CudaReduction, AlongRows) {
  SimRunner runner;
  for (int64_t n : {0, 1, 2, 7, 33, 64, 100, 1000, 4096, 5001})
    AddReduction(runner, "f32", DType::kF32, "sum", {5, n}, {1}, 1e-4);
  AddReduction(runner, "f32", DType::kF32, "max", {1000, 40}, {1}, 0);
  AddReduction(runner, "f32", DType::kF32, "sum", {2, 0, 4}, {2}, 0);
  AddReduction(runner, "f32", DType::kF32, "prod", {2, 0, 4}, {1}, 0);
  runner.Check();
}

TEST(CudaReduction, AcrossRows) {
  SimRunner runner;
  for (int64_t n : {1, 3, 31, 64, 130}) AddReduction(runner, "f32", DType::kF32, "sum", {70, n}, {0}, 1e-4);
  AddReduction(runner, "f32", DType::kF32, "min", {3, 200, 40}, {0, 2}, 0);
  AddReduction(runner, "f32", DType::kF32, "mean", {3, 50, 7, 11}, {0, 2, 3}, 1e-4);
  AddReduction(runner, "f32", DType::kF32, "sum", {33, 5, 40}, {1}, 1e-4);
  runner.Check();
}

TEST(CudaReduction, SeveralBlocksOfAResult) {
  SimRunner runner;
  AddReduction(runner, "f32", DType::kF32, "sum", {100001}, {0}, 1e-4, 0, 1);
  AddReduction(runner, "f32", DType::kF32, "max", {2, 300000}, {1}, 0);
  AddReduction(runner, "f32", DType::kF32, "sum", {30000, 3}, {0}, 1e-3, 0, 1);
  for (const KernelCode& code : runner.codes()) EXPECT_EQ(code.launches.size(), 1u);
  // (With a cast, which is a launch of its own.)
  AddReduction(runner, "bf16", DType::kBF16, "max", {2, 20011, 3}, {1}, 0);
  AddReduction(runner, "i32", DType::kI32, "sum", {2, 9000, 5}, {0, 1}, 0);
  for (const KernelCode& code : runner.codes()) EXPECT_TRUE(code.launches[0].device->counters);
  runner.Check();
}

TEST(CudaReduction, EveryType) {
  SimRunner runner;
  const std::pair<const char*, DType> types[] = {{"f64", DType::kF64}, {"f16", DType::kF16}, {"bf16", DType::kBF16},
                                                 {"i32", DType::kI32}, {"i64", DType::kI64}, {"i8", DType::kI8}};
  for (auto [name, dtype] : types) {
    const double tolerance = dtype == DType::kBF16 ? 0.03 : dtype == DType::kF16 ? 0.004 : 1e-6;
    AddReduction(runner, name, dtype, "sum", {4, 77}, {1}, tolerance, 0, 1.5);
    AddReduction(runner, name, dtype, "max", {300, 4}, {0}, 0);
  }
  AddReduction(runner, "i1", DType::kBool, "max", {9, 40}, {1}, 0, -3, 0.1);
  AddReduction(runner, "i1", DType::kBool, "min", {9, 400}, {1}, 0, -0.001, 3);
  runner.Check();
}

}  // namespace
}  // namespace tcc::codegen
