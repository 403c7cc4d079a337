//===- Kernels.cpp - what measurements know kernels by --------------------===//
#include "compiler/autotune/Kernels.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/Extents.h"

using namespace mlir;

namespace tcc::compiler {

std::vector<int64_t> valuesOf(ArrayAttr symbols, ArrayRef<int64_t> known) {
  constexpr int64_t kUsual = 32;
  std::vector<int64_t> values;
  for (auto [i, attribute] : llvm::enumerate(symbols)) {
    if (i < known.size() && known[i] > 0) {
      values.push_back(known[i]);
      continue;
    }
    auto symbol = cast<ir::SymbolAttr>(attribute);
    int64_t step = std::max<int64_t>(1, symbol.getMultipleOf());
    int64_t value = std::min(symbol.getMax(), std::max({symbol.getMin(), kUsual, step}));
    values.push_back(std::max(symbol.getMin(), value / step * step));
  }
  return values;
}

std::string textOf(ir::KernelOp kernel, ArrayRef<int64_t> symbols) {
  std::string text;
  for (Value input : kernel.getInputs())
    text += input.getDefiningOp<ir::ConstantOp>() ? 'c' : 'v';
  auto clone = cast<ir::KernelOp>(kernel->clone());
  clone.setSourcesAttr(ArrayAttr::get(kernel.getContext(), {}));
  llvm::raw_string_ostream stream(text);
  clone->print(stream, OpPrintingFlags().useLocalScope().elideLargeElementsAttrs(1 << 16));
  clone->destroy();
  return absl::StrCat(text, "\nsymbols ", absl::StrJoin(symbols.begin(), symbols.end(), ","));
}

std::string nameOf(ir::KernelOp kernel) {
  std::string sources;
  for (Attribute source : kernel.getSources())
    absl::StrAppend(&sources, sources.empty() ? "" : "+", cast<StringAttr>(source).str());
  return sources;
}

} // namespace tcc::compiler
