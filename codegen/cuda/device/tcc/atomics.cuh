// Atomic read-modify-write of elements of every type. Return what was there before. Relaxed: they order nothing else.
#pragma once

#include "tcc/convert.cuh"
#include "tcc/reduce.cuh"
#include "tcc/scalar.cuh"
#include "tcc/vec.cuh"

namespace tcc {

#ifdef TCC_SIM
#define TCC_ATOMIC TCC_SIM_CALL
template <class T, class Update>
TCC_SIM_RAW inline T atomic_update(T* address, Update update, const void* pc) {
  return ::tcc_sim::atomic_update(address, pc, update);
}
#define TCC_ATOMIC_PC TCC_SIM_PC
#define TCC_ATOMIC_LAMBDA TCC_SIM_RAW
#else
#define TCC_ATOMIC __device__ __forceinline__
#define TCC_ATOMIC_PC 0
#define TCC_ATOMIC_LAMBDA
/// Elements of 1 and 2 bytes are exchanged within the aligned word they lie in.
template <class T, class Update>
__device__ __forceinline__ T atomic_update(T* address, Update update, int) {
  if constexpr (sizeof(T) == 8) {
    auto* word = reinterpret_cast<unsigned long long*>(address);
    unsigned long long old = *reinterpret_cast<volatile unsigned long long*>(word), seen;
    do {
      seen = old;
      old = atomicCAS(word, seen, bit_cast<unsigned long long>(update(bit_cast<T>(seen))));
    } while (old != seen);
    return bit_cast<T>(old);
  } else if constexpr (sizeof(T) == 4) {
    auto* word = reinterpret_cast<unsigned*>(address);
    unsigned old = *reinterpret_cast<volatile unsigned*>(word), seen;
    do {
      seen = old;
      old = atomicCAS(word, seen, bit_cast<unsigned>(update(bit_cast<T>(seen))));
    } while (old != seen);
    return bit_cast<T>(old);
  } else {
    const uint64 place = reinterpret_cast<uint64>(address);
    auto* word = reinterpret_cast<unsigned*>(place & ~3ull);
    const unsigned shift = static_cast<unsigned>(place & 3) * 8, mask = (sizeof(T) == 1 ? 0xffu : 0xffffu) << shift;
    using Bits = typename VecBits<sizeof(T)>::type;
    unsigned old = *reinterpret_cast<volatile unsigned*>(word), seen;
    do {
      seen = old;
      const T next = update(bit_cast<T>(static_cast<Bits>(seen >> shift)));
      old = atomicCAS(word, seen, (seen & ~mask) | static_cast<unsigned>(bit_cast<Bits>(next)) << shift);
    } while (old != seen);
    return bit_cast<T>(static_cast<Bits>(old >> shift));
  }
}
#endif

// 16-bit floats are computed as float.
template <class T>
struct AtomicCompute {
  using type = T;
};
template <>
struct AtomicCompute<__half> {
  using type = float;
};
template <>
struct AtomicCompute<__nv_bfloat16> {
  using type = float;
};

template <class T>
TCC_ATOMIC T atomic_add(T* address, same<T> x) {
  using C = typename AtomicCompute<T>::type;
  return atomic_update(address, [=](T old) TCC_ATOMIC_LAMBDA -> T { return static_cast<T>(static_cast<C>(old) + static_cast<C>(x)); }, TCC_ATOMIC_PC);
}
template <class T>
TCC_ATOMIC T atomic_mul(T* address, same<T> x) {
  using C = typename AtomicCompute<T>::type;
  return atomic_update(address, [=](T old) TCC_ATOMIC_LAMBDA -> T { return static_cast<T>(static_cast<C>(old) * static_cast<C>(x)); }, TCC_ATOMIC_PC);
}
/// NaN when either is.
template <class T>
TCC_ATOMIC T atomic_max(T* address, same<T> x) {
  using C = typename AtomicCompute<T>::type;
  return atomic_update(address, [=](T old) TCC_ATOMIC_LAMBDA -> T { return static_cast<T>(Max<C>()(static_cast<C>(old), static_cast<C>(x))); }, TCC_ATOMIC_PC);
}
template <class T>
TCC_ATOMIC T atomic_min(T* address, same<T> x) {
  using C = typename AtomicCompute<T>::type;
  return atomic_update(address, [=](T old) TCC_ATOMIC_LAMBDA -> T { return static_cast<T>(Min<C>()(static_cast<C>(old), static_cast<C>(x))); }, TCC_ATOMIC_PC);
}
template <class T>
TCC_ATOMIC T atomic_and(T* address, same<T> x) {
  return atomic_update(address, [=](T old) TCC_ATOMIC_LAMBDA -> T { return static_cast<T>(old & x); }, TCC_ATOMIC_PC);
}
template <class T>
TCC_ATOMIC T atomic_or(T* address, same<T> x) {
  return atomic_update(address, [=](T old) TCC_ATOMIC_LAMBDA -> T { return static_cast<T>(old | x); }, TCC_ATOMIC_PC);
}
template <class T>
TCC_ATOMIC T atomic_xor(T* address, same<T> x) {
  return atomic_update(address, [=](T old) TCC_ATOMIC_LAMBDA -> T { return static_cast<T>(old ^ x); }, TCC_ATOMIC_PC);
}
template <class T>
TCC_ATOMIC T atomic_exchange(T* address, same<T> x) {
  return atomic_update(address, [=](T) TCC_ATOMIC_LAMBDA -> T { return x; }, TCC_ATOMIC_PC);
}

#ifndef TCC_SIM
// What the hardware does in one instruction.
template <>
__device__ __forceinline__ float atomic_add<float>(float* address, float x) { return atomicAdd(address, x); }
template <>
__device__ __forceinline__ double atomic_add<double>(double* address, double x) { return atomicAdd(address, x); }
#define TCC_ATOMIC_INTEGER(T, U)                                                                                         \
  template <>                                                                                                            \
  __device__ __forceinline__ T atomic_add<T>(T* address, T x) {                                                          \
    return static_cast<T>(atomicAdd(reinterpret_cast<U*>(address), static_cast<U>(x)));                                  \
  }                                                                                                                      \
  template <>                                                                                                            \
  __device__ __forceinline__ T atomic_max<T>(T* address, T x) { return atomicMax(address, x); }                          \
  template <>                                                                                                            \
  __device__ __forceinline__ T atomic_min<T>(T* address, T x) { return atomicMin(address, x); }
TCC_ATOMIC_INTEGER(int, int)
TCC_ATOMIC_INTEGER(unsigned, unsigned)
TCC_ATOMIC_INTEGER(long long, unsigned long long)
TCC_ATOMIC_INTEGER(unsigned long long, unsigned long long)
#undef TCC_ATOMIC_INTEGER
#endif

}  // namespace tcc
