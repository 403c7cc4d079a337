//===- Registry.cpp - the table made from Ops.def -------------------------===//
#include "frontend/onnx/import/Registry.h"

#include "frontend/onnx/import/Conversions.h"
#include "frontend/onnx/program/Program.h"
#include "llvm/ADT/StringMap.h"

namespace tcc::onnx {

static constexpr Conversion kConversions[] = {
#define TCC_ONNX_OP(domain, name, since, function) {domain, name, since, function},
#include "frontend/onnx/import/Ops.def"
#undef TCC_ONNX_OP
};

static std::string key(llvm::StringRef domain, llvm::StringRef op) {
  return std::string(canonicalDomain(std::string_view(domain))) + ":" + op.str();
}

// Entries by "domain:op".
static const llvm::StringMap<llvm::SmallVector<const Conversion *, 2>> &table() {
  static const auto *map = [] {
    auto *m = new llvm::StringMap<llvm::SmallVector<const Conversion *, 2>>();
    for (const Conversion &c : kConversions)
      (*m)[key(c.domain, c.op)].push_back(&c);
    return m;
  }();
  return *map;
}

const Conversion *findConversion(llvm::StringRef domain, llvm::StringRef op, int64_t opset) {
  auto it = table().find(key(domain, op));
  if (it == table().end())
    return nullptr;
  const Conversion *best = nullptr;
  for (const Conversion *c : it->second)
    if (c->since <= opset && (!best || c->since > best->since))
      best = c;
  return best;
}

int64_t firstSupportedOpset(llvm::StringRef domain, llvm::StringRef op) {
  auto it = table().find(key(domain, op));
  if (it == table().end())
    return 0;
  int64_t first = INT64_MAX;
  for (const Conversion *c : it->second)
    first = std::min(first, c->since);
  return first;
}

} // namespace tcc::onnx
