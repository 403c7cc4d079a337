// Memory on a device: what a call takes there, and what to say when there is not enough.
#include <algorithm>
#include <string>

#include "absl/strings/str_join.h"
#include "runtime/execution/runner.h"
#include "runtime/status.h"

namespace tcc {
namespace {

struct Value {
  int64_t bytes;
  std::string text;
};

// The launch that a value is first handed to, after its allocation: the one that writes it.
const plan::DeviceLaunch* WriterOf(ValueId value, const Block& block, size_t from) {
  for (size_t j = from; j < block.instructions.size(); ++j) {
    const auto* const launch = std::get_if<plan::DeviceLaunch>(&block.instructions[j]);
    if (launch == nullptr) continue;
    if (std::find(launch->buffers.begin(), launch->buffers.end(), value) != launch->buffers.end()) return launch;
  }
  return nullptr;
}

// What allocations on the device come to with the extents known so far.
void AddValues(const Block& block, const Frame& frame, std::vector<Value>* values) {
  for (size_t j = 0; j < block.instructions.size(); ++j) {
    if (const auto* const loop = std::get_if<plan::Loop>(&block.instructions[j])) {
      for (const Block& inner : loop->blocks) AddValues(inner, frame, values);
    }
    if (const auto* const branch = std::get_if<plan::If>(&block.instructions[j])) {
      for (const Block& inner : branch->blocks) AddValues(inner, frame, values);
    }
    const auto* const allocate = std::get_if<plan::Allocate>(&block.instructions[j]);
    if (allocate == nullptr || allocate->space != Space::kDevice) continue;
    const TensorType type = {allocate->dtype, frame.Eval(allocate->dims)};
    const absl::StatusOr<int64_t> count = NumElements(type.dims);
    if (!count.ok()) continue;
    const plan::DeviceLaunch* const writer = WriterOf(allocate->result, block, j + 1);
    const auto bytes = static_cast<int64_t>(DTypeBytes(type.dtype, *count));
    values->push_back(
        {bytes, absl::StrCat(devices::BytesText(bytes), " ", type.ToString(),
                             writer == nullptr || writer->name.empty() ? "" : absl::StrCat(" of ", writer->name))});
  }
}

}  // namespace

absl::StatusOr<Tensor> ExecutionContext::Runner::AllocateOnDevice(DType dtype, const Dims& dims) {
  return s_.device->pool->Allocate(dtype, dims);
}

absl::Status ExecutionContext::Runner::WithMemoryReport(const absl::Status& status) const {
  if (prepared_.device_ == nullptr) return status;
  const Plan& plan = prepared_.plan_;
  int64_t slots = 0;
  for (size_t slot = 0; slot < plan.slot_bytes.size(); ++slot) {
    if (prepared_.slot_spaces_[slot] == Space::kDevice) slots += std::max<int64_t>(0, f_.Eval(plan.slot_bytes[slot]));
  }
  const int64_t fresh = s_.device == nullptr ? 0 : s_.device->pool->bytes();
  std::vector<Value> values;
  AddValues(plan.body, f_, &values);
  std::sort(values.begin(), values.end(), [](const Value& a, const Value& b) { return a.bytes > b.bytes; });
  constexpr size_t kShown = 3;
  if (values.size() > kShown) values.resize(kShown);
  std::vector<std::string> texts;
  texts.reserve(values.size());
  for (const Value& value : values) texts.push_back(value.text);
  using devices::BytesText;
  return absl::ResourceExhaustedError(
      absl::StrCat(status.message(), "; the plan takes ", BytesText(prepared_.device_constants_bytes_ + slots + fresh),
                   " on ", prepared_.device_->name(), ": constants ", BytesText(prepared_.device_constants_bytes_),
                   ", temporaries ", BytesText(slots), ", inputs and outputs ", BytesText(fresh),
                   texts.empty() ? "" : absl::StrCat("; its largest values: ", absl::StrJoin(texts, ", ")),
                   "; a smaller batch, or fewer calls at a time, takes less"));
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
