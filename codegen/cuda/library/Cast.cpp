//===- Cast.cpp - conversions of narrow element types, on the device -------===//
//
// Casts between the types that kernels compute in are loops. 8-bit and 4-bit floats and packed integers are only
// stored: they become something else in a launch of its own.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/library/LibraryKernel.h"
#include "ir/ElementTypes.h"
#include "runtime/dtype.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

constexpr int kThreads = 256;

// The format in narrow.cuh, empty for types that have none.
std::string formatText(Type element) {
  switch (ir::getDType(element)) {
  case DType::kBool:
    return "tcc::Boolean";
  case DType::kF8E4M3FN:
    return "tcc::Narrow<tcc::Float8E4M3FN>";
  case DType::kF8E4M3FNUZ:
    return "tcc::Narrow<tcc::Float8E4M3FNUZ>";
  case DType::kF8E5M2:
    return "tcc::Narrow<tcc::Float8E5M2>";
  case DType::kF8E5M2FNUZ:
    return "tcc::Narrow<tcc::Float8E5M2FNUZ>";
  case DType::kF8E8M0:
    return "tcc::Narrow<tcc::Float8E8M0>";
  case DType::kF4E2M1:
    return "tcc::Float4E2M1";
  case DType::kI4:
    return "tcc::Packed<4, true>";
  case DType::kU4:
    return "tcc::Packed<4, false>";
  case DType::kI2:
    return "tcc::Packed<2, true>";
  case DType::kU2:
    return "tcc::Packed<2, false>";
  default:
    return elementText(element).empty() ? "" : "tcc::Plain<" + elementText(element) + ">";
  }
}

void applyCast(LibraryKernel &kernel) {
  auto op = cast<ir::CastOp>(kernel.op);
  Type from = elementTypeOf(op.getX()), to = elementTypeOf(op.getY());
  AffineExpr count = kernel.product(ir::getExtents(op.getY().getType()));
  int bits = DTypeBits(ir::getDType(to)), perByte = bits < 8 ? 8 / bits : 1;
  kernel.launch("cast", "narrow.cuh", kThreads, count.ceilDiv(int64_t(kThreads) * perByte),
                {{kernel.input(0), "x"}, {kernel.result(0), "y", true}}, {{"count", count}},
                "  tcc::cast_elements<" + formatText(from) + ", " + formatText(to) + ">(x, y, count, " +
                    (op.getSaturate() ? "true" : "false") + ");\n");
}

bool isCast(Operation *op) {
  return isa<ir::CastOp>(op) && !formatText(elementTypeOf(op->getOperand(0))).empty() &&
         !formatText(elementTypeOf(op->getResult(0))).empty();
}

} // namespace

const LibrarySchedule castSchedule = {"cast", isCast, applyCast, /*narrow=*/true};

} // namespace tcc::codegen::cuda
