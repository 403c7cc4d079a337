// Every stage of the way to kernels computes what level 1 does: the interpreter runs each.
#include "tests/codegen_fusion/fusion_test.h"

#include <cmath>
#include <random>

#include "codegen/fusion/Passes.h"
#include "ir/ElementTypes.h"
#include "ir/Extents.h"
#include "ir/Interpreter.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/dispatch.h"

namespace tcc::codegen {

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::string single(const std::string& op, const std::string& attributes, const std::string& from,
                   const std::string& to) {
  return "func.func @f(%x: " + from + ") -> " + to + " {\n%y = tcc." + op + " %x " + attributes + " : (" + from +
         ") -> " + to + "\nreturn %y : " + to + "\n}";
}

namespace {

Tensor randomTensor(DType dtype, const Dims& dims, int64_t limit, std::mt19937& rng) {
  Tensor t = *Tensor::Allocate(dtype, dims);
  if (dtype == DType::kF16) {  // small multiples of 1/8, exact in half precision
    for (int64_t i = 0; i < t.num_elements(); ++i)
      t.data_as<uint16_t>()[i] = static_cast<uint16_t>(0x3000 + (rng() % 0xC00));
    return t;
  }
  const absl::Status filled = DispatchNumberOrBool(dtype, [&]<typename T>() -> absl::Status {
    for (int64_t i = 0; i < t.num_elements(); ++i) {
      T& element = t.data_as<T>()[i];
      if constexpr (std::is_same_v<T, bool>) {
        element = rng() & 1;
      } else if constexpr (std::is_floating_point_v<T>) {
        element = static_cast<T>(std::uniform_real_distribution<double>(-2, 2)(rng));
      } else if constexpr (std::is_integral_v<T>) {
        const int64_t bound = limit ? limit : 5, low = std::is_unsigned_v<T> ? 0 : -bound;
        element = static_cast<T>(std::uniform_int_distribution<int64_t>(low, bound - 1)(rng));
      } else {
        return absl::UnimplementedError("no random values of this type");
      }
    }
    return absl::OkStatus();
  });
  EXPECT_TRUE(filled.ok()) << filled;
  return t;
}

template <typename T>
void compareAs(const Tensor& a, const Tensor& b, const std::string& where) {
  for (int64_t i = 0; i < a.num_elements(); ++i) {
    T x = a.data_as<T>()[i], y = b.data_as<T>()[i];
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(x) && std::isnan(y)) continue;
      if (x == y) continue;
      double tolerance = 2e-5 * std::max<double>(1.0, std::fabs(x));
      ASSERT_LE(std::fabs(double(x) - double(y)), tolerance) << where << " element " << i << ": " << x << " and " << y;
    } else {
      ASSERT_EQ(x, y) << where << " element " << i;
    }
  }
}

void compare(const Tensor& want, const Tensor& have, const std::string& where) {
  ASSERT_EQ(want.type(), have.type()) << where;
  Tensor a = *want.Contiguous(), b = *have.Contiguous();
  switch (want.dtype()) {
    case DType::kF32:
      return compareAs<float>(a, b, where);
    case DType::kF64:
      return compareAs<double>(a, b, where);
    case DType::kI64:
      return compareAs<int64_t>(a, b, where);
    case DType::kI32:
      return compareAs<int32_t>(a, b, where);
    case DType::kI8:
      return compareAs<int8_t>(a, b, where);
    case DType::kU8:
      return compareAs<uint8_t>(a, b, where);
    case DType::kBool:
      return compareAs<uint8_t>(a, b, where);
    case DType::kF16: {
      for (int64_t i = 0; i < a.num_elements(); ++i)
        ASSERT_LE(std::abs(int(a.data_as<int16_t>()[i]) - int(b.data_as<int16_t>()[i])), 1)
            << where << " element " << i;
      return;
    }
    default:
      FAIL() << "cannot compare";
  }
}

TEST_P(FusionTest, EveryStageComputesTheSame) {
  const Case& c = GetParam();
  mlir::MLIRContext context;
  context.loadDialect<ir::TCCDialect, mlir::func::FuncDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
  std::string errors;
  context.getDiagEngine().registerHandler([&](mlir::Diagnostic& diagnostic) { errors += diagnostic.str() + "\n"; });
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(c.text, &context);
  ASSERT_TRUE(module) << errors;
  auto print = [&] {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module->print(stream);
    return text;
  };
  auto function = *module->getOps<mlir::func::FuncOp>().begin();

  std::mt19937 rng(7);
  std::vector<Tensor> inputs;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    Dims dims;
    for (mlir::AffineExpr extent : ir::getExtents(type)) {
      mlir::SmallVector<mlir::AffineExpr> values;
      for (int64_t value : c.symbols) values.push_back(mlir::getAffineConstantExpr(value, &context));
      dims.push_back(*ir::getConstant(ir::simplifyExtent(extent.replaceSymbols(values))));
    }
    int64_t limit = i < c.indexLimits.size() ? c.indexLimits[i] : 0;
    inputs.push_back(
        randomTensor(ir::getDType(mlir::cast<mlir::RankedTensorType>(type).getElementType()), dims, limit, rng));
    if (c.index && inputs.back().dtype() == DType::kI64)
      std::fill_n(inputs.back().data_as<int64_t>(), inputs.back().num_elements(), *c.index);
  }
  absl::StatusOr<std::vector<Tensor>> want = ir::interpret(function, inputs);
  if (c.outOfRange)
    ASSERT_FALSE(want.ok());
  else
    ASSERT_TRUE(want.ok()) << want.status();

  FuseSiblingsPassOptions siblings;
  siblings.leastBytes = 0;  // or none of these would be merged
  for (const char* stage : {"lowered", "fused", "siblings"}) {
    mlir::PassManager passes(&context);
    passes.addNestedPass<mlir::func::FuncOp>(stage[0] == 'l'   ? createLowerToKernelsPass(nullptr)
                                             : stage[0] == 'f' ? createFuseKernelsPass(nullptr)
                                                               : createFuseSiblingsPass(nullptr, siblings));
    passes.addNestedPass<mlir::func::FuncOp>(createVerifyKernelsPass());
    ASSERT_TRUE(succeeded(passes.run(*module))) << errors << print();
    absl::StatusOr<std::vector<Tensor>> have = ir::interpret(function, inputs);
    if (c.outOfRange) {
      ASSERT_EQ(have.status().code(), absl::StatusCode::kOutOfRange) << have.status() << "\n" << print();
      continue;
    }
    ASSERT_TRUE(have.ok()) << have.status() << "\n" << print();
    ASSERT_EQ(want->size(), have->size());
    for (size_t i = 0; i < want->size(); ++i) {
      compare((*want)[i], (*have)[i], std::string(stage) + ", output " + std::to_string(i));
      if (HasFatalFailure()) FAIL() << print();
    }
  }
  int64_t kernels = 0;
  function.walk([&](ir::KernelOp) { ++kernels; });
  if (c.mostKernels >= 0) EXPECT_LE(kernels, c.mostKernels) << print();
}

}  // namespace
}  // namespace tcc::codegen
