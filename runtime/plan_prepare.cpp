#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "runtime/execution/device_constants.h"
#include "runtime/execution/device_memory.h"
#include "runtime/execution/donation.h"
#include "runtime/plan_json.h"
#include "runtime/plan_program.h"
#include "runtime/plan_spaces.h"
#include "runtime/status.h"

namespace tcc {
namespace {

bool AllImmediate(const std::vector<Operand>& operands) {
  for (const Operand& operand : operands) {
    if (operand.is_register) return false;
  }
  return true;
}

absl::StatusOr<Tensor> StringConstant(std::string_view bytes, const PlanConstant& constant) {
  TCC_ASSIGN_OR_RETURN(const int64_t count, NumElements(constant.dims));
  // Each string takes its length at least: no allocation beyond what the bytes can hold.
  if (static_cast<uint64_t>(count) > bytes.size() / sizeof(uint32_t)) {
    return absl::InvalidArgumentError("constant of strings is too short");
  }
  TCC_ASSIGN_OR_RETURN(const Tensor tensor, Tensor::Allocate(DType::kString, constant.dims));
  for (int64_t i = 0; i < count; ++i) {
    uint32_t size = 0;
    if (bytes.size() < sizeof(size)) return absl::InvalidArgumentError("constant of strings is too short");
    std::memcpy(&size, bytes.data(), sizeof(size));
    bytes.remove_prefix(sizeof(size));
    if (size > bytes.size()) return absl::InvalidArgumentError("constant of strings is too short");
    tensor.data_as<std::string>()[i] = bytes.substr(0, size);
    bytes.remove_prefix(size);
  }
  return tensor;
}

}  // namespace

class PlanPreparer {
 public:
  PlanPreparer(PreparedPlan& prepared, const PreparedPlan::Options& options)
      : prepared_(prepared), options_(options), find_(options.find != nullptr ? options.find : DefaultKernels()) {}

  absl::Status Run(std::string_view constants) {
    const Plan& plan = prepared_.plan_;
    TCC_RETURN_IF_ERROR(ValidatePlan(plan));
    TCC_RETURN_IF_ERROR(Devices(plan));
    const auto values = static_cast<size_t>(plan.num_values);
    fixed_.assign(values, false);
    dropped_.assign(values, false);
    prepared_.value_writes_.assign(values, 0);
    prepared_.register_writes_.assign(static_cast<size_t>(plan.num_registers), 0);
    for (const RegisterId id : plan.symbol_registers) Writes(&prepared_.register_writes_, id);
    for (const PlanConstant& constant : plan.constants) TCC_RETURN_IF_ERROR(Constant(constant, constants));
    for (const ValueId input : plan.inputs) {
      if (input != kNoValue) TCC_RETURN_IF_ERROR(Writes(input));
    }
    prepared_.output_of_value_.assign(values, -1);
    for (size_t i = plan.outputs.size(); i-- > 0;) {
      prepared_.output_of_value_[static_cast<size_t>(plan.outputs[i])] = static_cast<int32_t>(i);
    }
    for (size_t i = 0; i < plan.functions.size(); ++i) {
      functions_.push_back(nullptr);
      if (prepared_.device_ != nullptr && !on_host_[i]) continue;
      if (prepared_.code_ == nullptr) return absl::InvalidArgumentError("plan: it has functions, but there is no code");
      TCC_ASSIGN_OR_RETURN(functions_.back(), prepared_.code_->Function(plan.functions[i]));
    }
    TCC_RETURN_IF_ERROR(Lower(plan.body).status());
    FindOutputs(plan);
    TCC_RETURN_IF_ERROR(Upload(constants));
    Donations donations = FindDonations(plan);
    prepared_.donations_ = std::move(donations.free);
    prepared_.overwrites_ = std::move(donations.over);
    for (size_t value = 0; value < values; ++value) {
      if (dropped_[value]) prepared_.dropped_.push_back(static_cast<ValueId>(value));
    }
    return absl::OkStatus();
  }

 private:
  using Step = PreparedPlan::Step;
  using Kind = PreparedPlan::Kind;
  using Program = PreparedPlan::Program;

