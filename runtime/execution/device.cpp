// The parts of a call that concern a device: launches, transfers, waiting.
#include <algorithm>

#include "runtime/devices/images.h"
#include "runtime/execution/runner.h"
#include "runtime/status.h"

namespace tcc {
namespace {

using devices::ComputeDevice;

int64_t Bytes(const Tensor& tensor) { return static_cast<int64_t>(tensor.bytes()); }

// The lowest and one past the highest element that a tensor of any strides reaches, counted from its first.
std::pair<int64_t, int64_t> Reach(const Tensor& tensor) {
  int64_t low = 0, high = 0;
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    const int64_t span = (tensor.dim(axis) - 1) * tensor.strides()[axis];
    (span < 0 ? low : high) += span;
  }
  return {low, high + 1};
}

}  // namespace

absl::Status ExecutionContext::Runner::StartDevice() {
  if (s_.device == nullptr) s_.device = std::make_unique<DeviceState>(s_.lane);
  DeviceState& d = *s_.device;
  TCC_RETURN_IF_ERROR(d.Start(prepared_.error_names_.size(), prepared_.max_params_));
  stream_ = d.stream;
  if (options_.stream != nullptr) {
    stream_ = d.device->Borrow(options_.stream);
    if (stream_ == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("a stream was given, but ", d.device->name(), " has none of the caller's: leave it out"));
    }
  }
  return d.Clear(stream_);
}

absl::Status ExecutionContext::Runner::Do(const plan::DeviceLaunch& i, const Step& step) {
  DeviceState& d = *s_.device;
  devices::LaunchShape shape;
  bool empty = false;
  for (size_t axis = 0; axis < 3; ++axis) {
    shape.grid[axis] = f_.Eval(i.grid[axis]);
    shape.block[axis] = i.block[axis];
    empty |= shape.grid[axis] == 0;
    if (shape.grid[axis] < 0) {
      return absl::InternalError(absl::StrCat(i.name, ": a grid of ", shape.grid[axis], " blocks"));
    }
  }
  if (empty) return absl::OkStatus();
  shape.shared_bytes = f_.Eval(i.shared_bytes);
  const bool checked = d.device->checks_accesses();
  d.ranges.clear();
  int64_t* value = d.values.data();
  for (const ValueId buffer : i.buffers) {
    const auto index = static_cast<size_t>(buffer);
    if ((f_.flags[index] & (kSet | kContiguous)) != (kSet | kContiguous)) {
      TCC_RETURN_IF_ERROR(WithContext(i.name, MakeContiguous(buffer)));
    }
    *value++ = reinterpret_cast<int64_t>(f_.data[index]);
    if (checked) d.ranges.push_back({f_.data[index], Bytes(f_.values[index])});
  }
  if (i.copies && d.values[0] == d.values[1]) return absl::OkStatus();
  if (!i.tensor_maps.empty()) {
    TCC_RETURN_IF_ERROR(WithContext(i.name, AlignMapped(i)));
    EvalTensorMaps(i, d.tensor_maps);
    shape.tensor_maps = d.tensor_maps;
  }
  for (const Operand& scalar : i.scalars) *value++ = f_.Eval(scalar);
  if (step.error_word >= 0) {
    *value++ = reinterpret_cast<int64_t>(d.error_words + step.error_word);
    if (checked) d.ranges.push_back({d.error_words + step.error_word, sizeof(int64_t)});
  }
  if (i.has_counters()) {
    const int64_t count = f_.Eval(i.counters);
    TCC_ASSIGN_OR_RETURN(int32_t* const counters, CountersFor(i, count));
    *value++ = reinterpret_cast<int64_t>(counters);
    if (checked) d.ranges.push_back({counters, count * static_cast<int64_t>(sizeof(int32_t))});
  }
  shape.buffers = d.ranges;
  const auto count = static_cast<size_t>(value - d.values.data());
  return LaunchOnDevice(step.device_function, shape, absl::MakeSpan(d.params.data(), count), i);
}

void ExecutionContext::Runner::EvalTensorMaps(const plan::DeviceLaunch& i,
                                              std::vector<devices::TensorMap>& maps) const {
  maps.clear();
  for (const plan::TensorMap& from : i.tensor_maps) {
    devices::TensorMap& map = maps.emplace_back();
    map.param = from.buffer;  // (buffers are the first parameters)
    map.element_bytes = from.element_bytes;
    map.rank = static_cast<int32_t>(from.extents.size());
    map.swizzle = from.swizzle;
    for (size_t axis = 0; axis < from.extents.size(); ++axis) {
      map.extents[axis] = f_.Eval(from.extents[axis]);
      map.box[axis] = from.box[axis];
      // (What is too large stays so, and is refused by the device.)
      if (axis > 0) {
        map.strides[axis - 1] =
            std::clamp(f_.Eval(from.strides[axis - 1]), int64_t{0}, devices::kMostTensorMapStride) * from.element_bytes;
      }
    }
  }
}

