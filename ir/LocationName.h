//===- LocationName.h - what a user calls the place of an op --------------===//
#pragma once

#include <string>

#include "mlir/IR/Location.h"

namespace tcc::ir {

/// The first name in a location: what the frontend put there, which the user knows ("node 'conv1' (Conv)"), or a place
/// in a file; empty for none.
std::string nameOf(mlir::Location location);

} // namespace tcc::ir
