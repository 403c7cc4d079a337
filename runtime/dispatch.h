// From a dtype at run time to the C++ type that stores it.
//
//   return DispatchNumber(tensor.dtype(), [&]<typename T>() -> absl::Status {
//     using C = ComputeType<T>;  // float for f16, bf16, f8*; otherwise T
//     ...
//   });
//
// The lambda returns absl::Status or absl::StatusOr<...>; a dtype that the dispatch does not cover is an Unimplemented
// error that names it. Packed types (f4e2m1, i4, u4, i2, u2) have no element type: unpack first, or use LoadInt and
// LoadDouble.
#pragma once

#include <complex>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/dtype.h"
#include "runtime/float_types.h"

namespace tcc {

template <typename T>
inline constexpr bool kIsSmallFloat = requires { typename T::Storage; };

// The type in which arithmetic on stored T is done.
template <typename T>
using ComputeType = std::conditional_t<kIsSmallFloat<T>, float, T>;

namespace dispatch_internal {

template <typename T, typename F>
auto Call(F& f) {
  return f.template operator()<T>();
}

inline absl::Status NotCovered(DType dtype, const char* kinds) {
  const std::string_view name = DTypeName(dtype);
  return absl::UnimplementedError(
      absl::StrCat("dtype ", absl::string_view(name.data(), name.size()), " is not supported here (", kinds, " are)"));
}

}  // namespace dispatch_internal

#define TCC_DISPATCH_CASE(dtype, type) \
  case DType::dtype:                   \
    return dispatch_internal::Call<type>(f);
#define TCC_DISPATCH_INTEGERS       \
  TCC_DISPATCH_CASE(kI8, int8_t)    \
  TCC_DISPATCH_CASE(kI16, int16_t)  \
  TCC_DISPATCH_CASE(kI32, int32_t)  \
  TCC_DISPATCH_CASE(kI64, int64_t)  \
  TCC_DISPATCH_CASE(kU8, uint8_t)   \
  TCC_DISPATCH_CASE(kU16, uint16_t) \
  TCC_DISPATCH_CASE(kU32, uint32_t) \
  TCC_DISPATCH_CASE(kU64, uint64_t)
#define TCC_DISPATCH_FLOATS                  \
  TCC_DISPATCH_CASE(kF16, F16)               \
  TCC_DISPATCH_CASE(kBF16, BF16)             \
  TCC_DISPATCH_CASE(kF32, float)             \
  TCC_DISPATCH_CASE(kF64, double)            \
  TCC_DISPATCH_CASE(kF8E4M3FN, F8E4M3FN)     \
  TCC_DISPATCH_CASE(kF8E4M3FNUZ, F8E4M3FNUZ) \
  TCC_DISPATCH_CASE(kF8E5M2, F8E5M2)         \
  TCC_DISPATCH_CASE(kF8E5M2FNUZ, F8E5M2FNUZ) \
  TCC_DISPATCH_CASE(kF8E8M0, F8E8M0)

#define TCC_DEFINE_DISPATCH(name, cases, kinds)                                            \
  template <typename F>                                                                    \
  auto name(DType dtype, F&& f) -> decltype(f.template operator()<int32_t>()) {            \
    switch (dtype) { cases default : return dispatch_internal::NotCovered(dtype, kinds); } \
  }
#define TCC_DEFINE_FLOAT_DISPATCH(name, cases, kinds)                                      \
  template <typename F>                                                                    \
  auto name(DType dtype, F&& f) -> decltype(f.template operator()<float>()) {              \
    switch (dtype) { cases default : return dispatch_internal::NotCovered(dtype, kinds); } \
  }

// i8 to i64, u8 to u64.
TCC_DEFINE_DISPATCH(DispatchInteger, TCC_DISPATCH_INTEGERS, "integers of 8 to 64 bits")
// f16, bf16, f32, f64, f8*.
TCC_DEFINE_FLOAT_DISPATCH(DispatchFloat, TCC_DISPATCH_FLOATS, "floating-point types of 8 to 64 bits")
// Integers and floats.
TCC_DEFINE_DISPATCH(DispatchNumber, TCC_DISPATCH_INTEGERS TCC_DISPATCH_FLOATS, "integers and floats of 8 to 64 bits")
// The same and bool.
TCC_DEFINE_DISPATCH(DispatchNumberOrBool, TCC_DISPATCH_INTEGERS TCC_DISPATCH_FLOATS TCC_DISPATCH_CASE(kBool, bool),
                    "bool, integers and floats of 8 to 64 bits")
// c64 and c128, as std::complex.
template <typename F>
auto DispatchComplex(DType dtype, F&& f) -> decltype(f.template operator()<std::complex<float>>()) {
  switch (dtype) {
    TCC_DISPATCH_CASE(kC64, std::complex<float>)
    TCC_DISPATCH_CASE(kC128, std::complex<double>)
    default:
      return dispatch_internal::NotCovered(dtype, "complex types");
  }
}
// Everything that has an element type: all but the packed ones.
TCC_DEFINE_DISPATCH(DispatchAny,
                    TCC_DISPATCH_INTEGERS TCC_DISPATCH_FLOATS TCC_DISPATCH_CASE(kBool, bool)
                        TCC_DISPATCH_CASE(kC64, std::complex<float>) TCC_DISPATCH_CASE(kC128, std::complex<double>)
                            TCC_DISPATCH_CASE(kString, std::string),
                    "all types but packed ones")

#undef TCC_DEFINE_DISPATCH
#undef TCC_DEFINE_FLOAT_DISPATCH

// One element of a contiguous array, packed types included. LoadInt: integers and bool (u64 keeps its bits).
// LoadDouble: those and floats. 0 for a dtype of another kind. For where speed does not matter.
int64_t LoadInt(const void* data, DType dtype, int64_t index);
double LoadDouble(const void* data, DType dtype, int64_t index);
// Integers wrap, bool becomes value != 0, floats round.
void StoreInt(void* data, DType dtype, int64_t index, int64_t value);
// For floats; other kinds are left alone.
void StoreDouble(void* data, DType dtype, int64_t index, double value);

}  // namespace tcc