  static reference::Kernel (*DefaultKernels())(std::string_view) {
#ifdef TCC_HAVE_REFERENCE_KERNELS
    return &reference::Find;
#else
    return [](std::string_view) -> reference::Kernel { return nullptr; };
#endif
  }

  // Looks for the device's functions, and for what is read on the host.
  absl::Status Devices(const Plan& plan) {
    TCC_ASSIGN_OR_RETURN(PlanSpaces spaces, FindSpaces(plan));
    if (!spaces.has_device) return absl::OkStatus();
    if (options_.device == nullptr) {
      return absl::InvalidArgumentError("plan: it has values on a device, but was given none");
    }
    prepared_.device_ = options_.device;
    prepared_.slot_spaces_ = std::move(spaces.slots);
    value_spaces_ = std::move(spaces.values);
    on_device_.assign(plan.functions.size(), false);
    on_host_.assign(plan.functions.size(), false);
    uses_.resize(plan.functions.size());
    read_.assign(static_cast<size_t>(plan.num_values), false);
    Scan(plan.body);
    for (const ValueId output : plan.outputs) read_[static_cast<size_t>(output)] = true;
    for (const ValueId input : plan.inputs) {
      prepared_.input_on_host_.push_back(input != kNoValue && read_[static_cast<size_t>(input)]);
    }
    std::vector<std::string> symbols(plan.functions.size());
    std::vector<KernelImageView> images = options_.images;
    for (size_t i = 0; i < symbols.size(); ++i) {
      if (on_device_[i]) symbols[i] = plan.functions[i];
      for (KernelImageView& image : images) {
        // (A few do, to know the kernel by.)
        if (image.symbol == plan.functions[i]) image.uses.assign(uses_[i].begin(), uses_[i].end());
      }
    }
    const devices::CompileImages compile =
        options_.compile != nullptr ? options_.compile : devices::RegisteredImageCompiler();
    TCC_ASSIGN_OR_RETURN(prepared_.images_, devices::LoadedImages::Load(options_.device, images, symbols, compile));
    return absl::OkStatus();
  }
  void Scan(const Block& block) {
    for (const Instruction& instruction : block.instructions) {
      std::visit([this](const auto& i) { Scan(i); }, instruction);
    }
  }
  void Reads(ValueId value) {
    if (value != kNoValue) read_[static_cast<size_t>(value)] = true;
  }
  void Scan(const plan::Compute&) {}
  void Scan(const plan::Allocate&) {}
  void Scan(const plan::MakeTensor&) {}
  void Scan(const plan::CheckEqual&) {}
  void Scan(const plan::Release&) {}
  void Scan(const plan::ReadExtent&) {}
  void Scan(const plan::Transfer& i) {
    if (i.to == Space::kHost) Reads(i.source);
  }
  void Scan(const plan::View& i) { Reads(i.source); }
  void Scan(const plan::Move& i) { Reads(i.from); }
  void Scan(const plan::ReadElement& i) { Reads(i.source); }
  void Scan(const plan::DeviceLaunch& i) {
    const auto function = static_cast<size_t>(i.function);
    on_device_[function] = true;
    constexpr size_t kMostUses = 4;
    if (uses_[function].size() < kMostUses && !i.name.empty()) uses_[function].insert(i.name);
  }
  void Scan(const plan::Launch& i) {
    on_host_[static_cast<size_t>(i.function)] = true;
    for (const ValueId value : i.buffers) Reads(value);
  }
  void Scan(const plan::Library& i) {
    for (const ValueId value : i.inputs) Reads(value);
  }
  void Scan(const plan::If& i) {
    Reads(i.condition);
    for (const Block& block : i.blocks) Scan(block);
  }
  void Scan(const plan::Loop& i) {
    Reads(i.trip_count);
    Reads(i.condition);
    for (const auto& scan : i.scan_outputs) Reads(scan.element);
    for (const Block& block : i.blocks) Scan(block);
  }

