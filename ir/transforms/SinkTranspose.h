//===- SinkTranspose.h - transposes below reshapes --------------*- C++ -*-===//
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace tcc::ir {

/// reshape(transpose(x)) -> transpose(reshape(x)) where each group of merged or split axes lies together in x as well:
/// the flattening of H and W before a transformer, the heads of attention, and back.
void populateSinkTransposeThroughReshape(mlir::RewritePatternSet &patterns);

} // namespace tcc::ir