bool ExecutionContext::Runner::CanMap(const plan::DeviceLaunch& i) const {
  return std::all_of(i.tensor_maps.begin(), i.tensor_maps.end(), [&](const plan::TensorMap& map) {
    const ValueId buffer = i.buffers[static_cast<size_t>(map.buffer)];
    return reinterpret_cast<uintptr_t>(f_.data[static_cast<size_t>(buffer)]) % devices::kTensorMapAlignment == 0;
  });
}

// A view may start anywhere: the launch is given a copy of it.
absl::Status ExecutionContext::Runner::AlignMapped(const plan::DeviceLaunch& i) {
  DeviceState& d = *s_.device;
  for (const plan::TensorMap& map : i.tensor_maps) {
    const auto position = static_cast<size_t>(map.buffer);
    if (d.values[position] % devices::kTensorMapAlignment == 0) continue;
    TCC_ASSIGN_OR_RETURN(Tensor copy, CloneValue(f_.Get(i.buffers[position])));
    d.values[position] = reinterpret_cast<int64_t>(copy.data());
    if (!d.ranges.empty()) d.ranges[position] = {copy.data(), Bytes(copy)};
    in_flight_.push_back(std::move(copy));
  }
  return absl::OkStatus();
}

absl::StatusOr<int32_t*> ExecutionContext::Runner::CountersFor(const plan::DeviceLaunch& i, int64_t count) {
  device_busy_ = true;  // (they may be cleared)
  absl::StatusOr<int32_t*> counters = s_.device->Counters(count, stream_);
  if (!counters.ok()) return WithContext(i.name, counters.status());
  return counters;
}

absl::Status ExecutionContext::Runner::LaunchOnDevice(devices::FunctionHandle* function,
                                                      const devices::LaunchShape& shape, absl::Span<void*> params,
                                                      const plan::DeviceLaunch& i) {
  device_busy_ = true;
  errors_possible_ |= i.reports_errors;
  absl::Status status = s_.device->device->Launch(function, shape, params, stream_);
  return status.ok() ? status : WithContext(i.name, status);
}

// Waits for the device. Errors of kernels come out here, with the launch that wrote them.
absl::Status ExecutionContext::Runner::WaitForDevice() {
  if (!device_busy_) return absl::OkStatus();
  DeviceState& d = *s_.device;
  const auto bytes = static_cast<int64_t>(d.errors.size() * sizeof(int64_t));
  if (errors_possible_) {
    TCC_RETURN_IF_ERROR(d.device->CopyToHost(d.errors.data(), d.error_words, bytes, stream_));
  }
  absl::Status status = d.device->Synchronize(stream_);
  device_busy_ = host_pending_ = false;
  in_flight_.clear();
  if (!status.ok()) {
    d.is_clear = false;
    return status;
  }
  if (!std::exchange(errors_possible_, false)) return status;
  for (size_t word = 0; word < d.errors.size(); ++word) {
    if (d.errors[word] == kTccKernelOk) continue;
    d.is_clear = false;
    return KernelError(d.errors[word], prepared_.error_names_[word]);
  }
  return status;
}

// After a call that failed: nothing is under way any more, and no error is left for the next one.
void ExecutionContext::Runner::AbandonDevice() {
  if (s_.device == nullptr || !s_.device->started || stream_ == nullptr) return;
  if (device_busy_) s_.device->device->Synchronize(stream_).IgnoreError();
  if (device_busy_ || errors_possible_) s_.device->is_clear = false;
  device_busy_ = errors_possible_ = host_pending_ = false;
  in_flight_.clear();
}

absl::StatusOr<Tensor> ExecutionContext::Runner::ToHost(const Tensor& source) {
  TCC_ASSIGN_OR_RETURN(const Tensor contiguous, source.is_contiguous() ? source : CloneValue(source));
  TCC_ASSIGN_OR_RETURN(Tensor result, Tensor::Allocate(source.dtype(), source.dims()));
  device_busy_ = host_pending_ = true;
  // (Both live until the copy has been made.)
  in_flight_.push_back(result);
  in_flight_.push_back(contiguous);
  TCC_RETURN_IF_ERROR(s_.device->device->CopyToHost(result.data(), contiguous.data(), Bytes(result), stream_));
  return result;
}

// Into memory on the device, of the same type and row-major.
absl::Status ExecutionContext::Runner::CopyToDevice(const Tensor& source, void* memory) {
  ComputeDevice& device = *s_.device->device;
  if (source.device() != Device{}) {
    TCC_ASSIGN_OR_RETURN(const Tensor contiguous, source.is_contiguous() ? source : CloneValue(source));
    device_busy_ = true;
    in_flight_.push_back(contiguous);
    return device.CopyOnDevice(memory, contiguous.data(), Bytes(contiguous), stream_);
  }
  if (source.dtype() == DType::kString) return absl::UnimplementedError("strings cannot be copied to a device");
  TCC_RETURN_IF_ERROR(HostIsReady());
  TCC_ASSIGN_OR_RETURN(const Tensor contiguous, source.Contiguous());
  device_busy_ = true;
  in_flight_.push_back(contiguous);
  return device.CopyToDevice(memory, contiguous.data(), Bytes(contiguous), stream_);
}

