#include <algorithm>

#include "runtime/dispatch.h"
#include "runtime/execution/int_ops.h"
#include "runtime/execution/runner.h"
#include "runtime/status.h"

namespace tcc {

absl::Status ExecutionContext::Runner::Do(const plan::Compute& i) {
  TCC_ASSIGN_OR_RETURN(f_.registers[static_cast<size_t>(i.result)], Evaluate(i.op, f_.Eval(i.lhs), f_.Eval(i.rhs)));
  return absl::OkStatus();
}

bool ExecutionContext::Runner::IsCurrent(ValueId value, const void* instruction) const {
  return (f_.Flags(value) & kStatic) != 0 && f_.writer[static_cast<size_t>(value)] == instruction;
}

void ExecutionContext::Runner::MarkStatic(ValueId value, const void* instruction) {
  f_.flags[static_cast<size_t>(value)] |= kStatic;
  f_.writer[static_cast<size_t>(value)] = instruction;
}

absl::Status ExecutionContext::Runner::Do(const plan::Allocate& i, const Step& step) {
  if (i.slot == plan::kFreshSlot) return AllocateFresh(i);
  if (step.is_static && IsCurrent(i.result, &i)) return absl::OkStatus();
  TCC_RETURN_IF_ERROR(AllocateInSlot(i));
  if (step.is_static) {
    MarkStatic(i.result, &i);
    // (Plans that share it may let it grow.)
    if (i.space == Space::kDevice) s_.lane->arena.Pin(i.slot);
  }
  return absl::OkStatus();
}

absl::Status ExecutionContext::Runner::AllocateFresh(const plan::Allocate& i) {
  const Dims dims = f_.Eval(i.dims);
  const int32_t output = prepared_.output_of_value_[static_cast<size_t>(i.result)];
  if (output >= 0 && loop_depth_ == 0) {
    const TensorType type = {i.dtype, dims};
    if (const Tensor* const target = CallerMemory(static_cast<size_t>(output), type, i.space)) {
      f_.Set(i.result, *target, kForeign | kContiguous);
      return absl::OkStatus();
    }
    if (Tensor memory = i.space == Space::kHost ? TakeDonated(static_cast<size_t>(output), type) : Tensor();
        memory.valid()) {
      f_.Set(i.result, std::move(memory), kContiguous);
      return absl::OkStatus();
    }
  }
  TCC_ASSIGN_OR_RETURN(Tensor tensor,
                       i.space == Space::kHost ? Tensor::Allocate(i.dtype, dims) : AllocateOnDevice(i.dtype, dims));
  f_.Set(i.result, std::move(tensor), kContiguous);
  return absl::OkStatus();
}

absl::Status ExecutionContext::Runner::AllocateInSlot(const plan::Allocate& i) {
  const Dims dims = f_.Eval(i.dims);
  TCC_ASSIGN_OR_RETURN(const int64_t count, NumElements(dims));
  if (count > kMaxBytes / 16) return absl::ResourceExhaustedError("a tensor of the plan is too large");
  TCC_ASSIGN_OR_RETURN(char* const memory, SlotMemory(i, static_cast<int64_t>(DTypeBytes(i.dtype, count))));
  const Device device = i.space == Space::kHost ? Device{} : prepared_.device_->id();
  f_.Set(i.result, Tensor::Wrap(memory, i.dtype, dims, {}, nullptr, device), kArena | kContiguous);
  return absl::OkStatus();
}

absl::StatusOr<char*> ExecutionContext::Runner::SlotMemory(const plan::Allocate& i, int64_t bytes) {
  // A size in a register may differ in each iteration of a loop.
  const Operand& size = prepared_.plan_.slot_bytes[static_cast<size_t>(i.slot)];
  return s_.ArenaOf(i.space).Get(i.slot, i.offset, bytes, size.is_register, [&] { return f_.Eval(size); });
}

absl::Status ExecutionContext::Runner::Do(const plan::View& i, const Step& step) {
  if (!f_.IsSet(i.source)) return NotSet(i.source);
  const bool is_static = step.is_static && (f_.Flags(i.source) & kStatic) != 0;
  if (is_static && IsCurrent(i.result, &i) && LooksAtSource(i)) return absl::OkStatus();
  TCC_RETURN_IF_ERROR(MakeView(i));
  if (is_static) MarkStatic(i.result, &i);
  return absl::OkStatus();
}

absl::Status ExecutionContext::Runner::MakeView(const plan::View& i) {
  const Tensor& source = f_.Get(i.source);
  const Dims dims = f_.Eval(i.dims);
  const Dims strides = i.strides.empty() ? ContiguousStrides(dims) : f_.Eval(i.strides);
  // Nothing of an empty view lies anywhere: a slice from 1 of an extent of 0 is one.
  const int64_t offset = std::find(dims.begin(), dims.end(), 0) != dims.end() ? 0 : f_.Eval(i.offset);
  uint8_t flags = f_.Flags(i.source) & (kArena | kForeign);
  Tensor base = source;
  if (!source.is_contiguous()) {
    // Offsets and strides count elements of the row-major source.
    TCC_ASSIGN_OR_RETURN(base, CloneValue(source));
    flags = 0;
  }
  if (!ViewFits(base.num_elements(), dims, strides, offset)) {
    return absl::InternalError(absl::StrCat("a view ", TensorType{base.dtype(), dims}.ToString(), " with strides [",
                                            TensorType{DType::kI64, strides}.ToString().substr(4), " from ", offset,
                                            " lies outside its source ", base.type().ToString()));
  }
  Tensor view = base.View(dims, strides, offset);
  if (IsPacked(view.dtype()) && (!view.is_contiguous() || offset * DTypeBits(view.dtype()) % 8 != 0)) {
    return absl::InternalError("a view of packed elements must be contiguous and start at a byte");
  }
  f_.SetAny(i.result, std::move(view), flags);
  return absl::OkStatus();
}

// A static view still looks at the memory that its source has now (another branch may have set the source).
bool ExecutionContext::Runner::LooksAtSource(const plan::View& i) const {
  return static_cast<const char*>(f_.data[static_cast<size_t>(i.result)]) ==
         static_cast<const char*>(f_.data[static_cast<size_t>(i.source)]) +
             i.offset.value * DTypeBits(f_.Get(i.source).dtype()) / 8;
}

absl::Status ExecutionContext::Runner::Do(const plan::MakeTensor& i) {
  TCC_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(i.dtype, i.dims));
  for (size_t j = 0; j < i.elements.size(); ++j) {
    StoreInt(tensor.data(), i.dtype, static_cast<int64_t>(j), f_.Eval(i.elements[j]));
  }
  f_.Set(i.result, std::move(tensor), kContiguous);
  return absl::OkStatus();
}

