//===- Compare.h - whether results are those expected -----------*- C++ -*-===//
#pragma once

#include <string>

#include "runtime/tensor.h"

namespace tcc::onnx {

/// Empty where `have` equals `want`: dtype, extents, floats within |want| * rtol + atol (NaN equals NaN), all else
/// exactly.
std::string difference(const Tensor &have, const Tensor &want, double rtol, double atol);

} // namespace tcc::onnx
