#include "runtime/execution/recording.h"

#include <algorithm>

#include "runtime/execution/runner.h"
#include "runtime/status.h"

namespace tcc {

Recording::Recording(const PreparedPlan& plan, absl::Span<const Tensor> inputs, absl::Span<const int64_t> symbol_values,
                     uint64_t arena_generation)
    : device(plan.device_),
      symbols(symbol_values.begin(), symbol_values.end()),
      generation(arena_generation),
      frame(plan),
      known_values(frame.values.size()),
      known_registers(frame.registers.size()),
      blocks(plan.programs_.size()) {
  for (const Tensor& input : inputs) input_types.push_back(input.type());
  for (const auto& [value, tensor] : plan.constants_) known_values[static_cast<size_t>(value)] = true;
  for (const RegisterId id : plan.plan_.symbol_registers) {
    known_registers[static_cast<size_t>(id)] = plan.register_writes_[static_cast<size_t>(id)] == 1;
  }
}

Recording::~Recording() {
  for (const RecordedBlock& block : blocks) {
    for (const RecordedBlock::Graph& graph : block.graphs) device->DestroyGraph(graph.handle);
  }
}

bool Recording::Matches(absl::Span<const Tensor> inputs, absl::Span<const int64_t> symbol_values) const {
  if (absl::MakeConstSpan(symbols) != symbol_values || inputs.size() != input_types.size()) return false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype() != input_types[i].dtype || inputs[i].dims() != input_types[i].dims) return false;
  }
  return true;
}

bool Recording::CanRecord(const PreparedPlan& plan, absl::Span<const Tensor> inputs) {
  return std::all_of(inputs.begin(), inputs.end(), [&](const Tensor& input) {
    if (!input.valid()) return true;
    const bool here = input.device() == Device{} || (plan.device_ != nullptr && input.device() == plan.device_->id());
    return here && input.is_contiguous() && IsAligned(input);
  });
}

std::string Recording::ExtentsText(absl::Span<const Tensor> inputs) {
  std::string text;
  for (const Tensor& input : inputs) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", input.valid() ? input.type().ToString() : "(absent)");
  }
  return text;
}

// Goes through the instructions of one block in order, as far as they are the same in each call.
class ExecutionContext::Runner::Recorder {
 public:
  explicit Recorder(Runner& runner)
      : r_(runner), f_(runner.f_), recording_(*runner.recording_), prepared_(runner.prepared_) {}

  absl::Status Run(const Program& program, RecordedBlock* block) {
    *block = RecordedBlock();
    recording_.incomplete = true;
    for (const Step& step : program.steps) {
      bool settled = false;
      if (step.kind == Kind::kLaunch) {
        settled = Add(*static_cast<const plan::Launch*>(step.instruction), step, block);
      } else if (step.kind == Kind::kDeviceLaunch) {
        TCC_ASSIGN_OR_RETURN(settled, Add(*static_cast<const plan::DeviceLaunch*>(step.instruction), step, block));
      } else {
        TCC_ASSIGN_OR_RETURN(settled, Settle(step));
      }
      if (!settled) block->actions.push_back({&step, -1});
    }
    for (int64_t& value : block->device_values) block->device_params.push_back(&value);
    block->ready = true;
    recording_.incomplete = false;
    return absl::OkStatus();
  }

 private:
  // True where a call has nothing left to do.
  absl::StatusOr<bool> Settle(const Step& step) {
    switch (step.kind) {
      case Kind::kCompute:
        return Settle(*static_cast<const plan::Compute*>(step.instruction));
      case Kind::kAllocate:
        return Settle(*static_cast<const plan::Allocate*>(step.instruction));
      case Kind::kView:
        return Settle(*static_cast<const plan::View*>(step.instruction));
      case Kind::kMakeTensor:
        return Settle(*static_cast<const plan::MakeTensor*>(step.instruction));
      case Kind::kReadExtent:
        return Settle(*static_cast<const plan::ReadExtent*>(step.instruction));
      case Kind::kCheckEqual:
        return Settle(*static_cast<const plan::CheckEqual*>(step.instruction));
      case Kind::kRelease:
        return Known(static_cast<const plan::Release*>(step.instruction)->value);
      case Kind::kTransfer:
        TCC_RETURN_IF_ERROR(MakePlace(*static_cast<const plan::Transfer*>(step.instruction)));
        return false;
      default:
        return false;
    }
  }

