// Casts to floats round once, to nearest even: LLVM's APFloat is the oracle of generated code, of the interpreter on
// kernels, and of the reference kernel. The numbers are those around every middle between two results.
#include <limits>

#include "codegen/fusion/Passes.h"
#include "kernel_runner.h"
#include "llvm/ADT/APFloat.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/reference/convert.h"

namespace tcc::codegen {
namespace {

struct Format {
  const char* name;
  DType dtype;
  const llvm::fltSemantics& (*semantics)();
  unsigned bits;
};
const Format kFormats[] = {{"f16", DType::kF16, llvm::APFloat::IEEEhalf, 16},
                           {"bf16", DType::kBF16, llvm::APFloat::BFloat, 16},
                           {"f32", DType::kF32, llvm::APFloat::IEEEsingle, 32}};

// Every finite number of a 16-bit format, or a sample of float32's, as float64: never negative, in order.
std::vector<double> magnitudes(const Format& format) {
  std::vector<double> result;
  const uint32_t step = format.bits == 16 ? 1 : 65521, end = format.bits == 16 ? 0x8000 : 0x7f800000;
  for (uint32_t bits = 0; bits < end; bits += step) {
    for (uint32_t at : {bits, bits + 1}) {
      if (format.bits == 16 && at != bits) continue;
      llvm::APFloat value(format.semantics(), llvm::APInt(format.bits, at));
      if (!value.isFinite()) continue;
      bool lost;
      value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
      result.push_back(value.convertToDouble());
    }
  }
  return result;
}

uint64_t rounded(llvm::APFloat value, const Format& format) {
  bool lost;
  value.convert(format.semantics(), llvm::APFloat::rmNearestTiesToEven, &lost);
  return value.bitcastToAPInt().getZExtValue();
}
uint64_t oracle(double value, const Format& format) { return rounded(llvm::APFloat(value), format); }
template <typename T>
uint64_t oracle(T value, const Format& format) {
  llvm::APFloat result(format.semantics());
  result.convertFromAPInt(llvm::APInt(8 * sizeof(T), static_cast<uint64_t>(value), std::is_signed_v<T>),
                          std::is_signed_v<T>, llvm::APFloat::rmNearestTiesToEven);
  return result.bitcastToAPInt().getZExtValue();
}

class CastTest : public ::testing::TestWithParam<const char*> {
 protected:
  CastTest() : runner(GetParam()) { runner.context.loadDialect<mlir::math::MathDialect>(); }

  void compare(const Tensor& have, const std::vector<uint64_t>& want, const Format& format, const char* what) {
    ASSERT_EQ(have.num_elements(), static_cast<int64_t>(want.size()));
    for (size_t i = 0; i < want.size(); ++i) {
      uint64_t bits = format.bits == 16 ? have.data_as<uint16_t>()[i] : have.data_as<uint32_t>()[i];
      auto isNan = [&](uint64_t b) { return llvm::APFloat(format.semantics(), llvm::APInt(format.bits, b)).isNaN(); };
      if (isNan(bits) && isNan(want[i])) continue;
      ASSERT_EQ(bits, want[i]) << what << ", element " << i;
    }
  }

