#include "runtime/signature.h"

#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "runtime/dispatch.h"
#include "runtime/status.h"

namespace tcc {
namespace {

std::string ExtentText(const Signature& signature, const Extent& extent) {
  if (extent.symbol < 0) return extent.value < 0 ? "?" : absl::StrCat(extent.value);
  const auto index = static_cast<size_t>(extent.symbol);
  return index < signature.symbols.size() ? signature.symbols[index].name : absl::StrCat("s", extent.symbol);
}

// "f32[batch,3,224]", as the specialisation declares it.
std::string SpecText(const Signature& signature, const InputSpec& spec) {
  const auto one = [&](std::string* out, const Extent& extent) { absl::StrAppend(out, ExtentText(signature, extent)); };
  return absl::StrCat(TensorType{spec.dtype, {}}.ToString().substr(0, DTypeName(spec.dtype).size()), "[",
                      absl::StrJoin(spec.dims, ",", one), "]");
}

std::string RangeText(const Symbol& symbol) {
  std::string text = symbol.max == kMaxExtent ? absl::StrCat("at least ", symbol.min)
                                              : absl::StrCat("from ", symbol.min, " to ", symbol.max);
  if (symbol.multiple_of > 1) absl::StrAppend(&text, " and a multiple of ", symbol.multiple_of);
  return text;
}

class Checker {
 public:
  Checker(const Signature& signature, std::vector<int64_t>* symbols) : signature_(signature), symbols_(*symbols) {
    symbols_.assign(signature.symbols.size(), -1);
    bound_by_.assign(signature.symbols.size(), {nullptr, 0});
  }

  absl::Status Input(const InputSpec& spec, const Tensor& tensor) {
    TCC_RETURN_IF_ERROR(Type(spec, {tensor.dtype(), tensor.dims()}));
    return spec.values && tensor.valid() ? Values(spec, tensor) : absl::OkStatus();
  }

  // What is known of an input: a reference, since each call is checked.
  struct Given {
    DType dtype;
    const Dims& dims;
    std::string ToString() const { return TensorType{dtype, dims}.ToString(); }
  };
  absl::Status Type(const InputSpec& spec, const Given& given) {
    if (given.dtype == DType::kInvalid) {
      if (spec.absent) return absl::OkStatus();
      return Error(spec, absl::StrCat("expected ", SpecText(signature_, spec), ", but it was left out"));
    }
    if (spec.absent) {
      return Error(spec, absl::StrCat("this specialisation expects it left out, got ", given.ToString()));
    }
    if (given.dtype != spec.dtype || given.dims.size() != spec.dims.size()) {
      return Error(spec, absl::StrCat("expected ", SpecText(signature_, spec), ", got ", given.ToString()));
    }
    for (size_t axis = 0; axis < spec.dims.size(); ++axis) TCC_RETURN_IF_ERROR(Axis(spec, given, axis));
    return absl::OkStatus();
  }

  absl::Status Values(const InputSpec& spec, absl::Span<const int64_t> values) const {
    const std::vector<int64_t>& expected = *spec.values;
    if (values.size() != expected.size()) {
      return Error(spec, absl::StrCat("expected ", expected.size(), " values, got ", values.size()));
    }
    for (size_t i = 0; i < expected.size(); ++i) {
      if (values[i] != expected[i]) {
        return Error(spec, absl::StrCat("element ", i, " expected ", expected[i],
                                        " (the model is specialised on it), got ", values[i]));
      }
    }
    return absl::OkStatus();
  }

  absl::Status AllBound() const {
    for (size_t i = 0; i < symbols_.size(); ++i) {
      if (symbols_[i] < 0) {
        return absl::InternalError(absl::StrCat("symbol '", signature_.symbols[i].name, "' is bound by no input"));
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Error(const InputSpec& spec, absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("input '", spec.name, "': ", what));
  }

  absl::Status Axis(const InputSpec& spec, const Given& given, size_t axis) {
    const Extent& extent = spec.dims[axis];
    const int64_t actual = given.dims[axis];
    const auto at_axis = [&](absl::string_view expected) {
      return Error(spec, absl::StrCat("axis ", axis, " expected ", expected, ", got ", actual, " (",
                                      SpecText(signature_, spec), " against ", given.ToString(), ")"));
    };
    if (extent.symbol < 0) {
      if (actual != extent.value) return at_axis(absl::StrCat(extent.value));
      return absl::OkStatus();
    }
    const auto index = static_cast<size_t>(extent.symbol);
    if (index >= symbols_.size()) return absl::InternalError("an input refers to a symbol that is not declared");
    const Symbol& symbol = signature_.symbols[index];
    if (symbols_[index] >= 0) {
      if (symbols_[index] == actual) return absl::OkStatus();
      const auto& [name, first_axis] = bound_by_[index];
      return at_axis(absl::StrCat(symbols_[index], " (", symbol.name, ", as axis ", first_axis, " of '", *name, "')"));
    }
    if (actual < symbol.min || actual > symbol.max || (symbol.multiple_of > 1 && actual % symbol.multiple_of != 0)) {
      return at_axis(absl::StrCat(symbol.name, " ", RangeText(symbol)));
    }
    symbols_[index] = actual;
    bound_by_[index] = {&spec.name, axis};
    return absl::OkStatus();
  }

  absl::Status Values(const InputSpec& spec, const Tensor& tensor) const {
    if (!IsInteger(spec.dtype) && spec.dtype != DType::kBool) {
      return absl::InternalError("only integer and bool inputs can be specialised on their values");
    }
    if (tensor.device() != Device{}) return Error(spec, "values that the model is specialised on must be on the host");
    TCC_ASSIGN_OR_RETURN(const Tensor flat, tensor.Contiguous());
    std::vector<int64_t> values(static_cast<size_t>(flat.num_elements()));
    for (int64_t i = 0; i < flat.num_elements(); ++i)
      values[static_cast<size_t>(i)] = LoadInt(flat.data(), spec.dtype, i);
    return Values(spec, values);
  }

  const Signature& signature_;
  std::vector<int64_t>& symbols_;
  std::vector<std::pair<const std::string*, size_t>> bound_by_;
};

}  // namespace

absl::Status CheckGuards(const Signature& signature, absl::Span<const Tensor> inputs, std::vector<int64_t>* symbols) {
  if (inputs.size() != signature.inputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected ", signature.inputs.size(), " inputs, got ", inputs.size()));
  }
  Checker checker(signature, symbols);
  for (size_t i = 0; i < inputs.size(); ++i) TCC_RETURN_IF_ERROR(checker.Input(signature.inputs[i], inputs[i]));
  return checker.AllBound();
}

absl::Status CheckGuards(const Signature& signature, absl::Span<const TensorType> types,
                         const std::map<std::string, std::vector<int64_t>>& values) {
  if (types.size() != signature.inputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected ", signature.inputs.size(), " inputs, got ", types.size()));
  }
  std::vector<int64_t> symbols;
  Checker checker(signature, &symbols);
  for (size_t i = 0; i < types.size(); ++i) {
    const InputSpec& spec = signature.inputs[i];
    TCC_RETURN_IF_ERROR(checker.Type(spec, {types[i].dtype, types[i].dims}));
    if (!spec.values || spec.absent) continue;
    const auto known = values.find(spec.name);
    if (known == values.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("input '", spec.name, "': its values are specialised on, and not known"));
    }
    TCC_RETURN_IF_ERROR(checker.Values(spec, known->second));
  }
  return checker.AllBound();
}

}  // namespace tcc
