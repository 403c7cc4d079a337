// Running sums, products, maxima and minima along lines of any length.
#pragma once
#include "tcc/keys.cuh"
#include "tcc/reduce.cuh"

namespace tcc {

/// What a scan of elements T is computed in: float64 for sums and products of floats, else the type itself; integers
/// wrap.
template <class T>
struct ScanTypes {
  using Wide = uint32;
  using Compute = T;
};
template <>
struct ScanTypes<long long> {
  using Wide = uint64;
  using Compute = long long;
};
template <>
struct ScanTypes<unsigned long long> {
  using Wide = uint64;
  using Compute = unsigned long long;
};
template <>
struct ScanTypes<float> {
  using Wide = double;
  using Compute = float;
};
template <>
struct ScanTypes<double> {
  using Wide = double;
  using Compute = double;
};
template <>
struct ScanTypes<__half> {
  using Wide = double;
  using Compute = float;
};
template <>
struct ScanTypes<__nv_bfloat16> {
  using Wide = double;
  using Compute = float;
};

/// The lowest and the highest value; of floats the infinities.
template <class T>
TCC_DEVICE T lowest_value() {
  constexpr bool kSigned = static_cast<T>(-1) < static_cast<T>(1);
  return kSigned ? static_cast<T>(1ull << (sizeof(T) * 8 - 1)) : static_cast<T>(0);
}
template <>
TCC_DEVICE float lowest_value<float>() { return -inf<float>(); }
template <>
TCC_DEVICE double lowest_value<double>() { return -inf<double>(); }
template <class T>
TCC_DEVICE T highest_value() { return static_cast<T>(~lowest_value<T>()); }
template <>
TCC_DEVICE float highest_value<float>() { return inf<float>(); }
template <>
TCC_DEVICE double highest_value<double>() { return inf<double>(); }

/// What comes first is on the left. Of the elements of a line, combined in their order.
template <class T>
struct ScanSum {
  using Value = typename ScanTypes<T>::Wide;
  static TCC_DEVICE Value identity() { return Value(0); }
  TCC_DEVICE Value operator()(Value a, Value b) const { return a + b; }
};
template <class T>
struct ScanProd {
  using Value = typename ScanTypes<T>::Wide;
  static TCC_DEVICE Value identity() { return Value(1); }
  TCC_DEVICE Value operator()(Value a, Value b) const { return a * b; }
};
/// NaN stays; of equal ones the last.
template <class T>
struct ScanMax {
  using Value = typename ScanTypes<T>::Compute;
  static TCC_DEVICE Value identity() { return lowest_value<Value>(); }
  TCC_DEVICE Value operator()(Value a, Value b) const { return a != a || a > b ? a : b; }
};
template <class T>
struct ScanMin {
  using Value = typename ScanTypes<T>::Compute;
  static TCC_DEVICE Value identity() { return highest_value<Value>(); }
  TCC_DEVICE Value operator()(Value a, Value b) const { return a != a || a < b ? a : b; }
};

template <class To, class From>
struct ScanConvert {
  static TCC_DEVICE To of(From x) { return static_cast<To>(x); }
};
// 16-bit floats are computed as float and rounded from it.
template <class To>
struct ScanConvert<To, __half> {
  static TCC_DEVICE To of(__half x) { return static_cast<To>(to_float(x)); }
};
template <class To>
struct ScanConvert<To, __nv_bfloat16> {
  static TCC_DEVICE To of(__nv_bfloat16 x) { return static_cast<To>(to_float(x)); }
};
template <class From>
struct ScanConvert<__half, From> {
  static TCC_DEVICE __half of(From x) { return from_float<__half>(static_cast<float>(x)); }
};
template <class From>
struct ScanConvert<__nv_bfloat16, From> {
  static TCC_DEVICE __nv_bfloat16 of(From x) { return from_float<__nv_bfloat16>(static_cast<float>(x)); }
};

/// A line by one thread: neighbouring lines lie side by side.
template <class Op, bool EXCLUSIVE, bool REVERSE, class T>
TCC_DEVICE void scan_line(const T* x, T* y, const Lines& lines, int64 count) {
  using Value = typename Op::Value;
  const int64 line = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (line >= count) return;
  const Op op;
  Value value = Op::identity();
  for (int64 i = 0; i < lines.length; ++i) {
    const int64 at = lines.at(line, REVERSE ? lines.length - 1 - i : i);
    const Value next = op(value, ScanConvert<Value, T>::of(x[at]));
    y[at] = ScanConvert<T, Value>::of(EXCLUSIVE ? value : next);
    value = next;
  }
}

/// A part of a line by a block, elements [begin, end) in the order of the scan, after `carry`. Where `y` is null nothing
/// is written. Gives back the last value, to all threads.
template <class Op, bool EXCLUSIVE, bool REVERSE, int THREADS, int ITEMS, class T>
TCC_DEVICE typename Op::Value scan_range(const T* x, T* y, const Lines& lines, int64 line, int64 begin, int64 end,
                                         typename Op::Value carry) {
  using Value = typename Op::Value;
  __shared__ Value befores[THREADS];
  const Op op;
  const int thread = static_cast<int>(threadIdx.x);
  for (int64 base = begin; base < end; base += THREADS * ITEMS) {
    const int64 first = base + thread * ITEMS;
    Value values[ITEMS];
    Value mine = Op::identity();
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
      values[i] = Op::identity();
      if (first + i < end)
        values[i] = ScanConvert<Value, T>::of(x[lines.at(line, REVERSE ? lines.length - 1 - first - i : first + i)]);
      mine = op(mine, values[i]);
    }
    Value total;
    befores[thread] = block_scan<THREADS>(mine, op, total);
    __syncthreads();
    Value value = thread == 0 ? carry : op(carry, befores[thread - 1]);
    carry = op(carry, total);
    if (y != nullptr) {
#pragma unroll
      for (int i = 0; i < ITEMS; ++i) {
        const Value next = op(value, values[i]);
        if (first + i < end)
          y[lines.at(line, REVERSE ? lines.length - 1 - first - i : first + i)] =
              ScanConvert<T, Value>::of(EXCLUSIVE ? value : next);
        value = next;
      }
    }
    __syncthreads();
  }
  return carry;
}

