// What reference kernels share: dispatch on dtypes, loops over strided operands, checks of arguments.
//
// Conventions. registry.cpp wraps every kernel: it checks the number of inputs and where they live, pads `inputs` with
// invalid tensors up to the kernel's maximum, converts types without arithmetic of their own (see Storage), puts the
// op's name before every error message, and checks the results against the types the compiler expects. So a kernel
// reads its operands only.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/dtype.h"
#include "runtime/reference/reference.h"
#include "runtime/status.h"
#include "runtime/tensor.h"

namespace tcc::reference {

using Results = absl::StatusOr<std::vector<Tensor>>;
using Extents = absl::Span<const int64_t>;

// How the registry prepares operands before a kernel sees them.
enum class Storage : uint8_t {
  kAsIs,
  kWiden,  // f16, bf16, f8*, f4 arrive and leave as f32, i4/i2 as i8, u4/u2 as u8: for arithmetic
  kMove,   // packed dtypes arrive and leave as u8: for data movement, which looks at the width of elements only
};

template <typename... Args>
absl::Status Invalid(const Args&... args) {
  return absl::InvalidArgumentError(absl::StrCat(args...));
}
template <typename... Args>
absl::Status OutOfRange(const Args&... args) {
  return absl::OutOfRangeError(absl::StrCat(args...));
}
inline absl::string_view DTypeText(DType dtype) { return {DTypeName(dtype).data(), DTypeName(dtype).size()}; }
std::string DimsText(Extents dims);  // "[2,3]"

// bool elements are bytes that an input may fill with anything: zero is false, everything else true.
class Bool {
 public:
  Bool() = default;
  Bool(bool value) : byte_(value ? 1 : 0) {}    // NOLINT: behaves as bool
  operator bool() const { return byte_ != 0; }  // NOLINT

 private:
  uint8_t byte_;
};
// An element of 16 bytes, for data movement.
struct Bits128 {
  uint64_t low, high;
};

template <typename T>
constexpr DType DTypeOf() {
  if constexpr (std::is_same_v<T, Bool>) {
    return DType::kBool;
  } else {
    return kDTypeOf<T>;
  }
}

template <typename... T>
struct Types {};
template <typename... A, typename... B>
Types<A..., B...> operator+(Types<A...>, Types<B...>) {
  return {};
}
using Ints = Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
using Indices = Types<int32_t, int64_t>;
using Floats = Types<float, double>;
using Complexes = Types<std::complex<float>, std::complex<double>>;
using Bools = Types<Bool>;
using Strings = Types<std::string>;
using Numbers = decltype(Floats() + Ints());
template <typename T>
inline constexpr bool kIsFloat = std::is_floating_point_v<T>;
template <typename T>
inline constexpr bool kIsComplex = false;
template <typename T>
inline constexpr bool kIsComplex<std::complex<T>> = true;

// Calls f.template operator()<T>() for the T of the list that stores `dtype`; otherwise an Unimplemented error with the
// list.
template <typename First, typename... T, typename F>
auto Dispatch(Types<First, T...>, DType dtype, F&& f) -> decltype(f.template operator()<First>()) {
  using Result = decltype(f.template operator()<First>());
  std::optional<Result> result;
  const auto attempt = [&]<typename U>() {
    if (dtype == DTypeOf<U>()) result.emplace(f.template operator()<U>());
    return result.has_value();
  };
  if (attempt.template operator()<First>() || (attempt.template operator()<T>() || ...)) return std::move(*result);
  std::string known(DTypeText(DTypeOf<First>()));
  (absl::StrAppend(&known, ", ", DTypeText(DTypeOf<T>())), ...);
  return absl::UnimplementedError(absl::StrCat("dtype ", DTypeText(dtype), " is not supported, only ", known));
}

// The same by the width of an element: uint8_t, uint16_t, uint32_t, uint64_t, Bits128 or std::string.
template <typename F>
auto DispatchWidth(DType dtype, F&& f) -> decltype(f.template operator()<uint8_t>()) {
  if (dtype == DType::kString) return f.template operator()<std::string>();
  switch (DTypeBits(dtype)) {
    case 8:
      return f.template operator()<uint8_t>();
    case 16:
      return f.template operator()<uint16_t>();
    case 32:
      return f.template operator()<uint32_t>();
    case 64:
      return f.template operator()<uint64_t>();
    case 128:
      return f.template operator()<Bits128>();
    default:
      return absl::UnimplementedError(absl::StrCat("dtype ", DTypeText(dtype), " is not supported"));
  }
}

// Arithmetic that wraps, without the undefined overflow of signed types (and of uint16_t * uint16_t, which is int).
template <typename T>
using Unsigned = std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>;
template <typename T>
T WrapAdd(T a, T b) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b));
  return a + b;
}
template <typename T>
T WrapSub(T a, T b) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b));
  return a - b;
}
template <typename T>
T WrapMul(T a, T b) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<Unsigned<T>>(a) * static_cast<Unsigned<T>>(b));
  return a * b;
}