  // What the end of a plan does, copying values of the device to the host that nothing but an output is, is left to
  // whoever takes the outputs: he may want them on the device.
  void FindOutputs(const Plan& plan) {
    prepared_.outputs_ = plan.outputs;
    if (prepared_.device_ == nullptr) return;
    std::vector<Step>& steps = prepared_.programs_[0]->steps;
    size_t begin = steps.size();
    const auto transfer_of = [&](size_t step) { return static_cast<const plan::Transfer*>(steps[step].instruction); };
    const auto is_transfer = [&](size_t step) { return steps[step].kind == Kind::kTransfer; };
    while (begin > 0 && (steps[begin - 1].kind == Kind::kRelease ||
                         (is_transfer(begin - 1) && transfer_of(begin - 1)->to == Space::kHost))) {
      --begin;
    }
    std::set<ValueId> read, fetched;
    for (size_t j = begin; j < steps.size(); ++j) {
      if (is_transfer(j)) read.insert(transfer_of(j)->source);
    }
    std::set<const void*> dropped;
    for (size_t j = begin; j < steps.size(); ++j) {
      if (!is_transfer(j)) continue;
      const auto& [result, source, to] = *transfer_of(j);
      const int32_t output = prepared_.output_of_value_[static_cast<size_t>(result)];
      if (output < 0 || prepared_.value_writes_[static_cast<size_t>(result)] != 1 || read.count(result) > 0 ||
          value_spaces_[static_cast<size_t>(source)] != Space::kDevice) {
        continue;
      }
      std::replace(prepared_.outputs_.begin(), prepared_.outputs_.end(), result, source);
      int32_t& output_of_source = prepared_.output_of_value_[static_cast<size_t>(source)];
      if (output_of_source < 0) output_of_source = output;
      dropped.insert(steps[j].instruction);
      fetched.insert(source);
    }
    for (size_t j = begin; j < steps.size(); ++j) {
      if (is_transfer(j)) continue;
      const ValueId released = static_cast<const plan::Release*>(steps[j].instruction)->value;
      if (fetched.count(released) > 0) dropped.insert(steps[j].instruction);
    }
    std::erase_if(steps, [&](const Step& step) { return dropped.count(step.instruction) > 0; });
  }

  // The constants that go to the device.
  absl::Status Upload(std::string_view constants) {
    if (uploads_.empty()) return absl::OkStatus();
    const std::shared_ptr<devices::ComputeDevice>& device = prepared_.device_;
    const auto offset_of = [&](const Tensor& tensor) {
      return static_cast<const char*>(tensor.data()) - constants.data();
    };
    DeviceConstants::Parts parts;
    for (const auto& [result, tensor] : uploads_) {
      if (prepared_.value_writes_[static_cast<size_t>(result)] > 0) {
        return absl::InvalidArgumentError(absl::StrCat("plan: value ", result, ", a constant, is written"));
      }
      int64_t& bytes = parts[offset_of(tensor)];
      bytes = std::max(bytes, static_cast<int64_t>(tensor.bytes()));
    }
    // (The bytes stay where they are as long as the plan.)
    const std::string identity = options_.constants_identity.empty()
                                     ? absl::StrCat("at ", reinterpret_cast<uintptr_t>(constants.data()))
                                     : options_.constants_identity;
    auto uploaded = DeviceConstants::Get(device, identity, constants.data(), parts);
    if (absl::IsResourceExhausted(uploaded.status())) {
      const int64_t bytes = DeviceConstants::BytesOf(parts);
      const std::string text = DeviceMemoryText(
          prepared_.plan_, prepared_.slot_spaces_, device->name(), bytes, 0, [](ValueId) { return TensorType(); },
          [](const Operand& operand) { return operand.is_register ? -1 : operand.value; });
      return absl::ResourceExhaustedError(absl::StrCat("the plan's constants take ", devices::BytesText(bytes), " on ",
                                                       device->name(), ": ", uploaded.status().message(), "; ", text));
    }
    if (!uploaded.ok()) return uploaded.status();
    prepared_.device_constants_ = *std::move(uploaded);
    for (const auto& [result, tensor] : uploads_) {
      char* const place = prepared_.device_constants_->at(offset_of(tensor));
      prepared_.constants_.emplace_back(result,
                                        Tensor::Wrap(place, tensor.dtype(), tensor.dims(), {}, nullptr, device->id()));
    }
    return absl::OkStatus();
  }

