#include "runtime/plan_spaces.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "runtime/status.h"

namespace tcc {
namespace {

class Finder {
 public:
  explicit Finder(const Plan& plan)
      : plan_(plan), values_(static_cast<size_t>(plan.num_values)), slots_(plan.slot_bytes.size()) {}

  absl::StatusOr<PlanSpaces> Run() {
    for (const PlanConstant& constant : plan_.constants) Set(constant.value, Space::kHost);
    for (const ValueId input : plan_.inputs) Set(input, Space::kHost);
    // Again, since a loop hands values back to its beginning.
    do {
      changed_ = false;
      Visit(plan_.body);
    } while (changed_ && error_.ok());
    if (!error_.ok()) return error_;
    PlanSpaces spaces;
    for (const auto& space : values_) spaces.values.push_back(space.value_or(Space::kHost));
    for (const auto& space : slots_) spaces.slots.push_back(space.value_or(Space::kHost));
    spaces.has_device = has_device_;
    return spaces;
  }

 private:
  void Set(ValueId value, Space space) {
    if (value == kNoValue) return;
    if (!Settle(&values_[static_cast<size_t>(value)], space)) Fail("value", value);
  }
  bool Settle(std::optional<Space>* known, Space space) {
    if (known->has_value()) return **known == space;
    *known = space;
    changed_ = true;
    has_device_ |= space == Space::kDevice;
    return true;
  }
  void Fail(absl::string_view what, int32_t id) {
    if (!error_.ok()) return;
    error_ = absl::InvalidArgumentError(absl::StrCat("plan: ", what, " ", id, " is on the host and on the device"));
  }
  void Follow(ValueId result, ValueId source) {
    if (const auto& space = values_[static_cast<size_t>(source)]) Set(result, *space);
  }

  void Visit(const Block& block) {
    for (const Instruction& instruction : block.instructions) {
      std::visit([this](const auto& i) { Visit(i); }, instruction);
    }
  }
  void Visit(const plan::Compute&) {}
  void Visit(const plan::ReadExtent&) {}
  void Visit(const plan::ReadElement&) {}
  void Visit(const plan::CheckEqual&) {}
  void Visit(const plan::Release&) {}
  void Visit(const plan::Launch&) {}
  void Visit(const plan::DeviceLaunch&) { has_device_ = true; }
  void Visit(const plan::Allocate& i) {
    Set(i.result, i.space);
    if (i.slot != plan::kFreshSlot && !Settle(&slots_[static_cast<size_t>(i.slot)], i.space)) Fail("slot", i.slot);
  }
  void Visit(const plan::View& i) { Follow(i.result, i.source); }
  void Visit(const plan::Move& i) { Follow(i.to, i.from); }
  void Visit(const plan::Transfer& i) { Set(i.result, i.to); }
  void Visit(const plan::MakeTensor& i) { Set(i.result, Space::kHost); }
  void Visit(const plan::Library& i) {
    for (const auto& result : i.results) Set(result.value, Space::kHost);
  }
  void Visit(const plan::If& i) {
    for (const Block& block : i.blocks) Visit(block);
  }
  void Visit(const plan::Loop& i) {
    Set(i.iteration, Space::kHost);
    for (const auto& scan : i.scan_outputs) Set(scan.result, Space::kHost);
    for (const Block& block : i.blocks) Visit(block);
  }

  const Plan& plan_;
  std::vector<std::optional<Space>> values_, slots_;
  bool changed_ = false, has_device_ = false;
  absl::Status error_;
};

// Whether each instruction finds its values where it works.
class Checker {
 public:
  explicit Checker(const PlanSpaces& spaces) : spaces_(spaces) {}

  absl::Status Check(const Block& block) {
    const std::string outer = where_;
    for (size_t j = 0; j < block.instructions.size(); ++j) {
      where_ = absl::StrCat(outer, outer.empty() ? "" : ".", "instruction ", j);
      TCC_RETURN_IF_ERROR(std::visit([this](const auto& i) { return Check(i); }, block.instructions[j]));
    }
    where_ = outer;
    return absl::OkStatus();
  }

 private:
  absl::Status Host(ValueId value, absl::string_view what) const { return In(Space::kHost, value, what); }
  absl::Status Device(ValueId value, absl::string_view what) const { return In(Space::kDevice, value, what); }
  absl::Status In(Space space, ValueId value, absl::string_view what) const {
    if (value == kNoValue || spaces_.of(value) == space) return absl::OkStatus();
    const bool host = space == Space::kHost;
    return absl::InvalidArgumentError(absl::StrCat("plan: ", where_, ": ", what, ": value ", value, " is on the ",
                                                   host ? "device" : "host", ", must be on the ",
                                                   host ? "host" : "device", " (a transfer is missing)"));
  }

  // (Where these get a space from is where they have it.)
  absl::Status Check(const plan::Compute&) { return absl::OkStatus(); }
  absl::Status Check(const plan::Allocate&) { return absl::OkStatus(); }
  absl::Status Check(const plan::View&) { return absl::OkStatus(); }
  absl::Status Check(const plan::Move&) { return absl::OkStatus(); }
  absl::Status Check(const plan::MakeTensor&) { return absl::OkStatus(); }
  absl::Status Check(const plan::ReadExtent&) { return absl::OkStatus(); }
  absl::Status Check(const plan::CheckEqual&) { return absl::OkStatus(); }
  absl::Status Check(const plan::Release&) { return absl::OkStatus(); }
  absl::Status Check(const plan::Transfer&) { return absl::OkStatus(); }
  absl::Status Check(const plan::Launch& i) {
    for (const ValueId value : i.buffers) TCC_RETURN_IF_ERROR(Host(value, "buffer"));
    return absl::OkStatus();
  }
  absl::Status Check(const plan::DeviceLaunch& i) {
    for (const ValueId value : i.buffers) TCC_RETURN_IF_ERROR(Device(value, "buffer"));
    return absl::OkStatus();
  }
  absl::Status Check(const plan::Library& i) {
    for (const ValueId value : i.inputs) TCC_RETURN_IF_ERROR(Host(value, "input"));
    return absl::OkStatus();
  }
  absl::Status Check(const plan::ReadElement& i) { return Host(i.source, "source"); }
  absl::Status Check(const plan::If& i) {
    TCC_RETURN_IF_ERROR(Host(i.condition, "condition"));
    for (const Block& block : i.blocks) TCC_RETURN_IF_ERROR(Check(block));
    return absl::OkStatus();
  }
  absl::Status Check(const plan::Loop& i) {
    TCC_RETURN_IF_ERROR(Host(i.trip_count, "trip count"));
    TCC_RETURN_IF_ERROR(Host(i.condition, "condition"));
    for (const auto& scan : i.scan_outputs) TCC_RETURN_IF_ERROR(Host(scan.element, "scan element"));
    return Check(i.blocks[0]);
  }

  const PlanSpaces& spaces_;
  std::string where_;
};

}  // namespace

absl::StatusOr<PlanSpaces> FindSpaces(const Plan& plan) {
  TCC_ASSIGN_OR_RETURN(PlanSpaces spaces, Finder(plan).Run());
  if (spaces.has_device) TCC_RETURN_IF_ERROR(Checker(spaces).Check(plan.body));
  return spaces;
}

}  // namespace tcc
