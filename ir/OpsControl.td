//===- OpsControl.td - control flow and library calls ----------------------===//
#ifndef TCC_IR_OPS_CONTROL_TD
#define TCC_IR_OPS_CONTROL_TD

include "ir/Dialect.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def TCC_YieldOp : TCC_Op<"yield", [Pure, Terminator, ParentOneOf<["IfOp", "LoopOp", "KernelOp", "LoopsOp"]>]> {
  let summary = "ends a region with its values";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{ }]>];
}
// An op that gives a symbol its value is not dead while its tensors are unused: the symbol may be read anywhere. It reports
// a write, so that nothing removes it.
def TCC_BindsSymbols : DeclareOpInterfaceMethods<MemoryEffectsOpInterface>;

def TCC_IfOp : TCC_Op<"if", [SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects, TCC_BindsSymbols]> {
  let summary = "one of two regions, by a bool scalar known only at run time";
  let description = [{ Extents of a result on which the branches differ are fresh symbols, bound after the branch. }];
  let arguments = (ins TCC_BoolTensor:$condition);
  let results = (outs Variadic<TCC_Tensor>:$results);
  let regions = (region SizedRegion<1>:$then_region, SizedRegion<1>:$else_region);
  let assemblyFormat = "$condition attr-dict `:` functional-type($condition, $results) $then_region `else` $else_region";
  let hasVerifier = 1;
}
def TCC_LoopOp : TCC_Op<"loop", [SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects, AttrSizedOperandSegments, TCC_BindsSymbols]> {
  let summary = "ONNX Loop: for (i = 0; i < trip_count && condition; ++i) body";
  let description = [{
    The region's arguments are the iteration (i64 scalar), then the carried values; it yields the next condition, the next
    carried values, and one element for each scan output. Results: final carried values, then the scan outputs (stacked along
    a new axis 0). Without `condition` the yielded one is ignored. Carried values may change extents from one iteration to the next where the argument's extent is a symbol of
    its own.
  }];
  let arguments = (ins Optional<TCC_IntTensor>:$trip_count, Optional<TCC_BoolTensor>:$condition, Variadic<TCC_Tensor>:$initial);
  let results = (outs Variadic<TCC_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "(`trip` $trip_count^ `:` type($trip_count))? (`while` $condition^ `:` type($condition))? `carry` `(` $initial `)` attr-dict `:` functional-type($initial, $results) $body";
  let hasVerifier = 1;
}
def TCC_LibraryOp : TCC_Op<"library", [AlwaysSpeculatable, TCC_Foldable, TCC_BindsSymbols]> {
  let summary = "a call of the runtime's reference kernel `kernel` with the attributes `config`: for the long tail of ops";
  let description = [{
    Example: `%y = tcc.library "det"(%x) {} : (tensor<2x3x3xf32>) -> tensor<2xf32>`. Absent optional operands are listed in `absent`
    (positions among the kernel's inputs). Result extents that only the kernel knows are fresh symbols.
  }];
  let arguments = (ins Variadic<TCC_Tensor>:$inputs, StrAttr:$kernel, DictionaryAttr:$config, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$absent);
  let results = (outs Variadic<TCC_Tensor>:$results);
  let assemblyFormat = "$kernel `(` $inputs `)` $config attr-dict `:` functional-type($inputs, $results)";
  let hasVerifier = 1;
}

#endif
