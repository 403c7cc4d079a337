//===- Passes.td - passes on the tensor level of the tcc dialect ----------===//
#ifndef TCC_IR_TRANSFORMS_PASSES_TD
#define TCC_IR_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

//===- Layout ---------------------------------------------------------------===//

def PropagateChannelsLastPass : Pass<"tcc-propagate-channels-last"> {
  let summary = "Convolutional stretches of the graph in channels-last layout";
  let description = [{
    Every channels-first convolution becomes a channels-last one between two transposes; the transposes then sink
    through what follows until they cancel. What remains stands at the borders of a stretch.

    Before: `conv(x) : [N,C,H,W]` -> `relu` -> `conv`
    After:  `transpose(x) : [N,H,W,C]` -> `conv channels_last` -> `relu` -> `conv channels_last` -> `transpose`
  }];
}

#endif
