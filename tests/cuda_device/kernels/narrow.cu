// Every element type to every other one, in the order of runtime/dtype.h.
#include "tcc/narrow.cuh"

template <class From, class To>
__device__ void cast_one(const void* x, void* y, int count, int saturate) {
  tcc::cast_elements<From, To>(static_cast<const typename From::Stored*>(x), static_cast<typename To::Stored*>(y), count, saturate != 0);
}
template <class From>
__device__ void cast_to(const void* x, void* y, int count, int saturate, int to) {
  switch (to) {
    case 1: return cast_one<From, tcc::Boolean>(x, y, count, saturate);
    case 2: return cast_one<From, tcc::Plain<signed char>>(x, y, count, saturate);
    case 3: return cast_one<From, tcc::Plain<short>>(x, y, count, saturate);
    case 4: return cast_one<From, tcc::Plain<int>>(x, y, count, saturate);
    case 5: return cast_one<From, tcc::Plain<long long>>(x, y, count, saturate);
    case 6: return cast_one<From, tcc::Plain<unsigned char>>(x, y, count, saturate);
    case 7: return cast_one<From, tcc::Plain<unsigned short>>(x, y, count, saturate);
    case 8: return cast_one<From, tcc::Plain<unsigned>>(x, y, count, saturate);
    case 9: return cast_one<From, tcc::Plain<unsigned long long>>(x, y, count, saturate);
    case 10: return cast_one<From, tcc::Plain<__half>>(x, y, count, saturate);
    case 11: return cast_one<From, tcc::Plain<__nv_bfloat16>>(x, y, count, saturate);
    case 12: return cast_one<From, tcc::Plain<float>>(x, y, count, saturate);
    case 13: return cast_one<From, tcc::Plain<double>>(x, y, count, saturate);
    case 14: return cast_one<From, tcc::Narrow<tcc::Float8E4M3FN>>(x, y, count, saturate);
    case 15: return cast_one<From, tcc::Narrow<tcc::Float8E4M3FNUZ>>(x, y, count, saturate);
    case 16: return cast_one<From, tcc::Narrow<tcc::Float8E5M2>>(x, y, count, saturate);
    case 17: return cast_one<From, tcc::Narrow<tcc::Float8E5M2FNUZ>>(x, y, count, saturate);
    case 18: return cast_one<From, tcc::Narrow<tcc::Float8E8M0>>(x, y, count, saturate);
    case 19: return cast_one<From, tcc::Float4E2M1>(x, y, count, saturate);
    case 20: return cast_one<From, tcc::Packed<4, true>>(x, y, count, saturate);
    case 21: return cast_one<From, tcc::Packed<4, false>>(x, y, count, saturate);
    case 22: return cast_one<From, tcc::Packed<2, true>>(x, y, count, saturate);
    case 23: return cast_one<From, tcc::Packed<2, false>>(x, y, count, saturate);
  }
}
extern "C" __global__ void cast_1(const void* x, void* y, int count, int saturate, int to) { cast_to<tcc::Boolean>(x, y, count, saturate, to); }
extern "C" __global__ void cast_2(const void* x, void* y, int count, int saturate, int to) { cast_to<tcc::Plain<signed char>>(x, y, count, saturate, to); }
extern "C" __global__ void cast_3(const void* x, void* y, int count, int saturate, int to) { cast_to<tcc::Plain<short>>(x, y, count, saturate, to); }
extern "C" __global__ void cast_4(const void* x, void* y, int count, int saturate, int to) { cast_to<tcc::Plain<int>>(x, y, count, saturate, to); }
extern "C" __global__ void cast_5(const void* x, void* y, int count, int saturate, int to) { cast_to<tcc::Plain<long long>>(x, y, count, saturate, to); }
extern "C" __global__ void cast_6(const void* x, void* y, int count, int saturate, int to) { cast_to<tcc::Plain<unsigned char>>(x, y, count, saturate, to); }
extern "C" __global__ void cast_7(const void* x, void* y, int count, int saturate, int to) { cast_to<tcc::Plain<unsigned short>>(x, y, count, saturate, to); }
extern "C" __global__ void cast_8(const void* x, void* y, int count, int saturate, int to) { cast_to<tcc::Plain<unsigned>>(x, y, count, saturate, to); }
extern "C" __global__ void cast_9(const void* x, void* y, int count, int saturate, int to) { cast_to<tcc::Plain<unsigned long long>>(x, y, count, saturate, to); }
extern "C" __global__ void cast_10(const void* x, void* y, int count, int saturate, int to) { cast_to<tcc::Plain<__half>>(x, y, count, saturate, to); }
extern "C" __global__ void cast_11(const void* x, void* y, int count, int saturate, int to) { cast_to<tcc::Plain<__nv_bfloat16>>(x, y, count, saturate, to); }
extern "C" __global__ void cast_12(const void* x, void* y, int count, int saturate, int to) { cast_to<tcc::Plain<float>>(x, y, count, saturate, to); }
extern "C" __global__ void cast_13(const void* x, void* y, int count, int saturate, int to) { cast_to<tcc::Plain<double>>(x, y, count, saturate, to); }
extern "C" __global__ void cast_14(const void* x, void* y, int count, int saturate, int to) { cast_to<tcc::Narrow<tcc::Float8E4M3FN>>(x, y, count, saturate, to); }
extern "C" __global__ void cast_15(const void* x, void* y, int count, int saturate, int to) { cast_to<tcc::Narrow<tcc::Float8E4M3FNUZ>>(x, y, count, saturate, to); }
extern "C" __global__ void cast_16(const void* x, void* y, int count, int saturate, int to) { cast_to<tcc::Narrow<tcc::Float8E5M2>>(x, y, count, saturate, to); }
extern "C" __global__ void cast_17(const void* x, void* y, int count, int saturate, int to) { cast_to<tcc::Narrow<tcc::Float8E5M2FNUZ>>(x, y, count, saturate, to); }
extern "C" __global__ void cast_18(const void* x, void* y, int count, int saturate, int to) { cast_to<tcc::Narrow<tcc::Float8E8M0>>(x, y, count, saturate, to); }
extern "C" __global__ void cast_19(const void* x, void* y, int count, int saturate, int to) { cast_to<tcc::Float4E2M1>(x, y, count, saturate, to); }
extern "C" __global__ void cast_20(const void* x, void* y, int count, int saturate, int to) { cast_to<tcc::Packed<4, true>>(x, y, count, saturate, to); }
extern "C" __global__ void cast_21(const void* x, void* y, int count, int saturate, int to) { cast_to<tcc::Packed<4, false>>(x, y, count, saturate, to); }
extern "C" __global__ void cast_22(const void* x, void* y, int count, int saturate, int to) { cast_to<tcc::Packed<2, true>>(x, y, count, saturate, to); }
extern "C" __global__ void cast_23(const void* x, void* y, int count, int saturate, int to) { cast_to<tcc::Packed<2, false>>(x, y, count, saturate, to); }
