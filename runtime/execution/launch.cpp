#include <atomic>

#include "runtime/execution/runner.h"
#include "runtime/status.h"

namespace tcc {

absl::Status ExecutionContext::Runner::Do(const plan::Launch& i, const Step& step) {
  const int64_t items = f_.Eval(i.items);
  if (items == 0) return absl::OkStatus();
  size_t n = 0;
  for (const ValueId value : i.buffers) {
    const auto index = static_cast<size_t>(value);
    if ((f_.flags[index] & (kSet | kContiguous)) != (kSet | kContiguous)) {
      TCC_RETURN_IF_ERROR(WithContext(i.name, MakeContiguous(value)));
    }
    s_.buffers[n++] = f_.data[index];
  }
  s_.scalars.resize(i.scalars.size());
  for (size_t j = 0; j < i.scalars.size(); ++j) s_.scalars[j] = f_.Eval(i.scalars[j]);
  return Launch(step.function, s_.buffers.data(), s_.scalars.data(), items, i.grain, f_.Eval(i.scratch_bytes), i);
}

absl::Status ExecutionContext::Runner::Launch(TccKernelFunction function, void* const* buffers, const int64_t* scalars,
                                              int64_t items, int64_t grain, int64_t scratch, const plan::Launch& i) {
  if (items < 0) return absl::InternalError(absl::StrCat(i.name, ": a launch of ", items, " items"));
  TCC_RETURN_IF_ERROR(HostIsReady());
  if (i.copies && buffers[0] == buffers[1]) return absl::OkStatus();
  s_.kernel_error = kTccKernelOk;
  const TccKernelContext context = {kKernelAbiVersion, buffers, scalars, nullptr, &s_.kernel_error};
  if (scratch <= 0) {
    s_.pool->ParallelFor(items, grain, [&](int64_t begin, int64_t end) { function(&context, begin, end); });
  } else {
    std::atomic<bool> no_memory{false};
    s_.pool->ParallelFor(items, grain, [&](int64_t begin, int64_t end) {
      TccKernelContext mine = context;
      mine.scratch = ThreadScratch(static_cast<size_t>(scratch));
      if (mine.scratch == nullptr) {
        no_memory = true;
        return;
      }
      function(&mine, begin, end);
    });
    if (no_memory) return absl::ResourceExhaustedError(absl::StrCat(i.name, ": no memory for scratch space"));
  }
  if (s_.kernel_error != kTccKernelOk) return KernelError(s_.kernel_error, i.name);
  return absl::OkStatus();
}

absl::Status ExecutionContext::Runner::KernelError(int64_t code, const std::string& name) {
  switch (code) {
    case kTccIndexOutOfRange:
      return absl::OutOfRangeError(absl::StrCat(name, ": an index is out of range"));
    case kTccDivisionByZero:
      return absl::InvalidArgumentError(absl::StrCat(name, ": integer division by zero"));
    default:
      return absl::InternalError(absl::StrCat(name, ": the kernel failed with code ", code));
  }
}

absl::Status ExecutionContext::Runner::MakeContiguous(ValueId value) {
  if (!f_.IsSet(value)) return NotSet(value);
  TCC_ASSIGN_OR_RETURN(Tensor copy, CloneValue(f_.Get(value)));
  f_.Set(value, std::move(copy), kContiguous);
  return absl::OkStatus();
}

absl::Status ExecutionContext::Runner::Do(const plan::Library& i, const Step& step) {
  TCC_RETURN_IF_ERROR(HostIsReady());
  s_.arguments.clear();
  for (const ValueId value : i.inputs) {
    const bool present = value != kNoValue && f_.IsSet(value);
    s_.arguments.push_back(present ? f_.Get(value) : Tensor());
  }
  s_.result_types.clear();
  for (const auto& result : i.results) s_.result_types.push_back({result.dtype, f_.Eval(result.dims)});
  absl::StatusOr<std::vector<Tensor>> results;
  if (i.int_lists.empty()) {
    results = step.kernel({s_.arguments, i.attributes, s_.result_types});
  } else {
    Attributes attributes = i.attributes;
    for (const auto& [name, operands] : i.int_lists) {
      std::vector<int64_t> list(operands.size());
      for (size_t j = 0; j < list.size(); ++j) list[j] = f_.Eval(operands[j]);
      attributes.Set(name, std::move(list));
    }
    results = step.kernel({s_.arguments, attributes, s_.result_types});
  }
  if (!results.ok()) return results.status();
  if (results->size() != i.results.size()) {
    return absl::InternalError(
        absl::StrCat("the kernel returned ", results->size(), " results, the plan expects ", i.results.size()));
  }
  for (size_t j = 0; j < results->size(); ++j) {
    if (i.results[j].value == kNoValue) continue;
    TCC_RETURN_IF_ERROR(SetResult(i.results[j].value, s_.result_types[j], std::move((*results)[j])));
  }
  return absl::OkStatus();
}

absl::Status ExecutionContext::Runner::SetResult(ValueId value, const TensorType& expected, Tensor tensor) {
  bool matches = tensor.valid() && tensor.dtype() == expected.dtype && tensor.dims().size() == expected.dims.size();
  for (size_t axis = 0; matches && axis < expected.dims.size(); ++axis) {
    matches = expected.dims[axis] < 0 || expected.dims[axis] == tensor.dims()[axis];
  }
  if (!matches) {
    return absl::InternalError(
        absl::StrCat("the kernel returned ", tensor.type().ToString(), ", the plan expects ", expected.ToString()));
  }
  // A view of an input: that memory may be reused while the result lives.
  bool alias = tensor.storage() == nullptr;
  for (const Tensor& argument : s_.arguments) alias |= argument.valid() && argument.storage() == tensor.storage();
  if (alias || !tensor.is_contiguous()) {
    TCC_ASSIGN_OR_RETURN(tensor, tensor.Clone());
  }
  f_.Set(value, std::move(tensor), kContiguous);
  return absl::OkStatus();
}

}  // namespace tcc