  absl::Status Constant(const PlanConstant& constant, std::string_view bytes) {
    if (static_cast<uint64_t>(constant.offset) > bytes.size() ||
        static_cast<uint64_t>(constant.bytes) > bytes.size() - static_cast<uint64_t>(constant.offset)) {
      return absl::InvalidArgumentError(absl::StrCat("plan: the constant of value ", constant.value,
                                                     " lies outside the constants, which are ", bytes.size(),
                                                     " bytes"));
    }
    if (fixed_[static_cast<size_t>(constant.value)]) {
      return absl::InvalidArgumentError(absl::StrCat("plan: value ", constant.value, " is two constants"));
    }
    fixed_[static_cast<size_t>(constant.value)] = true;
    const std::string_view mine =
        bytes.substr(static_cast<size_t>(constant.offset), static_cast<size_t>(constant.bytes));
    Tensor tensor;
    if (constant.dtype == DType::kString) {
      TCC_ASSIGN_OR_RETURN(tensor, StringConstant(mine, constant));
    } else {
      // Mapped read-only: nothing writes to a constant, Writes() sees to it.
      tensor = Tensor::Wrap(const_cast<char*>(mine.data()), constant.dtype, constant.dims);
    }
    prepared_.constants_.emplace_back(constant.value, std::move(tensor));
    return absl::OkStatus();
  }

  absl::Status Writes(ValueId value, bool is_static = false) {
    const auto index = static_cast<size_t>(value);
    if (fixed_[index])
      return absl::InvalidArgumentError(absl::StrCat("plan: value ", value, ", a constant, is written"));
    if (!is_static) dropped_[index] = true;
    Writes(&prepared_.value_writes_, value);
    return absl::OkStatus();
  }
  static void Writes(std::vector<uint8_t>* counts, int32_t id) {
    uint8_t& count = (*counts)[static_cast<size_t>(id)];
    if (count < 255) ++count;
  }

  absl::StatusOr<const Program*> Lower(const Block& block) {
    Program* program = prepared_.programs_.emplace_back(std::make_unique<Program>()).get();
    program->index = prepared_.programs_.size() - 1;
    program->steps.reserve(block.instructions.size());
    for (const Instruction& instruction : block.instructions) {
      if (IsUpload(instruction)) continue;
      Step step;
      step.kind = static_cast<Kind>(instruction.index());
      TCC_RETURN_IF_ERROR(std::visit(
          [&](const auto& i) {
            step.instruction = &i;
            return Lower(i, step);
          },
          instruction));
      program->steps.push_back(step);
    }
    return program;
  }

