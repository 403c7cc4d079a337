//===- OpsReduce.td - reductions, scans, normalisations, sorting -----------===//
#ifndef TCC_IR_OPS_REDUCE_TD
#define TCC_IR_OPS_REDUCE_TD

include "ir/Dialect.td"

def TCC_ReduceOp : TCC_InferredOp<"reduce"> {
  let summary = "combines the elements along `axes` (sorted, distinct, non-negative)";
  let description = [{
    f16, bf16 and f32 accumulate in float32 or wider, integers wrap. bool: max is any, min is all. An empty sum is 0, an
    empty product 1, an empty max the lowest value (-inf for floats), an empty min the highest, an empty mean NaN.
  }];
  let arguments = (ins TCC_Tensor:$x, TCC_ReduceKind:$kind, DenseI64ArrayAttr:$axes, BoolAttr:$keep_dims);
  let results = (outs TCC_Tensor:$y);
  let hasVerifier = 1;
}
def TCC_ArgReduceOp : TCC_InferredOp<"arg_reduce"> {
  let summary = "index (i64) of the largest (kind max) or smallest (kind min) element along `axis`; NaN counts as both";
  let arguments = (ins TCC_Tensor:$x, TCC_ReduceKind:$kind, I64Attr:$axis, BoolAttr:$keep_dims, BoolAttr:$select_last);
  let results = (outs TCC_IntTensor:$y);
  let hasVerifier = 1;
}
def TCC_ScanOp : TCC_InferredOp<"scan"> {
  let summary = "running reduction along `axis` (kinds sum, prod, max, min); exclusive leaves out the element itself, reverse runs from the end";
  let arguments = (ins TCC_Tensor:$x, TCC_ReduceKind:$kind, I64Attr:$axis, BoolAttr:$exclusive, BoolAttr:$reverse);
  let results = (outs TCC_Tensor:$y);
  let hasVerifier = 1;
}
class TCC_AxisUnary<string mnemonic, string text> : TCC_InferredOp<mnemonic> {
  let summary = text;
  let arguments = (ins TCC_FloatTensor:$x, I64Attr:$axis);
  let results = (outs TCC_FloatTensor:$y);
}
def TCC_SoftmaxOp : TCC_AxisUnary<"softmax", "exp(x - max) / sum(exp(x - max)) along one axis, in float32 or wider">;
def TCC_LogSoftmaxOp : TCC_AxisUnary<"log_softmax", "logarithm of softmax, computed without underflow">;
def TCC_LayerNormOp : TCC_InferredOp<"layer_norm"> {
  let summary = "(x - mean) / sqrt(variance + epsilon) over the axes from `axis` to the last; scale and bias are separate ops that fuse";
  let description = [{ Statistics in float32 or wider; variance is the biased one. https://arxiv.org/abs/1607.06450 }];
  let arguments = (ins TCC_FloatTensor:$x, I64Attr:$axis, F64Attr:$epsilon);
  let results = (outs TCC_FloatTensor:$y);
}
def TCC_RmsNormOp : TCC_InferredOp<"rms_norm"> {
  let summary = "x / sqrt(mean(x * x) + epsilon) over the axes from `axis` to the last";
  let description = [{ https://arxiv.org/abs/1910.07467 }];
  let arguments = (ins TCC_FloatTensor:$x, I64Attr:$axis, F64Attr:$epsilon);
  let results = (outs TCC_FloatTensor:$y);
}
def TCC_TopKOp : TCC_TensorOp<"top_k"> {
  let summary = "the k (extent of the results) largest or smallest elements along `axis` and their i64 indices; ties by lower index, sorted by value";
  let arguments = (ins TCC_Tensor:$x, I64Attr:$axis, BoolAttr:$largest);
  let results = (outs TCC_Tensor:$values, TCC_IntTensor:$indices);
  let hasVerifier = 1;
}

#endif
