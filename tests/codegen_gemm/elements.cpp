#include "tests/codegen_gemm/elements.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "gtest/gtest.h"
#include "llvm/ADT/APFloat.h"
#include "mlir/IR/BuiltinTypes.h"

namespace tcc::codegen::testing {

double Read(const char* at, mlir::Type type) {
  unsigned bits = type.getIntOrFloatBitWidth();
  if (auto floating = llvm::dyn_cast<mlir::FloatType>(type)) {
    uint64_t raw = 0;
    std::memcpy(&raw, at, bits / 8);
    llvm::APFloat value(floating.getFloatSemantics(), llvm::APInt(bits, raw));
    bool lost;
    value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
    return value.convertToDouble();
  }
  switch (bits) {
    case 1:
      return *at != 0;
    case 8:
      return *reinterpret_cast<const int8_t*>(at);
    case 16:
      return *reinterpret_cast<const int16_t*>(at);
    case 32:
      return *reinterpret_cast<const int32_t*>(at);
    default:
      return static_cast<double>(*reinterpret_cast<const int64_t*>(at));
  }
}

void Write(char* at, mlir::Type type, double value) {
  unsigned bits = type.getIntOrFloatBitWidth();
  if (auto floating = llvm::dyn_cast<mlir::FloatType>(type)) {
    llvm::APFloat number(value);
    bool lost;
    number.convert(floating.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &lost);
    uint64_t raw = number.bitcastToAPInt().getZExtValue();
    std::memcpy(at, &raw, bits / 8);
    return;
  }
  int64_t integer = static_cast<int64_t>(value);
  std::memcpy(at, &integer, bits == 1 ? 1 : bits / 8);
}

int64_t Bytes(mlir::Type type) { return std::max(8u, type.getIntOrFloatBitWidth()) / 8; }
mlir::Type Element(mlir::Type tensor) { return llvm::cast<mlir::RankedTensorType>(tensor).getElementType(); }

std::vector<Array> RandomInputs(ir::KernelOp kernel, const std::vector<int64_t>& symbols) {
  std::vector<Array> inputs;
  std::mt19937 random(7);
  for (mlir::Type type : kernel.getBody().front().getArgumentTypes()) {
    Array array{DimsOf(type, symbols), {}};
    mlir::Type element = Element(type);
    int64_t count = 1;
    for (int64_t d : array.dims) count *= d;
    for (int64_t i = 0; i < count; ++i) {
      const auto number = static_cast<int64_t>(random());
      int64_t draw = number % 33;
      if (element.isInteger(8)) draw = number / 33 % 256 - 112;  // any byte, less 16
      array.values.push_back(llvm::isa<mlir::FloatType>(element) ? (draw - 16.0) / 8
                             : element.isInteger(1)              ? draw % 2
                                                                 : draw - 16);
    }
    inputs.push_back(std::move(array));
  }
  return inputs;
}

void Compare(ir::KernelOp kernel, const std::vector<Array>& want, const std::vector<Array>& got, double tolerance_,
             const std::string& text) {
  ASSERT_EQ(want.size(), got.size());
  for (size_t r = 0; r < want.size(); ++r) {
    ASSERT_EQ(want[r].dims, got[r].dims);
    mlir::Type element = Element(kernel->getResult(r).getType());
    double top = 1, tolerance = tolerance_;
    for (double value : want[r].values)
      if (std::isfinite(value)) top = std::max(top, std::abs(value));
    if (element.isF16()) tolerance = std::max(tolerance, 1e-3);
    if (element.isBF16()) tolerance = std::max(tolerance, 8e-3);
    for (int64_t i = 0; i < want[r].size(); ++i) {
      double expected = want[r].values[i];
      if (llvm::isa<mlir::IntegerType>(element) && element.getIntOrFloatBitWidth() < 32 && !element.isInteger(1)) {
        int64_t wrapped = static_cast<int64_t>(expected);
        unsigned drop = 64 - element.getIntOrFloatBitWidth();
        expected = static_cast<double>(static_cast<int64_t>(static_cast<uint64_t>(wrapped) << drop) >> drop);
      }
      double allowed = llvm::isa<mlir::FloatType>(element) ? tolerance * top : 0;
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(got[r].values[i])) << "element " << i << " must be NaN\n" << text;
        continue;
      }
      ASSERT_LE(std::abs(got[r].values[i] - expected), allowed)
          << "result " << r << " element " << i << " of " << want[r].size() << ": got " << got[r].values[i] << ", want "
          << expected << "\n"
          << text;
    }
  }
}

}  // namespace tcc::codegen::testing
