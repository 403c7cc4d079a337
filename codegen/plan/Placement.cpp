//===- Placement.cpp - which memory the values of a plan are in -----------===//
#include "codegen/plan/Placement.h"

#include <algorithm>

#include "codegen/plan/Liveness.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

namespace tcc::codegen {
namespace {

void forEachInstruction(const Block &block, llvm::function_ref<void(const Instruction &)> visit) {
  for (const Instruction &instruction : block.instructions) {
    visit(instruction);
    if (const std::vector<Block> *nested = nestedBlocks(instruction))
      for (const Block &inner : *nested)
        forEachInstruction(inner, visit);
  }
}

/// A view that has all elements of its source in their order.
bool isReshape(const plan::View &view) { return view.strides.empty() && view.offset == Operand::Imm(0); }

class Placer {
public:
  Placer(Plan &plan, std::vector<ValueInfo> &values)
      : plan(plan), values(values), spaces(values.size(), Space::kHost), scopes(1) {}

  std::vector<Space> run() {
    findSpaces();
    for (const PlanConstant &constant : plan.constants)
      constants.insert(constant.value);
    std::vector<Instruction> body = place(plan.body);
    for (ValueId &output : plan.outputs)
      if (output != kNoValue)
        output = get(output, Space::kHost, body);
    start.insert(start.end(), std::make_move_iterator(body.begin()), std::make_move_iterator(body.end()));
    plan.body.instructions = std::move(start);
    plan.num_values = static_cast<int32_t>(values.size());
    return std::move(spaces);
  }

private:
  /// The space of each value, by what writes it.
  void findSpaces() {
    llvm::DenseSet<ValueId> undecided, onHost;
    forEachInstruction(plan.body, [&](const Instruction &instruction) {
      if (const auto *allocate = std::get_if<plan::Allocate>(&instruction)) {
        undecided.insert(allocate->result);
      } else if (const auto *launch = std::get_if<plan::Launch>(&instruction)) {
        for (ValueId value : launch->buffers)
          undecided.erase(value);
      } else if (const auto *deviceLaunch = std::get_if<plan::DeviceLaunch>(&instruction)) {
        // Whatever is not written yet is written by the first launch that takes it.
        for (ValueId value : deviceLaunch->buffers)
          if (undecided.erase(value))
            spaces[value] = Space::kDevice;
      } else if (const auto *loop = std::get_if<plan::Loop>(&instruction)) {
        // The runtime reads these.
        onHost.insert(loop->condition);
        onHost.insert(loop->iteration);
        for (const plan::Loop::ScanOutput &scan : loop->scan_outputs)
          onHost.insert(scan.element);
      } else if (const auto *view = std::get_if<plan::View>(&instruction)) {
        views[view->result] = *view;
      }
    });
    // A value that another one is moved to, or that views it, may come before that one, around a loop.
    for (bool changed = true; changed;) {
      changed = false;
      auto toDevice = [&](ValueId value, ValueId source) {
        if (spaces[source] != Space::kDevice || spaces[value] == Space::kDevice || onHost.contains(value))
          return;
        spaces[value] = Space::kDevice;
        changed = true;
      };
      forEachInstruction(plan.body, [&](const Instruction &instruction) {
        if (const auto *view = std::get_if<plan::View>(&instruction); view && !values[view->result].strided)
          toDevice(view->result, view->source);
        else if (const auto *move = std::get_if<plan::Move>(&instruction))
          toDevice(move->to, move->from);
      });
    }
  }

  ValueId makeValue(Space space) {
    values.emplace_back();
    spaces.push_back(space);
    return static_cast<ValueId>(values.size()) - 1;
  }

  /// `value`, or a copy of it in `space`; what makes the copy is added to `out`.
  ValueId get(ValueId value, Space space, std::vector<Instruction> &out) {
    if (value == kNoValue || spaces[value] == space)
      return value;
    for (auto &scope : scopes)
      if (auto it = scope.find(value); it != scope.end())
        return it->second;
    ValueId copy = kNoValue;
    if (constants.contains(value)) {
      copy = makeValue(space);
      // (The next call has it still.)
      values[copy].keep = true;
      start.push_back(plan::Transfer{copy, value, space});
      scopes.front()[value] = copy;
      return copy;
    }
    auto view = views.find(value);
    if (view != views.end() && space == Space::kDevice && isReshape(view->second)) {
      // Of the copy of its source, which may be there already.
      plan::View moved = view->second;
      moved.source = get(moved.source, space, out);
      moved.result = copy = makeValue(space);
      values[copy].aliases.push_back(moved.source);
      out.push_back(std::move(moved));
    } else {
      copy = makeValue(space);
      out.push_back(plan::Transfer{copy, value, space});
    }
    scopes.back()[value] = copy;
    return copy;
  }

