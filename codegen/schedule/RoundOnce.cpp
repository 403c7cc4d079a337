//===- RoundOnce.cpp ------------------------------------------------------===//
#include "codegen/schedule/RoundOnce.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

struct Rounding {
  OpBuilder &b;
  Location loc;

  static Type like(Value x, Type element) {
    auto shaped = llvm::dyn_cast<VectorType>(x.getType());
    return shaped ? Type(shaped.clone(element)) : element;
  }
  Value integer(Type type, uint64_t value) {
    TypedAttr attr = b.getIntegerAttr(getElementTypeOrSelf(type), static_cast<int64_t>(value));
    if (auto shaped = llvm::dyn_cast<VectorType>(type))
      attr = DenseElementsAttr::get(shaped, llvm::cast<Attribute>(attr));
    return b.create<arith::ConstantOp>(loc, attr);
  }

  // The low 11 bits of what float64 cannot hold, as one bit above them. (Also of negative numbers: those bits are
  // rounded down, and the last one that is kept says so.)
  Value exactInFloat64(Value x, bool isUnsigned) {
    Type type = x.getType();
    constexpr uint64_t kExact = uint64_t{1} << 53, kLow = 0x7ff;
    Value lost = b.create<arith::AndIOp>(loc, x, integer(type, kLow));
    Value sticky = b.create<arith::AddIOp>(loc, lost, integer(type, kLow));
    Value rounded = b.create<arith::AndIOp>(loc, b.create<arith::OrIOp>(loc, x, sticky), integer(type, ~kLow));
    Value shifted = isUnsigned ? x : b.create<arith::AddIOp>(loc, x, integer(type, kExact)).getResult();
    Value large = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ugt, shifted,
                                          integer(type, isUnsigned ? kExact : 2 * kExact));
    return b.create<arith::SelectOp>(loc, large, rounded, x);
  }

  Value toOdd(Value x) {
    Type single = like(x, b.getF32Type()), bits = like(x, b.getI32Type());
    Value nearest = b.create<arith::TruncFOp>(loc, single, x);
    Value back = b.create<arith::ExtFOp>(loc, x.getType(), nearest);
    // NaN compares false: it stays as it is.
    Value inexact = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::ONE, back, x);
    Value above = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OGT, back, x);
    Value negative = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt,
                                             b.create<arith::BitcastOp>(loc, bits, nearest), integer(bits, 0));
    Value away = b.create<arith::AndIOp>(loc, inexact, b.create<arith::XOrIOp>(loc, above, negative));
    Value one = integer(bits, 1), zero = integer(bits, 0);
    // Signs and magnitudes: one less is towards zero.
    Value cut = b.create<arith::SubIOp>(loc, b.create<arith::BitcastOp>(loc, bits, nearest),
                                        b.create<arith::SelectOp>(loc, away, one, zero));
    Value odd = b.create<arith::OrIOp>(loc, cut, b.create<arith::SelectOp>(loc, inexact, one, zero));
    return b.create<arith::BitcastOp>(loc, single, odd);
  }
};

} // namespace

Value toFloat32ForHalf(OpBuilder &b, Location loc, Value x, bool isUnsigned) {
  Rounding r{b, loc};
  if (auto type = llvm::dyn_cast<IntegerType>(getElementTypeOrSelf(x.getType()))) {
    // Up to 24 bits are exact in float32.
    Type real = Rounding::like(x, type.getWidth() <= 16 ? Type(b.getF32Type()) : Type(b.getF64Type()));
    if (type.getWidth() == 64)
      x = r.exactInFloat64(x, isUnsigned);
    x = isUnsigned ? b.create<arith::UIToFPOp>(loc, real, x).getResult()
                   : b.create<arith::SIToFPOp>(loc, real, x).getResult();
  }
  return getElementTypeOrSelf(x.getType()).isF64() ? r.toOdd(x) : x;
}

} // namespace tcc::codegen
