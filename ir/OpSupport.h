//===- OpSupport.h - helpers shared by the op families ----------*- C++ -*-===//
#pragma once

#include "ir/Dialect.h"
#include "ir/Extents.h"

namespace tcc::ir {

/// Shape inference of one result from the op's adaptor: `infer(adaptor, loc)` returns the type, or null after reporting
/// through mlir::emitOptionalError. Must not assume that the verifier has run.
template <typename Op, typename Infer>
mlir::LogicalResult inferOne(mlir::MLIRContext *, std::optional<mlir::Location> loc, mlir::ValueRange operands,
                             mlir::DictionaryAttr attributes, mlir::OpaqueProperties properties,
                             mlir::RegionRange regions, llvm::SmallVectorImpl<mlir::Type> &types, Infer infer) {
  typename Op::Adaptor adaptor(operands, attributes, properties, regions);
  mlir::Type type = infer(adaptor, loc);
  if (!type)
    return mlir::failure();
  types.push_back(type);
  return mlir::success();
}

inline mlir::RankedTensorType tensorType(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}
inline int64_t rankOf(mlir::Value value) { return tensorType(value).getRank(); }

/// Reports unless every value is in [0, rank), all distinct.
inline mlir::LogicalResult checkAxes(std::optional<mlir::Location> loc, llvm::ArrayRef<int64_t> axes, int64_t rank) {
  llvm::SmallVector<bool> seen(rank, false);
  for (int64_t axis : axes) {
    if (axis < 0 || axis >= rank)
      return mlir::emitOptionalError(loc, "axis ", axis, " is outside [0, ", rank, ")");
    if (seen[axis])
      return mlir::emitOptionalError(loc, "axis ", axis, " is listed twice");
    seen[axis] = true;
  }
  return mlir::success();
}

/// An expression as text, for diagnostics.
inline std::string toString(mlir::AffineExpr expr) {
  std::string text;
  llvm::raw_string_ostream(text) << expr;
  return text;
}

/// Whether two extents can be equal: false only where both are known and differ.
inline bool maybeEqual(mlir::AffineExpr a, mlir::AffineExpr b) {
  auto difference = getConstant(simplifyExtent(a - b));
  return !difference || *difference == 0;
}

} // namespace tcc::ir

/// Defines Op::inferReturnTypes by a lambda body over `a` (the adaptor) and `loc`.
#define TCC_INFER(OP, ...)                                                                                             \
  mlir::LogicalResult OP::inferReturnTypes(mlir::MLIRContext *context, std::optional<mlir::Location> location,         \
                                           mlir::ValueRange operands, mlir::DictionaryAttr attributes,                 \
                                           mlir::OpaqueProperties properties, mlir::RegionRange regions,               \
                                           llvm::SmallVectorImpl<mlir::Type> &types) {                                 \
    return inferOne<OP>(context, location, operands, attributes, properties, regions, types,                           \
                        [](OP::Adaptor a, std::optional<mlir::Location> loc) -> mlir::Type __VA_ARGS__);               \
  }
