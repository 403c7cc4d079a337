// N elements that move as one load or store.
#pragma once

#include "tcc/platform.cuh"

namespace tcc {

template <int BYTES>
struct VecBits;
template <>
struct VecBits<1> {
  using type = uint8;
};
template <>
struct VecBits<2> {
  using type = uint16;
};
template <>
struct VecBits<4> {
  using type = uint32;
};
template <>
struct VecBits<8> {
  using type = uint2;
};
template <>
struct VecBits<16> {
#ifdef TCC_SIM
  typedef unsigned type __attribute__((vector_size(16)));  // which clang does not take apart
#else
  using type = uint4;
#endif
};

/// 1 to 16 bytes, a power of two of them. In memory it is aligned to its size.
template <class T, int N>
struct __align__(sizeof(T) * N) Vec {
  static_assert(sizeof(T) * N <= 16 && ((sizeof(T) * N) & (sizeof(T) * N - 1)) == 0, "a vector is 1, 2, 4, 8 or 16 bytes");
  T data[N];
  TCC_DEVICE T& operator[](int i) { return data[i]; }
  TCC_DEVICE const T& operator[](int i) const { return data[i]; }
};

/// Whether a vector of N elements may be at the address.
template <int N, class T>
TCC_DEVICE bool is_aligned(const T* address) {
  return reinterpret_cast<uint64>(address) % (sizeof(T) * N) == 0;
}

#ifdef TCC_SIM
}  // namespace tcc
namespace tcc_sim {
inline TCC_SIM_CALL void misaligned(unsigned bytes) {
  api->fail(bytes == 16 ? "misaligned access of a vector of 16 bytes" : bytes == 8 ? "misaligned access of a vector of 8 bytes"
            : bytes == 4 ? "misaligned access of a vector of 4 bytes" : "misaligned access of a vector of 2 bytes", TCC_SIM_PC);
}
}  // namespace tcc_sim
namespace tcc {
#define TCC_CHECK_ALIGNED(ADDRESS, BYTES) \
  if (reinterpret_cast<::tcc::uint64>(ADDRESS) % (BYTES) != 0) ::tcc_sim::misaligned(BYTES)
#else
#define TCC_CHECK_ALIGNED(ADDRESS, BYTES)
#endif

/// One load of N elements; the address must be aligned to all of them.
template <int N, class T>
TCC_DEVICE Vec<T, N> load_vec(const T* address) {
  using Bits = typename VecBits<sizeof(T) * N>::type;
  TCC_CHECK_ALIGNED(address, sizeof(Bits));
  const Bits bits = *reinterpret_cast<const Bits*>(address);
  Vec<T, N> vec;
  memcpy(&vec, &bits, sizeof(bits));
  return vec;
}

/// One store of N elements; the address must be aligned to all of them.
template <class T, int N>
TCC_DEVICE void store_vec(T* address, const Vec<T, N>& vec) {
  using Bits = typename VecBits<sizeof(T) * N>::type;
  TCC_CHECK_ALIGNED(address, sizeof(Bits));
  Bits bits;
  memcpy(&bits, &vec, sizeof(bits));
  *reinterpret_cast<Bits*>(address) = bits;
}

}  // namespace tcc
