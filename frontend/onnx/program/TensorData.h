//===- TensorData.h - TensorProto -> Tensor ---------------------*- C++ -*-===//
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/tensor.h"

namespace onnx {
class SparseTensorProto;
class TensorProto;
} // namespace onnx

namespace tcc::onnx {

/// Checks, before anything is allocated, that the element type is supported, the extents are valid, and the data fields
/// hold exactly what they need. `external`: the bytes of external data (required for tensors stored so). Messages name
/// neither tensor nor file: the caller adds that.
absl::Status checkTensor(const ::onnx::TensorProto &proto, std::optional<std::string_view> external = std::nullopt);

/// The tensor's data, checked as above; shares memory with `proto` or `external` (kept alive by `owner`) where the
/// layout allows.
absl::StatusOr<Tensor> toTensor(const ::onnx::TensorProto &proto, std::optional<std::string_view> external,
                                std::shared_ptr<const void> owner);

/// As a dense tensor of at most `maxBytes`.
absl::StatusOr<Tensor> toTensor(const ::onnx::SparseTensorProto &proto, int64_t maxBytes);

} // namespace tcc::onnx
