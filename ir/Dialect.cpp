//===- Dialect.cpp - registration, types and attributes --------------------===//
#include "ir/Dialect.h"

#include "ir/Extents.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "ir/Dialect.cpp.inc"
#include "ir/Enums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "ir/Types.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/Attributes.cpp.inc"

namespace tcc::ir {

void TCCDialect::initialize() {
  registerTypes();
  registerAttributes();
  registerPointwiseOps();
  registerShapeOps();
  registerReduceOps();
  registerNNOps();
  registerControlOps();
  registerKernelOps();
}

void TCCDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/Types.cpp.inc"
      >();
}

void TCCDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/Attributes.cpp.inc"
      >();
}

mlir::Operation *TCCDialect::materializeConstant(mlir::OpBuilder &builder, mlir::Attribute value, mlir::Type type,
                                                 mlir::Location loc) {
  if (auto extents = llvm::dyn_cast<ExtentsAttr>(value))
    return builder.create<ExtentsOp>(loc, type, extents);
  auto elements = llvm::dyn_cast<mlir::ElementsAttr>(value);
  if (!elements || elements.getShapedType() != type)
    return nullptr;
  return builder.create<ConstantOp>(loc, type, elements);
}

//===- #tcc.extents -------------------------------------------------------------===//

std::optional<llvm::SmallVector<int64_t>> ExtentsAttr::getConstants() const {
  llvm::SmallVector<int64_t> values;
  for (mlir::AffineExpr expr : getExprs()) {
    auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(expr);
    if (!constant)
      return std::nullopt;
    values.push_back(constant.getValue());
  }
  return values;
}

ExtentsAttr ExtentsAttr::fromConstants(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> values) {
  llvm::SmallVector<mlir::AffineExpr> exprs;
  for (int64_t value : values)
    exprs.push_back(mlir::getAffineConstantExpr(value, context));
  return get(context, exprs);
}

mlir::LogicalResult ExtentsAttr::verifyEncoding(llvm::ArrayRef<int64_t> shape, mlir::Type,
                                                llvm::function_ref<mlir::InFlightDiagnostic()> emitError) const {
  if (shape.size() != getExprs().size())
    return emitError() << "has " << shape.size() << " extents, but its encoding lists " << getExprs().size();
  for (auto [axis, extent] : llvm::enumerate(shape)) {
    auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(getExprs()[axis]);
    int64_t listed = constant ? constant.getValue() : mlir::ShapedType::kDynamic;
    if (listed != extent)
      return emitError() << "extent of axis " << axis << " differs from its encoding";
  }
  return mlir::success();
}

void ExtentsAttr::print(mlir::AsmPrinter &printer) const {
  printer << "<";
  llvm::interleaveComma(getExprs(), printer, [&](mlir::AffineExpr expr) { printer << expr; });
  printer << ">";
}

mlir::Attribute ExtentsAttr::parse(mlir::AsmParser &parser, mlir::Type) {
  // Symbols print as s0, s1, ...; a function never has as many as this.
  static constexpr unsigned kMaxSymbols = 1024;
  llvm::SmallVector<std::string, 0> names;
  llvm::SmallVector<std::pair<llvm::StringRef, mlir::AffineExpr>> symbols;
  names.reserve(kMaxSymbols);
  for (unsigned position = 0; position < kMaxSymbols; ++position) {
    names.push_back("s" + std::to_string(position));
    symbols.emplace_back(names.back(), mlir::getAffineSymbolExpr(position, parser.getContext()));
  }
  llvm::SmallVector<mlir::AffineExpr> exprs;
  if (parser.parseLess())
    return {};
  if (mlir::succeeded(parser.parseOptionalGreater()))
    return get(parser.getContext(), exprs);
  do {
    mlir::AffineExpr expr;
    if (parser.parseAffineExpr(symbols, expr))
      return {};
    exprs.push_back(simplifyExtent(expr));
  } while (mlir::succeeded(parser.parseOptionalComma()));
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), exprs);
}

} // namespace tcc::ir
