// The explicit list of reference kernels (kernels.def), and what happens around each call.
#include <algorithm>
#include <exception>
#include <new>
#include <stdexcept>

#include "runtime/reference/convert.h"
#include "runtime/reference/support.h"

namespace tcc::reference {

#define TCC_KERNEL(name, function, min_inputs, max_inputs, storage) Results function(const Call& call);
#include "runtime/reference/kernels.def"
#undef TCC_KERNEL

namespace {

constexpr int kAny = -1;

absl::Status CheckInputs(const Call& call, int min_inputs, int max_inputs) {
  const int count = static_cast<int>(call.inputs.size());
  if (count < min_inputs || (max_inputs != kAny && count > max_inputs)) {
    return Invalid("takes ", min_inputs,
                   max_inputs == kAny         ? std::string(" or more")
                   : max_inputs == min_inputs ? std::string()
                                              : absl::StrCat(" to ", max_inputs),
                   " inputs, got ", count);
  }
  for (int i = 0; i < count; ++i) {
    const Tensor& input = call.inputs[i];
    if (!input.valid() && i < min_inputs) return Invalid("input ", i, " is missing");
    if (input.valid() && input.device().type != DeviceType::kCpu) {
      return absl::UnimplementedError(absl::StrCat("input ", i, " is not in host memory"));
    }
  }
  return absl::OkStatus();
}

// The dtype under which the kernel sees an operand.
DType SeenAs(DType dtype, Storage storage) {
  if (storage == Storage::kWiden) return WideDType(dtype);
  if (storage == Storage::kMove && IsPacked(dtype)) return DType::kU8;
  return dtype;
}

absl::Status CheckResults(const Call& call, const std::vector<Tensor>& results) {
  if (results.size() < call.results.size()) {
    return Invalid("gives ", results.size(), " results, ", call.results.size(), " are expected");
  }
  for (size_t i = 0; i < call.results.size(); ++i) {
    const TensorType& want = call.results[i];
    if (want.dtype == DType::kInvalid) continue;  // nobody asks for it
    const Tensor& have = results[i];
    bool same = have.dtype() == want.dtype && have.dims().size() == want.dims.size();
    for (int axis = 0; same && axis < have.rank(); ++axis) {
      same = want.dims[axis] < 0 || want.dims[axis] == have.dim(axis);
    }
    if (!same) {
      return Invalid("result ", i, " is ", have.type().ToString(), " where ", want.ToString(), " is expected");
    }
  }
  return absl::OkStatus();
}

Results Prepared(Kernel kernel, int max_inputs, Storage storage, const Call& call) {
  const size_t padded = max_inputs == kAny ? call.inputs.size() : static_cast<size_t>(max_inputs);
  bool converts = false;
  std::vector<Tensor> inputs(call.inputs.begin(), call.inputs.end());
  inputs.resize(padded);
  std::vector<TensorType> types(call.results.begin(), call.results.end());
  DType narrow = DType::kInvalid;  // of the first operand that was converted
  for (Tensor& input : inputs) {
    if (!input.valid() || SeenAs(input.dtype(), storage) == input.dtype()) continue;
    converts = true;
    if (narrow == DType::kInvalid) narrow = input.dtype();
    if (storage == Storage::kMove) {
      TCC_ASSIGN_OR_RETURN(input, UnpackFields(input));
    } else {
      TCC_ASSIGN_OR_RETURN(input, ConvertDType(input, WideDType(input.dtype())));
    }
  }
  for (TensorType& type : types) {
    const DType seen = SeenAs(type.dtype, storage);
    converts = converts || seen != type.dtype;
    type.dtype = seen;
  }
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> results, kernel(Call{inputs, call.attributes, types}));
  if (converts) {
    for (size_t i = 0; i < results.size(); ++i) {
      // Without an expected type a result follows the first converted operand if it has the dtype that one was seen as.
      const DType seen = results[i].dtype();
      DType target = seen;
      if (i < call.results.size()) {
        if (SeenAs(call.results[i].dtype, storage) == seen) target = call.results[i].dtype;
      } else if (narrow != DType::kInvalid && SeenAs(narrow, storage) == seen) {
        target = narrow;
      }
      if (target == seen || target == DType::kInvalid) continue;
      if (storage == Storage::kMove) {
        TCC_ASSIGN_OR_RETURN(results[i], PackFields(results[i], target));
      } else {
        TCC_ASSIGN_OR_RETURN(results[i], ConvertDType(results[i], target, {.saturate = false}));
      }
    }
  }
  TCC_RETURN_IF_ERROR(CheckResults(call, results));
  return results;
}

Results Run(const char* name, Kernel kernel, int min_inputs, int max_inputs, Storage storage, const Call& call) {
  Results results = [&]() -> Results {
    TCC_RETURN_IF_ERROR(CheckInputs(call, min_inputs, max_inputs));
    try {
      return Prepared(kernel, max_inputs, storage, call);
    } catch (const std::bad_alloc&) {
      return absl::ResourceExhaustedError("out of memory");
    } catch (const std::exception& e) {  // for example std::length_error, std::regex_error
      return Invalid(e.what());
    }
  }();
  if (results.ok()) return results;
  return WithContext(name, results.status());
}

#define TCC_KERNEL(name, function, min_inputs, max_inputs, storage)              \
  Results Checked##function(const Call& call) {                                  \
    return Run(#name, function, min_inputs, max_inputs, Storage::storage, call); \
  }
#include "runtime/reference/kernels.def"
#undef TCC_KERNEL

struct Entry {
  std::string_view name;
  Kernel kernel;
};

const std::vector<Entry>& Entries() {
  static const std::vector<Entry>* const kEntries = [] {
    auto* entries = new std::vector<Entry>{
#define TCC_KERNEL(name, function, min_inputs, max_inputs, storage) {#name, Checked##function},
#include "runtime/reference/kernels.def"
#undef TCC_KERNEL
    };
    std::sort(entries->begin(), entries->end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
    return entries;
  }();
  return *kEntries;
}

}  // namespace

Kernel Find(std::string_view op) {
  const std::vector<Entry>& entries = Entries();
  const auto it = std::lower_bound(entries.begin(), entries.end(), op,
                                   [](const Entry& entry, std::string_view name) { return entry.name < name; });
  return it != entries.end() && it->name == op ? it->kernel : nullptr;
}

std::vector<std::string_view> Names() {
  std::vector<std::string_view> names;
  for (const Entry& entry : Entries()) names.push_back(entry.name);
  return names;
}

}  // namespace tcc::reference
