// The host twin of CUDA C++: what the language and its built-in functions mean where clang compiles a kernel for the
// simulated device (runtime/devices/sim). Only what the device library and generated kernels use; anything else does not
// compile, rather than mean something else.
#pragma once

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tcc/sim_abi.h"

// Functions of the twin itself: their accesses are not the kernel's.
#define TCC_SIM_RAW __attribute__((disable_sanitizer_instrumentation))
// Calls into the simulator: their return address says where in the kernel they are.
#define TCC_SIM_CALL __attribute__((noinline, convergent, disable_sanitizer_instrumentation, unused))
#define TCC_SIM_PC __builtin_return_address(0)

#define __global__
#define __device__
#define __host__
#define __constant__ const
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __restrict__ __restrict
#define __shared__ static thread_local
#define __grid_constant__

namespace tcc_sim {

inline const TccSimApi* api;

__attribute__((noinline, const, disable_sanitizer_instrumentation)) inline const TccSimThread* self() {
  return api->self();
}

inline TCC_SIM_CALL void bind(const TccSimApi* table) { api = table; }

template <class T>
struct identity {
  using type = T;
};
template <class T>
using same = typename identity<T>::type;

}  // namespace tcc_sim

#include "tcc/sim_types.cuh"
#include "tcc/sim_threads.cuh"
#include "tcc/sim_memory.cuh"
#include "tcc/sim_math.cuh"

extern "C" {
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));
#ifndef TCC_SIM_CHECKED
#define TCC_SIM_CHECKED 0
#endif
__attribute__((visibility("default"))) inline TccSimModule tcc_sim_module __attribute__((used)) = {
    TCC_SIM_ABI_VERSION, TCC_SIM_CHECKED, tcc_sim::bind, 0, __ehdr_start, _end};
}

namespace tcc_sim {
// Calls a kernel with the parameters that a launch passes by address.
template <int... I>
struct Indices {};
template <class T, T... I>
struct MakeIndices {
  using type = Indices<I...>;
};
template <class... A, int... I>
TCC_SIM_RAW inline void call(void (*kernel)(A...), void** params, Indices<I...>) {
  kernel(*static_cast<A*>(params[I])...);
}
template <class... A>
TCC_SIM_RAW inline void call(void (*kernel)(A...), void** params) {
  call(kernel, params, typename __make_integer_seq<MakeIndices, int, sizeof...(A)>::type());
}
}  // namespace tcc_sim

// Makes a kernel callable by the simulator; follows the kernel's text.
#define TCC_SIM_EXPORT(NAME)                                                              \
  extern "C" __attribute__((visibility("default"))) TCC_SIM_RAW void NAME##__sim(void** params) { \
    ::tcc_sim::call(NAME, params);                                                        \
  }
