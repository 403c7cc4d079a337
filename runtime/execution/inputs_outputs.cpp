#include <algorithm>
#include <string>

#include "runtime/execution/runner.h"
#include "runtime/status.h"

namespace tcc {
namespace {

// The bytes between the lowest and the highest element.
std::pair<uintptr_t, uintptr_t> ByteRange(const Tensor& tensor) {
  int64_t low = 0, high = 0;
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    if (tensor.dim(axis) == 0) return {0, 0};
    const int64_t span = (tensor.dim(axis) - 1) * tensor.strides()[axis];
    (span < 0 ? low : high) += span;
  }
  const auto base = reinterpret_cast<uintptr_t>(tensor.data());
  const bool string = tensor.dtype() == DType::kString;
  const int64_t bits = string ? int64_t{sizeof(std::string)} * 8 : DTypeBits(tensor.dtype());
  return {base + static_cast<uintptr_t>(low * bits / 8), base + static_cast<uintptr_t>((high * bits + bits + 7) / 8)};
}

bool Overlap(const Tensor& a, const Tensor& b) {
  const auto [a_low, a_high] = ByteRange(a);
  const auto [b_low, b_high] = ByteRange(b);
  return a_low < b_high && b_low < a_high;
}

}  // namespace

absl::Status ExecutionContext::Runner::SetInputs(absl::Span<const Tensor> inputs, absl::Span<const int64_t> symbols) {
  const Plan& plan = prepared_.plan_;
  if (inputs.size() != plan.inputs.size() || symbols.size() != plan.symbol_registers.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the plan takes ", plan.inputs.size(), " inputs and ",
                                                   plan.symbol_registers.size(), " symbols, got ", inputs.size(),
                                                   " and ", symbols.size()));
  }
  for (size_t i = 0; i < symbols.size(); ++i) {
    f_.registers[static_cast<size_t>(plan.symbol_registers[i])] = symbols[i];
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (const absl::Status status = CheckTensor(inputs[i]); !status.ok()) {
      return WithContext(absl::StrCat("input ", i), status);
    }
    if (plan.inputs[i] == kNoValue || !inputs[i].valid()) continue;
    if (!IsHere(inputs[i].device())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input ", i, " is on a device, ",
          prepared_.device_ == nullptr ? "this plan runs on the host"
                                       : absl::StrCat("but not on that of this plan, ", prepared_.device_->name())));
    }
    if (inputs[i].device() != Device{} && prepared_.input_on_host_[i]) {
      TCC_ASSIGN_OR_RETURN(Tensor on_host, ToHost(inputs[i]));
      f_.Set(plan.inputs[i], std::move(on_host), kContiguous);
      continue;
    }
    f_.SetAny(plan.inputs[i], inputs[i], kForeign);
  }
  return absl::OkStatus();
}

absl::Status ExecutionContext::Runner::CheckDonated(absl::Span<const Tensor> inputs) {
  for (const int index : options_.donated) {
    if (index < 0 || static_cast<size_t>(index) >= inputs.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", index, " is donated, there are ", inputs.size(), " inputs"));
    }
    // Named twice it is one piece of memory still: for one output.
    if (std::any_of(donated_.begin(), donated_.end(), [index](const auto& other) { return other.first == index; })) {
      continue;
    }
    const Tensor& donated = inputs[static_cast<size_t>(index)];
    if (!donated.valid() || donated.device() != Device{} || !donated.is_contiguous() || !IsAligned(donated) ||
        donated.dtype() == DType::kString) {
      continue;
    }
    bool shared = false;
    for (size_t i = 0; i < inputs.size(); ++i) {
      shared |= i != static_cast<size_t>(index) && inputs[i].valid() && Overlap(inputs[i], donated);
    }
    if (!shared) donated_.emplace_back(index, donated);
  }
  return absl::OkStatus();
}

// Whether the output may be computed into the memory of this input; `same`: it is exactly the output's.
bool ExecutionContext::Runner::IsFree(size_t output, int input, bool same) const {
  const std::vector<int32_t>& free = prepared_.donations_[output];
  return (same && prepared_.overwrites_[output] == input) || std::find(free.begin(), free.end(), input) != free.end();
}

