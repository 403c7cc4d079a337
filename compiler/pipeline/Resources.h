//===- Resources.h - what kernels take of a GPU ------------------*- C++ -*-===//
#pragma once

#include <vector>

#include "codegen/plan/Plan.h"
#include "compiler/request.h"

namespace tcc::compiler {

/// What the kernels of a plan take, for each architecture they are compiled for, with the occupancy of their launches
/// (the least of several).
std::vector<ResourceRecord> resourcesOf(const codegen::PlanResult &result);

} // namespace tcc::compiler
