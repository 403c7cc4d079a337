#include <algorithm>
#include <numeric>

#include "compiler/package_runner.h"

namespace tcc {
namespace {

// Of one axis in one specialisation.
struct Axis {
  int64_t extent = -1;
  std::string name;
  ExtentRange range;
};

Axis Describe(const Signature& signature, const Extent& extent) {
  if (extent.symbol >= 0) {
    const Symbol& symbol = signature.symbols[static_cast<size_t>(extent.symbol)];
    return {-1, symbol.name, {symbol.min, symbol.max, symbol.multiple_of}};
  }
  if (extent.value < 0) return {};
  return {extent.value, "", {extent.value, extent.value, 1}};
}

// `spec` is of one specialisation; `info` of those before.
template <typename Spec>
void Add(const Signature& signature, const Spec& spec, bool first, TensorInfo* info) {
  if (first) {
    info->has_rank = true;
    info->type.dtype = spec.dtype;
    for (const Extent& extent : spec.dims) {
      Axis axis = Describe(signature, extent);
      info->type.dims.push_back(axis.extent);
      info->dim_names.push_back(std::move(axis.name));
      info->ranges.push_back(axis.range);
    }
    return;
  }
  if (!info->has_rank || info->type.dims.size() != spec.dims.size()) {
    info->has_rank = false;
    info->type.dims.clear();
    info->dim_names.clear();
    info->ranges.clear();
    return;
  }
  for (size_t i = 0; i < spec.dims.size(); ++i) {
    const Axis axis = Describe(signature, spec.dims[i]);
    ExtentRange& range = info->ranges[i];
    // (A number, one specialisation's, is a multiple of itself.)
    const int64_t a = range.min == range.max ? range.min : range.multiple_of;
    const int64_t b = axis.range.min == axis.range.max ? axis.range.min : axis.range.multiple_of;
    if (range != axis.range) range.multiple_of = std::max<int64_t>(1, std::gcd(a, b));
    range.min = std::min(range.min, axis.range.min);
    range.max = std::max(range.max, axis.range.max);
    // An extent that is a number in one and a symbol in another has the symbol's name.
    if (info->dim_names[i].empty() && info->type.dims[i] >= 0)
      info->dim_names[i] = axis.name;
    else if (!axis.name.empty() && axis.name != info->dim_names[i])
      info->dim_names[i].clear();
    if (info->type.dims[i] != axis.extent) info->type.dims[i] = -1;
  }
}

}  // namespace

void DescribePackage(const Package& package, std::vector<TensorInfo>* inputs, std::vector<TensorInfo>* outputs) {
  std::vector<bool> known;  // inputs that a specialisation before takes
  for (int i = 0; i < package.size(); ++i) {
    const Signature& signature = package.signature(i);
    inputs->resize(std::max(inputs->size(), signature.inputs.size()));
    outputs->resize(std::max(outputs->size(), signature.outputs.size()));
    known.resize(inputs->size());
    for (size_t k = 0; k < signature.inputs.size(); ++k) {
      const InputSpec& spec = signature.inputs[k];
      TensorInfo& info = (*inputs)[k];
      if (info.name.empty()) info.name = spec.name;
      info.optional |= spec.optional || spec.absent;
      if (spec.absent) {
        if (!known[k]) info.has_rank = false;
        continue;
      }
      Add(signature, spec, !known[k], &info);
      known[k] = true;
    }
    for (size_t k = 0; k < signature.outputs.size(); ++k) {
      (*outputs)[k].name = signature.outputs[k].name;
      Add(signature, signature.outputs[k], i == 0, &(*outputs)[k]);
    }
  }
}

}  // namespace tcc
