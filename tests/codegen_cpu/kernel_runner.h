// Compiles kernels for the CPU, runs their launches in random pieces in random order, and compares with the
// interpreter.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "codegen/cpu/CpuTarget.h"
#include "ir/ElementTypes.h"
#include "ir/Extents.h"
#include "ir/Interpreter.h"
#include "loaded_code.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "runtime/dispatch.h"

namespace tcc::codegen {

/// Extents of a test, written into the IR as numbers or as symbols.
struct Shape {
  std::vector<int64_t> values;
  bool dynamic = false;

  std::string extent(size_t i) const { return dynamic ? "s" + std::to_string(i) : std::to_string(values[i]); }
  /// "tensor<...>" of extents given as positions in `values`; a negative one, -n, is the constant n.
  std::string type(const std::string& element, const std::vector<int>& positions) const {
    std::string dims, extents;
    bool any = false;
    for (int position : positions) {
      bool isSymbol = dynamic && position >= 0;
      any |= isSymbol;
      std::string constant = std::to_string(position < 0 ? -position : values[position]);
      dims += (isSymbol ? "?" : constant) + "x";
      extents += (extents.empty() ? "" : ", ") + (isSymbol ? extent(position) : constant);
    }
    return "tensor<" + dims + element + (any ? ", #tcc.extents<" + extents + ">>" : ">");
  }
  std::string extents(const std::vector<int>& positions) const {
    std::string text;
    for (int position : positions)
      text += (text.empty() ? "" : ", ") + (position < 0 ? std::to_string(-position) : extent(position));
    return "#tcc.extents<" + text + ">";
  }
  std::string attributes() const {
    if (!dynamic) return "";
    std::string text;
    for (size_t i = 0; i < values.size(); ++i)
      text += (i ? ", " : "") + ("#tcc.symbol<\"n" + std::to_string(i)) + "\", 0, 100000000, 1>";
    return " attributes {tcc.symbols = [" + text + "]}";
  }
};

struct RunResult {
  std::vector<Tensor> outputs;
  int64_t error = 0;
  KernelCode code;
};

class KernelRunner {
 public:
  static constexpr int64_t kGuard = 64;
  static constexpr char kFill = 0x7f;

  explicit KernelRunner(const std::string& cpuName = "") {
    context.loadDialect<ir::TCCDialect>();
    Backend::loadDialects(&context);
    auto described = describeCpu(cpuName);
    EXPECT_TRUE(bool(described));
    cpu = *described;
  }

  mlir::func::FuncOp parse(const std::string& text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    return module ? *module->getOps<mlir::func::FuncOp>().begin() : mlir::func::FuncOp();
  }

  /// Runs the kernel of the function in `text`.
  RunResult run(mlir::func::FuncOp function, const std::vector<Tensor>& inputs, const std::vector<int64_t>& symbols,
                unsigned seed = 1) {
    RunResult result;
    CpuTarget target(&context, CpuTargetOptions{cpu, options, false, {}});
    ir::KernelOp kernel = *function.getOps<ir::KernelOp>().begin();
    std::string why;
    EXPECT_TRUE(target.canCompile(kernel));
    auto code = target.addKernel(kernel, {});
    EXPECT_TRUE(mlir::succeeded(code));
    if (mlir::failed(code)) return result;
    auto bytes = target.finish();
    if (!bytes) {
      ADD_FAILURE() << llvm::toString(bytes.takeError());
      return result;
    }
    auto evaluate = [&](mlir::AffineExpr expr) {
      llvm::SmallVector<mlir::AffineExpr> constants;
      for (int64_t symbol : symbols) constants.push_back(mlir::getAffineConstantExpr(symbol, &context));
      return *ir::getConstant(ir::simplifyExtent(expr.replaceSymbols(constants)));
    };
    LoadedCode loaded(bytes->object);
    std::vector<void*> buffers;
    for (const Tensor& input : inputs) buffers.push_back(input.data());
    for (mlir::Value value : kernel.getResults()) {
      auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
      Dims dims;
      for (mlir::AffineExpr extent : ir::getExtents(type)) dims.push_back(evaluate(extent));
      // What is never written shows, and so does what is written after the end.
      DType dtype = ir::getDType(type.getElementType());
      int64_t bytes = *NumElements(dims) * DTypeBits(dtype) / 8;
      Tensor memory = *Tensor::Allocate(DType::kU8, {bytes + kGuard});
      buffers.push_back(memory.data());
      memset(buffers.back(), kFill, bytes + kGuard);
      result.outputs.push_back(Tensor::Wrap(memory.data(), dtype, dims, ContiguousStrides(dims), [memory] {}));
    }
    std::vector<std::vector<char>> temporaries;
    for (mlir::AffineExpr size : code->temporaryBytes) {
      temporaries.emplace_back(evaluate(size) + 64, 0x7f);
      buffers.push_back(temporaries.back().data());
    }
    std::mt19937 random(seed);
    for (const LaunchSpec& launch : code->launches) {
      std::vector<void*> arguments;
      for (int32_t position : launch.buffers) arguments.push_back(buffers[position]);
      std::vector<int64_t> scalars;
      for (unsigned symbol : launch.symbols) scalars.push_back(symbols[symbol]);
      int64_t items = evaluate(launch.items), scratch = launch.scratchBytes ? evaluate(launch.scratchBytes) : 0;
      EXPECT_GE(launch.grain, 1);
      // In any order: work items must not depend on one another.
      std::vector<std::pair<int64_t, int64_t>> pieces;
      for (int64_t begin = 0; begin < items; begin = pieces.back().second)
        pieces.push_back({begin, std::min<int64_t>(items, begin + 1 + random() % std::max<int64_t>(items / 2, 1))});
      std::shuffle(pieces.begin(), pieces.end(), random);
      for (auto [begin, end] : pieces)
        result.error |= loaded.call(launch.function, arguments, scalars, begin, end, scratch);
    }
    for (const Tensor& output : result.outputs) {
      const char* end = static_cast<const char*>(output.data()) + output.num_elements() * DTypeBits(output.dtype()) / 8;
      EXPECT_TRUE(std::all_of(end, end + kGuard, [](char byte) { return byte == kFill; })) << "written after the end";
    }
    result.code = *code;
    return result;
  }