/// A line by a block.
template <class Op, bool EXCLUSIVE, bool REVERSE, int THREADS, int ITEMS, class T>
TCC_DEVICE void scan_block(const T* x, T* y, const Lines& lines) {
  scan_range<Op, EXCLUSIVE, REVERSE, THREADS, ITEMS>(x, y, lines, static_cast<int64>(blockIdx.x), 0, lines.length,
                                                    Op::identity());
}

/// Long lines by several blocks, `part` elements each: first what the parts come to, then (a scan of these, exclusive,
/// by scan_block) the elements after what came before. Block number line * parts + part.
template <class Op, bool REVERSE, int THREADS, int ITEMS, class T>
TCC_DEVICE void scan_totals(const T* x, typename Op::Value* totals, const Lines& lines, int64 part, int64 parts) {
  const int64 line = blockIdx.x / parts, begin = blockIdx.x % parts * part;
  const int64 end = begin + part < lines.length ? begin + part : lines.length;
  const auto total = scan_range<Op, false, REVERSE, THREADS, ITEMS>(x, static_cast<T*>(nullptr), lines, line, begin, end,
                                                                    Op::identity());
  if (threadIdx.x == 0) totals[blockIdx.x] = total;
}
template <class Op, bool EXCLUSIVE, bool REVERSE, int THREADS, int ITEMS, class T>
TCC_DEVICE void scan_parts(const T* x, T* y, const typename Op::Value* befores, const Lines& lines, int64 part,
                           int64 parts) {
  const int64 line = blockIdx.x / parts, begin = blockIdx.x % parts * part;
  const int64 end = begin + part < lines.length ? begin + part : lines.length;
  scan_range<Op, EXCLUSIVE, REVERSE, THREADS, ITEMS>(x, y, lines, line, begin, end, befores[blockIdx.x]);
}

}  // namespace tcc
