// Conversion between any two dtypes, the meaning of `tcc.cast`.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/dtype.h"
#include "runtime/float_types.h"
#include "runtime/tensor.h"

namespace tcc::reference {

struct ConvertOptions {
  bool saturate = true;                               // to the float8 kinds: clamp to the largest finite value
  ScaleRounding scale_rounding = ScaleRounding::kUp;  // to f8e8m0
};

// A row-major tensor of dtype `to` with x's extents (x itself where it is one already). Float to integer truncates and
// saturates (packed integers wrap), NaN is 0; integers wrap; every narrowing of a float rounds once, to nearest even.
// Complex to real drops the imaginary part. Strings: numbers print in the shortest form that reads back as the same
// value; text that is not a number is an InvalidArgument error.
absl::StatusOr<Tensor> ConvertDType(const Tensor& x, DType to, const ConvertOptions& options = {});

// The dtype that arithmetic on `dtype` uses: f32 for the narrow floats, i8 and u8 for packed integers, else itself.
DType WideDType(DType dtype);

// Fields of a packed tensor as bytes (not sign extended), and back.
absl::StatusOr<Tensor> UnpackFields(const Tensor& x);
absl::StatusOr<Tensor> PackFields(const Tensor& bytes, DType packed);

}  // namespace tcc::reference
