#include "compiler/signature_of.h"

#include <algorithm>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/import/Import.h"
#include "frontend/onnx/program/Program.h"
#include "ir/Dialect.h"
#include "ir/ElementTypes.h"
#include "ir/Extents.h"

namespace tcc {
namespace {

Extent ToExtent(mlir::AffineExpr expr, int32_t num_symbols) {
  if (auto constant = ir::getConstant(expr)) return Extent::Constant(*constant);
  if (auto symbol = mlir::dyn_cast<mlir::AffineSymbolExpr>(expr)) {
    if (static_cast<int32_t>(symbol.getPosition()) < num_symbols) {
      return Extent::Of(static_cast<int32_t>(symbol.getPosition()));
    }
  }
  return Extent();  // only the run finds out, or an expression
}

}  // namespace

absl::StatusOr<ArgumentSignature> SignatureOf(mlir::func::FuncOp function, const onnx::Program& program,
                                              const CompileRequest& request) {
  ArgumentSignature result;
  int32_t num_symbols = 0;
  std::map<std::string, int> argument_by_name;
  for (int i = 0; i < static_cast<int>(function.getNumArguments()); ++i) {
    if (auto name = function.getArgAttrOfType<mlir::StringAttr>(i, ir::TCCDialect::kInputNameAttr)) {
      argument_by_name[name.str()] = i;
    }
    for (mlir::AffineExpr expr : ir::getExtents(function.getArgument(i).getType())) {
      if (auto symbol = mlir::dyn_cast<mlir::AffineSymbolExpr>(expr)) {
        num_symbols = std::max(num_symbols, static_cast<int32_t>(symbol.getPosition()) + 1);
      }
    }
  }
  const mlir::ArrayAttr symbols = ir::getSymbols(function);
  for (int32_t i = 0; i < num_symbols; ++i) {
    auto symbol = mlir::cast<ir::SymbolAttr>(symbols[i]);
    result.signature.symbols.push_back(
        {symbol.getName().str(), symbol.getMin(), symbol.getMax(), symbol.getMultipleOf()});
  }

  auto requested = [&](const std::string& name) -> const InputSpec* {
    for (const InputSpec& spec : request.signature.inputs) {
      if (spec.name == name) return &spec;
    }
    return nullptr;
  };
  for (const onnx::ValueInfo& input : program.inputs()) {
    if (request.constants.count(input.name)) continue;
    InputSpec spec;
    int argument = -1;
    if (auto it = argument_by_name.find(input.name); it != argument_by_name.end()) {
      argument = it->second;
      mlir::Type type = function.getArgument(argument).getType();
      spec.dtype = ir::getDType(mlir::cast<mlir::ShapedType>(type).getElementType());
      for (mlir::AffineExpr expr : ir::getExtents(type)) spec.dims.push_back(ToExtent(expr, num_symbols));
    } else if (const InputSpec* known = requested(input.name)) {
      spec = *known;
    } else {
      spec.dtype = input.dtype;
      spec.absent = true;
    }
    spec.name = input.name;
    spec.optional = input.hasDefault || input.kind == onnx::ValueInfo::Kind::Optional;
    result.signature.inputs.push_back(std::move(spec));
    result.argument_of_input.push_back(argument);
  }

  auto names = function->getAttrOfType<mlir::ArrayAttr>(onnx::kOutputNamesAttr);
  for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
    OutputSpec spec;
    if (names && i < names.size()) spec.name = mlir::cast<mlir::StringAttr>(names[i]).str();
    spec.dtype = ir::getDType(mlir::cast<mlir::ShapedType>(type).getElementType());
    for (mlir::AffineExpr expr : ir::getExtents(type)) spec.dims.push_back(ToExtent(expr, num_symbols));
    result.signature.outputs.push_back(std::move(spec));
  }
  return result;
}

}  // namespace tcc
