// Tensors from and to DLPack, the exchange format of array libraries (https://dmlc.github.io/dlpack/latest/). Nothing
// is copied. The structures are declared here by name only: include DLPack's own header to look into them.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/export.h"
#include "runtime/tensor.h"

struct DLManagedTensor;
struct DLManagedTensorVersioned;

namespace tcc {

// A tensor over the memory of `managed`, whose deleter runs when the last copy of the tensor goes. On success the
// tensor owns `managed`; on an error the caller still does. Memory of the host, and of CUDA devices (which must have
// been written by the time of a call: no stream is waited for), of bool, integers of 8 to 64 bits, f16, bf16, f32, f64,
// c64, c128, and (versioned) the 8-bit floats; any strides. InvalidArgument for anything else, and for a major version
// that is not 1. Memory marked read-only is fine as an input, and must not be given as an output.
TCC_API absl::StatusOr<Tensor> FromDLPack(DLManagedTensor* managed);
TCC_API absl::StatusOr<Tensor> FromDLPack(DLManagedTensorVersioned* managed);

// The memory of `tensor` for others, who must call the deleter of the result once. It keeps the tensor's memory alive
// where that has an owner (Tensor::storage). Memory of a device that a call left there (RunOptions::outputs_on_device)
// is the model's again as soon as the deleter has run: everything that reads it has to be done by then, on the device
// too (of PyTorch: synchronise its stream before the tensor goes, or copy it). InvalidArgument for an invalid tensor,
// and for dtypes and devices that DLPack lacks.
TCC_API absl::StatusOr<DLManagedTensor*> ToDLPack(const Tensor& tensor);
TCC_API absl::StatusOr<DLManagedTensorVersioned*> ToDLPackVersioned(const Tensor& tensor);

}  // namespace tcc