  absl::StatusOr<bool> Settle(const plan::Compute& i) {
    if (!Known(i.lhs) || !Known(i.rhs) || !WrittenOnce(i.result)) return false;
    TCC_RETURN_IF_ERROR(r_.Do(i));
    recording_.known_registers[static_cast<size_t>(i.result)] = true;
    return true;
  }

  absl::StatusOr<bool> Settle(const plan::Allocate& i) {
    if (i.space == Space::kDevice && i.slot == plan::kFreshSlot) {
      // No caller sees it: outputs are copied to the host. (In a loop it may be carried on.)
      if (r_.loop_depth_ > 0 || !Known(i.dims) || !SetOnce(i.result)) return false;
      TCC_ASSIGN_OR_RETURN(Tensor place, r_.s_.lane->Place(i.dtype, f_.Eval(i.dims), &recording_.places));
      f_.Set(i.result, std::move(place), kContiguous | kForeign);
      Keep(i.result, &i);
      return true;
    }
    if (i.slot == plan::kFreshSlot || !Known(i.dims) || !SetOnce(i.result)) return false;
    if (!Known(prepared_.plan_.slot_bytes[static_cast<size_t>(i.slot)])) return false;
    TCC_RETURN_IF_ERROR(r_.AllocateInSlot(i));
    r_.s_.ArenaOf(i.space).Pin(i.slot);
    Keep(i.result, &i);
    return true;
  }

  absl::StatusOr<bool> Settle(const plan::View& i) {
    if (!Known(i.source) || !Known(i.dims) || !Known(i.strides) || !Known(i.offset) || !SetOnce(i.result)) return false;
    TCC_RETURN_IF_ERROR(r_.MakeView(i));
    // (A launch would replace one with gaps by a copy of what is in it by then.)
    if ((f_.Flags(i.result) & kContiguous) == 0) return false;
    Keep(i.result, &i);
    return true;
  }

  absl::StatusOr<bool> Settle(const plan::MakeTensor& i) {
    if (!Known(i.elements) || !SetOnce(i.result)) return false;
    TCC_RETURN_IF_ERROR(r_.Do(i));
    // Not given away as an output.
    f_.flags[static_cast<size_t>(i.result)] |= kForeign;
    Keep(i.result, &i);
    return true;
  }

  absl::StatusOr<bool> Settle(const plan::ReadExtent& i) {
    if (!(IsInput(i.source) || Known(i.source)) || !f_.IsSet(i.source) || !WrittenOnce(i.result)) return false;
    TCC_RETURN_IF_ERROR(r_.Do(i));
    recording_.known_registers[static_cast<size_t>(i.result)] = true;
    return true;
  }

  absl::StatusOr<bool> Settle(const plan::CheckEqual& i) {
    if (!Known(i.lhs) || !Known(i.rhs)) return false;
    TCC_RETURN_IF_ERROR(r_.Do(i));
    return true;
  }

  // Memory on the device into which each call copies what is transferred.
  absl::Status MakePlace(const plan::Transfer& i) {
    if (i.to != Space::kDevice || r_.loop_depth_ > 0 || !SetOnce(i.result) || !f_.IsSet(i.source))
      return absl::OkStatus();
    if (!Known(i.source) && !IsInput(i.source)) return absl::OkStatus();
    const Tensor& source = f_.Get(i.source);
    TCC_ASSIGN_OR_RETURN(Tensor place, r_.s_.lane->Place(source.dtype(), source.dims(), &recording_.places));
    f_.Set(i.result, std::move(place), kContiguous | kForeign);
    Keep(i.result, &i);
    return absl::OkStatus();
  }

