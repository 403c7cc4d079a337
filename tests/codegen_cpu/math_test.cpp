// Generated math functions against the C library in higher precision: every exponent, both signs, special values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

#include "codegen/cpu/Backend.h"
#include "loaded_code.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

namespace tcc::codegen {
namespace {

using Number = long double;

struct Function {
  const char* op;
  Number (*reference)(Number, Number);
  double ulps32, ulps64;  ///< allowed; 0 for f64: not tested
  bool binary = false;
  double limit64 = std::numeric_limits<double>::infinity();  ///< largest |x| that is tested in f64
};

#define UNARY(name) [](Number x, Number) -> Number { return name(x); }
#define BINARY(name) [](Number x, Number y) -> Number { return name(x, y); }

const Function kFunctions[] = {
    {"math.exp", UNARY(std::exp), 1.5, 1.5},
    {"math.expm1", UNARY(std::expm1), 2, 2},
    {"math.exp2", UNARY(std::exp2), 1, 1.5},
    {"math.log", UNARY(std::log), 1.5, 1.5},
    {"math.log2", UNARY(std::log2), 2.5, 2.5},
    {"math.log10", UNARY(std::log10), 2.5, 2.5},
    {"math.log1p", UNARY(std::log1p), 2, 2},
    {"math.tanh", UNARY(std::tanh), 2.5, 2.5},
    {"math.sinh", UNARY(std::sinh), 2.5, 2.5},
    {"math.cosh", UNARY(std::cosh), 2.5, 2.5},
    {"math.asinh", UNARY(std::asinh), 3, 3},
    {"math.acosh", UNARY(std::acosh), 3, 3},
    {"math.atanh", UNARY(std::atanh), 3.5, 3.5},
    {"math.erf", UNARY(std::erf), 1.5, 3},
    {"math.sin", UNARY(std::sin), 1.6, 1.6, false, 1e9},
    {"math.cos", UNARY(std::cos), 1.6, 1.6, false, 1e9},
    {"math.tan", UNARY(std::tan), 3.5, 3.5, false, 1e9},
    {"math.atan", UNARY(std::atan), 2, 2},
    {"math.asin", UNARY(std::asin), 2.5, 2.5},
    {"math.acos", UNARY(std::acos), 2, 2},
    {"math.round", UNARY(std::round), 0, 0.1},
    {"math.rsqrt", [](Number x, Number) -> Number { return 1 / std::sqrt(x); }, 1.5, 1.5},
    {"math.floor", UNARY(std::floor), 0, 0.1},
    {"math.ceil", UNARY(std::ceil), 0, 0.1},
    {"math.trunc", UNARY(std::trunc), 0, 0.1},
    {"math.roundeven", UNARY(std::nearbyint), 0, 0.1},
    {"math.absf", UNARY(std::fabs), 0, 0.1},
    {"math.powf", BINARY(std::pow), 1, 20, true},
    {"math.atan2", BINARY(std::atan2), 3, 3, true},
    {"arith.remf", BINARY(std::fmod), 0, 0.1, true},
    {"math.copysign", BINARY(std::copysign), 0, 0.1, true},
};

template <typename T>
std::vector<T> samples(unsigned seed, double limit) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> result;
  std::mt19937_64 random(seed);
  int step = sizeof(T) == 4 ? 1 : 7, each = sizeof(T) == 4 ? 150 : 100;
  for (int exponent = Limits::min_exponent - Limits::digits; exponent <= Limits::max_exponent; exponent += step)
    for (int i = 0; i < each; ++i) {
      T mantissa = T(0.5) + T(random() >> 11) * T(0x1p-54);
      T value = std::ldexp(mantissa, exponent);
      result.push_back(random() & 1 ? value : -value);
    }
  std::uniform_real_distribution<double> near(-100, 100), small(-2, 2), mid(-20, 20);
  for (int i = 0; i < 20000; ++i) {
    result.push_back(T(near(random)));
    result.push_back(T(small(random)));
    result.push_back(T(mid(random)));
  }
  for (int i = -40; i <= 40; ++i) result.push_back(T(i) / 2);
  for (T value : {T(0), Limits::infinity(), Limits::quiet_NaN(), Limits::denorm_min(), Limits::min(), Limits::max(),
                  T(1), T(0.5), T(2)}) {
    result.push_back(value);
    result.push_back(-value);
  }
  for (T& value : result)
    if (std::abs(value) > limit && std::isfinite(value)) value = T(small(random));
  while (result.size() % 16) result.push_back(1);
  return result;
}

template <typename T>
double errorInUlps(T actual, Number exact) {
  if (std::isnan(exact) || std::isnan(actual)) return std::isnan(exact) && std::isnan(actual) ? 0 : 1e30;
  T rounded = static_cast<T>(exact);
  if (rounded == actual) return rounded == 0 && std::signbit(rounded) != std::signbit(actual) ? 1e20 : 0;
  if (std::isinf(rounded) || std::isinf(actual)) {
    // One ulp beyond the largest number is as good as infinity.
    T finite = std::isinf(rounded) ? actual : rounded;
    return std::abs(finite) >= std::nextafter(std::numeric_limits<T>::max(), T(0)) ? 1 : 1e30;
  }
  int exponent;
  std::frexp(rounded, &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  return std::abs(double((Number(actual) - exact) / std::ldexp(Number(1), exponent - std::numeric_limits<T>::digits)));
}

class MathTest : public ::testing::TestWithParam<std::tuple<const char*, int>> {};

template <typename T>
void check(const char* cpuName, int lanes) {
  mlir::MLIRContext context;
  Backend::loadDialects(&context);
  auto cpu = describeCpu(cpuName);
  ASSERT_TRUE(bool(cpu));
  Backend backend(&context, *cpu);
  std::string type = sizeof(T) == 4 ? "f32" : "f64", n = std::to_string(lanes);
  std::vector<std::string> symbols;
  for (const Function& f : kFunctions) {
    std::string vector = lanes == 1 ? type : "vector<" + n + "x" + type + ">";
    std::string load = lanes == 1 ? "memref.load" : "vector.load", store = lanes == 1 ? "memref.store" : "vector.store";
    std::string suffix = lanes == 1 ? "" : ", " + vector, memref = "memref<?x" + type + ">";
    std::string text = "func.func @f(%x: " + memref + ", %y: " + memref + ", %z: " + memref +
                       ", %scratch: memref<?xi8>, %begin: index, %end: index) {\n  %step = arith.constant " + n +
                       " : index\n  scf.for %i = %begin to %end step %step {\n    %a = " + load +
                       " %x[%i] : " + memref + suffix + "\n    %b = " + load + " %y[%i] : " + memref + suffix +
                       "\n    %r = " + f.op + (f.binary ? " %a, %b : " : " %a : ") + vector + "\n    " + store +
                       " %r, %z[%i] : " + memref + suffix + "\n  }\n  return\n}";
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    auto function = *module->getOps<mlir::func::FuncOp>().begin();
    function->remove();
    symbols.push_back(backend.addFunction(function));
  }
  auto bytes = backend.finish();
  if (!bytes) FAIL() << llvm::toString(bytes.takeError());
  LoadedCode code(*bytes);
  for (auto [f, symbol] : llvm::zip(kFunctions, symbols)) {
    double allowed = sizeof(T) == 4 ? f.ulps32 : f.ulps64;
    double limit = sizeof(T) == 4 ? std::numeric_limits<double>::infinity() : f.limit64;
    std::vector<T> x = samples<T>(1, limit), y = samples<T>(2, limit);
    std::shuffle(y.begin(), y.end(), std::mt19937(3));
    std::vector<T> z(x.size());
    code.call(symbol, {x.data(), y.data(), z.data()}, {}, 0, x.size());
    double worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      double error = errorInUlps<T>(z[i], f.reference(x[i], y[i]));
      if (error > worst) {
        worst = error;
        at = i;
      }
    }
    EXPECT_LE(worst, allowed) << f.op << " of " << x[at] << (f.binary ? ", " + std::to_string(y[at]) : "") << " is "
                              << z[at] << " and not " << double(f.reference(x[at], y[at])) << ", lanes " << lanes;
    if (getenv("TCC_PRINT_ULPS")) printf("%-14s %s %g\n", f.op, type.c_str(), worst);
  }
}

TEST_P(MathTest, Float32) { check<float>(std::get<0>(GetParam()), std::get<1>(GetParam())); }
TEST_P(MathTest, Float64) { check<double>(std::get<0>(GetParam()), std::get<1>(GetParam())); }

std::vector<std::tuple<const char*, int>> cases() {
  std::vector<std::tuple<const char*, int>> all = {{"x86-64-v3", 8}, {"x86-64-v3", 1}};
  auto host = describeCpu("");
  if (host && host->vectorBits > 256) all.push_back({"", 16});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Cpus, MathTest, ::testing::ValuesIn(cases()), [](const auto& info) {
  return std::string(*std::get<0>(info.param) ? "v3_" : "host_") + std::to_string(std::get<1>(info.param));
});

}  // namespace
}  // namespace tcc::codegen