  /// Copies of values that are about to change are not to be used any more.
  void forget(const Instruction &instruction) {
    forEachWrite(instruction, [&](ValueId value) {
      for (auto &scope : scopes)
        scope.erase(value);
    });
  }

  /// The operands that the instruction needs in a certain space.
  static void forEachNeed(Instruction &instruction, llvm::function_ref<void(ValueId &, Space)> visit,
                          llvm::ArrayRef<Space> spaces) {
    if (auto *launch = std::get_if<plan::Launch>(&instruction)) {
      for (ValueId &value : launch->buffers)
        visit(value, Space::kHost);
    } else if (auto *deviceLaunch = std::get_if<plan::DeviceLaunch>(&instruction)) {
      for (ValueId &value : deviceLaunch->buffers)
        visit(value, Space::kDevice);
    } else if (auto *library = std::get_if<plan::Library>(&instruction)) {
      for (ValueId &value : library->inputs)
        visit(value, Space::kHost);
    } else if (auto *element = std::get_if<plan::ReadElement>(&instruction)) {
      visit(element->source, Space::kHost);
    } else if (auto *view = std::get_if<plan::View>(&instruction)) {
      visit(view->source, spaces[view->result]);
    } else if (auto *move = std::get_if<plan::Move>(&instruction)) {
      visit(move->from, spaces[move->to]);
    } else if (auto *branch = std::get_if<plan::If>(&instruction)) {
      visit(branch->condition, Space::kHost);
    } else if (auto *loop = std::get_if<plan::Loop>(&instruction)) {
      visit(loop->trip_count, Space::kHost);
    }
  }

  /// What a loop reads elsewhere and does not change is copied once, in front of it.
  void hoist(plan::Loop &loop, std::vector<Instruction> &out) {
    llvm::DenseSet<ValueId> changed;
    changed.insert(loop.iteration);
    forEachInstruction(loop.blocks.front(), [&](const Instruction &inner) {
      forEachWrite(inner, [&](ValueId value) { changed.insert(value); });
    });
    for (ValueId value : changed)
      for (auto &scope : scopes)
        scope.erase(value);
    forEachInstruction(loop.blocks.front(), [&](const Instruction &inner) {
      forEachNeed(
          const_cast<Instruction &>(inner),
          [&](ValueId &value, Space space) {
            if (value != kNoValue && !changed.contains(value))
              (void)get(value, space, out);
          },
          spaces);
    });
  }

  std::vector<Instruction> place(Block &block) {
    std::vector<Instruction> out;
    for (Instruction &instruction : block.instructions) {
      if (auto *loop = std::get_if<plan::Loop>(&instruction))
        hoist(*loop, out);
      // What comes from the device is a copy already.
      if (const auto *library = std::get_if<plan::Library>(&instruction);
          library && library->op == "copy" && spaces[library->inputs[0]] == Space::kDevice) {
        plan::Transfer transfer{library->results[0].value, library->inputs[0], Space::kHost};
        instruction = transfer;
      }
      forEachNeed(
          instruction,
          [&](ValueId &value, Space space) {
            ValueId copy = get(value, space, out);
            if (copy == value)
              return;
            // A view or a move shares memory with the copy, then.
            forEachWrite(instruction, [&](ValueId result) {
              std::replace(values[result].aliases.begin(), values[result].aliases.end(), value, copy);
            });
            value = copy;
          },
          spaces);
      if (auto *allocate = std::get_if<plan::Allocate>(&instruction))
        allocate->space = spaces[allocate->result];
      if (std::vector<Block> *nested = nestedBlocks(instruction)) {
        for (Block &inner : *nested) {
          scopes.emplace_back();
          inner.instructions = place(inner);
          scopes.pop_back();
        }
      }
      forget(instruction);
      out.push_back(std::move(instruction));
    }
    return out;
  }

  Plan &plan;
  std::vector<ValueInfo> &values;
  std::vector<Space> spaces;
  llvm::DenseSet<ValueId> constants;
  llvm::DenseMap<ValueId, plan::View> views;
  std::vector<Instruction> start; ///< copies of constants
  /// The copies that there are, by the value they are of, in this block and those around it.
  llvm::SmallVector<llvm::DenseMap<ValueId, ValueId>> scopes;
};

} // namespace

std::vector<Space> placeValues(Plan &plan, std::vector<ValueInfo> &values, std::vector<InPlaceCandidate> &inPlace) {
  bool onDevice = false;
  forEachInstruction(plan.body, [&](const Instruction &instruction) {
    onDevice = onDevice || std::holds_alternative<plan::DeviceLaunch>(instruction);
  });
  if (!onDevice)
    return std::vector<Space>(values.size(), Space::kHost);
  std::vector<Space> spaces = Placer(plan, values).run();
  llvm::erase_if(
      inPlace, [&](const InPlaceCandidate &candidate) { return spaces[candidate.result] != spaces[candidate.source]; });
  return spaces;
}

} // namespace tcc::codegen
