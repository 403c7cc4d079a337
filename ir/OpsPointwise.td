//===- OpsPointwise.td - elementwise ops -----------------------------------===//
// No implicit broadcasting: operands have the same extents, tcc.broadcast makes them so (an index rewrite, it fuses away).
#ifndef TCC_IR_OPS_POINTWISE_TD
#define TCC_IR_OPS_POINTWISE_TD

include "ir/Dialect.td"

class TCC_Unary<string mnemonic, string text> : TCC_TensorOp<mnemonic, [SameOperandsAndResultType, Elementwise]> {
  let summary = text;
  let arguments = (ins TCC_Tensor:$x);
  let results = (outs TCC_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}
class TCC_Binary<string mnemonic, string text, list<Trait> traits = []>
    : TCC_TensorOp<mnemonic, !listconcat([SameOperandsAndResultType, Elementwise], traits)> {
  let summary = text;
  let arguments = (ins TCC_Tensor:$a, TCC_Tensor:$b);
  let results = (outs TCC_Tensor:$y);
  let assemblyFormat = "$a `,` $b attr-dict `:` type($a)";
}
class TCC_Test<string mnemonic, string text> : TCC_InferredOp<mnemonic, [Elementwise]> {
  let summary = text;
  let arguments = (ins TCC_Tensor:$x);
  let results = (outs TCC_BoolTensor:$y);
}

def TCC_AbsOp : TCC_Unary<"abs", "absolute value; the smallest signed integer wraps to itself">;
def TCC_NegOp : TCC_Unary<"neg", "negation; integers wrap"> { let hasFolder = 1; }
def TCC_SignOp : TCC_Unary<"sign", "-1, 0 or 1; NaN stays NaN">;
def TCC_CeilOp : TCC_Unary<"ceil", "smallest integer not below">;
def TCC_FloorOp : TCC_Unary<"floor", "largest integer not above">;
def TCC_RoundOp : TCC_Unary<"round", "nearest integer, ties to even">;
def TCC_TruncOp : TCC_Unary<"trunc", "integer part">;
def TCC_SqrtOp : TCC_Unary<"sqrt", "square root">;
def TCC_RsqrtOp : TCC_Unary<"rsqrt", "1 / sqrt(x)">;
def TCC_ReciprocalOp : TCC_Unary<"reciprocal", "1 / x">;
def TCC_ExpOp : TCC_Unary<"exp", "e to the x">;
def TCC_Expm1Op : TCC_Unary<"expm1", "e to the x, minus 1">;
def TCC_LogOp : TCC_Unary<"log", "natural logarithm">;
def TCC_Log1pOp : TCC_Unary<"log1p", "natural logarithm of 1 + x">;
def TCC_SinOp : TCC_Unary<"sin", "sine">;
def TCC_CosOp : TCC_Unary<"cos", "cosine">;
def TCC_TanOp : TCC_Unary<"tan", "tangent">;
def TCC_AsinOp : TCC_Unary<"asin", "arc sine">;
def TCC_AcosOp : TCC_Unary<"acos", "arc cosine">;
def TCC_AtanOp : TCC_Unary<"atan", "arc tangent">;
def TCC_SinhOp : TCC_Unary<"sinh", "hyperbolic sine">;
def TCC_CoshOp : TCC_Unary<"cosh", "hyperbolic cosine">;
def TCC_TanhOp : TCC_Unary<"tanh", "hyperbolic tangent">;
def TCC_AsinhOp : TCC_Unary<"asinh", "inverse hyperbolic sine">;
def TCC_AcoshOp : TCC_Unary<"acosh", "inverse hyperbolic cosine">;
def TCC_AtanhOp : TCC_Unary<"atanh", "inverse hyperbolic tangent">;
def TCC_ErfOp : TCC_Unary<"erf", "error function">;
def TCC_SigmoidOp : TCC_Unary<"sigmoid", "1 / (1 + exp(-x)), without overflow">;
def TCC_NotOp : TCC_Unary<"not", "complement: logical for bool, bitwise for integers"> { let hasFolder = 1; }

def TCC_IsNanOp : TCC_Test<"is_nan", "whether an element is NaN">;
def TCC_IsInfOp : TCC_InferredOp<"is_inf", [Elementwise]> {
  let summary = "whether an element is infinite, of the given signs";
  let arguments = (ins TCC_Tensor:$x, BoolAttr:$detect_negative, BoolAttr:$detect_positive);
  let results = (outs TCC_BoolTensor:$y);
}

def TCC_AddOp : TCC_Binary<"add", "sum; integers wrap", [Commutative]> { let hasFolder = 1; }
def TCC_SubOp : TCC_Binary<"sub", "difference; integers wrap"> { let hasFolder = 1; }
def TCC_MulOp : TCC_Binary<"mul", "product; integers wrap", [Commutative]> { let hasFolder = 1; }
def TCC_DivOp : TCC_Binary<"div", "quotient; integers truncate towards zero, by zero gives 0, MIN / -1 gives MIN"> { let hasFolder = 1; }
def TCC_ModOp : TCC_Binary<"mod", "remainder with the sign of the divisor (Python, floor); integers: by zero gives 0">;
def TCC_FmodOp : TCC_Binary<"fmod", "remainder with the sign of the dividend (C); integers: by zero gives 0">;
def TCC_PowOp : TCC_Binary<"pow", "a to the b; integers by repeated multiplication, wrapping"> { let hasFolder = 1; }
def TCC_Atan2Op : TCC_Binary<"atan2", "angle of (b, a)">;
def TCC_MaxOp : TCC_Binary<"max", "larger; NaN if either is NaN", [Commutative]> { let hasFolder = 1; }
def TCC_MinOp : TCC_Binary<"min", "smaller; NaN if either is NaN", [Commutative]> { let hasFolder = 1; }
def TCC_AndOp : TCC_Binary<"and", "logical for bool, bitwise for integers", [Commutative]> { let hasFolder = 1; }
def TCC_OrOp : TCC_Binary<"or", "logical for bool, bitwise for integers", [Commutative]> { let hasFolder = 1; }
def TCC_XorOp : TCC_Binary<"xor", "logical for bool, bitwise for integers", [Commutative]>;
def TCC_ShiftLeftOp : TCC_Binary<"shift_left", "bits to the left; by the width or more gives 0">;
def TCC_ShiftRightOp : TCC_Binary<"shift_right", "bits to the right, arithmetic for signed types; by the width or more as by width - 1 (signed), 0 (unsigned)">;

def TCC_CompareOp : TCC_InferredOp<"compare", [Elementwise, SameTypeOperands]> {
  let summary = "comparison; with NaN only ne holds";
  let arguments = (ins TCC_Tensor:$a, TCC_Tensor:$b, TCC_Predicate:$predicate);
  let results = (outs TCC_BoolTensor:$y);
}
def TCC_SelectOp : TCC_InferredOp<"select", [Elementwise]> {
  let summary = "a where the condition holds, else b";
  let arguments = (ins TCC_BoolTensor:$condition, TCC_Tensor:$a, TCC_Tensor:$b);
  let results = (outs TCC_Tensor:$y);
  let hasFolder = 1;
}
def TCC_CastOp : TCC_TensorOp<"cast", [Elementwise]> {
  let summary = "conversion of the element type; extents stay";
  let description = [{
    Float to integer truncates towards zero; out of range is the nearest bound, NaN is 0. Integer to integer wraps.
    To bool: not equal to zero. To the float8 kinds `saturate` clamps to the largest finite value (ONNX Cast, op set 19).
  }];
  let arguments = (ins TCC_Tensor:$x, DefaultValuedAttr<BoolAttr, "true">:$saturate);
  let results = (outs TCC_Tensor:$y);
  let hasFolder = 1;
  let hasVerifier = 1;
}
def TCC_BitcastOp : TCC_TensorOp<"bitcast", [Elementwise]> {
  let summary = "the same bits as another type of the same width";
  let arguments = (ins TCC_Tensor:$x);
  let results = (outs TCC_Tensor:$y);
  let hasFolder = 1;
  let hasVerifier = 1;
}

#endif
