//===- RecurrentSteps.h - recurrent layers step by step ---------*- C++ -*-===//
#pragma once

#include "frontend/onnx/import/NodeBuilder.h"

namespace tcc::onnx {

/// Attributes of an LSTM, GRU or RNN node.
struct RecurrentLayer {
  llvm::StringRef kernel; ///< lstm, gru or rnn
  int64_t hidden = 0;
  int64_t directions = 1;
  bool reversed = false; ///< the only direction is from the end
  bool batchFirst = false;
  double clip = 0; ///< 0: none
  bool inputForget = false, linearBeforeReset = false;
};

/// One matrix product for the inputs of all steps, and for each step (unrolled where they are few, else a tcc.loop) one
/// for the state: all of it in generated code. Returns Y, Y_h and, of an LSTM, Y_c; nothing for what the library kernel
/// does better or must report.
Values convertToSteps(NodeBuilder &b, const RecurrentLayer &layer);

} // namespace tcc::onnx
