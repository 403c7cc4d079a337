#include <time.h>

#include <string_view>

#include "runtime/execution/runner.h"
#include "runtime/status.h"

namespace tcc {
namespace {

std::string_view LibraryName(const plan::Library& i) { return i.name.empty() ? i.op : i.name; }

}  // namespace

int64_t ExecutionContext::Runner::Now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * int64_t{1000000000} + time.tv_nsec;
}

absl::Status ExecutionContext::Runner::Run(absl::Span<const Tensor> inputs, absl::Span<const int64_t> symbols,
                                           std::vector<Tensor>* outputs) {
  if (prepared_.device_ != nullptr) {
    TCC_RETURN_IF_ERROR(StartDevice());
  } else if (options_.stream != nullptr) {
    return absl::InvalidArgumentError("a stream was given, but this code runs on the host: leave it out");
  }
  RefreshFrame();
  TCC_RETURN_IF_ERROR(SetInputs(inputs, symbols));
  TCC_RETURN_IF_ERROR(CheckDonated(inputs));
  TCC_RETURN_IF_ERROR(CheckCallerOutputs(inputs));
  TCC_RETURN_IF_ERROR(Execute(*prepared_.programs_[0]));
  return TakeOutputs(outputs);
}

void ExecutionContext::Runner::Finish() {
  AbandonDevice();
  for (const ValueId value : prepared_.dropped_) {
    f_.Drop(value);
  }
  s_.arena.EndCall();
  if (s_.lane == nullptr) return;
  s_.lane->arena.EndCall();
  // (What this call has moved it knows.)
  if (recording_ == nullptr) s_.frame_generation = s_.lane->arena.generation();
}

void ExecutionContext::Runner::RefreshFrame() {
  if (s_.lane == nullptr || recording_ != nullptr || s_.frame_generation == s_.lane->arena.generation()) return;
  s_.frame = Frame(prepared_);
  s_.frame_generation = s_.lane->arena.generation();
}

absl::Status ExecutionContext::Runner::NotSet(ValueId value) const {
  return absl::InternalError(absl::StrCat("value ", value, " is read before it is set, or is an input left out"));
}

absl::Status ExecutionContext::Runner::Execute(const Program& program) {
  if (recording_ != nullptr) return Replay(program);
  for (const Step& step : program.steps) {
    absl::Status status = Profiled(step, [&] { return Execute(step); });
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

void ExecutionContext::Runner::Report(const Step& step, int64_t start, int64_t end) const {
  static constexpr std::string_view kKinds[] = {
      "compute",     "allocate", "view", "launch", "library", "make_tensor", "read_extent", "read_element",
      "check_equal", "move",     "if",   "loop",   "release", "launch",      "transfer"};
  ProfileEvent event;
  event.kind = kKinds[static_cast<size_t>(step.kind)];
  event.name = event.kind;
  if (step.kind == Kind::kLaunch) event.name = static_cast<const plan::Launch*>(step.instruction)->name;
  if (step.kind == Kind::kDeviceLaunch) event.name = static_cast<const plan::DeviceLaunch*>(step.instruction)->name;
  if (step.kind == Kind::kLibrary) event.name = LibraryName(*static_cast<const plan::Library*>(step.instruction));
  event.start_ns = start;
  event.end_ns = end;
  (*options_.profile)(event);
}

absl::Status ExecutionContext::Runner::Execute(const Step& step) {
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
    case Kind::kReadExtent:
      return Do(*static_cast<const plan::ReadExtent*>(step.instruction));
    case Kind::kReadElement:
      return Do(*static_cast<const plan::ReadElement*>(step.instruction));
    case Kind::kCheckEqual:
      return Do(*static_cast<const plan::CheckEqual*>(step.instruction));
    case Kind::kMove:
      return Do(*static_cast<const plan::Move*>(step.instruction));
    case Kind::kIf:
      return Do(*static_cast<const plan::If*>(step.instruction), step);
    case Kind::kLoop:
      return Do(*static_cast<const plan::Loop*>(step.instruction), *step.blocks[0]);
    case Kind::kRelease: {
      f_.Drop(static_cast<const plan::Release*>(step.instruction)->value);
      return absl::OkStatus();
    }
    case Kind::kDeviceLaunch:
      return Do(*static_cast<const plan::DeviceLaunch*>(step.instruction), step);
    case Kind::kTransfer:
      return Do(*static_cast<const plan::Transfer*>(step.instruction));
  }
  return absl::InternalError("unknown instruction");
}

}  // namespace tcc
