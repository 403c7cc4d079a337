#include "runtime/execution/donation.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <set>
#include <variant>

namespace tcc {
namespace {

class Finder {
 public:
  explicit Finder(const Plan& plan)
      : plan_(plan),
        inputs_of_(static_cast<size_t>(plan.num_values)),
        allocated_at_(static_cast<size_t>(plan.num_values), kNever),
        over_(static_cast<size_t>(plan.num_values), kNoValue),
        reads_(plan.inputs.size()) {
    for (size_t i = 0; i < plan.inputs.size(); ++i) {
      if (plan.inputs[i] != kNoValue) inputs_of_[static_cast<size_t>(plan.inputs[i])].insert(static_cast<int32_t>(i));
    }
  }

  Donations Run() {
    for (const Instruction& instruction : plan_.body.instructions) {
      Visit(instruction);
      ++position_;
    }
    // What is an output still, however it came there, is read at the very end.
    for (const ValueId output : plan_.outputs) Read(output);
    Donations donations{std::vector<std::vector<int32_t>>(plan_.outputs.size()),
                        std::vector<int32_t>(plan_.outputs.size(), -1)};
    for (size_t o = 0; o < plan_.outputs.size(); ++o) {
      const ValueId output = plan_.outputs[o];
      const int64_t at = allocated_at_[static_cast<size_t>(output)];
      if (at < 0) continue;
      for (size_t i = 0; i < reads_.size(); ++i) {
        const auto later = [at](const ReadBy& read) { return read.position >= at; };
        const auto count = std::count_if(reads_[i].begin(), reads_[i].end(), later);
        if (count == 0) donations.free[o].push_back(static_cast<int32_t>(i));
        const bool own = count == 1 && std::find_if(reads_[i].begin(), reads_[i].end(), later)->writes == output;
        if (own && plan_.inputs[i] == over_[static_cast<size_t>(output)]) donations.over[o] = static_cast<int32_t>(i);
      }
    }
    return donations;
  }

 private:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kTwice = kNever + 1;

  struct ReadBy {
    int64_t position;
    ValueId writes;  // of a launch that goes over what it reads: what it writes
  };

  void Read(ValueId value, ValueId writes = kNoValue) {
    if (value == kNoValue) return;
    for (const int32_t input : inputs_of_[static_cast<size_t>(value)])
      reads_[static_cast<size_t>(input)].push_back({position_, writes});
  }
  // `to` may be the same memory as `from`.
  void Alias(ValueId to, ValueId from) {
    Read(from);
    const std::set<int32_t> inputs = inputs_of_[static_cast<size_t>(from)];
    inputs_of_[static_cast<size_t>(to)].insert(inputs.begin(), inputs.end());
  }
  void Visit(const Instruction& instruction) {
    std::visit([this](const auto& i) { Visit(i); }, instruction);
  }
  void Visit(const Block& block) {
    // Twice, since a loop hands aliases on to its next iteration.
    ++depth_;
    for (int pass = 0; pass < 2; ++pass) {
      for (const Instruction& instruction : block.instructions) Visit(instruction);
    }
    --depth_;
  }

  void Visit(const plan::Compute&) {}
  void Visit(const plan::MakeTensor&) {}
  void Visit(const plan::CheckEqual&) {}
  void Visit(const plan::Release&) {}
  void Visit(const plan::ReadExtent& i) { Read(i.source); }
  void Visit(const plan::ReadElement& i) { Read(i.source); }
  void Visit(const plan::Allocate& i) {
    int64_t& at = allocated_at_[static_cast<size_t>(i.result)];
    at = at == kNever && depth_ == 0 && i.slot == plan::kFreshSlot ? position_ : kTwice;
    over_[static_cast<size_t>(i.result)] = i.over;
  }
  void Visit(const plan::View& i) { Alias(i.result, i.source); }
  void Visit(const plan::Move& i) { Alias(i.to, i.from); }
  void Visit(const plan::Launch& i) {
    for (const ValueId value : i.buffers) {
      // The first launch of the result that goes over the value.
      const auto result = std::find_if(i.buffers.begin(), i.buffers.end(), [&](ValueId other) {
        return value != kNoValue && over_[static_cast<size_t>(other)] == value;
      });
      Read(value, result == i.buffers.end() ? kNoValue : *result);
    }
  }
  void Visit(const plan::DeviceLaunch& i) {
    for (const ValueId value : i.buffers) Read(value);
  }
  // (An input that is on the device already, or a space the value is in anyway.)
  void Visit(const plan::Transfer& i) { Alias(i.result, i.source); }
  void Visit(const plan::Library& i) {
    for (const ValueId value : i.inputs) Read(value);
  }
  void Visit(const plan::If& i) {
    Read(i.condition);
    for (const Block& block : i.blocks) Visit(block);
  }
  void Visit(const plan::Loop& i) {
    Read(i.trip_count);
    Read(i.condition);
    for (const Block& block : i.blocks) Visit(block);
    for (const auto& scan : i.scan_outputs) Read(scan.element);
    // (The condition may be set anew by the body.)
    Read(i.condition);
  }

  const Plan& plan_;
  std::vector<std::set<int32_t>> inputs_of_;  // by value: the inputs whose memory it may be
  std::vector<int64_t> allocated_at_;         // by value: where, if fresh, once and not in a block
  std::vector<ValueId> over_;                 // by value: plan::Allocate::over
  std::vector<std::vector<ReadBy>> reads_;    // by input
  int64_t position_ = 0;                      // in the body
  int depth_ = 0;
};

}  // namespace

Donations FindDonations(const Plan& plan) { return Finder(plan).Run(); }

}  // namespace tcc
