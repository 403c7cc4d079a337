//===- OpsKernel.td - level 2: kernels and loops ---------------------------===//
#ifndef TCC_IR_OPS_KERNEL_TD
#define TCC_IR_OPS_KERNEL_TD

include "ir/Dialect.td"

def TCC_IntegerSetAttr : Attr<CPred<"::llvm::isa<::mlir::IntegerSetAttr>($_self)">, "integer set"> {
  let storageType = "::mlir::IntegerSetAttr";
  let returnType = "::mlir::IntegerSet";
  let convertFromStorage = "$_self.getValue()";
}

def TCC_KernelOp : TCC_Op<"kernel", [Pure, IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "what becomes one generated kernel: loops, and at most one template op (matmul, conv, attention) or scatter";
  let description = [{
    Block arguments are the operands, inside with signless element types. The body holds `tcc.loops`, `tcc.scatter` and template ops on tensors; intermediate
    tensors never reach memory unless the schedule says so. Symbols are those of the enclosing function. `sources` lists
    the level-1 ops it came from (for names, profiles and explain).
  }];
  let arguments = (ins Variadic<TCC_Tensor>:$inputs, StrArrayAttr:$sources);
  let results = (outs Variadic<TCC_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` $sources attr-dict `:` functional-type($inputs, $results) $body";
  let hasVerifier = 1;
}
def TCC_LoopsOp : TCC_Op<"loops", [Pure, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "a loop nest over `extents` that computes one or more tensors";
  let description = [{
    The region has one `index` argument per extent; the first ones are parallel, the last `num_reductions` are reduced. It
    yields one scalar per result. Without reductions result r has the extents of the nest (all parallel) and element
    [i..] is the yielded scalar. With reductions the result has the parallel extents and is the combination of the yielded scalars, starting
    from the identity of `kinds[r]` (sum, prod, max, min; no kinds without reductions; max and min of integers compare them as signed). Element types in the body are
    signless; signedness is in the arith ops.

    Example: row sums of squares.
    ```mlir
    %s = tcc.loops #tcc.extents<s0, 768> reduce 1 [#tcc.reduce_kind<sum>] {
    ^bb0(%i: index, %j: index):
      %v = tcc.load %x[affine_map<(d0, d1)[s0] -> (d0, d1)>](%i, %j) : tensor<...>
      %q = arith.mulf %v, %v : f32
      tcc.yield %q : f32
    } : tensor<...>
    ```
  }];
  let arguments = (ins TCC_Extents:$extents, I64Attr:$num_reductions, TypedArrayAttrBase<TCC_ReduceKind, "combiners">:$kinds);
  let results = (outs Variadic<TCC_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$extents `reduce` $num_reductions $kinds attr-dict-with-keyword $body `:` type($results)";
  let hasVerifier = 1;
}
def TCC_LoadOp : TCC_Op<"load", [Pure, AttrSizedOperandSegments]> {
  let summary = "an element of a tensor at quasi-affine indices";
  let description = [{
    `map` takes as dimensions the `indices` operands (loop indices and data-dependent indices alike, any `index` values) and as
    symbols the function's symbols; it has one result per axis of the tensor. With `mask` (an integer set over the same
    dimensions and symbols) the element is loaded only where the set holds and is `fill` (or zero) elsewhere. Out-of-range data-dependent
    indices are the business of the producer: it clamps them, and reports with tcc.bounds_check.
  }];
  let arguments = (ins TCC_Tensor:$tensor, Variadic<Index>:$indices, Optional<AnyType>:$fill, AffineMapAttr:$map, OptionalAttr<TCC_IntegerSetAttr>:$mask);
  let results = (outs AnyType:$value);
  let hasVerifier = 1;
  let assemblyFormat = "$tensor `[` $map `]` `(` $indices `)` (`mask` $mask^)? (`fill` $fill^ `:` type($fill))? attr-dict `:` type($tensor) `->` type($value)";
}
def TCC_ScatterOp : TCC_Op<"scatter", [Pure, AllTypesMatch<["into", "y"]>]> {
  let summary = "`into`, where elements at computed positions are combined with updates, one after the other";
  let description = [{
    Runs through the points of `updates` in row-major order. `map` takes as dimensions the point and then, from each tensor of
    `positions` (i64, of the extents of `updates`), its element at the point; as symbols the function's; it has one result per axis of
    `into`: the element that becomes `kind(element, update)`. With `mask` (over the same dimensions and symbols) points outside of the set
    do nothing. Positions are in range: who makes them clamps and reports (tcc.bounds_check). Where results of `map` are dimensions of the point as they are,
    points that differ there never meet: schedules run those at once, all others in their order, so that an element with several updates
    takes them in that order. `unsigned`: max and min compare integers so. Of bool, add and max are or, mul and min are and.

    Example: rows of updates added into the rows of %y that %k names.
    ```mlir
    %z = tcc.scatter #tcc.scatter_kind<add> %u at[affine_map<(d0, d1, d2) -> (d2, d1)>] (%k) into %y
        : tensor<8x64xf32> at(tensor<8x64xi64>) into tensor<100x64xf32>
    ```
  }];
  let arguments = (ins TCC_ScatterKind:$kind, UnitAttr:$is_unsigned, TCC_Tensor:$updates, TCC_Tensor:$into, Variadic<TCC_Tensor>:$positions,
                       AffineMapAttr:$map, OptionalAttr<TCC_IntegerSetAttr>:$mask);
  let results = (outs TCC_Tensor:$y);
  let hasVerifier = 1;
  let assemblyFormat = "$kind (`unsigned` $is_unsigned^)? $updates `at` `[` $map `]` `(` $positions `)` (`mask` $mask^)? `into` $into attr-dict "
                       "`:` type($updates) `at` `(` type($positions) `)` `into` type($into)";
}
def TCC_BoundsCheckOp : TCC_Op<"bounds_check", [MemoryEffects<[MemWrite]>]> {
  let summary = "a data-dependent index made safe: negative ones count from the end, what is then outside [0, extent) is reported";
  let description = [{
    Gives `index`, plus `extent` if it is negative, clamped to [0, extent - 1] (0 for an extent of 0). If the clamp changes it, the
    call fails with an "index out of range" error (TccKernelContext::error), as it does for any index below an extent of 0: the load
    then needs a mask. With `exact`, negative indices are out of range too. `extent` is one expression over the function's symbols.
    With `when`, nothing is reported where it is false: the index is of an element that is not read. The report is an effect: a
    check stays where nothing uses its value.
  }];
  let arguments = (ins Index:$index, TCC_Extents:$extent, UnitAttr:$exact, Optional<I1>:$when);
  let results = (outs Index:$value);
  let hasVerifier = 1;
  let assemblyFormat = "$index `below` $extent (`when` $when^)? attr-dict";
}
def TCC_InSetOp : TCC_Op<"in_set", [Pure]> {
  let summary = "whether an integer set over indices and the function's symbols holds";
  let arguments = (ins Variadic<Index>:$indices, TCC_IntegerSetAttr:$set);
  let results = (outs I1:$value);
  let hasVerifier = 1;
  let assemblyFormat = "$set `(` $indices `)` attr-dict";
}
def TCC_ApplyOp : TCC_Op<"apply", [Pure]> {
  let summary = "one affine expression over indices and the function's symbols, as an index";
  let arguments = (ins Variadic<Index>:$indices, AffineMapAttr:$map);
  let results = (outs Index:$value);
  let hasVerifier = 1;
  let assemblyFormat = "$map `(` $indices `)` attr-dict";
}

#endif
