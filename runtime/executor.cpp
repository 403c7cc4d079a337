#include "runtime/executor.h"

#include <algorithm>
#include <exception>
#include <new>

#include "runtime/execution/recording.h"
#include "runtime/execution/runner.h"
#include "runtime/execution/state.h"
#include "runtime/float_control.h"
#include "runtime/logs.h"

namespace tcc {
namespace {

// What recording may cost: where extents hardly ever come back interpreting is cheaper. A recording adds to a
// debt that has a bound, replays and interpreted calls pay it off bit by bit. So a program that settles down after many
// extents is recorded again soon; one that never does spends little on it; and where a few more extents take turns than
// are kept, most stay recorded instead of each pushing out the next.
constexpr int64_t kRecording = 16;
constexpr int64_t kMostDebt = 64 * kRecording;
constexpr int64_t kReplayed = 2;
constexpr int64_t kInterpreted = 1;

}  // namespace

ExecutionContext::ExecutionContext(std::shared_ptr<const PreparedPlan> plan, ThreadPool* pool, int max_recordings,
                                   std::shared_ptr<DeviceLane> lane)
    : state_(std::make_unique<State>(std::move(plan), pool, max_recordings, std::move(lane))) {}
ExecutionContext::~ExecutionContext() = default;

// Says why, once until it changes.
void ExecutionContext::NotRecorded(const std::string& why) {
  State& s = *state_;
  if (s.not_recorded == why) return;
  s.not_recorded = why;
  Log("perf_hints", absl::StrCat("calls are not recorded: ", why));
}

Recording* ExecutionContext::FindRecording(absl::Span<const Tensor> inputs, absl::Span<const int64_t> symbols) {
  State& s = *state_;
  const Plan& plan = s.plan->plan();
  static const bool logs = LogEnabled("perf_hints");
  const auto pay = [&s](int64_t part) { s.recording_debt = std::max<int64_t>(0, s.recording_debt - part); };
  if (s.max_recordings <= 0 || inputs.size() != plan.inputs.size() || symbols.size() != plan.symbol_registers.size()) {
    return nullptr;
  }
  if (!Recording::CanRecord(*s.plan, inputs)) {
    if (logs) NotRecorded("an input is not row-major, or not aligned to its elements");
    return nullptr;
  }
  // Those with an address that is no longer a slot's.
  const size_t moved = std::erase_if(s.recordings, [&](const auto& r) { return r->generation != s.generation(); });
  if (moved > 0 && logs) {
    Log("perf_hints", absl::StrCat(moved,
                                   " of the recordings are dropped, to be made anew: a call that needed more memory "
                                   "for temporaries has moved it (call with the largest extents first)"));
  }
  const auto found = std::find_if(s.recordings.begin(), s.recordings.end(),
                                  [&](const auto& recording) { return recording->Matches(inputs, symbols); });
  if (found != s.recordings.end()) {
    std::rotate(s.recordings.begin(), found, found + 1);
    ++s.statistics.replayed;
    pay(kReplayed);
    return s.recordings.front().get();
  }
  if (s.recording_debt + kRecording > kMostDebt) {
    pay(kInterpreted);
    if (logs) {
      NotRecorded(absl::StrCat("of the last ones too few came back with extents that were recorded (at most ",
                               s.max_recordings, " are kept)"));
    }
    return nullptr;
  }
  s.recording_debt += kRecording;
  s.not_recorded.clear();
  if (s.recordings.size() >= static_cast<size_t>(s.max_recordings)) {
    if (logs) {
      Log("perf_hints", absl::StrCat("a recording is dropped for that of ", Recording::ExtentsText(inputs), ": ",
                                     s.max_recordings, " are kept, the last used ones"));
    }
    s.recordings.pop_back();
  }
  s.recordings.insert(s.recordings.begin(), std::make_unique<Recording>(*s.plan, inputs, symbols, s.generation()));
  ++s.statistics.recorded;
  return s.recordings.front().get();
}

absl::Status ExecutionContext::Run(absl::Span<const Tensor> inputs, absl::Span<const int64_t> symbols,
                                   const RunOptions& options, std::vector<Tensor>* outputs, bool checked) {
  const ScopedFloatControl float_control;
  absl::Status status;
  Recording* recording = nullptr;
  try {
    recording = FindRecording(inputs, symbols);
    Runner runner(*state_, recording, options, checked);
    try {
      status = runner.Run(inputs, symbols, outputs);
      if (absl::IsResourceExhausted(status)) status = runner.WithMemoryReport(status);
    } catch (const std::bad_alloc&) {
      status = absl::ResourceExhaustedError("no memory");
    } catch (const std::exception& e) {
      status = absl::InternalError(absl::StrCat("exception: ", e.what()));
    }
    runner.Finish();
  } catch (const std::bad_alloc&) {
    status = absl::ResourceExhaustedError("no memory");
  }
  if (recording != nullptr && recording->incomplete) {
    // (The last one looked for is the first.)
    state_->recordings.erase(state_->recordings.begin());
  } else if (recording != nullptr) {
    // Slots that this call let grow: its own recording has their new addresses.
    recording->generation = state_->generation();
  }
  if (!status.ok()) outputs->clear();
  return status;
}

int64_t ExecutionContext::arena_bytes() const {
  const bool with_device = state_->lane != nullptr && state_->owns_lane;
  return state_->arena.bytes() + (with_device ? state_->lane->bytes() : 0);
}

const ExecutionContext::Statistics& ExecutionContext::statistics() const { return state_->statistics; }

}  // namespace tcc