  absl::StatusOr<bool> Add(const plan::DeviceLaunch& i, const Step& step, RecordedBlock* block) const {
    if (!Known(i.scalars) || !Known(i.shared_bytes) || !Known(i.counters)) return false;
    RecordedBlock::DeviceLaunch launch;
    for (size_t axis = 0; axis < 3; ++axis) {
      if (!Known(i.grid[axis])) return false;
      launch.shape.grid[axis] = f_.Eval(i.grid[axis]);
      launch.shape.block[axis] = i.block[axis];
      if (launch.shape.grid[axis] == 0) return true;
      if (launch.shape.grid[axis] < 0) {
        return absl::InternalError(absl::StrCat(i.name, ": a grid of ", launch.shape.grid[axis], " blocks"));
      }
    }
    // (Whether it is needed depends on where the caller's memory is.)
    if (i.copies && !(Known(i.buffers[0]) && Known(i.buffers[1]))) return false;
    if (i.copies && f_.data[static_cast<size_t>(i.buffers[0])] == f_.data[static_cast<size_t>(i.buffers[1])])
      return true;
    launch.function = step.device_function;
    launch.shape.shared_bytes = f_.Eval(i.shared_bytes);
    launch.values = block->device_values.size();
    launch.lookups_begin = block->device_lookups.size();
    for (const ValueId value : i.buffers) {
      const bool known = Known(value);
      if (!known) block->device_lookups.push_back({block->device_values.size(), value});
      block->device_values.push_back(known ? reinterpret_cast<int64_t>(f_.data[static_cast<size_t>(value)]) : 0);
    }
    launch.lookups_end = block->device_lookups.size();
    for (const Operand& scalar : i.scalars) block->device_values.push_back(f_.Eval(scalar));
    if (step.error_word >= 0) {
      block->device_values.push_back(reinterpret_cast<int64_t>(r_.s_.device->error_words + step.error_word));
    }
    if (i.has_counters()) {
      TCC_ASSIGN_OR_RETURN(int32_t* const counters, r_.CountersFor(i, f_.Eval(i.counters)));
      block->device_values.push_back(reinterpret_cast<int64_t>(counters));
    }
    if (!i.tensor_maps.empty()) {
      // (A place that changes may be one that needs a copy.)
      if (launch.lookups_begin != launch.lookups_end || !r_.CanMap(i)) return Undone(launch, block);
      for (const plan::TensorMap& map : i.tensor_maps)
        if (!Known(map.extents) || !Known(map.strides)) return Undone(launch, block);
      r_.EvalTensorMaps(i, launch.tensor_maps);
      launch.shape.tensor_maps = launch.tensor_maps;
    }
    launch.count = block->device_values.size() - launch.values;
    block->actions.push_back({&step, -1, static_cast<int64_t>(block->device_launches.size())});
    block->device_launches.push_back(std::move(launch));
    return true;
  }

  // The launch is interpreted, after all.
  static bool Undone(const RecordedBlock::DeviceLaunch& launch, RecordedBlock* block) {
    block->device_values.resize(launch.values);
    block->device_lookups.resize(launch.lookups_begin);
    return false;
  }

  bool Add(const plan::Launch& i, const Step& step, RecordedBlock* block) const {
    if (!Known(i.items) || !Known(i.scalars) || !Known(i.scratch_bytes)) return false;
    const int64_t items = f_.Eval(i.items);
    if (items <= 0) return items == 0;
    RecordedBlock::Launch launch;
    launch.function = step.function;
    launch.pointers = block->pointers.size();
    launch.lookups_begin = block->lookups.size();
    for (const ValueId value : i.buffers) {
      const bool known = Known(value);
      if (!known) block->lookups.push_back({block->pointers.size(), value});
      block->pointers.push_back(known ? f_.data[static_cast<size_t>(value)] : nullptr);
    }
    launch.lookups_end = block->lookups.size();
    launch.scalars = block->scalars.size();
    for (const Operand& scalar : i.scalars) block->scalars.push_back(f_.Eval(scalar));
    launch.items = items;
    launch.grain = i.grain;
    launch.scratch_bytes = f_.Eval(i.scratch_bytes);
    block->actions.push_back({&step, static_cast<int64_t>(block->launches.size())});
    block->launches.push_back(launch);
    return true;
  }

