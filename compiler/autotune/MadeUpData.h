//===- MadeUpData.h - what candidates are run on -----------------*- C++ -*-===//
#pragma once

#include "runtime/tensor.h"

namespace tcc::compiler {

/// Floats between -1 and 1, small integers (they may be indices). Contiguous; not for packed types and strings.
void fillRandom(Tensor &tensor, unsigned seed);

/// Whether floats are equal but for what sums in another order may come to, and everything else is equal.
bool isClose(const Tensor &actual, const Tensor &expected);

} // namespace tcc::compiler
