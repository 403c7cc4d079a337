//===- Passes.td - graph passes on level 1 ---------------------------------===//
#ifndef TCC_IR_TRANSFORMS_PASSES_TD
#define TCC_IR_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

//===- Recognition: decomposed forms become ops ----------------------------===//

def SimplifyViewsPass : Pass<"tcc-simplify-views"> {
  let summary = "Moves transposes below reshapes so that chains of views cancel";
  let description = [{
    ```mlir
    %a = tcc.reshape %k : (tensor<2x4x16x8xf32>) -> tensor<8x16x8xf32>
    %b = tcc.transpose %a {permutation = array<i64: 0, 2, 1>}
    %c = tcc.reshape %b : (tensor<8x8x16xf32>) -> tensor<2x4x8x16xf32>
    // becomes
    %c = tcc.transpose %k {permutation = array<i64: 0, 1, 3, 2>}
    ```
  }];
  let dependentDialects = ["::tcc::ir::TCCDialect"];
}

def RecognizeNormalizationPass : Pass<"tcc-recognize-normalization"> {
  let summary = "x / sqrt(mean(x^2) + eps) and (x - mean) / sqrt(var + eps) become tcc.rms_norm and tcc.layer_norm";
  let description = [{
    Only over trailing axes, with the same x in every place, and with the epsilon inside the root.
  }];
  let dependentDialects = ["::tcc::ir::TCCDialect"];
}

def RecognizeSoftmaxPass : Pass<"tcc-recognize-softmax"> {
  let summary = "exp(x - max(x)) / sum(exp(x - max(x))) becomes tcc.softmax";
  let description = [{
    Only where maximum and sum are over the same one axis, and each comes back to it. Without the maximum it does not match: exp(x) overflows where
    softmax does not.
  }];
  let dependentDialects = ["::tcc::ir::TCCDialect"];
}

def RecognizeAttentionPass : Pass<"tcc-recognize-attention"> {
  let summary = "softmax(scale * q k^T + mask) v becomes tcc.attention";
  let description = [{
    Scales may stand on q, on k, on both or on the scores. The softmax must be over the last axis, and the scores and the
    probabilities must have no other use. A guard that replaces NaN probabilities by 0 (rows with every key excluded) becomes
    `masked_rows = guarded`; without it such rows stay NaN.
  }];
  let dependentDialects = ["::tcc::ir::TCCDialect"];
}

//===- Algebra -------------------------------------------------------------===//

def FoldScaleIntoWeightsPass : Pass<"tcc-fold-scale-into-weights"> {
  let summary = "A constant per-channel factor after conv or matmul goes into constant weights (batch normalisation, layer scale)";
  let description = [{
    Only where nothing else reads the unscaled result. `(conv(x, w) + b) * s` becomes `conv(x, w * s) + b * s`.
  }];
  let dependentDialects = ["::tcc::ir::TCCDialect"];
}

//===- Constants -----------------------------------------------------------===//

def FoldConstantsPass : Pass<"tcc-fold-constants"> {
  let summary = "Ops whose operands are all constants become constants";
  let description = [{
    With the reference kernels. Ops that only repeat elements (broadcast, iota, ...) stay: as constants they would take memory that the fused op does not.
  }];
  let dependentDialects = ["::tcc::ir::TCCDialect"];
  let options = [Option<"maxElements", "max-elements", "int64_t", "int64_t{1} << 28", "Results with more elements are not folded">];
}

//===- Fewer kernels -------------------------------------------------------===//

def MergeMatmulsPass : Pass<"tcc-merge-matmuls"> {
  let summary = "Products of one operand with several constants become one product";
  let description = [{
    ```mlir
    %q = tcc.matmul %x, %wq : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
    %k = tcc.matmul %x, %wk : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
    // becomes
    %y = tcc.matmul %x, %wqk : (tensor<8x64xf32>, tensor<64x80xf32>) -> tensor<8x80xf32>
    %q = tcc.slice %y {starts = #tcc.extents<0, 0>, steps = array<i64: 1, 1>} : (tensor<8x80xf32>) -> tensor<8x64xf32>
    %k = tcc.slice %y {starts = #tcc.extents<0, 64>, steps = array<i64: 1, 1>} : (tensor<8x80xf32>) -> tensor<8x16xf32>
    ```
    Either operand may be the common one; constants may be broadcast to the batch; constant biases are merged as well. Only where slices cost
    nothing: not where all that reads a result is pointwise (it goes into the product's kernel), nor where a result has to be in memory by itself.
    Not where much of the weights is needed elsewhere too (over 256 KiB would be there twice), and not where the products are far apart. For
    targets on which a launch costs more than longer rows do.
  }];
  let dependentDialects = ["::tcc::ir::TCCDialect"];
}

def MergeSlicedOpsPass : Pass<"tcc-merge-sliced-ops"> {
  let summary = "What is done alike to slices next to each other is done once, to both";
  let description = [{
    Elementwise ops, views, concatenations and normalisations along other axes: a rotary embedding of queries and keys that are slices of one
    product. Only where the results are read by contractions through views, which could not have taken in the ops.
  }];
  let dependentDialects = ["::tcc::ir::TCCDialect"];
}

def SplitConcatsPass : Pass<"tcc-split-concats"> {
  let summary = "Concatenations of many operands become trees of ones that kernels are made of";
  let description = [{
    For targets on which what is not a kernel runs elsewhere, with its operands and result copied there and back.
  }];
  let dependentDialects = ["::tcc::ir::TCCDialect"];
  let options = [Option<"mostOperands", "most-operands", "unsigned", "16", "of one concatenation; at least 2">];
}

//===- Precision -----------------------------------------------------------===//

def ConvertPrecisionPass : Pass<"tcc-convert-precision"> {
  let summary = "Weights and activations in bf16 or f16, accumulation in float32; arguments and results keep their types";
  let dependentDialects = ["::tcc::ir::TCCDialect"];
  let options = [Option<"type", "type", "std::string", "\"bf16\"", "bf16 or f16">];
}

//===- Layout --------------------------------------------------------------===//

def PropagateChannelsLastPass : Pass<"tcc-propagate-channels-last"> {
  let summary = "Convolutions compute in NHWC; transposes remain only at the borders of convolutional stretches";
  let dependentDialects = ["::tcc::ir::TCCDialect"];
}

#endif