  void Keep(ValueId value, const void* instruction) {
    r_.MarkStatic(value, instruction);
    recording_.known_values[static_cast<size_t>(value)] = true;
  }
  bool Known(ValueId value) const { return recording_.known_values[static_cast<size_t>(value)]; }
  bool Known(const Operand& operand) const {
    return !operand.is_register || recording_.known_registers[static_cast<size_t>(operand.value)];
  }
  bool Known(const std::vector<Operand>& operands) const {
    return std::all_of(operands.begin(), operands.end(), [this](const Operand& operand) { return Known(operand); });
  }
  bool IsInput(ValueId value) const {
    const std::vector<ValueId>& inputs = prepared_.plan_.inputs;
    return std::find(inputs.begin(), inputs.end(), value) != inputs.end() && SetOnce(value);
  }
  // What several instructions set depends on which of them ran.
  bool SetOnce(ValueId value) const { return prepared_.value_writes_[static_cast<size_t>(value)] == 1; }
  bool WrittenOnce(RegisterId id) const { return prepared_.register_writes_[static_cast<size_t>(id)] == 1; }

  Runner& r_;
  Frame& f_;
  Recording& recording_;
  const PreparedPlan& prepared_;
};

absl::Status ExecutionContext::Runner::Replay(const Program& program) {
  RecordedBlock& block = recording_->blocks[program.index];
  if (!block.ready) {
    TCC_RETURN_IF_ERROR(Recorder(*this).Run(program, &block));
  } else if (!block.graphs_made && prepared_.device_ != nullptr && options_.profile == nullptr) {
    MakeGraphs(block);
  }
  // (Of launches in a graph no times can be told.)
  auto graph = options_.profile == nullptr ? block.graphs.begin() : block.graphs.end();
  for (size_t index = 0; index < block.actions.size(); ++index) {
    const RecordedBlock::Action& action = block.actions[index];
    if (graph != block.graphs.end() && graph->begin == index) {
      TCC_RETURN_IF_ERROR(Start(block, *graph));
      index = graph++->end - 1;
      continue;
    }
    absl::Status status = Profiled(*action.step, [&] {
      if (action.device_launch >= 0) {
        return Replay(block, block.device_launches[static_cast<size_t>(action.device_launch)],
                      *static_cast<const plan::DeviceLaunch*>(action.step->instruction));
      }
      if (action.launch < 0) return Execute(*action.step);
      return Replay(block, block.launches[static_cast<size_t>(action.launch)],
                    *static_cast<const plan::Launch*>(action.step->instruction));
    });
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status ExecutionContext::Runner::Replay(RecordedBlock& block, const RecordedBlock::Launch& launch,
                                              const plan::Launch& i) {
  for (size_t j = launch.lookups_begin; j < launch.lookups_end; ++j) {
    const RecordedBlock::Lookup& lookup = block.lookups[j];
    const auto index = static_cast<size_t>(lookup.value);
    if ((f_.flags[index] & (kSet | kContiguous)) != (kSet | kContiguous)) {
      TCC_RETURN_IF_ERROR(WithContext(i.name, MakeContiguous(lookup.value)));
    }
    block.pointers[lookup.pointer] = f_.data[index];
  }
  return Launch(launch.function, block.pointers.data() + launch.pointers, block.scalars.data() + launch.scalars,
                launch.items, launch.grain, launch.scratch_bytes, i);
}

}  // namespace tcc
