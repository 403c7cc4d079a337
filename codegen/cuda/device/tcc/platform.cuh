// What differs between NVRTC and the simulated device.
#pragma once

#ifdef TCC_SIM
#include "tcc/sim.cuh"
#else
#define TCC_DYNAMIC_SHARED(NAME) extern __shared__ __align__(1024) unsigned char NAME[]
#endif

#define TCC_DEVICE __device__ __forceinline__

namespace tcc {

using int8 = signed char;
using uint8 = unsigned char;
using int16 = short;
using uint16 = unsigned short;
using int32 = int;
using uint32 = unsigned int;
using int64 = long long;
using uint64 = unsigned long long;

inline constexpr uint32 kFullMask = 0xffffffffu;

TCC_DEVICE float infinity() { return __int_as_float(0x7f800000); }
TCC_DEVICE float quiet_nan() { return __int_as_float(0x7fc00000); }

/// Bad data: the launch fails with this code (runtime/kernel_abi.h). Any threads may report any codes.
TCC_DEVICE void report_error(long long* error, long long code) { *static_cast<volatile long long*>(error) = code; }

/// Addresses of shared memory as PTX instructions take them.
#ifdef TCC_SIM
using SharedAddress = unsigned char*;
TCC_DEVICE SharedAddress shared_address(const void* pointer) {
  return static_cast<unsigned char*>(const_cast<void*>(pointer));
}
#else
using SharedAddress = uint32;
TCC_DEVICE SharedAddress shared_address(const void* pointer) {
  return static_cast<uint32>(__cvta_generic_to_shared(pointer));
}
#endif

}  // namespace tcc
