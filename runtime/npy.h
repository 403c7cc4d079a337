// numpy's .npy and .npz files: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
//
// Types: everything numpy knows that we have, big-endian files included; bfloat16 as ml_dtypes writes it ('V2'); 'U'
// and 'S' as strings. What numpy has no code for is widened when written, exactly: f8*, f4e2m1 to float32, i4 and i2 to
// int8, u4 and u2 to uint8. Object arrays (pickles) and structured types are refused: nothing in a file is executed.
// Files are not trusted: whatever they say is checked against their size before anything is allocated.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/tensor.h"

namespace tcc {

// Names, without ".npy", in the order of the file.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// Row-major tensors of their own memory. InvalidArgument for a damaged file, Unimplemented for a type we do not have.
absl::StatusOr<Tensor> ReadNpy(std::string_view bytes);
absl::StatusOr<Tensor> LoadNpy(const std::string& path);
absl::StatusOr<NamedTensors> LoadNpz(const std::string& path);

absl::StatusOr<std::string> NpyBytes(const Tensor& tensor);
// Both replace the file atomically.
absl::Status SaveNpy(const std::string& path, const Tensor& tensor);
absl::Status SaveNpz(const std::string& path, const NamedTensors& tensors);

// Reads an array of `size` bytes in all from `read`, which fills its buffer or returns an error. For archives.
using ByteSource = std::function<absl::Status(char* buffer, size_t size)>;
absl::StatusOr<Tensor> ReadNpyFrom(const ByteSource& read, uint64_t size);

}  // namespace tcc
