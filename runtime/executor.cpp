#include "runtime/executor.h"

#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <new>

#include "runtime/dispatch.h"
#include "runtime/executor_internal.h"
#include "runtime/float_control.h"
#include "runtime/status.h"

namespace tcc {
namespace {

enum ValueFlags : uint8_t {
  kSet = 1,
  kContiguous = 2,  // row-major and aligned to its elements: can be handed to a kernel
  kArena = 4,       // in slot memory: valid until the slot is used again
  kForeign = 8,     // memory of the caller's inputs, or of constants
  kStatic = 16,     // stays as it is from call to call
};

constexpr int64_t kSlack = 64;
constexpr int64_t kMaxBytes = int64_t{1} << 56;

int64_t Now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * int64_t{1000000000} + time.tv_nsec;
}

// Memory of one slot: kept between calls, grown when a call needs more.
struct Slot {
  void* memory = nullptr;
  int64_t capacity = 0;
  int64_t size = 0;    // in this call
  bool ready = false;  // `size` is known in this call
};

void* AllocateSlotMemory(int64_t bytes) {
  constexpr int64_t kHugePage = int64_t{2} << 20;
  const bool huge = bytes >= 2 * kHugePage;
  const int64_t unit = huge ? kHugePage : 64;
  const int64_t rounded = (bytes + kSlack + unit - 1) / unit * unit;
  void* memory = std::aligned_alloc(static_cast<size_t>(unit), static_cast<size_t>(rounded));
  if (memory != nullptr && huge) madvise(memory, static_cast<size_t>(rounded), MADV_HUGEPAGE);
  return memory;
}

absl::StatusOr<int64_t> Evaluate(IntOp op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  switch (op) {
    case IntOp::kAdd:
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case IntOp::kSub:
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case IntOp::kMul:
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    case IntOp::kFloorDiv:
    case IntOp::kCeilDiv:
    case IntOp::kMod: {
      if (b == 0) return absl::InvalidArgumentError("shape arithmetic divides by zero");
      if (a == std::numeric_limits<int64_t>::min() && b == -1) {
        overflow = op != IntOp::kMod;
        break;
      }
      const int64_t rest = a % b;
      const bool same_sign = (rest < 0) == (b < 0);
      if (op == IntOp::kFloorDiv) {
        result = a / b - (rest != 0 && !same_sign);
      } else if (op == IntOp::kCeilDiv) {
        result = a / b + (rest != 0 && same_sign);
      } else {
        result = rest != 0 && !same_sign ? rest + b : rest;
      }
      break;
    }
    case IntOp::kMin:
      return std::min(a, b);
    case IntOp::kMax:
      return std::max(a, b);
    case IntOp::kEq:
      return a == b;
    case IntOp::kLt:
      return a < b;
  }
  if (overflow)
    return absl::OutOfRangeError(absl::StrCat("shape arithmetic overflows 64 bits (with ", a, " and ", b, ")"));
  return result;
}

bool IsAligned(const Tensor& tensor) {
  const auto bytes = static_cast<uintptr_t>(std::min(DTypeBits(tensor.dtype()) / 8, 8));
  return bytes <= 1 || reinterpret_cast<uintptr_t>(tensor.data()) % bytes == 0;
}

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

struct ExecutionContext::State {
  std::shared_ptr<const PreparedPlan> plan;
  ThreadPool* pool;
  // By value id. `data` and `flags` repeat what launches need of the tensors, densely.
  std::vector<Tensor> values;
  std::vector<void*> data;
  std::vector<uint8_t> flags;
  std::vector<const void*> writer;  // of static values: the instruction that set them
  std::vector<int64_t> registers;
  std::vector<Slot> slots;
  std::vector<void*> retired;  // slot memory that this call may still refer to
  // Of the launch or library call being run.
  std::vector<void*> buffers;
  std::vector<int64_t> scalars;
  std::vector<Tensor> arguments;
  std::vector<TensorType> result_types;
  int64_t kernel_error = kTccKernelOk;

