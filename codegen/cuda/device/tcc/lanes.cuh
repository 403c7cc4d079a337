// The values of a vector in registers.
#pragma once

#include "tcc/platform.cuh"

namespace tcc {

/// As Vec, but of any number of elements, and never in memory. Indices must be known where it is compiled for it to stay
/// in registers.
template <class T, int N>
struct Lanes {
  T data[N];
  TCC_DEVICE T& operator[](int i) { return data[i]; }
  TCC_DEVICE const T& operator[](int i) const { return data[i]; }
};

}  // namespace tcc