template <typename T>
bool IsNanValue(const T& value) {
  if constexpr (kIsFloat<T>) return value != value;  // NOLINT(misc-redundant-expression): true for NaN
  return false;
}
// Maximum and minimum that keep NaN.
template <typename T>
T MaxOf(const T& a, const T& b) {
  return IsNanValue(a) || a > b ? a : b;
}
template <typename T>
T MinOf(const T& a, const T& b) {
  return IsNanValue(a) || a < b ? a : b;
}
// The identities of max and min.
template <typename T>
constexpr T LowestValue() {
  if constexpr (kIsFloat<T>) return -std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::lowest();
}
template <typename T>
constexpr T HighestValue() {
  if constexpr (kIsFloat<T>) return std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::max();
}

// Walks operands of the same extents in row-major order, one innermost run at a time; adjacent axes that all operands
// can step through with one stride are merged first, so contiguous operands are one run.
//
//   for (Runs runs(x.dims(), {x.strides(), y.strides()}); runs.more(); runs.Next())
//     for (int64_t i = 0; i < runs.length(); ++i) ys[runs.offset(1) + i * runs.step(1)] = f(xs[runs.offset(0) + ...]);
class Runs {
 public:
  static constexpr int kMaxOperands = 5;
  Runs(Extents dims, std::initializer_list<Extents> strides);

  bool more() const { return more_; }
  void Next();
  int64_t length() const { return length_; }
  int64_t offset(int operand) const { return offsets_[operand]; }
  int64_t step(int operand) const { return steps_[operand]; }

 private:
  int operands_ = 0;
  bool more_ = true;
  int64_t length_ = 1;
  Dims dims_;  // outer extents, after merging
  Dims index_;
  std::array<Dims, kMaxOperands> strides_;
  std::array<int64_t, kMaxOperands> offsets_{};
  std::array<int64_t, kMaxOperands> steps_{};
};

// Row-major counter over extents: the multi-index of each element, for slow general paths.
class Counter {
 public:
  explicit Counter(Extents dims);
  bool more() const { return more_; }
  void Next();
  const Dims& index() const { return index_; }
  int64_t operator[](int axis) const { return index_[axis]; }
  // Where the index lies with these strides.
  int64_t Offset(Extents strides) const;

 private:
  bool more_ = true;
  Dims dims_;
  Dims index_;
};

// y = copy of x (same extents and dtype, any strides on both sides).
absl::Status CopyStrided(const Tensor& from, const Tensor& to);

// A tensor of zeros (empty strings).
absl::StatusOr<Tensor> Zeros(DType dtype, Extents dims);
template <typename T>
absl::StatusOr<Tensor> Filled(Extents dims, const T& value) {
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(DTypeOf<T>(), dims));
  std::fill_n(y.data_as<T>(), y.num_elements(), value);
  return y;
}

inline Results One(Tensor tensor) {
  std::vector<Tensor> results;
  results.push_back(std::move(tensor));
  return results;
}
inline Results One(absl::StatusOr<Tensor> tensor) {
  if (!tensor.ok()) return std::move(tensor).status();
  return One(*std::move(tensor));
}

// The expected type of result i, or an error if the caller gave none. Extents may be -1 unless `known`.
absl::StatusOr<TensorType> ResultType(const Call& call, size_t i = 0);
absl::StatusOr<TensorType> KnownResultType(const Call& call, size_t i = 0);
// dtype of result i as the compiler expects it, or `fallback`.
DType ResultDType(const Call& call, size_t i, DType fallback);

// An axis from -rank to rank - 1 as 0 to rank - 1, or an OutOfRange error.
absl::StatusOr<int> Axis(int64_t axis, int rank);
// Attribute `name` as an axis of `rank` axes; `fallback` where it is absent.
absl::StatusOr<int> AxisAttribute(const Call& call, const char* name, int rank);
absl::StatusOr<int> AxisAttribute(const Call& call, const char* name, int rank, int64_t fallback);
// A bool attribute that must be there.
absl::StatusOr<bool> Flag(const Call& call, const char* name);

absl::Status CheckRank(const Tensor& x, int rank, const char* what);
absl::Status CheckSameDims(const Tensor& a, const Tensor& b);
absl::Status CheckDType(const Tensor& x, DType dtype, const char* what);

// Product of extents that are known to fit (those of an existing tensor).
inline int64_t Product(Extents dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}
// a * b, or an error on overflow; a + b likewise.
absl::StatusOr<int64_t> CheckedMul(int64_t a, int64_t b);
absl::StatusOr<int64_t> CheckedAdd(int64_t a, int64_t b);

// Views.
Tensor PermutedView(const Tensor& x, Extents permutation);
// Numpy broadcasting of x to dims; an error if the extents do not allow it.
absl::StatusOr<Tensor> BroadcastView(const Tensor& x, Extents dims);
// Common extents of numpy broadcasting.
absl::StatusOr<Dims> BroadcastDims(Extents a, Extents b);
// x with the same elements under other extents: a view where possible, else a copy.
absl::StatusOr<Tensor> ReshapedTo(const Tensor& x, Extents dims);

// Any integer or bool tensor of rank <= 1 as numbers (absl::Status names `what`); a rank-0 or one-element tensor as one
// number.
absl::StatusOr<std::vector<int64_t>> Int64List(const Tensor& x, const char* what);
absl::StatusOr<int64_t> Int64Scalar(const Tensor& x, const char* what);
absl::StatusOr<double> DoubleScalar(const Tensor& x, const char* what);

// A contiguous copy (or the tensor itself) converted to T's dtype: for kernels that read small operands freely.
template <typename T>
absl::StatusOr<std::vector<T>> ToVector(const Tensor& x);

}  // namespace tcc::reference
