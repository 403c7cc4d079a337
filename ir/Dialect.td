//===- Dialect.td - the tcc dialect, its types, attributes and traits -----===//
#ifndef TCC_IR_DIALECT_TD
#define TCC_IR_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def TCC_Dialect : Dialect {
  let name = "tcc";
  let cppNamespace = "::tcc::ir";
  let summary = "Tensor programs between a model file and generated kernels";
  let description = [{
    Value-semantics tensor ops (level 1) and the loop-level kernels they become (level 2).

    Tensor types are builtin `tensor` types of known rank. Signed integers are signless (`i8`), unsigned ones are `ui8`...,
    bool is `i1`. An extent that varies is `?`, and then the type carries `#tcc.extents<...>` as its encoding: each extent
    as an affine expression over the symbols s0, s1, ... of the enclosing function (attribute `tcc.symbols`). Two extents
    are equal exactly when their expressions are: nothing ever compares `?` with `?`.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let extraClassDeclaration = [{
    /// Names of the function attributes that carry symbols and the names of inputs and outputs.
    static constexpr llvm::StringLiteral kSymbolsAttr = "tcc.symbols";
    static constexpr llvm::StringLiteral kInputNameAttr = "tcc.name";
    void registerTypes();
    void registerAttributes();
    // One a family of ops, each in the file that holds their definitions.
    void registerPointwiseOps();
    void registerShapeOps();
    void registerReduceOps();
    void registerNNOps();
    void registerControlOps();
    void registerKernelOps();
  }];
}

//===- Types ---------------------------------------------------------------===//

class TCC_Type<string name, string typeMnemonic> : TypeDef<TCC_Dialect, name> { let mnemonic = typeMnemonic; }
// Element types that MLIR 19 lacks.
def TCC_StringType : TCC_Type<"String", "string"> { let summary = "a host-only string element"; }
def TCC_Float8E8M0Type : TCC_Type<"Float8E8M0", "f8E8M0"> { let summary = "an 8-bit power-of-two scale"; }
def TCC_Float4E2M1Type : TCC_Type<"Float4E2M1", "f4E2M1"> { let summary = "a 4-bit float, packed two a byte"; }

def TCC_Tensor : Type<CPred<"::llvm::isa<::mlir::RankedTensorType>($_self)">, "ranked tensor", "::mlir::RankedTensorType">;
class TCC_TensorWith<string predicate, string text>
    : Type<And<[TCC_Tensor.predicate, CPred<predicate>]>, text, "::mlir::RankedTensorType">;
def TCC_BoolTensor : TCC_TensorWith<"::llvm::cast<::mlir::RankedTensorType>($_self).getElementType().isInteger(1)", "bool tensor">;
def TCC_IntTensor : TCC_TensorWith<"::llvm::isa<::mlir::IntegerType>(::llvm::cast<::mlir::RankedTensorType>($_self).getElementType())", "integer or bool tensor">;
def TCC_FloatTensor : TCC_TensorWith<"::llvm::isa<::mlir::FloatType>(::llvm::cast<::mlir::RankedTensorType>($_self).getElementType())", "float tensor">;

//===- Attributes ----------------------------------------------------------===//

class TCC_Attr<string name, string attrMnemonic, list<Trait> traits = []> : AttrDef<TCC_Dialect, name, traits> { let mnemonic = attrMnemonic; }

def TCC_Extents : TCC_Attr<"Extents", "extents", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "a list of integers, each an affine expression over the function's symbols";
  let description = [{
    As a tensor encoding: the extents of the type, all of them, constants included. As an attribute: a list of integers
    (starts of a slice, widths of a pad) that may depend on symbols. Symbol positions are those of `tcc.symbols`.
    Example: `#tcc.extents<s0, 4 * s1 + 1, 768>`.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::AffineExpr">:$exprs);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// All expressions constant: their values.
    std::optional<::llvm::SmallVector<int64_t>> getConstants() const;
    static ExtentsAttr fromConstants(::mlir::MLIRContext *context, ::llvm::ArrayRef<int64_t> values);
  }];
}

def TCC_Symbol : TCC_Attr<"Symbol", "symbol"> {
  let summary = "name and range of a symbol: #tcc.symbol<\"batch\", 2, 64, 1>";
  let parameters = (ins StringRefParameter<>:$name, "int64_t":$min, "int64_t":$max, "int64_t":$multipleOf);
  let assemblyFormat = "`<` $name `,` $min `,` $max `,` $multipleOf `>`";
}

class TCC_Enum<string name, string text, list<I32EnumAttrCase> cases> : I32EnumAttr<name, text, cases> {
  let cppNamespace = "::tcc::ir";
  let genSpecializedAttr = 0;
}
class TCC_EnumAttr<EnumAttrInfo info, string attrMnemonic> : EnumAttr<TCC_Dialect, info, attrMnemonic> {
  let assemblyFormat = "`<` $value `>`";
}

// The case strings are what reference kernels read.
def TCC_ReduceKindEnum : TCC_Enum<"ReduceKind", "combiner of a reduction", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Prod", 1, "prod">, I32EnumAttrCase<"Max", 2, "max">,
  I32EnumAttrCase<"Min", 3, "min">, I32EnumAttrCase<"Mean", 4, "mean">]>;
def TCC_ReduceKind : TCC_EnumAttr<TCC_ReduceKindEnum, "reduce_kind">;
def TCC_PredicateEnum : TCC_Enum<"Predicate", "comparison", [
  I32EnumAttrCase<"Eq", 0, "eq">, I32EnumAttrCase<"Ne", 1, "ne">, I32EnumAttrCase<"Lt", 2, "lt">,
  I32EnumAttrCase<"Le", 3, "le">, I32EnumAttrCase<"Gt", 4, "gt">, I32EnumAttrCase<"Ge", 5, "ge">]>;
