#include "runtime/executor.h"

#include <algorithm>
#include <exception>
#include <new>

#include "runtime/execution/recording.h"
#include "runtime/execution/runner.h"
#include "runtime/execution/state.h"
#include "runtime/float_control.h"

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

ExecutionContext::ExecutionContext(std::shared_ptr<const PreparedPlan> plan, ThreadPool* pool, int max_recordings)
    : state_(std::make_unique<State>(std::move(plan), pool, max_recordings)) {}
ExecutionContext::~ExecutionContext() = default;

Recording* ExecutionContext::FindRecording(absl::Span<const Tensor> inputs, absl::Span<const int64_t> symbols) {
  State& s = *state_;
  const Plan& plan = s.plan->plan();
  const auto pay = [&s](int64_t part) { s.recording_debt = std::max<int64_t>(0, s.recording_debt - part); };
  if (s.max_recordings <= 0 || inputs.size() != plan.inputs.size() || symbols.size() != plan.symbol_registers.size() ||
      !Recording::CanRecord(*s.plan, inputs)) {
    return nullptr;
  }
  // Those with an address that is no longer a slot's.
  std::erase_if(s.recordings, [&](const auto& r) { return r->generation != s.generation(); });
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
    return nullptr;
  }
  s.recording_debt += kRecording;
  if (s.recordings.size() >= static_cast<size_t>(s.max_recordings)) s.recordings.pop_back();
  s.recordings.insert(s.recordings.begin(), std::make_unique<Recording>(*s.plan, inputs, symbols, s.generation()));
  ++s.statistics.recorded;
  return s.recordings.front().get();
}

absl::Status ExecutionContext::Run(absl::Span<const Tensor> inputs, absl::Span<const int64_t> symbols,
                                   const RunOptions& options, std::vector<Tensor>* outputs) {
  const ScopedFloatControl float_control;
  absl::Status status;
  Recording* recording = nullptr;
  try {
    recording = FindRecording(inputs, symbols);
    Runner runner(*state_, recording, options);
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
  // Slots that this call let grow: its own recording has their new addresses.
  if (recording != nullptr) recording->generation = state_->generation();
  if (!status.ok()) outputs->clear();
  return status;
}

int64_t ExecutionContext::arena_bytes() const { return state_->arena.bytes() + state_->device_arena.bytes(); }

const ExecutionContext::Statistics& ExecutionContext::statistics() const { return state_->statistics; }

}  // namespace tcc
