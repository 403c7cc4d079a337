//===- OpsNN.td - contractions, convolutions, pooling, sampling ------------===//
#ifndef TCC_IR_OPS_NN_TD
#define TCC_IR_OPS_NN_TD

include "ir/Dialect.td"

def TCC_MatmulOp : TCC_InferredOp<"matmul"> {
  let summary = "a[b.., M, K] times b[b.., K, N] with equal batch extents (any number of them)";
  let description = [{ f16, bf16 and f32 accumulate in float32 or wider; integers wrap. Transposed operands are a tcc.transpose before it: it is absorbed. }];
  let arguments = (ins TCC_Tensor:$a, TCC_Tensor:$b);
  let results = (outs TCC_Tensor:$y);
}
def TCC_ConvOp : TCC_InferredOp<"conv"> {
  let summary = "cross-correlation over 1 or more spatial axes";
  let description = [{
    x [N, C, spatial..] (channels_last: [N, spatial.., C]), w [O, C / groups, kernel..] always; y laid out as x. Padding is
    with zeros; negative padding crops. A bias is a separate tcc.add that fuses.
  }];
  let arguments = (ins TCC_Tensor:$x, TCC_Tensor:$w, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$padding_low,
                   DenseI64ArrayAttr:$padding_high, DenseI64ArrayAttr:$dilations, I64Attr:$groups, DefaultValuedAttr<BoolAttr, "false">:$channels_last);
  let results = (outs TCC_Tensor:$y);
  let hasVerifier = 1;
}
def TCC_ConvTransposeOp : TCC_InferredOp<"conv_transpose"> {
  let summary = "gradient of conv with respect to its input; w [C, O / groups, kernel..]";
  let description = [{ Output extent: stride * (in - 1) + output_padding + (kernel - 1) * dilation + 1 - padding_low - padding_high. }];
  let arguments = (ins TCC_Tensor:$x, TCC_Tensor:$w, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$padding_low,
                   DenseI64ArrayAttr:$padding_high, DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$output_padding, I64Attr:$groups,
                   DefaultValuedAttr<BoolAttr, "false">:$channels_last);
  let results = (outs TCC_Tensor:$y);
  let hasVerifier = 1;
}
class TCC_Pool<string mnemonic, string text, dag extra> : TCC_InferredOp<mnemonic> {
  let summary = text;
  let description = [{
    ceil_mode rounds the output extent up, but no window starts beyond the input and its low padding. Padding never wins a
    maximum; a window wholly in padding gives -inf (max) or 0 (average).
  }];
  let arguments = !con((ins TCC_Tensor:$x, DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$padding_low,
                        DenseI64ArrayAttr:$padding_high, DenseI64ArrayAttr:$dilations, BoolAttr:$ceil_mode), extra);
  let results = (outs TCC_Tensor:$y);
}
def TCC_MaxPoolOp : TCC_Pool<"max_pool", "largest element of each window", (ins DefaultValuedAttr<BoolAttr, "false">:$channels_last)>;
def TCC_AvgPoolOp : TCC_Pool<"avg_pool", "mean of each window; count_include_pad divides by the window's size inside input and padding",
                             (ins BoolAttr:$count_include_pad, DefaultValuedAttr<BoolAttr, "false">:$channels_last)>;
def TCC_MaxPoolIndicesOp : TCC_InferredOp<"max_pool_indices"> {
  let summary = "max_pool (channels first) and the flat index (i64, over the whole input tensor) of each maximum";
  let arguments = (ins TCC_Tensor:$x, DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$padding_low,
                   DenseI64ArrayAttr:$padding_high, DenseI64ArrayAttr:$dilations, BoolAttr:$ceil_mode, BoolAttr:$column_major);
  let results = (outs TCC_Tensor:$y, TCC_IntTensor:$indices);
}
def TCC_AttentionOp : TCC_InferredOp<"attention"> {
  let summary = "softmax(scale * q k^T + mask) v without the score matrix in memory";
  let description = [{
    q [B, H, S, D], k [B, Hk, T, D], v [B, Hk, T, Dv], H a multiple of Hk (grouped heads). mask: added to the scores (of q's type, or f32
    where that has 16 bits) or false = excluded (bool), its extents broadcast to [B, H, S, T]. causal: query i sees keys up to i + T - S.
    masked_rows says what a row with every key excluded is, for which softmax is NaN: `nan` keeps that, `zero` makes it 0, and
    `guarded` makes any row of NaN probabilities 0, also those of scores that are NaN or infinite. Values of excluded keys
    weigh nothing as long as they are finite. https://arxiv.org/abs/2205.14135
  }];
  let arguments = (ins TCC_FloatTensor:$q, TCC_FloatTensor:$k, TCC_FloatTensor:$v, Optional<TCC_Tensor>:$mask, F64Attr:$scale, BoolAttr:$causal,
                   DefaultValuedAttr<TCC_MaskedRows, "::tcc::ir::MaskedRows::Zero">:$masked_rows);
  let results = (outs TCC_FloatTensor:$y);
  let hasVerifier = 1;
}
def TCC_ResizeOp : TCC_TensorOp<"resize"> {
  let summary = "ONNX Resize: interpolation along every axis whose scale is not 1";
  let arguments = (ins TCC_Tensor:$x, DenseF64ArrayAttr:$scales, DenseF64ArrayAttr:$roi, TCC_ResizeMode:$mode, TCC_Coordinate:$coordinate,
                   TCC_NearestMode:$nearest_mode, F64Attr:$cubic_coeff_a, BoolAttr:$exclude_outside, BoolAttr:$antialias, F64Attr:$extrapolation_value);
  let results = (outs TCC_Tensor:$y);
  let hasVerifier = 1;
}
def TCC_GridSampleOp : TCC_InferredOp<"grid_sample"> {
  let summary = "samples x [N, C, spatial..] at grid [N, out.., rank - 2] of coordinates in [-1, 1], last axis x first";
  let arguments = (ins TCC_Tensor:$x, TCC_FloatTensor:$grid, TCC_GridMode:$mode, TCC_GridPadding:$padding, BoolAttr:$align_corners);
  let results = (outs TCC_Tensor:$y);
}

#endif
