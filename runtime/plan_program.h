// What plan_prepare.cpp makes and execution/ runs.
#pragma once

#include "runtime/executor.h"

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
};

struct PreparedPlan::Program {
  size_t index = 0;  // in programs_
  std::vector<Step> steps;
};

}  // namespace tcc