  ~State() {
    for (const Slot& slot : slots) std::free(slot.memory);
    FreeRetired();
  }
  void FreeRetired() {
    for (void* memory : retired) std::free(memory);
    retired.clear();
  }
};

// One call.
class ExecutionContext::Runner {
 public:
  using Step = PreparedPlan::Step;
  using Kind = PreparedPlan::Kind;
  using Program = PreparedPlan::Program;

  Runner(State& state, const RunOptions& options) : s_(state), prepared_(*state.plan), options_(options) {}

  absl::Status Run(absl::Span<const Tensor> inputs, absl::Span<const int64_t> symbols, std::vector<Tensor>* outputs) {
    TCC_RETURN_IF_ERROR(SetInputs(inputs, symbols));
    TCC_RETURN_IF_ERROR(CheckCallerOutputs(inputs));
    TCC_RETURN_IF_ERROR(Execute(*prepared_.programs_[0]));
    return TakeOutputs(outputs);
  }

  // After the call, successful or not: lets go of what does not live on.
  void Finish() {
    for (const ValueId value : prepared_.dropped_) {
      const auto index = static_cast<size_t>(value);
      if (s_.flags[index] & kStatic) continue;
      s_.flags[index] = 0;
      if (s_.values[index].storage() != nullptr) s_.values[index] = Tensor();
    }
    for (Slot& slot : s_.slots) slot.ready = false;
    s_.FreeRetired();
  }

 private:
  // Values.

  void Set(ValueId value, Tensor tensor, uint8_t flags) {
    const auto index = static_cast<size_t>(value);
    s_.data[index] = tensor.data();
    s_.flags[index] = static_cast<uint8_t>(flags | kSet);
    s_.values[index] = std::move(tensor);
  }
  // For a tensor whose layout is not known to be a kernel's.
  void SetAny(ValueId value, Tensor tensor, uint8_t flags) {
    if (tensor.is_contiguous() && IsAligned(tensor)) flags |= kContiguous;
    Set(value, std::move(tensor), flags);
  }
  absl::Status NotSet(ValueId value) const {
    return absl::InternalError(absl::StrCat("value ", value, " is read before it is set, or is an input left out"));
  }
  bool IsSet(ValueId value) const { return (s_.flags[static_cast<size_t>(value)] & kSet) != 0; }
  const Tensor& Get(ValueId value) const { return s_.values[static_cast<size_t>(value)]; }
  uint8_t Flags(ValueId value) const { return s_.flags[static_cast<size_t>(value)]; }

  int64_t Eval(const Operand& operand) const {
    return operand.is_register ? s_.registers[static_cast<size_t>(operand.value)] : operand.value;
  }
  Dims Eval(const std::vector<Operand>& operands) const {
    Dims dims(operands.size());
    for (size_t i = 0; i < operands.size(); ++i) dims[i] = Eval(operands[i]);
    return dims;
  }

  absl::Status SetInputs(absl::Span<const Tensor> inputs, absl::Span<const int64_t> symbols) {
    const Plan& plan = prepared_.plan_;
    if (inputs.size() != plan.inputs.size() || symbols.size() != plan.symbol_registers.size()) {
      return absl::InvalidArgumentError(absl::StrCat("the plan takes ", plan.inputs.size(), " inputs and ",
                                                     plan.symbol_registers.size(), " symbols, got ", inputs.size(),
                                                     " and ", symbols.size()));
    }
    for (size_t i = 0; i < symbols.size(); ++i) {
      s_.registers[static_cast<size_t>(plan.symbol_registers[i])] = symbols[i];
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (plan.inputs[i] == kNoValue || !inputs[i].valid()) continue;
      if (inputs[i].device() != Device{}) {
        return absl::InvalidArgumentError(absl::StrCat("input ", i, " is on a device, this plan runs on the host"));
      }
      SetAny(plan.inputs[i], inputs[i], kForeign);
    }
    return absl::OkStatus();
  }

