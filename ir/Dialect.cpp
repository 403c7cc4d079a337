//===- Dialect.cpp - registration, types and attributes --------------------===//
#include "ir/Dialect.h"

#include "ir/ConstantMemory.h"
#include "ir/Extents.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

#include "ir/Dialect.cpp.inc"
#include "ir/Enums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "ir/Types.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/Attributes.cpp.inc"

namespace tcc::ir {

void TCCDialect::initialize() {
  addInterfaces<ConstantMemory>();
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

//===- Verification -----------------------------------------------------------===//

/// Reports symbols that the enclosing function does not list. A function without a list has symbols without ranges.
static mlir::LogicalResult verifySymbols(mlir::Operation *op, mlir::ArrayAttr symbols, ExtentsAttr extents,
                                         llvm::StringRef what) {
  if (!symbols)
    return mlir::success();
  std::optional<unsigned> unknown;
  bool hasDim = false;
  for (mlir::AffineExpr expr : extents.getExprs())
    expr.walk([&](mlir::AffineExpr e) {
      if (auto symbol = llvm::dyn_cast<mlir::AffineSymbolExpr>(e); symbol && symbol.getPosition() >= symbols.size())
        unknown = symbol.getPosition();
      hasDim |= llvm::isa<mlir::AffineDimExpr>(e);
    });
  if (hasDim)
    return op->emitOpError() << what << " names a loop index; only symbols may appear in extents";
  if (unknown)
    return op->emitOpError() << what << " names the symbol s" << *unknown << ", but the function has " << symbols.size()
                             << " symbols";
  return mlir::success();
}

mlir::LogicalResult verifyKnownExtents(mlir::Operation *op) {
  mlir::ArrayAttr symbols; // null if no function lists its symbols
  if (auto function = op->getParentOfType<mlir::FunctionOpInterface>())
    symbols = function->getAttrOfType<mlir::ArrayAttr>(TCCDialect::kSymbolsAttr);
  auto verifyType = [&](mlir::Type type, llvm::StringRef what) -> mlir::LogicalResult {
    auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
    if (!tensor)
      return mlir::success();
    auto extents = llvm::dyn_cast_or_null<ExtentsAttr>(tensor.getEncoding());
    if (tensor.hasStaticShape()) {
      if (tensor.getEncoding())
        return op->emitOpError() << what << " is static and so must not carry an encoding: " << type;
      return mlir::success();
    }
    if (!extents)
      return op->emitOpError() << what << " is dynamic but does not carry its extents as #tcc.extents<...>: " << type;
    return verifySymbols(op, symbols, extents, what);
  };
  for (mlir::Type type : op->getOperandTypes())
    if (failed(verifyType(type, "operand type")))
      return mlir::failure();
  for (mlir::Type type : op->getResultTypes())
    if (failed(verifyType(type, "result type")))
      return mlir::failure();
  for (mlir::Region &region : op->getRegions())
    for (mlir::Block &block : region)
      for (mlir::Type type : block.getArgumentTypes())
        if (failed(verifyType(type, "block argument type")))
          return mlir::failure();
  for (mlir::NamedAttribute attribute : op->getAttrs())
    if (auto extents = llvm::dyn_cast<ExtentsAttr>(attribute.getValue()))
      if (failed(verifySymbols(op, symbols, extents, attribute.getName().getValue())))
        return mlir::failure();
  return mlir::success();
}

mlir::LogicalResult TCCDialect::verifyOperationAttribute(mlir::Operation *op, mlir::NamedAttribute attribute) {
  if (attribute.getName() != kSymbolsAttr)
    return mlir::success();
  auto symbols = llvm::dyn_cast<mlir::ArrayAttr>(attribute.getValue());
  if (!symbols || !llvm::isa<mlir::FunctionOpInterface>(op))
    return op->emitOpError() << "'" << kSymbolsAttr << "' must be a list of #tcc.symbol on a function";
  for (mlir::Attribute element : symbols) {
    auto symbol = llvm::dyn_cast<SymbolAttr>(element);
    if (!symbol)
      return op->emitOpError() << "'" << kSymbolsAttr << "' must be a list of #tcc.symbol, not " << element;
    if (symbol.getMin() < 0 || symbol.getMin() > symbol.getMax() || symbol.getMultipleOf() < 1)
      return op->emitOpError() << "symbol '" << symbol.getName() << "' has an empty or negative range: " << symbol;
  }
  return mlir::success();
}

mlir::LogicalResult TCCDialect::verifyRegionArgAttribute(mlir::Operation *op, unsigned, unsigned argument,
                                                         mlir::NamedAttribute attribute) {
  if (attribute.getName() == kInputNameAttr && !llvm::isa<mlir::StringAttr>(attribute.getValue()))
    return op->emitOpError() << "'" << kInputNameAttr << "' of argument " << argument << " must be a string";
  return mlir::success();
}

} // namespace tcc::ir
