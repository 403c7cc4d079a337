// Vectors at addresses that need not be aligned to them: a kernel does not know at which element a view starts.
#pragma once

#include "tcc/vec.cuh"

namespace tcc {

/// N elements from `base + offset` on: one load where the address is aligned, N loads else. All threads of a kernel
/// mostly take the same way.
template <int N, class T>
TCC_DEVICE Vec<T, N> load_any(const T* base, int64 offset) {
  const T* address = base + offset;
  if (is_aligned<N>(address)) return load_vec<N>(address);
  Vec<T, N> vec;
#pragma unroll
  for (int i = 0; i < N; ++i) vec[i] = address[i];
  return vec;
}

/// N elements to `base + offset`, likewise.
template <class T, int N>
TCC_DEVICE void store_any(T* base, int64 offset, const Vec<T, N>& vec) {
  T* address = base + offset;
  if (is_aligned<N>(address)) return store_vec(address, vec);
#pragma unroll
  for (int i = 0; i < N; ++i) address[i] = vec[i];
}

}  // namespace tcc
