#include <cstring>

#include "runtime/execution/donation.h"
#include "runtime/plan_json.h"
#include "runtime/plan_program.h"
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
      : prepared_(prepared), find_(options.find != nullptr ? options.find : DefaultKernels()) {}

  absl::Status Run(std::string_view constants) {
    const Plan& plan = prepared_.plan_;
    TCC_RETURN_IF_ERROR(ValidatePlan(plan));
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
    for (const std::string& name : plan.functions) {
      if (prepared_.code_ == nullptr) return absl::InvalidArgumentError("plan: it has functions, but there is no code");
      TCC_ASSIGN_OR_RETURN(const TccKernelFunction function, prepared_.code_->Function(name));
      functions_.push_back(function);
    }
    TCC_RETURN_IF_ERROR(Lower(plan.body).status());
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
  absl::Status Lower(const plan::DeviceLaunch& i, Step&) {
    return absl::UnimplementedError(absl::StrCat(i.name, ": launches on a device are not run yet"));
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
  reference::Kernel (*find_)(std::string_view);
  std::vector<TccKernelFunction> functions_;
  std::vector<bool> fixed_, dropped_;
};

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
