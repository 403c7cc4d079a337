//===- Extents.cpp - symbolic extents of tensor types ----------------------===//
#include "ir/Extents.h"

#include "llvm/Support/MathExtras.h"

namespace tcc::ir {

using mlir::AffineExpr;
using mlir::RankedTensorType;

Exprs getExtents(mlir::Type type) {
  auto tensor = llvm::cast<RankedTensorType>(type);
  if (auto encoding = llvm::dyn_cast_or_null<ExtentsAttr>(tensor.getEncoding()))
    return Exprs(encoding.getExprs());
  assert(tensor.hasStaticShape() && "a dynamic type carries its extents");
  Exprs extents;
  for (int64_t extent : tensor.getShape())
    extents.push_back(mlir::getAffineConstantExpr(extent, type.getContext()));
  return extents;
}

AffineExpr getExtent(mlir::Type type, int64_t axis) { return getExtents(type)[axis]; }

RankedTensorType makeTensorType(llvm::ArrayRef<AffineExpr> extents, mlir::Type elementType) {
  Exprs simplified;
  llvm::SmallVector<int64_t> shape;
  bool dynamic = false;
  for (AffineExpr extent : extents) {
    simplified.push_back(simplifyExtent(extent));
    std::optional<int64_t> constant = getConstant(simplified.back());
    shape.push_back(constant ? *constant : mlir::ShapedType::kDynamic);
    dynamic |= !constant;
  }
  mlir::Attribute encoding;
  if (dynamic)
    encoding = ExtentsAttr::get(elementType.getContext(), simplified);
  return RankedTensorType::get(shape, elementType, encoding);
}

RankedTensorType makeTensorType(mlir::MLIRContext *, llvm::ArrayRef<int64_t> extents, mlir::Type elementType) {
  return RankedTensorType::get(extents, elementType);
}

RankedTensorType withElementType(RankedTensorType type, mlir::Type elementType) {
  return RankedTensorType::get(type.getShape(), elementType, type.getEncoding());
}

std::optional<int64_t> getConstant(AffineExpr expr) {
  if (auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(expr))
    return constant.getValue();
  return std::nullopt;
}

int64_t ceilModePadding(int64_t high, int64_t span, int64_t stride) {
  // Windows are ceil((extent + low + high - span) / stride) + 1, but no more than ceil((extent + low) / stride), which
  // is ceil((extent + low + min(high - span + stride, 0)) / stride). Of high padding as wide as a window, only one
  // window is taken off, as https://onnx.ai/onnx/operators/onnx__MaxPool.html does.
  return high >= span ? high - 1 : std::min(high + stride, span) - 1;
}

AffineExpr product(mlir::MLIRContext *context, llvm::ArrayRef<AffineExpr> exprs) {
  AffineExpr result = mlir::getAffineConstantExpr(1, context);
  for (AffineExpr expr : exprs)
    result = simplifyExtent(result * expr);
  return result;
}

namespace {

using Range = std::pair<int64_t, int64_t>;

int64_t saturatingMul(int64_t a, int64_t b) {
  int64_t result;
  if (!llvm::MulOverflow(a, b, result))
    return result;
  return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

int64_t saturatingAdd(int64_t a, int64_t b) {
  int64_t result;
  if (!llvm::AddOverflow(a, b, result))
    return result;
  return a < 0 ? INT64_MIN : INT64_MAX;
}

Range rangeOf(AffineExpr expr, mlir::ArrayAttr symbols) {
  constexpr Range kUnknown{INT64_MIN, INT64_MAX};
  switch (expr.getKind()) {
  case mlir::AffineExprKind::Constant: {
    int64_t value = llvm::cast<mlir::AffineConstantExpr>(expr).getValue();
    return {value, value};
  }
  case mlir::AffineExprKind::SymbolId: {
    unsigned position = llvm::cast<mlir::AffineSymbolExpr>(expr).getPosition();
    if (symbols && position < symbols.size())
      if (auto symbol = llvm::dyn_cast<SymbolAttr>(symbols[position]))
        return {symbol.getMin(), symbol.getMax()};
    return {0, INT64_MAX};
  }
  case mlir::AffineExprKind::DimId:
    return kUnknown;
  default:
    break;
  }
  auto binary = llvm::cast<mlir::AffineBinaryOpExpr>(expr);
  Range l = rangeOf(binary.getLHS(), symbols), r = rangeOf(binary.getRHS(), symbols);
  switch (expr.getKind()) {
  case mlir::AffineExprKind::Add:
    return {saturatingAdd(l.first, r.first), saturatingAdd(l.second, r.second)};
  case mlir::AffineExprKind::Mul: {
    int64_t corners[] = {saturatingMul(l.first, r.first), saturatingMul(l.first, r.second),
                         saturatingMul(l.second, r.first), saturatingMul(l.second, r.second)};
    return {*std::min_element(std::begin(corners), std::end(corners)),
            *std::max_element(std::begin(corners), std::end(corners))};
  }
  case mlir::AffineExprKind::Mod:
    if (r.first <= 0)
      return kUnknown;
    if (l.first >= 0 && l.second < r.first)
      return l;
    return {0, r.second == INT64_MAX ? INT64_MAX : r.second - 1};
  case mlir::AffineExprKind::FloorDiv:
  case mlir::AffineExprKind::CeilDiv: {
    if (r.first <= 0)
      return kUnknown;
    bool ceil = expr.getKind() == mlir::AffineExprKind::CeilDiv;
    auto divide = [&](int64_t a, int64_t b) {
      if (a == INT64_MAX || a == INT64_MIN)
        return a;
      return ceil ? llvm::divideCeilSigned(a, b) : llvm::divideFloorSigned(a, b);
    };
    return {std::min(divide(l.first, r.first), divide(l.first, r.second)),
            std::max(divide(l.second, r.first), divide(l.second, r.second))};
  }
  default:
    return kUnknown;
  }
}

} // namespace

std::pair<int64_t, int64_t> getValueRange(AffineExpr expr, mlir::ArrayAttr symbols) { return rangeOf(expr, symbols); }

std::pair<int64_t, int64_t> getRange(AffineExpr expr, mlir::ArrayAttr symbols) {
  Range range = rangeOf(expr, symbols);
  // Extents are never negative.
  return {std::max<int64_t>(range.first, 0), std::max<int64_t>(range.second, 0)};
}

mlir::ArrayAttr getSymbols(mlir::Operation *op) {
  mlir::MLIRContext *context = op->getContext();
  for (; op; op = op->getParentOp())
    if (llvm::isa<mlir::FunctionOpInterface>(op))
      if (auto symbols = op->getAttrOfType<mlir::ArrayAttr>(TCCDialect::kSymbolsAttr))
        return symbols;
  return mlir::ArrayAttr::get(context, {});
}

AffineExpr addSymbol(mlir::FunctionOpInterface function, llvm::StringRef name, int64_t min, int64_t max,
                     int64_t multipleOf) {
  mlir::MLIRContext *context = function->getContext();
  llvm::SmallVector<mlir::Attribute> symbols;
  if (auto existing = function->getAttrOfType<mlir::ArrayAttr>(TCCDialect::kSymbolsAttr))
    llvm::append_range(symbols, existing);
  unsigned position = symbols.size();
  symbols.push_back(SymbolAttr::get(context, name, min, max, multipleOf));
  function->setAttr(TCCDialect::kSymbolsAttr, mlir::ArrayAttr::get(context, symbols));
  return mlir::getAffineSymbolExpr(position, context);
}

} // namespace tcc::ir
