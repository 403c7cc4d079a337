// What plan_prepare.cpp makes and execution/ runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <variant>
#include <vector>

#include "runtime/executor.h"
#include "runtime/plan.h"

namespace tcc {

enum class PreparedPlan::Kind : uint8_t {
  kCompute,
  kAllocate,
  kView,
  kLaunch,
  kLibrary,
  kMakeTensor,
  kReadExtent,
  kReadElement,
  kCheckEqual,
  kMove,
  kIf,
  kLoop,
  kRelease,
  kDeviceLaunch,
  kTransfer,
};

struct PreparedPlan::Program {
  // The kinds are the alternatives of Instruction, in their order.
  template <Kind kKind, typename T>
  using Is = std::is_same<std::variant_alternative_t<static_cast<size_t>(kKind), Instruction>, T>;
  static_assert(Is<Kind::kCompute, plan::Compute>::value);
  static_assert(Is<Kind::kAllocate, plan::Allocate>::value);
  static_assert(Is<Kind::kView, plan::View>::value);
  static_assert(Is<Kind::kLaunch, plan::Launch>::value);
  static_assert(Is<Kind::kLibrary, plan::Library>::value);
  static_assert(Is<Kind::kMakeTensor, plan::MakeTensor>::value);
  static_assert(Is<Kind::kReadExtent, plan::ReadExtent>::value);
  static_assert(Is<Kind::kReadElement, plan::ReadElement>::value);
  static_assert(Is<Kind::kCheckEqual, plan::CheckEqual>::value);
  static_assert(Is<Kind::kMove, plan::Move>::value);
  static_assert(Is<Kind::kIf, plan::If>::value);
  static_assert(Is<Kind::kLoop, plan::Loop>::value);
  static_assert(Is<Kind::kRelease, plan::Release>::value);
  static_assert(Is<Kind::kDeviceLaunch, plan::DeviceLaunch>::value);
  static_assert(Is<Kind::kTransfer, plan::Transfer>::value);
  static_assert(std::variant_size_v<Instruction> == static_cast<size_t>(Kind::kTransfer) + 1);

  size_t index = 0;  // in programs_
  std::vector<Step> steps;
};

}  // namespace tcc
