// Memory on a device: what a plan takes there, and what to say when there is not enough.
#include "runtime/execution/device_memory.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "runtime/execution/device_constants.h"
#include "runtime/execution/runner.h"
#include "runtime/status.h"

namespace tcc {
namespace {

struct Value {
  int64_t bytes;
  std::string text;
  size_t rank = 0;
};

// (Extents of a plan that nobody checked may be anything.)
int64_t Sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

absl::Span<const Block> BlocksOf(const Instruction& instruction) {
  if (const auto* const branch = std::get_if<plan::If>(&instruction)) return branch->blocks;
  if (const auto* const loop = std::get_if<plan::Loop>(&instruction)) return loop->blocks;
  return {};
}

// The first launch, from there on, that a value is handed to.
const plan::DeviceLaunch* UserOf(ValueId value, const Block& block, size_t from) {
  for (size_t j = from; j < block.instructions.size(); ++j) {
    for (const Block& inner : BlocksOf(block.instructions[j])) {
      if (const plan::DeviceLaunch* found = UserOf(value, inner, 0)) return found;
    }
    const auto* const launch = std::get_if<plan::DeviceLaunch>(&block.instructions[j]);
    if (launch == nullptr) continue;
    if (std::find(launch->buffers.begin(), launch->buffers.end(), value) != launch->buffers.end()) return launch;
  }
  return nullptr;
}

// What a plan has on its device, as far as its extents are known.
class Lister {
 public:
  Lister(const Plan& plan, const ValueTypes& types, const OperandValues& evaluate)
      : plan_(plan), types_(types), evaluate_(evaluate) {}

  void List(const Block& block) {
    for (size_t j = 0; j < block.instructions.size(); ++j) {
      for (const Block& inner : BlocksOf(block.instructions[j])) List(inner);
      if (const auto* const i = std::get_if<plan::Allocate>(&block.instructions[j])) Allocation(*i, block, j);
      if (const auto* const i = std::get_if<plan::Transfer>(&block.instructions[j])) Copy(*i, block, j);
    }
  }

  std::vector<Value> constants, allocations, inputs;
  int64_t fresh = 0;  // bytes of values that are in no slot

 private:
  void Allocation(const plan::Allocate& i, const Block& block, size_t at) {
    if (i.space != Space::kDevice) return;
    TensorType type = {i.dtype, {}};
    for (const Operand& operand : i.dims) type.dims.push_back(evaluate_(operand));
    const int64_t bytes = Add(type, "", i.result, " of ", block, at, &allocations);
    if (i.slot == plan::kFreshSlot) fresh = Sum(fresh, bytes);
  }

  void Copy(const plan::Transfer& i, const Block& block, size_t at) {
    if (i.to != Space::kDevice) return;
    for (const PlanConstant& constant : plan_.constants) {
      if (constant.value != i.source) continue;
      Add({constant.dtype, Dims(constant.dims.begin(), constant.dims.end())}, ", a constant", i.result, " of ", block,
          at, &constants);
      return;
    }
    const auto input = std::find(plan_.inputs.begin(), plan_.inputs.end(), i.source);
    const std::string what =
        input == plan_.inputs.end() ? ", from the host" : absl::StrCat(", input ", input - plan_.inputs.begin());
    fresh = Sum(fresh, Add(types_(i.source), what, i.result, " of ", block, at, &inputs));
  }

  // The bytes; 0 where they are not known.
  static int64_t Add(const TensorType& type, const std::string& what, ValueId value, const char* of, const Block& block,
                     size_t at, std::vector<Value>* list) {
    const absl::StatusOr<int64_t> count = NumElements(type.dims);
    if (type.dtype == DType::kInvalid || type.dtype == DType::kString || !count.ok() || *count > kMaxBytes / 16)
      return 0;
    const auto bytes = static_cast<int64_t>(DTypeBytes(type.dtype, *count));
    const plan::DeviceLaunch* const user = UserOf(value, block, at + 1);
    list->push_back({bytes, absl::StrCat(devices::BytesText(bytes), " ", type.ToString(), what,
                                         user == nullptr || user->name.empty() ? "" : absl::StrCat(of, user->name))});
    return bytes;
  }

