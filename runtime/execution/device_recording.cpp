// Recorded launches on a device, and the graphs they become.
#include <string>

#include "runtime/execution/runner.h"
#include "runtime/logs.h"
#include "runtime/status.h"

namespace tcc {
namespace {

// "the 12 launches from node 'a' (Add) to node 'z' (Mul)"
std::string RangeText(const RecordedBlock& block, size_t begin, size_t end) {
  const auto name_of = [&](size_t index) -> const std::string& {
    return static_cast<const plan::DeviceLaunch*>(block.actions[index].step->instruction)->name;
  };
  return absl::StrCat("the ", end - begin, " launches from ", name_of(begin), " to ", name_of(end - 1));
}

}  // namespace

absl::Status ExecutionContext::Runner::Replay(RecordedBlock& block, const RecordedBlock::DeviceLaunch& launch,
                                              const plan::DeviceLaunch& i) {
  for (size_t j = launch.lookups_begin; j < launch.lookups_end; ++j) {
    const RecordedBlock::Lookup& lookup = block.device_lookups[j];
    const auto index = static_cast<size_t>(lookup.value);
    if ((f_.flags[index] & (kSet | kContiguous)) != (kSet | kContiguous)) {
      TCC_RETURN_IF_ERROR(WithContext(i.name, MakeContiguous(lookup.value)));
    }
    block.device_values[lookup.pointer] = reinterpret_cast<int64_t>(f_.data[index]);
  }
  return LaunchOnDevice(launch.function, launch.shape,
                        absl::MakeSpan(block.device_params.data() + launch.values, launch.count), i);
}

absl::Status ExecutionContext::Runner::Start(const RecordedBlock& block, const RecordedBlock::Graph& graph) {
  device_busy_ = true;
  errors_possible_ |= graph.reports_errors;
  absl::Status status = s_.device->device->LaunchGraph(graph.handle, stream_);
  if (status.ok()) return status;
  return WithContext(absl::StrCat("the graph of ", RangeText(block, graph.begin, graph.end)), status);
}

// Each run of launches whose parameters are the same in every call. Where the device makes no graph of one, its
// launches are started one by one as before.
void ExecutionContext::Runner::MakeGraphs(RecordedBlock& block) {
  block.graphs_made = true;
  devices::ComputeDevice& device = *s_.device->device;
  const auto launch_of = [&](size_t index) -> const RecordedBlock::DeviceLaunch* {
    const int64_t launch = block.actions[index].device_launch;
    if (launch < 0) return nullptr;
    const RecordedBlock::DeviceLaunch& found = block.device_launches[static_cast<size_t>(launch)];
    return found.lookups_begin == found.lookups_end ? &found : nullptr;
  };
  size_t launches = 0;
  for (size_t begin = 0, end = 0; begin < block.actions.size(); begin = std::max(end, begin + 1)) {
    for (end = begin; end < block.actions.size() && launch_of(end) != nullptr;) ++end;
    if (end < begin + 2) continue;
    RecordedBlock::Graph graph = {begin, end, nullptr, false};
    absl::Status status = device.BeginCapture(stream_);
    const bool capturing = status.ok();
    for (size_t j = begin; j < end && status.ok(); ++j) {
      const RecordedBlock::DeviceLaunch& launch = *launch_of(j);
      graph.reports_errors |= block.actions[j].step->error_word >= 0;
      status = device.Launch(launch.function, launch.shape,
                             absl::MakeSpan(block.device_params.data() + launch.values, launch.count), stream_);
    }
    if (capturing) {
      const absl::StatusOr<devices::GraphHandle*> made = device.EndCapture(stream_);
      if (status.ok()) status = made.status();
      if (made.ok()) graph.handle = *made;
    }
    if (!status.ok()) {
      device.DestroyGraph(graph.handle);
      Log("perf_hints", absl::StrCat("no graph of ", RangeText(block, begin, end),
                                     ", they are started one by one: ", std::string(status.message())));
      continue;
    }
    launches += end - begin;
    block.graphs.push_back(graph);
  }
  if (!LogEnabled("perf_hints") || block.device_launches.empty()) return;
  std::string between;
  for (size_t j = 0; j < block.actions.size() && between.empty(); ++j) {
    const auto kind = block.actions[j].step->kind;
    if (kind == Kind::kLibrary) between = static_cast<const plan::Library*>(block.actions[j].step->instruction)->op;
    if (kind == Kind::kIf) between = "a branch decided on the host";
    if (kind == Kind::kLoop) between = "a loop of the host";
    if (kind == Kind::kLaunch) between = static_cast<const plan::Launch*>(block.actions[j].step->instruction)->name;
  }
  Log("perf_hints", absl::StrCat(launches, " of ", block.device_launches.size(), " launches are started as ",
                                 block.graphs.size(), block.graphs.size() == 1 ? " graph" : " graphs",
                                 between.empty() ? "" : absl::StrCat("; the host works in between: ", between)));
}

}  // namespace tcc
