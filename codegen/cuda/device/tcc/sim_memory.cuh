// Shared memory, atomics, and the functions that instrumented code calls for its accesses.
#pragma once

extern "C" {
// Where a variable in shared memory is: called by code compiled with -femulated-tls.
__attribute__((used)) inline TCC_SIM_CALL void* __emutls_get_address(TccSimShared* variable) {
  return ::tcc_sim::api->shared_variable(variable);
}

#if TCC_SIM_CHECKED
#define TCC_SIM_ACCESS(NAME, BYTES, KIND, ALIGNED)                            \
  __attribute__((used)) inline TCC_SIM_CALL void NAME(const void* address) {                 \
    ::tcc_sim::api->access(address, BYTES, KIND, ALIGNED, TCC_SIM_PC);        \
  }
#define TCC_SIM_ACCESSES(BYTES)                                                  \
  TCC_SIM_ACCESS(__tsan_read##BYTES, BYTES, kTccSimRead, 1)                      \
  TCC_SIM_ACCESS(__tsan_write##BYTES, BYTES, kTccSimWrite, 1)                    \
  TCC_SIM_ACCESS(__tsan_unaligned_read##BYTES, BYTES, kTccSimRead, 0)            \
  TCC_SIM_ACCESS(__tsan_unaligned_write##BYTES, BYTES, kTccSimWrite, 0)          \
  TCC_SIM_ACCESS(__tsan_volatile_read##BYTES, BYTES, kTccSimAtomicRead, 1)           \
  TCC_SIM_ACCESS(__tsan_volatile_write##BYTES, BYTES, kTccSimAtomicUpdate, 1)          \
  TCC_SIM_ACCESS(__tsan_unaligned_volatile_read##BYTES, BYTES, kTccSimAtomicRead, 0) \
  TCC_SIM_ACCESS(__tsan_unaligned_volatile_write##BYTES, BYTES, kTccSimAtomicUpdate, 0)
TCC_SIM_ACCESSES(1)
TCC_SIM_ACCESSES(2)
TCC_SIM_ACCESSES(4)
TCC_SIM_ACCESSES(8)
TCC_SIM_ACCESSES(16)
#undef TCC_SIM_ACCESSES
#undef TCC_SIM_ACCESS
__attribute__((used)) inline TCC_SIM_CALL void __tsan_init() {}
__attribute__((used)) inline TCC_SIM_CALL void __tsan_func_entry(void*) {}
__attribute__((used)) inline TCC_SIM_CALL void __tsan_func_exit() {}
__attribute__((used)) inline TCC_SIM_CALL void* __tsan_memset(void* to, int value, size_t bytes) {
  if (bytes != 0) ::tcc_sim::api->access(to, bytes, kTccSimWrite, 0, TCC_SIM_PC);
  return memset(to, value, bytes);
}
__attribute__((used)) inline TCC_SIM_CALL void* __tsan_memcpy(void* to, const void* from, size_t bytes) {
  if (bytes != 0) {
    ::tcc_sim::api->access(from, bytes, kTccSimRead, 0, TCC_SIM_PC);
    ::tcc_sim::api->access(to, bytes, kTccSimWrite, 0, TCC_SIM_PC);
  }
  return memcpy(to, from, bytes);
}
__attribute__((used)) inline TCC_SIM_CALL void* __tsan_memmove(void* to, const void* from, size_t bytes) {
  if (bytes != 0) {
    ::tcc_sim::api->access(from, bytes, kTccSimRead, 0, TCC_SIM_PC);
    ::tcc_sim::api->access(to, bytes, kTccSimWrite, 0, TCC_SIM_PC);
  }
  return memmove(to, from, bytes);
}
#endif
}

namespace tcc_sim {
inline TCC_SIM_CALL unsigned char* dynamic_shared() { return static_cast<unsigned char*>(api->dynamic_shared()); }

template <int BYTES>
struct Bits;
template <>
struct Bits<1> {
  using type = unsigned char;
};
template <>
struct Bits<2> {
  using type = unsigned short;
};
template <>
struct Bits<4> {
  using type = unsigned;
};
template <>
struct Bits<8> {
  using type = unsigned long long;
};

// Replaces *address by update(old) at once, and returns old.
template <class T, class Update>
TCC_SIM_RAW inline T atomic_update(T* address, const void* pc, Update update) {
  using U = typename Bits<sizeof(T)>::type;
  api->access(address, sizeof(T), kTccSimAtomicUpdate, 1, pc);
  U* bits = reinterpret_cast<U*>(address);
  U old = __atomic_load_n(bits, __ATOMIC_RELAXED);
  for (;;) {
    T value;
    __builtin_memcpy_inline(&value, &old, sizeof(T));
    const T next = update(value);
    U next_bits;
    __builtin_memcpy_inline(&next_bits, &next, sizeof(T));
    if (__atomic_compare_exchange_n(bits, &old, next_bits, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) return value;
  }
}
}  // namespace tcc_sim

// The array of dynamic shared memory of a kernel, aligned to 128 bytes (1024 where the driver's is).
#define TCC_DYNAMIC_SHARED(NAME) unsigned char* const NAME = ::tcc_sim::dynamic_shared()

#define TCC_SIM_ATOMIC(NAME, EXPRESSION)                                                         \
  template <class T>                                                                             \
  TCC_SIM_CALL T NAME(T* address, ::tcc_sim::same<T> value) {                                    \
    return ::tcc_sim::atomic_update(address, TCC_SIM_PC, [=](T old) TCC_SIM_RAW -> T { return EXPRESSION; }); \
  }
TCC_SIM_ATOMIC(atomicAdd, static_cast<T>(old + value))
TCC_SIM_ATOMIC(atomicSub, static_cast<T>(old - value))
TCC_SIM_ATOMIC(atomicMin, value < old ? value : old)
TCC_SIM_ATOMIC(atomicMax, value > old ? value : old)
TCC_SIM_ATOMIC(atomicAnd, static_cast<T>(old & value))
TCC_SIM_ATOMIC(atomicOr, static_cast<T>(old | value))
TCC_SIM_ATOMIC(atomicXor, static_cast<T>(old ^ value))
TCC_SIM_ATOMIC(atomicExch, (static_cast<void>(old), value))
TCC_SIM_ATOMIC(atomicInc, old >= value ? T(0) : T(old + 1))
#undef TCC_SIM_ATOMIC
template <class T>
TCC_SIM_CALL T atomicCAS(T* address, ::tcc_sim::same<T> compare, ::tcc_sim::same<T> value) {
  return ::tcc_sim::atomic_update(address, TCC_SIM_PC, [=](T old) TCC_SIM_RAW -> T { return old == compare ? value : old; });
}

template <class T>
inline __attribute__((always_inline)) T __ldg(const T* address) { return *address; }
template <class T>
inline __attribute__((always_inline)) T __ldcg(const T* address) { return *address; }
template <class T>
inline __attribute__((always_inline)) T __ldcs(const T* address) { return *address; }
template <class T>
inline __attribute__((always_inline)) void __stcg(T* address, T value) { *address = value; }
template <class T>
inline __attribute__((always_inline)) void __stcs(T* address, T value) { *address = value; }