  const Plan& plan_;
  const ValueTypes& types_;
  const OperandValues& evaluate_;
};

}  // namespace

std::string DeviceMemoryText(const Plan& plan, const std::vector<Space>& slot_spaces, const std::string& device,
                             int64_t constants_bytes, int64_t pool_bytes, const ValueTypes& types,
                             const OperandValues& evaluate) {
  int64_t slots = 0;
  for (size_t slot = 0; slot < plan.slot_bytes.size(); ++slot) {
    if (slot_spaces[slot] == Space::kDevice) slots = Sum(slots, std::max<int64_t>(0, evaluate(plan.slot_bytes[slot])));
  }
  Lister lister(plan, types, evaluate);
  lister.List(plan.body);
  const int64_t fresh = std::max(pool_bytes, lister.fresh);
  std::vector<Value> values = std::move(lister.constants);
  for (std::vector<Value>* list : {&lister.allocations, &lister.inputs}) {
    values.insert(values.end(), list->begin(), list->end());
  }
  // (Of equal ones the first stays the first.)
  for (size_t i = 0; i < values.size(); ++i) values[i].rank = i;
  std::sort(values.begin(), values.end(),
            [](const Value& a, const Value& b) { return a.bytes != b.bytes ? a.bytes > b.bytes : a.rank < b.rank; });
  constexpr size_t kShown = 5;
  if (values.size() > kShown) values.resize(kShown);
  std::vector<std::string> texts;
  texts.reserve(values.size());
  for (Value& value : values) texts.push_back(std::move(value.text));
  using devices::BytesText;
  return absl::StrCat("the plan takes ", BytesText(Sum(constants_bytes, Sum(slots, fresh))), " on ", device,
                      ": constants ", BytesText(constants_bytes), ", temporaries ", BytesText(slots),
                      ", inputs and outputs ", BytesText(fresh),
                      texts.empty() ? "" : absl::StrCat("; its largest values: ", absl::StrJoin(texts, ", ")),
                      "; a smaller batch, or fewer calls at a time, takes less");
}

absl::StatusOr<Tensor> ExecutionContext::Runner::AllocateOnDevice(DType dtype, const Dims& dims) {
  return s_.device->pool->Allocate(dtype, dims);
}

absl::Status ExecutionContext::Runner::WithMemoryReport(const absl::Status& status) const {
  if (prepared_.device_ == nullptr) return status;
  return absl::ResourceExhaustedError(absl::StrCat(
      status.message(), "; ",
      DeviceMemoryText(
          prepared_.plan_, prepared_.slot_spaces_, prepared_.device_->name(),
          prepared_.device_constants_ == nullptr ? 0 : prepared_.device_constants_->bytes(), s_.lane->pool->bytes(),
          [&](ValueId value) { return f_.IsSet(value) ? f_.Get(value).type() : TensorType(); },
          [&](const Operand& operand) { return f_.Eval(operand); })));
}

// An output that is there, as the caller's: in memory that neither this context nor another output has.
absl::StatusOr<Tensor> ExecutionContext::Runner::StaysOnDevice(size_t output) {
  const ValueId value = prepared_.outputs_[output];
  const Tensor& tensor = f_.Get(value);
  bool copy = (f_.Flags(value) & (kArena | kForeign)) != 0 || !tensor.is_contiguous() || tensor.storage() == nullptr;
  for (const Tensor& other : fetched_) copy |= other.valid() && other.storage() == tensor.storage();
  if (copy) return CloneValue(tensor);
  return tensor;
}

// Times are those of the device: it is waited for.
absl::Status ExecutionContext::Runner::ProfiledOnDevice(const Step& step, const std::function<absl::Status()>& run) {
  DeviceState& d = *s_.device;
  for (devices::EventHandle*& event : d.events) {
    if (event != nullptr) continue;
    TCC_ASSIGN_OR_RETURN(event, d.device->CreateEvent());
  }
  const int64_t start = Now();
  TCC_RETURN_IF_ERROR(d.device->Record(d.events[0], stream_));
  TCC_RETURN_IF_ERROR(run());
  TCC_RETURN_IF_ERROR(d.device->Record(d.events[1], stream_));
  device_busy_ = true;
  TCC_RETURN_IF_ERROR(WaitForDevice());
  TCC_ASSIGN_OR_RETURN(const double milliseconds, d.device->Milliseconds(d.events[0], d.events[1]));
  Report(step, start, start + static_cast<int64_t>(milliseconds * 1e6));
  return absl::OkStatus();
}

}  // namespace tcc