  // Memory of the caller is written to early only where nothing that is still read lies there.
  absl::Status CheckCallerOutputs(absl::Span<const Tensor> inputs) {
    if (options_.outputs.empty()) return absl::OkStatus();
    if (options_.outputs.size() != prepared_.plan_.outputs.size()) {
      return absl::InvalidArgumentError(absl::StrCat("the plan has ", prepared_.plan_.outputs.size(),
                                                     " outputs, memory was given for ", options_.outputs.size()));
    }
    direct_.assign(options_.outputs.size(), false);
    for (size_t i = 0; i < options_.outputs.size(); ++i) {
      const Tensor& output = options_.outputs[i];
      if (!output.valid()) continue;
      if (output.device() != Device{}) {
        return absl::InvalidArgumentError(absl::StrCat("memory for output ", i, " is on a device"));
      }
      bool overlaps = false;
      for (const Tensor& input : inputs) overlaps |= input.valid() && Overlap(input, output);
      for (size_t j = 0; j < options_.outputs.size(); ++j) {
        overlaps |= j != i && options_.outputs[j].valid() && Overlap(options_.outputs[j], output);
      }
      overlapping_ |= overlaps;
      direct_[i] = !overlaps && output.is_contiguous() && IsAligned(output) && output.dtype() != DType::kString;
    }
    return absl::OkStatus();
  }

  absl::Status TakeOutputs(std::vector<Tensor>* outputs) {
    const std::vector<ValueId>& ids = prepared_.plan_.outputs;
    outputs->assign(ids.size(), Tensor());
    for (size_t i = 0; i < ids.size(); ++i) {
      if (!IsSet(ids[i])) return WithContext(absl::StrCat("output ", i), NotSet(ids[i]));
      Tensor tensor = Get(ids[i]);
      const bool to_caller = !options_.outputs.empty() && options_.outputs[i].valid();
      bool copy = (Flags(ids[i]) & (kArena | kForeign)) != 0;
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
        for (size_t j = 0; j < i; ++j) copy |= ids[j] == ids[i];
      }
      if (copy && !IsDirect(i, tensor)) {
        TCC_ASSIGN_OR_RETURN(tensor, tensor.Clone());
      }
      (*outputs)[i] = std::move(tensor);
    }
    for (size_t i = 0; i < ids.size() && !options_.outputs.empty(); ++i) {
      const Tensor& target = options_.outputs[i];
      if (!target.valid()) continue;
      if (!IsDirect(i, (*outputs)[i])) TCC_RETURN_IF_ERROR(CopyElements((*outputs)[i], target));
      (*outputs)[i] = target;
    }
    return absl::OkStatus();
  }

  // Whether the kernels have written output i where the caller wants it.
  bool IsDirect(size_t i, const Tensor& tensor) const {
    return !options_.outputs.empty() && direct_[i] && options_.outputs[i].data() == tensor.data() &&
           tensor.is_contiguous();
  }

  // Instructions.

  absl::Status Execute(const Program& program) {
    if (options_.profile == nullptr) {
      for (const Step& step : program.steps) {
        if (absl::Status status = Execute(step); !status.ok()) return status;
      }
      return absl::OkStatus();
    }
    for (const Step& step : program.steps) {
      const int64_t start = Now();
      if (absl::Status status = Execute(step); !status.ok()) return status;
      Report(step, start);
    }
    return absl::OkStatus();
  }

  void Report(const Step& step, int64_t start) const {
    static constexpr std::string_view kKinds[] = {
        "compute",      "allocate",    "view", "launch", "library", "make_tensor", "read_extent",
        "read_element", "check_equal", "move", "if",     "loop",    "release"};
    ProfileEvent event;
    event.kind = kKinds[static_cast<size_t>(step.kind)];
    event.name = event.kind;
    if (step.kind == Kind::kLaunch) event.name = static_cast<const plan::Launch*>(step.instruction)->name;
    if (step.kind == Kind::kLibrary) event.name = LibraryName(*static_cast<const plan::Library*>(step.instruction));
    event.start_ns = start;
    event.end_ns = Now();
    (*options_.profile)(event);
  }
  static std::string_view LibraryName(const plan::Library& i) { return i.name.empty() ? i.op : i.name; }

