// What plan_prepare.cpp makes and executor.cpp runs.
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
  std::vector<Step> steps;
};

}  // namespace tcc