  /// Runs and compares with the interpreter: floats within `tolerance` of max(1, |expected|), all else exactly.
  void check(const std::string& text, const std::vector<Tensor>& inputs, const std::vector<int64_t>& symbols,
             double tolerance = 1e-5) {
    mlir::func::FuncOp function = parse(text);
    ASSERT_TRUE(function);
    auto expected = ir::interpret(function, inputs);
    ASSERT_TRUE(expected.ok()) << expected.status() << "\n" << text;
    std::vector<Tensor> actual = run(function, inputs, symbols).outputs;
    ASSERT_EQ(actual.size(), expected->size()) << text;
    for (size_t i = 0; i < actual.size(); ++i) compare(actual[i], (*expected)[i], tolerance, text);
  }

  static void compare(const Tensor& actual, const Tensor& expected, double tolerance, const std::string& text) {
    ASSERT_EQ(actual.dtype(), expected.dtype());
    ASSERT_EQ(actual.num_elements(), expected.num_elements()) << text;
    bool isFloat = actual.dtype() == DType::kF32 || actual.dtype() == DType::kF64 || actual.dtype() == DType::kF16 ||
                   actual.dtype() == DType::kBF16;
    for (int64_t k = 0; k < actual.num_elements(); ++k) {
      if (!isFloat) {
        ASSERT_EQ(LoadInt(actual.data(), actual.dtype(), k), LoadInt(expected.data(), expected.dtype(), k))
            << "element " << k << "\n"
            << text;
        continue;
      }
      double a = LoadDouble(actual.data(), actual.dtype(), k), e = LoadDouble(expected.data(), expected.dtype(), k);
      if (std::isnan(e) && std::isnan(a)) continue;
      if (a == e) continue;
      ASSERT_LE(std::abs(a - e), tolerance * std::max(1.0, std::abs(e)))
          << "element " << k << ": " << a << " and not " << e << "\n"
          << text;
    }
  }

  static Tensor random(DType dtype, const std::vector<int64_t>& dims, unsigned seed, double low = -2, double high = 2) {
    Tensor result = *Tensor::Allocate(dtype, dims);
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> distribution(low, high);
    for (int64_t i = 0; i < result.num_elements(); ++i) {
      double value = distribution(generator);
      if (dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kF16 || dtype == DType::kBF16)
        StoreDouble(result.data(), dtype, i, value);
      else
        StoreInt(result.data(), dtype, i, dtype == DType::kBool ? value > 0 : static_cast<int64_t>(std::floor(value)));
    }
    return result;
  }

  mlir::MLIRContext context;
  CpuDescription cpu;
  BackendOptions options;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

}  // namespace tcc::codegen