  absl::Status Execute(const Step& step) {
    switch (step.kind) {
      case Kind::kCompute:
        return Do(*static_cast<const plan::Compute*>(step.instruction));
      case Kind::kAllocate:
        return Do(*static_cast<const plan::Allocate*>(step.instruction), step);
      case Kind::kView:
        return Do(*static_cast<const plan::View*>(step.instruction), step);
      case Kind::kLaunch:
        return Do(*static_cast<const plan::Launch*>(step.instruction), step);
      case Kind::kLibrary: {
        const auto& i = *static_cast<const plan::Library*>(step.instruction);
        const absl::Status status = Do(i, step);
        s_.arguments.clear();
        if (status.ok()) return status;
        const std::string_view name = LibraryName(i);
        return WithContext(absl::string_view(name.data(), name.size()), status);
      }
      case Kind::kMakeTensor:
        return Do(*static_cast<const plan::MakeTensor*>(step.instruction));
      case Kind::kReadExtent: {
        const auto& i = *static_cast<const plan::ReadExtent*>(step.instruction);
        if (!IsSet(i.source)) return NotSet(i.source);
        const Tensor& source = Get(i.source);
        if (i.axis >= source.rank()) {
          return absl::InternalError(absl::StrCat("axis ", i.axis, " of ", source.type().ToString()));
        }
        s_.registers[static_cast<size_t>(i.result)] = source.dim(i.axis);
        return absl::OkStatus();
      }
      case Kind::kReadElement:
        return Do(*static_cast<const plan::ReadElement*>(step.instruction));
      case Kind::kCheckEqual: {
        const auto& i = *static_cast<const plan::CheckEqual*>(step.instruction);
        const int64_t lhs = Eval(i.lhs), rhs = Eval(i.rhs);
        if (lhs == rhs) return absl::OkStatus();
        return absl::InvalidArgumentError(absl::StrCat(i.message, " (", lhs, " against ", rhs, ")"));
      }
      case Kind::kMove:
        return Do(*static_cast<const plan::Move*>(step.instruction));
      case Kind::kIf: {
        TCC_ASSIGN_OR_RETURN(const int64_t condition,
                             Scalar(static_cast<const plan::If*>(step.instruction)->condition));
        return Execute(*step.blocks[condition != 0 ? 0 : 1]);
      }
      case Kind::kLoop:
        return Do(*static_cast<const plan::Loop*>(step.instruction), *step.blocks[0]);
      case Kind::kRelease: {
        const auto index = static_cast<size_t>(static_cast<const plan::Release*>(step.instruction)->value);
        if (s_.flags[index] & kStatic) return absl::OkStatus();
        s_.flags[index] = 0;
        if (s_.values[index].storage() != nullptr) s_.values[index] = Tensor();
        return absl::OkStatus();
      }
    }
    return absl::InternalError("unknown instruction");
  }

  absl::Status Do(const plan::Compute& i) {
    TCC_ASSIGN_OR_RETURN(s_.registers[static_cast<size_t>(i.result)], Evaluate(i.op, Eval(i.lhs), Eval(i.rhs)));
    return absl::OkStatus();
  }

  bool IsCurrent(ValueId value, const void* instruction) const {
    return (Flags(value) & kStatic) != 0 && s_.writer[static_cast<size_t>(value)] == instruction;
  }
  void MarkStatic(ValueId value, const void* instruction) {
    s_.flags[static_cast<size_t>(value)] |= kStatic;
    s_.writer[static_cast<size_t>(value)] = instruction;
  }

