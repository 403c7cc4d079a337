//===- OpsShape.td - constants, views and data movement --------------------===//
#ifndef TCC_IR_OPS_SHAPE_TD
#define TCC_IR_OPS_SHAPE_TD

include "ir/Dialect.td"

def TCC_ConstantOp : TCC_Op<"constant", [Pure, ConstantLike, AllTypesMatch<["value", "y"]>]> {
  let summary = "a constant tensor; weights are dense_resource blobs that map the model's file";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs TCC_Tensor:$y);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}
def TCC_StringConstantOp : TCC_Op<"string_constant", [Pure]> {
  let summary = "a constant tensor of strings";
  let arguments = (ins StrArrayAttr:$value);
  let results = (outs TCC_Tensor:$y);
}
def TCC_ExtentsOp : TCC_Op<"extents", [Pure, ConstantLike]> {
  let summary = "symbol expressions as a small integer tensor (what Shape gives, and what is computed from it)";
  let description = [{
    The elements in row-major order; the tensor's extents are static, its element type is i32 or wider.
    The symbols have the values of the place where the result is used, not of where the op stands: folding moves it to the
    start of the function, above the op that binds a data-dependent symbol.
    Example: `%s = tcc.extents {value = #tcc.extents<s0, 768>} : () -> tensor<2xi64>`.
  }];
  let arguments = (ins TCC_Extents:$value);
  let results = (outs TCC_IntTensor:$y);
  let hasFolder = 1;
  let hasVerifier = 1;
}
def TCC_ReshapeOp : TCC_TensorOp<"reshape"> {
  let summary = "the same elements in row-major order with other extents";
  let arguments = (ins TCC_Tensor:$x);
  let results = (outs TCC_Tensor:$y);
  let hasVerifier = 1;
  let hasFolder = 1;
}
def TCC_TransposeOp : TCC_InferredOp<"transpose"> {
  let summary = "result axis i is operand axis permutation[i]";
  let arguments = (ins TCC_Tensor:$x, DenseI64ArrayAttr:$permutation);
  let results = (outs TCC_Tensor:$y);
  let hasFolder = 1;
}
def TCC_BroadcastOp : TCC_TensorOp<"broadcast"> {
  let summary = "numpy broadcasting to the result's extents: axes are aligned at the end, extent 1 repeats";
  let arguments = (ins TCC_Tensor:$x);
  let results = (outs TCC_Tensor:$y);
  let hasVerifier = 1;
  let hasFolder = 1;
}
def TCC_SliceOp : TCC_TensorOp<"slice"> {
  let summary = "element i of each axis is element start + i * step of the operand; extents are the result's";
  let description = [{ Starts are normalised (0 <= start < extent, unless the result is empty); steps are non-zero constants and may be negative. }];
  let arguments = (ins TCC_Tensor:$x, TCC_Extents:$starts, DenseI64ArrayAttr:$steps);
  let results = (outs TCC_Tensor:$y);
  let hasVerifier = 1;
  let hasFolder = 1;
}
def TCC_PadOp : TCC_TensorOp<"pad"> {
  let summary = "adds low[i] elements before and high[i] after along each axis (negative: crops)";
  let description = [{ `fill` (rank 0, the operand's element type; absent: zero) is for mode constant. Reflect excludes the edge; low and high are at most extent - 1. }];
  let arguments = (ins TCC_Tensor:$x, Optional<TCC_Tensor>:$fill, TCC_Extents:$low, TCC_Extents:$high, TCC_PadMode:$mode);
  let results = (outs TCC_Tensor:$y);
  let hasVerifier = 1;
}
def TCC_ConcatOp : TCC_InferredOp<"concat"> {
  let summary = "operands one after another along an axis";
  let arguments = (ins Variadic<TCC_Tensor>:$xs, I64Attr:$axis);
  let results = (outs TCC_Tensor:$y);
  let hasFolder = 1;
}
def TCC_IotaOp : TCC_TensorOp<"iota"> {
  let summary = "each element is its index along `axis`, in the result's element type";
  let arguments = (ins I64Attr:$axis);
  let results = (outs TCC_Tensor:$y);
  let hasVerifier = 1;
}
def TCC_GatherOp : TCC_InferredOp<"gather"> {
  let summary = "y[a.., i.., b..] = x[a.., indices[i..], b..]: axis is replaced by the axes of indices; negative indices count from the end";
  let arguments = (ins TCC_Tensor:$x, TCC_IntTensor:$indices, I64Attr:$axis);
  let results = (outs TCC_Tensor:$y);
  let hasVerifier = 1;
}
def TCC_GatherElementsOp : TCC_InferredOp<"gather_elements"> {
  let summary = "y[i..] = x[i.. with axis replaced by indices[i..]] (torch.gather)";
  let arguments = (ins TCC_Tensor:$x, TCC_IntTensor:$indices, I64Attr:$axis);
  let results = (outs TCC_Tensor:$y);
  let hasVerifier = 1;
}
def TCC_GatherNdOp : TCC_InferredOp<"gather_nd"> {
  let summary = "ONNX GatherND: the last axis of indices holds index tuples";
  let arguments = (ins TCC_Tensor:$x, TCC_IntTensor:$indices, I64Attr:$batch_dims);
  let results = (outs TCC_Tensor:$y);
  let hasVerifier = 1;
}
def TCC_ScatterElementsOp : TCC_InferredOp<"scatter_elements"> {
  let summary = "a copy of x where element [i.. with axis replaced by indices[i..]] is combined with updates[i..]";
  let arguments = (ins TCC_Tensor:$x, TCC_IntTensor:$indices, TCC_Tensor:$updates, I64Attr:$axis, TCC_ScatterKind:$kind);
  let results = (outs TCC_Tensor:$y);
  let hasVerifier = 1;
}
def TCC_ScatterNdOp : TCC_InferredOp<"scatter_nd"> {
  let summary = "ONNX ScatterND";
  let arguments = (ins TCC_Tensor:$x, TCC_IntTensor:$indices, TCC_Tensor:$updates, TCC_ScatterKind:$kind);
  let results = (outs TCC_Tensor:$y);
  let hasVerifier = 1;
}

#endif
