//===- ConvGeometry.h - which inputs a convolution's outputs read --*- C++ -*-===//
#pragma once

#include "codegen/schedule/template/Template.h"

namespace tcc::codegen::gemm {

/// One spatial axis of (one phase of) a convolution. Output position outOffset + outStride * q, for q in [0, count),
/// reads input position q * inStride + tapOffset + t * tapStep with kernel position kernelOffset + t * kernelStep, for
/// t in [0, taps).
struct ConvAxis {
  mlir::AffineExpr in, count;
  int64_t inStride = 1, tapOffset = 0, tapStep = 1, taps = 0;
  int64_t kernelOffset = 0, kernelStep = 1;
  int64_t outStride = 1, outOffset = 0;
};

/// A convolution, or those outputs of a transposed one that lie at one residue of the strides (so that none of its taps
/// meets an inserted zero).
struct ConvPhase {
  llvm::SmallVector<ConvAxis> axes;
  int64_t taps() const;
};

struct ConvGeometry {
  mlir::AffineExpr images;
  int64_t groups = 1, inChannels = 0, outChannels = 0; ///< channels of one group
  bool channelsLast = false, transposed = false;
  llvm::SmallVector<ConvPhase> phases;

  unsigned spatial() const { return phases.front().axes.size(); }
  /// Coordinate in the weights of kernel taps `tap` (one for each axis), channel `in` of the group and output channel
  /// `out` of group `g`.
  Exprs weight(const ConvPhase &phase, llvm::ArrayRef<mlir::AffineExpr> tap, mlir::AffineExpr g, mlir::AffineExpr in,
               mlir::AffineExpr out) const;
  /// Coordinate in x or y.
  Exprs position(mlir::AffineExpr image, llvm::ArrayRef<mlir::AffineExpr> place, mlir::AffineExpr channel) const;
  /// Coordinate in y of positions q of a phase.
  Exprs output(const ConvPhase &phase, mlir::AffineExpr image, llvm::ArrayRef<mlir::AffineExpr> q,
               mlir::AffineExpr channel) const;
};

/// Nothing where channels or kernel extents are not known.
std::optional<ConvGeometry> geometryOf(const TemplateKernel &kernel);

} // namespace tcc::codegen::gemm