  absl::Status Do(const plan::Allocate& i, const Step& step) {
    if (step.is_static && IsCurrent(i.result, &i)) return absl::OkStatus();
    const Dims dims = Eval(i.dims);
    if (i.slot == plan::kFreshSlot) {
      const int32_t output = prepared_.output_of_value_[static_cast<size_t>(i.result)];
      if (output >= 0 && loop_depth_ == 0 && !options_.outputs.empty() && direct_[static_cast<size_t>(output)]) {
        const Tensor& target = options_.outputs[static_cast<size_t>(output)];
        if (target.dtype() == i.dtype && target.dims() == dims) {
          Set(i.result, target, kForeign | kContiguous);
          return absl::OkStatus();
        }
      }
      TCC_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(i.dtype, dims));
      Set(i.result, std::move(tensor), kContiguous);
      return absl::OkStatus();
    }
    TCC_ASSIGN_OR_RETURN(const int64_t count, NumElements(dims));
    if (count > kMaxBytes / 16) return absl::ResourceExhaustedError("a tensor of the plan is too large");
    TCC_ASSIGN_OR_RETURN(char* const memory,
                         SlotMemory(i.slot, i.offset, static_cast<int64_t>(DTypeBytes(i.dtype, count))));
    Set(i.result, Tensor::Wrap(memory, i.dtype, dims), kArena | kContiguous);
    if (step.is_static) MarkStatic(i.result, &i);
    return absl::OkStatus();
  }

  absl::StatusOr<char*> SlotMemory(int32_t id, int64_t offset, int64_t bytes) {
    Slot& slot = s_.slots[static_cast<size_t>(id)];
    const Operand& size = prepared_.plan_.slot_bytes[static_cast<size_t>(id)];
    // A size in a register may differ in each iteration of a loop.
    if (!slot.ready || size.is_register) {
      slot.size = Eval(size);
      slot.ready = true;
      if (slot.size < 0 || slot.size > kMaxBytes) {
        return absl::ResourceExhaustedError(absl::StrCat("memory slot ", id, " of ", slot.size, " bytes"));
      }
      if (slot.size > slot.capacity || slot.memory == nullptr) TCC_RETURN_IF_ERROR(Grow(slot));
    }
    if (offset > slot.size || bytes > slot.size - offset) {
      return absl::InternalError(absl::StrCat("a tensor of ", bytes, " bytes at ", offset, " does not fit into slot ",
                                              id, " of ", slot.size, " bytes"));
    }
    return static_cast<char*>(slot.memory) + offset;
  }

  absl::Status Grow(Slot& slot) {
    void* memory = AllocateSlotMemory(slot.size);
    if (memory == nullptr) return absl::ResourceExhaustedError(absl::StrCat("no memory for ", slot.size, " bytes"));
    if (slot.memory != nullptr) s_.retired.push_back(slot.memory);
    slot.memory = memory;
    slot.capacity = slot.size;
    // Static values lie in slots of static size, which are allocated once: none of them has moved.
    return absl::OkStatus();
  }

  absl::Status Do(const plan::View& i, const Step& step) {
    if (!IsSet(i.source)) return NotSet(i.source);
    const bool is_static = step.is_static && (Flags(i.source) & kStatic) != 0;
    if (is_static && IsCurrent(i.result, &i) && LooksAtSource(i)) return absl::OkStatus();
    const Tensor& source = Get(i.source);
    const Dims dims = Eval(i.dims);
    const Dims strides = i.strides.empty() ? ContiguousStrides(dims) : Eval(i.strides);
    // Nothing of an empty view lies anywhere: a slice from 1 of an extent of 0 is one.
    const int64_t offset = std::find(dims.begin(), dims.end(), 0) != dims.end() ? 0 : Eval(i.offset);
    uint8_t flags = Flags(i.source) & (kArena | kForeign);
    Tensor base = source;
    if (!source.is_contiguous()) {
      // Offsets and strides count elements of the row-major source.
      TCC_ASSIGN_OR_RETURN(base, source.Clone());
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
    SetAny(i.result, std::move(view), flags);
    if (is_static) MarkStatic(i.result, &i);
    return absl::OkStatus();
  }
  // A static view still looks at the memory that its source has now (another branch may have set the source).
  bool LooksAtSource(const plan::View& i) const {
    return static_cast<const char*>(s_.data[static_cast<size_t>(i.result)]) ==
           static_cast<const char*>(s_.data[static_cast<size_t>(i.source)]) +
               i.offset.value * DTypeBits(Get(i.source).dtype()) / 8;
  }

  absl::Status Do(const plan::Launch& i, const Step& step) {
    const int64_t items = Eval(i.items);
    if (items <= 0) {
      return items == 0 ? absl::OkStatus()
                        : absl::InternalError(absl::StrCat(i.name, ": a launch of ", items, " items"));
    }
    size_t n = 0;
    for (const ValueId value : i.buffers) {
      const auto index = static_cast<size_t>(value);
      if ((s_.flags[index] & (kSet | kContiguous)) != (kSet | kContiguous)) {
        TCC_RETURN_IF_ERROR(WithContext(i.name, MakeContiguous(value)));
      }
      s_.buffers[n++] = s_.data[index];
    }
    s_.scalars.resize(i.scalars.size());
    for (size_t j = 0; j < i.scalars.size(); ++j) s_.scalars[j] = Eval(i.scalars[j]);
    const int64_t scratch = Eval(i.scratch_bytes);
    s_.kernel_error = kTccKernelOk;
    const TccKernelContext context = {kKernelAbiVersion, s_.buffers.data(), s_.scalars.data(), nullptr,
                                      &s_.kernel_error};
    if (scratch <= 0) {
      s_.pool->ParallelFor(items, i.grain, [&](int64_t begin, int64_t end) { step.function(&context, begin, end); });
    } else {
      std::atomic<bool> no_memory{false};
      s_.pool->ParallelFor(items, i.grain, [&](int64_t begin, int64_t end) {
        TccKernelContext mine = context;
        mine.scratch = ThreadScratch(static_cast<size_t>(scratch));
        if (mine.scratch == nullptr) {
          no_memory = true;
          return;
        }
        step.function(&mine, begin, end);
      });
      if (no_memory) return absl::ResourceExhaustedError(absl::StrCat(i.name, ": no memory for scratch space"));
    }
    if (s_.kernel_error != kTccKernelOk) return KernelError(i);
    return absl::OkStatus();
  }

  absl::Status KernelError(const plan::Launch& i) const {
    switch (s_.kernel_error) {
      case kTccIndexOutOfRange:
        return absl::OutOfRangeError(absl::StrCat(i.name, ": an index is out of range"));
      case kTccDivisionByZero:
        return absl::InvalidArgumentError(absl::StrCat(i.name, ": integer division by zero"));
      default:
        return absl::InternalError(absl::StrCat(i.name, ": the kernel failed with code ", s_.kernel_error));
    }
  }

  absl::Status MakeContiguous(ValueId value) {
    if (!IsSet(value)) return NotSet(value);
    TCC_ASSIGN_OR_RETURN(Tensor copy, Get(value).Clone());
    Set(value, std::move(copy), kContiguous);
    return absl::OkStatus();
  }

  absl::Status Do(const plan::Library& i, const Step& step) {
    s_.arguments.clear();
    for (const ValueId value : i.inputs) {
      const bool present = value != kNoValue && IsSet(value);
      s_.arguments.push_back(present ? Get(value) : Tensor());
    }
    s_.result_types.clear();
    for (const auto& result : i.results) s_.result_types.push_back({result.dtype, Eval(result.dims)});
    absl::StatusOr<std::vector<Tensor>> results;
    if (i.int_lists.empty()) {
      results = step.kernel({s_.arguments, i.attributes, s_.result_types});
    } else {
      Attributes attributes = i.attributes;
      for (const auto& [name, operands] : i.int_lists) {
        std::vector<int64_t> list(operands.size());
        for (size_t j = 0; j < list.size(); ++j) list[j] = Eval(operands[j]);
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

  absl::Status SetResult(ValueId value, const TensorType& expected, Tensor tensor) {
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
    Set(value, std::move(tensor), kContiguous);
    return absl::OkStatus();
  }

  absl::Status Do(const plan::MakeTensor& i) {
    TCC_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(i.dtype, i.dims));
    for (size_t j = 0; j < i.elements.size(); ++j) {
      StoreInt(tensor.data(), i.dtype, static_cast<int64_t>(j), Eval(i.elements[j]));
    }
    Set(i.result, std::move(tensor), kContiguous);
    return absl::OkStatus();
  }

  absl::Status Do(const plan::ReadElement& i) {
    if (!IsSet(i.source)) return NotSet(i.source);
    TCC_ASSIGN_OR_RETURN(const Tensor source, Get(i.source).Contiguous());
    if (i.index >= source.num_elements() || !(IsInteger(source.dtype()) || source.dtype() == DType::kBool)) {
      return absl::InternalError(absl::StrCat("element ", i.index, " of ", source.type().ToString(), " is read"));
    }
    s_.registers[static_cast<size_t>(i.result)] = LoadInt(source.data(), source.dtype(), i.index);
    return absl::OkStatus();
  }

  // The only element of an integer or bool tensor.
  absl::StatusOr<int64_t> Scalar(ValueId value) const {
    if (!IsSet(value)) return NotSet(value);
    const Tensor& tensor = Get(value);
    if (tensor.num_elements() != 1 || !(IsInteger(tensor.dtype()) || tensor.dtype() == DType::kBool)) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected a single integer or bool to decide control flow, got ", tensor.type().ToString()));
    }
    return LoadInt(tensor.data(), tensor.dtype(), 0);
  }

  absl::Status Do(const plan::Move& i) {
    if (!IsSet(i.from)) return NotSet(i.from);
    const uint8_t flags = Flags(i.from);
    if (loop_depth_ > 0 && (flags & kArena) != 0) {
      // The next iteration uses the slot again while this value is carried. (Plans that carry fresh values avoid the
      // copy.)
      TCC_ASSIGN_OR_RETURN(Tensor copy, Get(i.from).Clone());
      Set(i.to, std::move(copy), kContiguous);
      return absl::OkStatus();
    }
    Set(i.to, Get(i.from), flags & ~kStatic);
    return absl::OkStatus();
  }

  // Stacks what the iterations of a loop leave in one value.
  class Stack {
   public:
    explicit Stack(const plan::Loop::ScanOutput& scan) : scan_(scan) {}

    absl::Status Push(const Tensor& element, int64_t remaining) {
      if (element.dtype() != scan_.dtype) {
        return absl::InternalError(absl::StrCat("a scan output collects ", element.type().ToString()));
      }
      if (rows_ == 0) {
        dims_ = element.dims();
        TCC_RETURN_IF_ERROR(Reserve(std::clamp<int64_t>(remaining, 1, 16)));
      } else if (dims_ != element.dims()) {
        return absl::InvalidArgumentError(absl::StrCat("a loop stacks ", element.type().ToString(), " onto elements ",
                                                       TensorType{scan_.dtype, dims_}.ToString()));
      }
      if (rows_ == capacity_) TCC_RETURN_IF_ERROR(Reserve(capacity_ * 2));
      TCC_RETURN_IF_ERROR(CopyElements(element, Row(rows_)));
      ++rows_;
      return absl::OkStatus();
    }

    absl::StatusOr<Tensor> Take(const Dims& empty_dims) {
      if (rows_ == 0) {
        dims_ = empty_dims;
        TCC_RETURN_IF_ERROR(Reserve(0));
      }
      Dims dims = dims_;
      dims.insert(dims.begin(), rows_);
      return buffer_.View(dims, ContiguousStrides(dims), 0);
    }

   private:
    Tensor Row(int64_t row) const {
      return buffer_.View(dims_, ContiguousStrides(dims_),
                          row * (buffer_.num_elements() / std::max<int64_t>(capacity_, 1)));
    }
    absl::Status Reserve(int64_t capacity) {
      Dims dims = dims_;
      dims.insert(dims.begin(), capacity);
      Tensor old = std::move(buffer_);
      TCC_ASSIGN_OR_RETURN(buffer_, Tensor::Allocate(scan_.dtype, dims));
      capacity_ = capacity;
      if (rows_ == 0) return absl::OkStatus();
      dims[0] = rows_;
      return CopyElements(old.View(dims, ContiguousStrides(dims), 0), buffer_.View(dims, ContiguousStrides(dims), 0));
    }

    const plan::Loop::ScanOutput& scan_;
    Dims dims_;
    Tensor buffer_;
    int64_t rows_ = 0, capacity_ = 0;
  };

  absl::Status Do(const plan::Loop& i, const Program& body) {
    int64_t trips = std::numeric_limits<int64_t>::max();
    if (i.trip_count != kNoValue) {
      TCC_ASSIGN_OR_RETURN(trips, Scalar(i.trip_count));
    }
    std::vector<Stack> stacks(i.scan_outputs.begin(), i.scan_outputs.end());
    ++loop_depth_;
    for (int64_t iteration = 0; iteration < trips; ++iteration) {
      if (i.condition != kNoValue) {
        TCC_ASSIGN_OR_RETURN(const int64_t condition, Scalar(i.condition));
        if (condition == 0) break;
      }
      if (i.iteration != kNoValue) Set(i.iteration, Tensor::Scalar<int64_t>(iteration), kContiguous);
      TCC_RETURN_IF_ERROR(Execute(body));
      for (size_t j = 0; j < stacks.size(); ++j) {
        const ValueId element = i.scan_outputs[j].element;
        if (!IsSet(element)) return NotSet(element);
        TCC_RETURN_IF_ERROR(stacks[j].Push(Get(element), trips - iteration));
      }
    }
    --loop_depth_;
    for (size_t j = 0; j < stacks.size(); ++j) {
      TCC_ASSIGN_OR_RETURN(Tensor stacked, stacks[j].Take(Eval(i.scan_outputs[j].dims)));
      Set(i.scan_outputs[j].result, std::move(stacked), kContiguous);
    }
    return absl::OkStatus();
  }

  State& s_;
  const PreparedPlan& prepared_;
  const RunOptions& options_;
  std::vector<bool> direct_;  // by output: kernels may write to the caller's memory
  bool overlapping_ = false;
  int loop_depth_ = 0;
};

ExecutionContext::ExecutionContext(std::shared_ptr<const PreparedPlan> plan, ThreadPool* pool)
    : state_(std::make_unique<State>()) {
  const Plan& p = plan->plan_;
  State& s = *state_;
  s.pool = pool != nullptr ? pool : &ThreadPool::Global();
  s.values.resize(static_cast<size_t>(p.num_values));
  s.data.resize(s.values.size());
  s.flags.resize(s.values.size());
  s.writer.resize(s.values.size());
  s.registers.resize(static_cast<size_t>(p.num_registers));
  s.slots.resize(p.slot_bytes.size());
  s.buffers.resize(plan->max_buffers_);
  for (const auto& [value, tensor] : plan->constants_) {
    const auto index = static_cast<size_t>(value);
    s.values[index] = tensor;
    s.data[index] = tensor.data();
    s.flags[index] = kSet | kContiguous | kForeign | kStatic;
  }
  s.plan = std::move(plan);
}

ExecutionContext::~ExecutionContext() = default;

absl::Status ExecutionContext::Run(absl::Span<const Tensor> inputs, absl::Span<const int64_t> symbols,
                                   const RunOptions& options, std::vector<Tensor>* outputs) {
  const ScopedFloatControl float_control;
  Runner runner(*state_, options);
  absl::Status status;
  try {
    status = runner.Run(inputs, symbols, outputs);
  } catch (const std::bad_alloc&) {
    status = absl::ResourceExhaustedError("no memory");
  } catch (const std::exception& e) {
    status = absl::InternalError(absl::StrCat("exception: ", e.what()));
  }
  runner.Finish();
  if (!status.ok()) outputs->clear();
  return status;
}

int64_t ExecutionContext::arena_bytes() const {
  int64_t bytes = 0;
  for (const Slot& slot : state_->slots) bytes += slot.capacity;
  return bytes;
}

}  // namespace tcc
