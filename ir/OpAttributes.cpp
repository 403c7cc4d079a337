//===- OpAttributes.cpp - an op's attributes as the runtime's --------------===//
#include "ir/OpAttributes.h"

#include "ir/ElementTypes.h"
#include "llvm/Support/MathExtras.h"

namespace tcc::ir {

std::optional<int64_t> evaluate(mlir::AffineExpr expr, SymbolValue symbolValue, SymbolValue dimValue) {
  if (auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto symbol = llvm::dyn_cast<mlir::AffineSymbolExpr>(expr))
    return symbolValue ? symbolValue(symbol.getPosition()) : std::nullopt;
  if (auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(expr))
    return dimValue ? dimValue(dim.getPosition()) : std::nullopt;
  auto binary = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  std::optional<int64_t> l = evaluate(binary.getLHS(), symbolValue, dimValue),
                         r = evaluate(binary.getRHS(), symbolValue, dimValue);
  if (!l || !r)
    return std::nullopt;
  int64_t result;
  switch (expr.getKind()) {
  case mlir::AffineExprKind::Add:
    return llvm::AddOverflow(*l, *r, result) ? std::nullopt : std::optional(result);
  case mlir::AffineExprKind::Mul:
    return llvm::MulOverflow(*l, *r, result) ? std::nullopt : std::optional(result);
  case mlir::AffineExprKind::FloorDiv:
    return *r <= 0 ? std::nullopt : std::optional(llvm::divideFloorSigned(*l, *r));
  case mlir::AffineExprKind::CeilDiv:
    return *r <= 0 ? std::nullopt : std::optional(llvm::divideCeilSigned(*l, *r));
  case mlir::AffineExprKind::Mod:
    return *r <= 0 ? std::nullopt : std::optional(llvm::mod(*l, *r));
  default:
    return std::nullopt;
  }
}

namespace {

absl::Status setAttribute(Attributes &attributes, llvm::StringRef key, mlir::Attribute attribute,
                          SymbolValue symbolValue) {
  std::string name = key.str();
  auto setEnum = [&](llvm::StringRef text) { attributes.Set(name, text.str()); };
  if (auto value = llvm::dyn_cast<mlir::BoolAttr>(attribute)) {
    attributes.Set(name, static_cast<int64_t>(value.getValue()));
  } else if (auto value = llvm::dyn_cast<mlir::IntegerAttr>(attribute)) {
    attributes.Set(name, value.getValue().getSExtValue());
  } else if (auto value = llvm::dyn_cast<mlir::FloatAttr>(attribute)) {
    attributes.Set(name, value.getValueAsDouble());
  } else if (auto value = llvm::dyn_cast<mlir::StringAttr>(attribute)) {
    attributes.Set(name, value.getValue().str());
  } else if (auto value = llvm::dyn_cast<mlir::DenseI64ArrayAttr>(attribute)) {
    attributes.Set(name, std::vector<int64_t>(value.asArrayRef()));
  } else if (auto value = llvm::dyn_cast<mlir::DenseF64ArrayAttr>(attribute)) {
    attributes.Set(name, std::vector<double>(value.asArrayRef()));
  } else if (auto value = llvm::dyn_cast<mlir::TypeAttr>(attribute)) {
    attributes.Set(name, getDType(value.getValue()));
  } else if (auto value = llvm::dyn_cast<ExtentsAttr>(attribute)) {
    std::vector<int64_t> numbers;
    for (mlir::AffineExpr expr : value.getExprs()) {
      std::optional<int64_t> number = evaluate(expr, symbolValue);
      if (!number)
        return absl::OkStatus(); // left out: the caller supplies it at run time
      numbers.push_back(*number);
    }
    attributes.Set(name, numbers);
  } else if (auto value = llvm::dyn_cast<mlir::ArrayAttr>(attribute);
             value && llvm::all_of(value, [](mlir::Attribute a) { return llvm::isa<mlir::StringAttr>(a); })) {
    std::vector<std::string> texts;
    for (auto text : value.getAsRange<mlir::StringAttr>())
      texts.push_back(text.str());
    attributes.Set(name, texts);
  } else if (auto value = llvm::dyn_cast<mlir::ElementsAttr>(attribute)) {
    absl::StatusOr<Tensor> tensor = toTensor(value);
    if (!tensor.ok())
      return tensor.status();
    attributes.Set(name, *std::move(tensor));
  } else if (auto value = llvm::dyn_cast<ReduceKindAttr>(attribute)) {
    setEnum(stringifyReduceKind(value.getValue()));
  } else if (auto value = llvm::dyn_cast<PredicateAttr>(attribute)) {
    setEnum(stringifyPredicate(value.getValue()));
  } else if (auto value = llvm::dyn_cast<PadModeAttr>(attribute)) {
    setEnum(stringifyPadMode(value.getValue()));
  } else if (auto value = llvm::dyn_cast<ScatterKindAttr>(attribute)) {
    setEnum(stringifyScatterKind(value.getValue()));
  } else if (auto value = llvm::dyn_cast<ResizeModeAttr>(attribute)) {
    setEnum(stringifyResizeMode(value.getValue()));
  } else if (auto value = llvm::dyn_cast<CoordinateAttr>(attribute)) {
    setEnum(stringifyCoordinate(value.getValue()));
  } else if (auto value = llvm::dyn_cast<NearestModeAttr>(attribute)) {
    setEnum(stringifyNearestMode(value.getValue()));
  } else if (auto value = llvm::dyn_cast<GridModeAttr>(attribute)) {
    setEnum(stringifyGridMode(value.getValue()));
  } else if (auto value = llvm::dyn_cast<GridPaddingAttr>(attribute)) {
    setEnum(stringifyGridPadding(value.getValue()));
  } else if (auto value = llvm::dyn_cast<MaskedRowsAttr>(attribute)) {
    setEnum(stringifyMaskedRows(value.getValue()));
  } else {
    return absl::InvalidArgumentError("attribute '" + name + "' is of a kind that kernels cannot take");
  }
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<Attributes> getAttributes(mlir::Operation *op, SymbolValue symbolValue) {
  Attributes result;
  auto library = llvm::dyn_cast<LibraryOp>(op);
  mlir::DictionaryAttr dictionary = library ? library.getConfig() : op->getAttrDictionary();
  for (mlir::NamedAttribute attribute : dictionary)
    if (absl::Status status = setAttribute(result, attribute.getName().getValue(), attribute.getValue(), symbolValue);
        !status.ok())
      return status;
  return result;
}

llvm::StringRef getKernelName(mlir::Operation *op) {
  if (auto library = llvm::dyn_cast<LibraryOp>(op))
    return library.getKernel();
  return op->getName().stripDialect();
}

} // namespace tcc::ir