  template <typename Instruction>
  absl::Status WritesRegister(const Instruction& i) {
    Writes(&prepared_.register_writes_, i.result);
    return absl::OkStatus();
  }
  absl::Status Lower(const plan::Compute& i, Step&) { return WritesRegister(i); }
  absl::Status Lower(const plan::ReadExtent& i, Step&) { return WritesRegister(i); }
  absl::Status Lower(const plan::ReadElement& i, Step&) { return WritesRegister(i); }
  absl::Status Lower(const plan::CheckEqual&, Step&) { return absl::OkStatus(); }
  absl::Status Lower(const plan::Release&, Step&) { return absl::OkStatus(); }
  absl::Status Lower(const plan::MakeTensor& i, Step&) { return Writes(i.result); }
  absl::Status Lower(const plan::Move& i, Step&) { return Writes(i.to); }
  absl::Status Lower(const plan::Allocate& i, Step& step) {
    step.is_static = i.slot != plan::kFreshSlot && AllImmediate(i.dims) &&
                     !prepared_.plan_.slot_bytes[static_cast<size_t>(i.slot)].is_register;
    return Writes(i.result, step.is_static);
  }
  absl::Status Lower(const plan::View& i, Step& step) {
    step.is_static = AllImmediate(i.dims) && AllImmediate(i.strides) && !i.offset.is_register;
    return Writes(i.result);  // static only where its source is: known when run
  }
  absl::Status Lower(const plan::Launch& i, Step& step) {
    step.function = functions_[static_cast<size_t>(i.function)];
    prepared_.max_buffers_ = std::max(prepared_.max_buffers_, i.buffers.size());
    for (const ValueId value : i.buffers) {
      // An input that is not contiguous is replaced by a copy.
      if (!fixed_[static_cast<size_t>(value)]) dropped_[static_cast<size_t>(value)] = true;
    }
    return absl::OkStatus();
  }
  absl::Status Lower(const plan::Library& i, Step& step) {
    step.kernel = find_(i.op);
    if (step.kernel == nullptr) {
      return absl::UnimplementedError(
          absl::StrCat(i.name, i.name.empty() ? "" : ": ", "no library kernel '", i.op, "'"));
    }
    for (const auto& result : i.results) {
      if (result.value != kNoValue) TCC_RETURN_IF_ERROR(Writes(result.value));
    }
    return absl::OkStatus();
  }
  // A constant that goes to the device: done once for all calls.
  bool IsUpload(const Instruction& instruction) {
    const auto* const transfer = std::get_if<plan::Transfer>(&instruction);
    if (transfer == nullptr || transfer->to != Space::kDevice) return false;
    const auto found = std::find_if(prepared_.constants_.begin(), prepared_.constants_.end(),
                                    [&](const auto& constant) { return constant.first == transfer->source; });
    if (found == prepared_.constants_.end() || found->second.dtype() == DType::kString) return false;
    if (!fixed_[static_cast<size_t>(transfer->result)]) uploads_.emplace_back(transfer->result, found->second);
    fixed_[static_cast<size_t>(transfer->result)] = true;
    return true;
  }
  absl::Status Lower(const plan::DeviceLaunch& i, Step& step) {
    step.device_function = prepared_.images_->functions()[static_cast<size_t>(i.function)];
    if (i.reports_errors) {
      step.error_word = static_cast<int32_t>(prepared_.error_names_.size());
      prepared_.error_names_.push_back(i.name);
    }
    prepared_.max_params_ =
        std::max(prepared_.max_params_,
                 i.buffers.size() + i.scalars.size() + (i.reports_errors ? 1 : 0) + (i.has_counters() ? 1 : 0));
    for (const ValueId value : i.buffers) {
      // A view that is not contiguous is replaced by a copy.
      if (!fixed_[static_cast<size_t>(value)]) dropped_[static_cast<size_t>(value)] = true;
    }
    return absl::OkStatus();
  }
  absl::Status Lower(const plan::Transfer& i, Step&) { return Writes(i.result); }
  absl::Status Lower(const plan::If& i, Step& step) {
    for (int branch = 0; branch < 2; ++branch) {
      TCC_ASSIGN_OR_RETURN(step.blocks[branch], Lower(i.blocks[static_cast<size_t>(branch)]));
    }
    return absl::OkStatus();
  }
  absl::Status Lower(const plan::Loop& i, Step& step) {
    if (i.iteration != kNoValue) TCC_RETURN_IF_ERROR(Writes(i.iteration));
    for (const auto& scan : i.scan_outputs) TCC_RETURN_IF_ERROR(Writes(scan.result));
    TCC_ASSIGN_OR_RETURN(step.blocks[0], Lower(i.blocks[0]));
    return absl::OkStatus();
  }

  PreparedPlan& prepared_;
  const PreparedPlan::Options& options_;
  reference::Kernel (*find_)(std::string_view);
  std::vector<TccKernelFunction> functions_;
  std::vector<bool> fixed_, dropped_;
  // Of plans with values on a device. By function: launched there, and on the host.
  std::vector<bool> on_device_, on_host_;
  std::vector<std::set<std::string>> uses_;  // by function: names of its launches, some
  std::vector<Space> value_spaces_;
  std::vector<bool> read_;  // by value: something but a transfer to the device reads its elements
  std::vector<std::pair<ValueId, Tensor>> uploads_;
};

PreparedPlan::PreparedPlan() = default;
PreparedPlan::~PreparedPlan() = default;

absl::StatusOr<std::shared_ptr<const PreparedPlan>> PreparedPlan::Create(Plan plan,
                                                                         std::shared_ptr<const CodeObject> code,
                                                                         std::string_view constants,
                                                                         std::shared_ptr<const void> owner,
                                                                         const Options& options) {
  std::shared_ptr<PreparedPlan> prepared(new PreparedPlan);
  prepared->plan_ = std::move(plan);
  prepared->code_ = std::move(code);
  prepared->owner_ = std::move(owner);
  TCC_RETURN_IF_ERROR(PlanPreparer(*prepared, options).Run(constants));
  return std::shared_ptr<const PreparedPlan>(std::move(prepared));
}

}  // namespace tcc
