// Reference kernels: one plain, readable implementation of each op of the `tcc` dialect. They are the numeric oracle,
// the constant folder and the library kernels for what has no schedule. Correct before fast.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/attributes.h"
#include "runtime/tensor.h"

namespace tcc::reference {

struct Call {
  absl::Span<const Tensor> inputs;  // any strides; an absent optional input is an invalid Tensor
  const Attributes& attributes;     // of the op, under the names of the dialect
  // dtype and extents of each result as the compiler knows them; an extent of -1 is for the kernel to find out.
  absl::Span<const TensorType> results;
};

// Returns one tensor per result: row-major or a view of an input. Never reads outside its inputs whatever their values
// are: an index out of range, a wrong extent, an unsupported dtype is an InvalidArgument / OutOfRange / Unimplemented
// error. float16, bfloat16 and float8 compute in float32; reductions over float32 accumulate in float64. Pure and
// thread-safe.
using Kernel = absl::StatusOr<std::vector<Tensor>> (*)(const Call& call);

// The kernel of an op by its mnemonic ("conv", "reduce"), or null.
Kernel Find(std::string_view op);
// All mnemonics, sorted.
std::vector<std::string_view> Names();

}  // namespace tcc::reference
