//===- Sniff.h - names what a file is by its first bytes --------*- C++ -*-===//
#pragma once

#include <string>
#include <string_view>

namespace tcc::onnx {

/// "starts with a PNG signature" and the like, with what to do where there is something to do; empty for what is not
/// recognised. For error messages.
std::string sniff(std::string_view firstBytes);

} // namespace tcc::onnx
