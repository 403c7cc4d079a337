//===- ContentHash.h - hash of files, for cache keys ------------*- C++ -*-===//
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/onnx/program/FileMapping.h"

namespace tcc::onnx {

/// XXH3 (128 bits) of a file, 32 hexadecimal digits: the hash of the hashes of its 16 MiB pieces, which are read by
/// several threads. Reads rather than maps: a file truncated meanwhile is an error or another hash, not a crash.
absl::StatusOr<std::string> hashFile(const File &file);
/// The same function of bytes in memory.
std::string hashBytes(std::string_view bytes);
/// Hash of a list of hashes.
std::string combineHashes(const std::vector<std::string> &hashes);

} // namespace tcc::onnx
