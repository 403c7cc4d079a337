//===- LoopBody.h - builds a tcc.loop from an ONNX body ---------*- C++ -*-===//
#pragma once

#include "frontend/onnx/import/GraphImporter.h"

namespace tcc::onnx {

/// A loop under construction. `body` gets the builder inside the region, the iteration and the carried values, and
/// returns the next condition, the next carried values and one element per scan output. It is called again where an
/// extent of a carried value turns out to change from one iteration to the next.
using LoopBody = llvm::function_ref<Values(mlir::OpBuilder &, mlir::Value iteration, mlir::ValueRange carried)>;

/// Results: final carried values, then scan outputs. A null trip count or condition is an absent one.
Values buildLoop(NodeBuilder &b, mlir::Value tripCount, mlir::Value condition, Values initial, LoopBody body);

} // namespace tcc::onnx
