// Minima and maxima of 16 bits, bit for bit: NaN wins over everything, and -0 is less than +0.
#include "codegen/fusion/Passes.h"
#include "kernel_runner.h"
#include "mlir/Pass/PassManager.h"

namespace tcc::codegen {
namespace {

class ExtremaTest : public ::testing::TestWithParam<const char*> {};

double extreme(double a, double b, bool isMax) {
  if (std::isnan(a) || std::isnan(b)) return std::nan("");
  if (a == 0 && b == 0) return std::signbit(a) == isMax ? b : a;
  return isMax ? std::max(a, b) : std::min(a, b);
}

TEST_P(ExtremaTest, HalfPrecision) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  // The smallest denormal of float16 is one that bfloat16 rounds to itself.
  const double values[] = {0.0, -0.0, 1, -1, nan, inf, -inf, 0x1p-24, -0x1p-24};
  constexpr size_t kValues = std::size(values);
  for (DType dtype : {DType::kF16, DType::kBF16}) {
    for (int64_t length = 1; length <= 33; length += length < 9 ? 1 : 4) {
      for (bool isMax : {false, true}) {
        for (bool open : {false, true}) {
          KernelRunner runner(GetParam());
          runner.context.loadDialect<mlir::math::MathDialect>();
          // Rows hold every pair of values, at every position of a vector.
          const auto rows = static_cast<int64_t>(kValues * kValues);
          Shape shape{{rows, length}, open};
          const std::string type = shape.type(dtype == DType::kF16 ? "f16" : "bf16", {0, 1});
          mlir::func::FuncOp function = runner.parse("func.func @f(%a: " + type + ", %b: " + type + ") -> " + type +
                                                     shape.attributes() + " {\n  %y = tcc." + (isMax ? "max" : "min") +
                                                     " %a, %b : " + type + "\n  return %y : " + type + "\n}\n");
          ASSERT_TRUE(function);
          mlir::PassManager passes(&runner.context);
          passes.addNestedPass<mlir::func::FuncOp>(createLowerToKernelsPass());
          ASSERT_TRUE(mlir::succeeded(passes.run(*runner.module)));
          Tensor a = *Tensor::Allocate(dtype, {rows, length}), b = *Tensor::Allocate(dtype, {rows, length});
          auto first = [&](int64_t i) { return values[(i + i / length) % kValues]; };
          auto second = [&](int64_t i) { return values[(i / length / kValues + 2 * i) % kValues]; };
          for (int64_t i = 0; i < rows * length; ++i) {
            StoreDouble(a.data(), dtype, i, first(i));
            StoreDouble(b.data(), dtype, i, second(i));
          }
          RunResult result = runner.run(function, {a, b}, {rows, length});
          ASSERT_EQ(result.outputs.size(), 1u);
          for (int64_t i = 0; i < rows * length; ++i) {
            const double have = LoadDouble(result.outputs[0].data(), dtype, i);
            const double want = extreme(first(i), second(i), isMax);
            ASSERT_TRUE((std::isnan(have) && std::isnan(want)) ||
                        (have == want && std::signbit(have) == std::signbit(want)))
                << (isMax ? "max " : "min ") << type << ", of " << first(i) << " and " << second(i) << ": " << have;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cpus, ExtremaTest, ::testing::Values("", "x86-64-v3"),
                         [](const auto& info) { return std::string(*info.param ? "v3" : "host"); });

}  // namespace
}  // namespace tcc::codegen