absl::Status ExecutionContext::Runner::Do(const plan::ReadExtent& i) {
  if (!f_.IsSet(i.source)) return NotSet(i.source);
  const Tensor& source = f_.Get(i.source);
  if (i.axis >= source.rank()) {
    return absl::InternalError(absl::StrCat("axis ", i.axis, " of ", source.type().ToString()));
  }
  f_.registers[static_cast<size_t>(i.result)] = source.dim(i.axis);
  return absl::OkStatus();
}

absl::Status ExecutionContext::Runner::Do(const plan::ReadElement& i) {
  if (!f_.IsSet(i.source)) return NotSet(i.source);
  TCC_RETURN_IF_ERROR(HostIsReady());
  TCC_ASSIGN_OR_RETURN(const Tensor source, f_.Get(i.source).Contiguous());
  if (i.index >= source.num_elements() || !(IsInteger(source.dtype()) || source.dtype() == DType::kBool)) {
    return absl::InternalError(absl::StrCat("element ", i.index, " of ", source.type().ToString(), " is read"));
  }
  f_.registers[static_cast<size_t>(i.result)] = LoadInt(source.data(), source.dtype(), i.index);
  return absl::OkStatus();
}

absl::Status ExecutionContext::Runner::Do(const plan::CheckEqual& i) {
  const int64_t lhs = f_.Eval(i.lhs), rhs = f_.Eval(i.rhs);
  if (lhs == rhs) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(i.message, " (", lhs, " against ", rhs, ")"));
}

absl::Status ExecutionContext::Runner::Do(const plan::Move& i) {
  if (!f_.IsSet(i.from)) return NotSet(i.from);
  const uint8_t flags = f_.Flags(i.from);
  if (loop_depth_ > 0 && (flags & kArena) != 0) {
    // The next iteration uses the slot again while this value is carried. (Plans that carry fresh values avoid the
    // copy.)
    TCC_ASSIGN_OR_RETURN(Tensor copy, CloneValue(f_.Get(i.from)));
    f_.Set(i.to, std::move(copy), kContiguous);
    return absl::OkStatus();
  }
  f_.Set(i.to, f_.Get(i.from), flags & ~kStatic);
  return absl::OkStatus();
}

}  // namespace tcc