def TCC_Predicate : TCC_EnumAttr<TCC_PredicateEnum, "predicate">;
def TCC_PadModeEnum : TCC_Enum<"PadMode", "where padded elements come from", [
  I32EnumAttrCase<"Constant", 0, "constant">, I32EnumAttrCase<"Reflect", 1, "reflect">,
  I32EnumAttrCase<"Edge", 2, "edge">, I32EnumAttrCase<"Wrap", 3, "wrap">]>;
def TCC_PadMode : TCC_EnumAttr<TCC_PadModeEnum, "pad_mode">;
def TCC_ScatterKindEnum : TCC_Enum<"ScatterKind", "what a scattered update does to the element", [
  I32EnumAttrCase<"Assign", 0, "assign">, I32EnumAttrCase<"Add", 1, "add">, I32EnumAttrCase<"Mul", 2, "mul">,
  I32EnumAttrCase<"Max", 3, "max">, I32EnumAttrCase<"Min", 4, "min">]>;
def TCC_ScatterKind : TCC_EnumAttr<TCC_ScatterKindEnum, "scatter_kind">;
def TCC_ResizeModeEnum : TCC_Enum<"ResizeMode", "interpolation", [
  I32EnumAttrCase<"Nearest", 0, "nearest">, I32EnumAttrCase<"Linear", 1, "linear">, I32EnumAttrCase<"Cubic", 2, "cubic">]>;
def TCC_ResizeMode : TCC_EnumAttr<TCC_ResizeModeEnum, "resize_mode">;
def TCC_CoordinateEnum : TCC_Enum<"Coordinate", "output index to input coordinate (ONNX Resize)", [
  I32EnumAttrCase<"HalfPixel", 0, "half_pixel">, I32EnumAttrCase<"HalfPixelSymmetric", 1, "half_pixel_symmetric">,
  I32EnumAttrCase<"PytorchHalfPixel", 2, "pytorch_half_pixel">, I32EnumAttrCase<"AlignCorners", 3, "align_corners">,
  I32EnumAttrCase<"Asymmetric", 4, "asymmetric">, I32EnumAttrCase<"TfCropAndResize", 5, "tf_crop_and_resize">,
  I32EnumAttrCase<"TfHalfPixelForNn", 6, "tf_half_pixel_for_nn">]>;
def TCC_Coordinate : TCC_EnumAttr<TCC_CoordinateEnum, "coordinate">;
def TCC_NearestModeEnum : TCC_Enum<"NearestMode", "rounding of a nearest coordinate (ONNX Resize)", [
  I32EnumAttrCase<"RoundPreferFloor", 0, "round_prefer_floor">, I32EnumAttrCase<"RoundPreferCeil", 1, "round_prefer_ceil">,
  I32EnumAttrCase<"Floor", 2, "floor">, I32EnumAttrCase<"Ceil", 3, "ceil">]>;
def TCC_NearestMode : TCC_EnumAttr<TCC_NearestModeEnum, "nearest_mode">;
def TCC_GridModeEnum : TCC_Enum<"GridMode", "interpolation of grid_sample", [
  I32EnumAttrCase<"Linear", 0, "linear">, I32EnumAttrCase<"Nearest", 1, "nearest">, I32EnumAttrCase<"Cubic", 2, "cubic">]>;
def TCC_GridMode : TCC_EnumAttr<TCC_GridModeEnum, "grid_mode">;
def TCC_GridPaddingEnum : TCC_Enum<"GridPadding", "samples outside the input of grid_sample", [
  I32EnumAttrCase<"Zeros", 0, "zeros">, I32EnumAttrCase<"Border", 1, "border">, I32EnumAttrCase<"Reflection", 2, "reflection">]>;
def TCC_GridPadding : TCC_EnumAttr<TCC_GridPaddingEnum, "grid_padding">;
def TCC_MaskedRowsEnum : TCC_Enum<"MaskedRows", "what a row of attention is where its softmax has no value", [
  I32EnumAttrCase<"Nan", 0, "nan">, I32EnumAttrCase<"Zero", 1, "zero">, I32EnumAttrCase<"Guarded", 2, "guarded">]>;
def TCC_MaskedRows : TCC_EnumAttr<TCC_MaskedRowsEnum, "masked_rows">;

//===- Traits and op base classes -----------------------------------------===//

// Constant and symbolic folding through the reference kernels (ir/Folding.cpp): every operand constant (up to a size cap)
// gives a constant; small integer tensors of symbolic values (tcc.extents) give tcc.extents.
def TCC_Foldable : NativeOpTrait<"ReferenceFoldable"> { let cppNamespace = "::tcc::ir"; }

// Every dynamic type of operands and results carries its extents, and these name symbols of the function. First of all
// traits, because the others' verifiers rely on it.
def TCC_KnownExtents : NativeOpTrait<"KnownExtents"> { let cppNamespace = "::tcc::ir"; }

class TCC_Op<string mnemonic, list<Trait> traits = []>
    : Op<TCC_Dialect, mnemonic, !listconcat([TCC_KnownExtents], traits)> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}
// A pure op on tensors.
class TCC_TensorOp<string mnemonic, list<Trait> traits = []> : TCC_Op<mnemonic, !listconcat([Pure, TCC_Foldable], traits)>;
// A pure op whose result type follows from its operands and attributes.
class TCC_InferredOp<string mnemonic, list<Trait> traits = []>
    : TCC_TensorOp<mnemonic, !listconcat([DeclareOpInterfaceMethods<InferTypeOpInterface>], traits)>;

#endif