absl::Status ExecutionContext::Runner::CheckCallerOutputs(absl::Span<const Tensor> inputs) {
  if (options_.outputs.empty()) return absl::OkStatus();
  if (options_.outputs.size() != prepared_.plan_.outputs.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the plan has ", prepared_.plan_.outputs.size(),
                                                   " outputs, memory was given for ", options_.outputs.size()));
  }
  direct_.assign(options_.outputs.size(), false);
  for (size_t i = 0; i < options_.outputs.size(); ++i) {
    const Tensor& output = options_.outputs[i];
    if (const absl::Status status = CheckTensor(output); !status.ok()) {
      return WithContext(absl::StrCat("memory for output ", i), status);
    }
    if (!output.valid()) continue;
    if (!IsHere(output.device())) {
      return absl::InvalidArgumentError(
          absl::StrCat("memory for output ", i, " is on a device",
                       prepared_.device_ == nullptr ? "" : ", but not on that of this plan"));
    }
    bool overlaps = false;
    for (size_t j = 0; j < inputs.size(); ++j) {
      if (!inputs[j].valid() || !Overlap(inputs[j], output)) continue;
      const bool same = inputs[j].data() == output.data() && inputs[j].type() == output.type();
      const bool free = IsFree(i, static_cast<int>(j), same) &&
                        std::any_of(donated_.begin(), donated_.end(),
                                    [j](const auto& donated) { return donated.first == static_cast<int>(j); });
      overlaps |= !free;
    }
    for (size_t j = 0; j < options_.outputs.size(); ++j) {
      overlaps |= j != i && options_.outputs[j].valid() && Overlap(options_.outputs[j], output);
    }
    overlapping_ |= overlaps;
    // Kernels of devices store vectors at the start of a result; what starts elsewhere gets a copy.
    constexpr uintptr_t kVectorBytes = 16;
    const bool starts_a_vector =
        output.device() == Device{} || reinterpret_cast<uintptr_t>(output.data()) % kVectorBytes == 0;
    direct_[i] =
        !overlaps && output.is_contiguous() && IsAligned(output) && starts_a_vector && output.dtype() != DType::kString;
  }
  // Memory that receives an output is not there for another.
  std::erase_if(donated_, [this](const auto& donated) {
    return std::any_of(options_.outputs.begin(), options_.outputs.end(),
                       [&](const Tensor& output) { return output.valid() && Overlap(output, donated.second); });
  });
  return absl::OkStatus();
}

// Where the caller wants the output and kernels may write, in that space; null: nowhere.
const Tensor* ExecutionContext::Runner::CallerMemory(size_t output, const TensorType& type, Space space) const {
  if (options_.outputs.empty() || !direct_[output] || options_.outputs[output].type() != type) return nullptr;
  if ((options_.outputs[output].device() == Device{}) != (space == Space::kHost)) return nullptr;
  return &options_.outputs[output];
}

// The memory of an input that is not needed any more, for an output; invalid: none fits.
Tensor ExecutionContext::Runner::TakeDonated(size_t output, const TensorType& type) {
  Tensor memory;
  if (!options_.outputs.empty() && options_.outputs[output].valid()) return memory;
  for (auto donated = donated_.begin(); donated != donated_.end(); ++donated) {
    if (donated->second.type() != type || !IsFree(output, donated->first, true)) continue;
    memory = std::move(donated->second);
    donated_.erase(donated);
    break;
  }
  return memory;
}

absl::Status ExecutionContext::Runner::TakeOutputs(std::vector<Tensor>* outputs) {
  const std::vector<ValueId>& ids = prepared_.outputs_;
  outputs->assign(ids.size(), Tensor());
  if (prepared_.device_ != nullptr) TCC_RETURN_IF_ERROR(FetchOutputs());
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!f_.IsSet(ids[i])) return WithContext(absl::StrCat("output ", i), NotSet(ids[i]));
    const bool fetched = !fetched_.empty() && fetched_[i].valid();
    Tensor tensor = fetched ? fetched_[i] : f_.Get(ids[i]);
    const bool to_caller = !options_.outputs.empty() && options_.outputs[i].valid();
    bool copy = !fetched && (f_.Flags(ids[i]) & (kArena | kForeign)) != 0;
    if (to_caller) {
      const Tensor& target = options_.outputs[i];
      if (target.dtype() != tensor.dtype() || target.dims() != tensor.dims()) {
        return absl::InvalidArgumentError(absl::StrCat("memory for output ", i, " is ", target.type().ToString(),
                                                       ", the output is ", tensor.type().ToString()));
      }
      // Copied below; what the copies could overwrite first is taken aside.
      copy = copy && overlapping_;
    } else {
      copy |= !tensor.is_contiguous();
      // (A view of another output, or the same value.)
      for (size_t j = 0; j < i; ++j) copy |= tensor.storage() != nullptr && tensor.storage() == (*outputs)[j].storage();
    }
    if (copy && !IsDirect(i, tensor)) {
      TCC_ASSIGN_OR_RETURN(tensor, tensor.Clone());
    }
    (*outputs)[i] = std::move(tensor);
  }
  for (size_t i = 0; i < ids.size() && !options_.outputs.empty(); ++i) {
    const Tensor& target = options_.outputs[i];
    if (!target.valid()) continue;
    const bool there = !fetched_.empty() && fetched_[i].valid() && fetched_[i].data() == target.data();
    if (!there && !IsDirect(i, (*outputs)[i])) TCC_RETURN_IF_ERROR(CopyElements((*outputs)[i], target));
    (*outputs)[i] = target;
  }
  return absl::OkStatus();
}

bool ExecutionContext::Runner::IsDirect(size_t i, const Tensor& tensor) const {
  return !options_.outputs.empty() && direct_[i] && options_.outputs[i].data() == tensor.data() &&
         tensor.is_contiguous();
}

}  // namespace tcc
