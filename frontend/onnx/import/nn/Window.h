//===- Window.h - kernels, strides and padding of windowed ops --*- C++ -*-===//
#pragma once

#include "frontend/onnx/import/NodeBuilder.h"

namespace tcc::onnx {

/// The window of a convolution or pooling, one entry per spatial axis (axes 2 and up of x).
struct Window {
  Ints kernel, strides, dilations, low, high;
  bool ceilMode = false;
  /// The operand; already padded where the padding depends on symbolic extents (then low and high are 0).
  mlir::Value x;
};

/// Reads strides, dilations, pads, auto_pad and ceil_mode. `fill` (rank 0, null: zero) is what symbolic SAME padding
/// adds.
Window readWindow(NodeBuilder &b, mlir::Value x, Ints kernel, mlir::Value fill = {});
/// The sizes themselves; an error where one is so large that arithmetic with them could overflow.
Ints windowSizes(NodeBuilder &b, const llvm::Twine &what, Ints sizes);
/// The `count` entries of an attribute of sizes with a default: one per spatial axis, of `pads` two.
Ints spatialAttr(NodeBuilder &b, llvm::StringRef name, size_t count, int64_t fallback);
/// The attributes of a tcc op with a window.
llvm::SmallVector<mlir::NamedAttribute> windowAttrs(NodeBuilder &b, const Window &window, bool withKernel);
/// A per-channel vector as [C, 1, ...], to be broadcast over x [N, C, spatial...].
mlir::Value perChannel(NodeBuilder &b, mlir::Value vector, int64_t rank);
/// y plus a bias, of which there must be one for each channel (axis 1): a single one is not broadcast.
mlir::Value addBias(NodeBuilder &b, mlir::Value y, mlir::Value bias);

} // namespace tcc::onnx
