// The k largest or smallest elements of lines, sorted; of equal ones the first. NaN counts as the largest.
#pragma once
#include "tcc/sort.cuh"

namespace tcc {

/// Keys that ascend as results do.
template <class T, bool LARGEST>
struct TopKeys {
  using Key = typename Ordered<T>::Key;
  const T* x;
  Lines lines;
  TCC_DEVICE Key operator()(int64 line, int64 i) const {
    const Key key = Ordered<T>::key(x[lines.at(line, i)]);
    return LARGEST ? static_cast<Key>(~key) : key;
  }
};

/// Writes result i of a line, if there is one.
template <class T>
struct TopResults {
  const T* x;
  Lines lines;
  T* values;
  long long* indices;
  Lines results;
  TCC_DEVICE void write(int64 line, int64 i, int64 position) const {
    const int64 to = results.at(line, i);
    values[to] = x[lines.at(line, position)];
    indices[to] = position;
  }
  template <class Key>
  TCC_DEVICE void operator()(int64 line, int64 i, Key, int64 position) const {
    if (i < results.length) write(line, i, position);
  }
};

/// The first results of sorted positions, one a thread, over count = lines * k.
template <class T, class Position>
TCC_DEVICE void write_top(const TopResults<T>& top, const Position* even, const Position* odd, int64 chunk, int64 lines) {
  const int64 length = top.lines.length, k = top.results.length;
  const Position* positions = merge_passes(length, chunk) % 2 == 0 ? even : odd;
  for (int64 index = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x; index < lines * k;
       index += static_cast<int64>(gridDim.x) * blockDim.x) {
    const int64 line = index / k, i = index % k;
    // (A k beyond the line is an error that is reported elsewhere.)
    if (i < length) top.write(line, i, positions[line * length + i]);
  }
}

/// A k that is none of this line is reported, and made one.
TCC_DEVICE int64 checked_k(int64 k, int64 length, long long* error) {
  const int64 fit = k < 0 ? 0 : k > length ? length : k;
  if (fit != k && blockIdx.x == 0 && threadIdx.x == 0) report_error(error, 1);  // kTccIndexOutOfRange
  return fit;
}

}  // namespace tcc