absl::Status ExecutionContext::Runner::Do(const plan::Transfer& i) {
  if (!f_.IsSet(i.source)) return NotSet(i.source);
  const Tensor& source = f_.Get(i.source);
  const bool on_device = source.device() != Device{};
  if (i.to == Space::kHost) {
    if (!on_device) {
      f_.SetAny(i.result, source, f_.Flags(i.source) & (kArena | kForeign));
      return absl::OkStatus();
    }
    TCC_ASSIGN_OR_RETURN(Tensor result, ToHost(source));
    f_.Set(i.result, std::move(result), kContiguous);
    return absl::OkStatus();
  }
  // What a recording has a place for is copied there.
  if (IsCurrent(i.result, &i)) return CopyToDevice(source, f_.data[static_cast<size_t>(i.result)]);
  if (on_device) {
    f_.SetAny(i.result, source, f_.Flags(i.source) & (kArena | kForeign));
    return absl::OkStatus();
  }
  TCC_ASSIGN_OR_RETURN(Tensor result, s_.device->pool->Allocate(source.dtype(), source.dims()));
  TCC_RETURN_IF_ERROR(CopyToDevice(source, result.data()));
  f_.Set(i.result, std::move(result), kContiguous);
  return absl::OkStatus();
}

// A row-major copy in the same space.
absl::StatusOr<Tensor> ExecutionContext::Runner::CloneValue(const Tensor& source) {
  if (source.device() == Device{}) {
    TCC_RETURN_IF_ERROR(HostIsReady());
    return source.Clone();
  }
  DeviceState& d = *s_.device;
  TCC_ASSIGN_OR_RETURN(Tensor result, d.pool->Allocate(source.dtype(), source.dims()));
  if (source.num_elements() == 0) return result;
  if (source.is_contiguous()) {
    TCC_RETURN_IF_ERROR(CopyToDevice(source, result.data()));
    return result;
  }
  // Strides are sorted out on the host.
  const auto [low, high] = Reach(source);
  const int64_t bits = DTypeBits(source.dtype());
  TCC_ASSIGN_OR_RETURN(const Tensor all, Tensor::Allocate(source.dtype(), {high - low}));
  device_busy_ = true;
  TCC_RETURN_IF_ERROR(
      d.device->CopyToHost(all.data(), static_cast<const char*>(source.data()) + low * bits / 8, Bytes(all), stream_));
  in_flight_.push_back(all);
  TCC_RETURN_IF_ERROR(WaitForDevice());
  TCC_ASSIGN_OR_RETURN(const Tensor packed, all.View(source.dims(), source.strides(), -low).Clone());
  TCC_RETURN_IF_ERROR(CopyToDevice(packed, result.data()));
  return result;
}

// Outputs that are on the device come to the host, or to where the caller wants them.
absl::Status ExecutionContext::Runner::FetchOutputs() {
  const std::vector<ValueId>& ids = prepared_.outputs_;
  fetched_.assign(ids.size(), Tensor());
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!f_.IsSet(ids[i])) continue;
    const Tensor& tensor = f_.Get(ids[i]);
    const bool on_device = tensor.device() != Device{};
    const Tensor* const target =
        options_.outputs.empty() || !options_.outputs[i].valid() ? nullptr : &options_.outputs[i];
    if (target == nullptr || target->type() != tensor.type()) {
      if (on_device && target == nullptr && options_.outputs_on_device) {
        TCC_ASSIGN_OR_RETURN(fetched_[i], StaysOnDevice(i));
      } else if (on_device) {
        TCC_ASSIGN_OR_RETURN(fetched_[i], ToHost(tensor));
      }
      continue;
    }
    if (target->device() != Device{}) {
      if (!target->is_contiguous()) {
        return absl::UnimplementedError(absl::StrCat("memory for output ", i, " on a device must be row-major"));
      }
      if (target->data() != tensor.data()) TCC_RETURN_IF_ERROR(CopyToDevice(tensor, target->data()));
      fetched_[i] = *target;
    } else if (on_device && direct_[i] && tensor.is_contiguous()) {
      device_busy_ = true;
      TCC_RETURN_IF_ERROR(s_.device->device->CopyToHost(target->data(), tensor.data(), Bytes(tensor), stream_));
      fetched_[i] = *target;
    } else if (on_device) {
      TCC_ASSIGN_OR_RETURN(fetched_[i], ToHost(tensor));
    }
  }
  return WaitForDevice();
}

}  // namespace tcc
