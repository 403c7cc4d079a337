//===- TensorMap.h - tensor maps of a call at hand -----------------*- C++ -*-===//
#pragma once

#include "codegen/Target.h"
#include "runtime/devices/device.h"

namespace tcc::codegen {

/// The map for extents that are known: `value` of its expressions. Buffers are the first parameters of a launch.
inline devices::TensorMap evaluate(const TensorMap &map, llvm::function_ref<int64_t(mlir::AffineExpr)> value) {
  devices::TensorMap result = {
      map.buffer, map.elementBytes, static_cast<int32_t>(map.extents.size()), map.swizzle, {}, {}, {}};
  for (size_t axis = 0; axis < map.extents.size(); ++axis) {
    result.extents[axis] = value(map.extents[axis]);
    result.box[axis] = map.box[axis];
    if (axis > 0)
      result.strides[axis - 1] = value(map.strides[axis - 1]) * map.elementBytes;
  }
  return result;
}

} // namespace tcc::codegen
