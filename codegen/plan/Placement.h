//===- Placement.h - which memory the values of a plan are in ----*- C++ -*-===//
#pragma once

#include <vector>

#include "codegen/plan/Memory.h"
#include "runtime/plan.h"

namespace tcc::codegen {

/// Decides for each value of a plan whether it is in memory of the host or of the device, and adds the transfers that
/// this takes. A plan without launches on a device is left as it is: all its values are on the host.
///
/// What a kernel of the device writes is there; views (of what is contiguous) are where their source is; what is moved
/// to from several places, as the results of branches and the carried values of loops, is on the device as soon as one
/// of those is. All else is on the host: inputs, constants, what library kernels make, conditions, what a loop stacks.
/// A reader that needs a value elsewhere gets a copy, made in front of the first such reader and used by all after it;
/// that of a constant at the start of the plan, where the runtime makes it once for all calls; that of what a loop does
/// not change in front of the loop. Outputs are copied back at the end.
///
/// Returns the space of each value, also of those it adds (to `values` too). In-place candidates that lie in different
/// spaces are dropped.
std::vector<Space> placeValues(Plan &plan, std::vector<ValueInfo> &values, std::vector<InPlaceCandidate> &inPlace);

} // namespace tcc::codegen