  template <typename T>
  void check(const char* from, DType dtype, const std::vector<T>& values, const Format& to) {
    SCOPED_TRACE(std::string(from) + " to " + to.name);
    const auto count = static_cast<int64_t>(values.size());
    Tensor x = *Tensor::Allocate(dtype, {count});
    std::memcpy(x.data(), values.data(), values.size() * sizeof(T));
    std::vector<uint64_t> want;
    for (T value : values) want.push_back(oracle(value, to));
    absl::StatusOr<Tensor> reference = reference::ConvertDType(x, to.dtype);
    ASSERT_TRUE(reference.ok()) << reference.status();
    compare(*reference, want, to, "reference kernel");

    std::string in = "tensor<" + std::to_string(count) + "x" + from + ">",
                out = "tensor<" + std::to_string(count) + "x" + to.name + ">";
    mlir::func::FuncOp function = runner.parse("func.func @f(%x: " + in + ") -> " + out + " {\n  %y = tcc.cast %x : (" +
                                               in + ") -> " + out + "\n  return %y : " + out + "\n}\n");
    ASSERT_TRUE(function);
    mlir::PassManager passes(&runner.context);
    passes.addNestedPass<mlir::func::FuncOp>(createLowerToKernelsPass());
    ASSERT_TRUE(mlir::succeeded(passes.run(*runner.module)));
    absl::StatusOr<std::vector<Tensor>> interpreted = ir::interpret(function, {x});
    ASSERT_TRUE(interpreted.ok()) << interpreted.status();
    compare((*interpreted)[0], want, to, "interpreted kernel");
    RunResult run = runner.run(function, {x}, {});
    ASSERT_EQ(run.outputs.size(), 1u);
    compare(run.outputs[0], want, to, "generated code");
  }

  KernelRunner runner;
};

TEST_P(CastTest, Float64) {
  const double kInfinity = std::numeric_limits<double>::infinity();
  for (const Format& to : kFormats) {
    std::vector<double> values{kInfinity,
                               -kInfinity,
                               std::numeric_limits<double>::quiet_NaN(),
                               std::numeric_limits<double>::max(),
                               std::numeric_limits<double>::min(),
                               std::numeric_limits<double>::denorm_min()};
    const std::vector<double> exact = magnitudes(to);
    for (size_t i = 0; i < exact.size(); ++i) {
      // The middle to the next number, or to what would be the next after the largest.
      const double next = i + 1 < exact.size() ? exact[i + 1] : 2 * exact[i] - exact[i - 1];
      const double middle = exact[i] + (next - exact[i]) / 2, sign = i % 2 ? -1 : 1;
      for (double value : {exact[i], middle, std::nextafter(middle, 0), std::nextafter(middle, kInfinity),
                           middle * (1 + 0x1p-26), middle * (1 - 0x1p-26)})
        values.push_back(sign * value);
    }
    check("f64", DType::kF64, values, to);
  }
}

template <typename T>
std::vector<T> integersAroundMiddles(const Format& format) {
  std::vector<T> values{0, 1, std::numeric_limits<T>::max(), std::numeric_limits<T>::min()};
  const long double kEnd = std::ldexp(1.0L, std::numeric_limits<T>::digits);
  const std::vector<double> exact = magnitudes(format);
  for (size_t i = 0; i + 1 < exact.size(); ++i) {
    const long double middle = (static_cast<long double>(exact[i]) + exact[i + 1]) / 2;
    if (middle < 1 || middle >= kEnd) continue;
    const T at = static_cast<T>(middle);
    for (int64_t offset : {-1000, -1, 0, 1, 2, 1023, 1025, 1 << 20}) {
      if (at < static_cast<T>(1000) || std::numeric_limits<T>::max() - at < static_cast<T>(1 << 20)) continue;
      const T near = static_cast<T>(at + static_cast<T>(offset));
      values.push_back(near);
      if (std::is_signed_v<T>) values.push_back(static_cast<T>(0 - near));
    }
  }
  // Where float16 ends, one by one.
  for (int64_t value = 65400; value < 65600; ++value) values.push_back(static_cast<T>(value));
  return values;
}

TEST_P(CastTest, Integers) {
  for (const Format& to : kFormats) {
    check<int64_t>("i64", DType::kI64, integersAroundMiddles<int64_t>(to), to);
    check<uint64_t>("ui64", DType::kU64, integersAroundMiddles<uint64_t>(to), to);
    check<int32_t>("i32", DType::kI32, integersAroundMiddles<int32_t>(to), to);
    check<uint32_t>("ui32", DType::kU32, integersAroundMiddles<uint32_t>(to), to);
  }
}

INSTANTIATE_TEST_SUITE_P(Cpus, CastTest, ::testing::Values("", "x86-64-v3"),
                         [](const auto& info) { return std::string(*info.param ? "v3" : "host"); });

}  // namespace
}  // namespace tcc::codegen
