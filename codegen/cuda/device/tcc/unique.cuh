// ONNX Unique: the slices along an axis in sorted order, which of them differ from the one in front, and where each goes.
#pragma once
#include "tcc/narrow.cuh"
#include "tcc/select.cuh"
#include "tcc/sort.cuh"

namespace tcc {

/// Slices of a row-major tensor [outer, count, inner], compared element by element. NaN is above all, and none equals
/// another.
template <class T>
struct Slice {
  const T* x;
  int64 count, inner, outer;
  TCC_DEVICE int64 at(int64 slice, int64 element) const {
    return (element / inner * count + slice) * inner + element % inner;
  }
  /// Below zero: a is in front of b. Equal slices are in the order of their numbers where they have NaN.
  TCC_DEVICE int compare(int64 a, int64 b) const {
    for (int64 element = 0; element < outer * inner; ++element) {
      const T left = x[at(a, element)], right = x[at(b, element)];
      const auto l = Ordered<T>::key(left), r = Ordered<T>::key(right);
      if (l != r) return l < r ? -1 : 1;
      const auto number = Plain<T>::load(&left, 0);
      if (number != number && a != b) return a < b ? -1 : 1;
    }
    return 0;
  }
};

/// Sorts elements: keys for sort_chunk.
template <class T>
struct ElementKeys {
  const T* x;
  TCC_DEVICE typename Ordered<T>::Key operator()(int64, int64 i) const { return Ordered<T>::key(x[i]); }
};
template <class Position>
TCC_DEVICE void copy_order(const Position* even, const Position* odd, int64 length, int64 chunk, long long* order) {
  const int64 i = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < length) order[i] = (merge_passes(length, chunk) % 2 == 0 ? even : odd)[i];
}
/// Sorts slices, each by a block that counts those in front of it.
template <int THREADS, class T>
TCC_DEVICE void order_slices(const Slice<T>& slices, long long* order) {
  const int64 slice = blockIdx.x;
  int64 mine = 0;
  for (int64 other = threadIdx.x; other < slices.count; other += THREADS) {
    const int order_of = other == slice ? 1 : slices.compare(other, slice);
    if (order_of < 0 || (order_of == 0 && other < slice)) ++mine;
  }
  const int64 before = block_reduce_sum<int64, THREADS>(mine);
  if (threadIdx.x == 0) order[before] = slice;
}

/// Places in sorted order whose slice differs from the one in front.
template <class T>
struct IsHead {
  Slice<T> slices;
  const long long* order;
  TCC_DEVICE bool operator()(int64 i) const { return i == 0 || slices.compare(order[i - 1], order[i]) != 0; }
};
/// Slices that are the first of their kind.
struct IsFirst {
  const unsigned char* first;
  TCC_DEVICE bool operator()(int64 i) const { return first[i] != 0; }
};

/// For each place in sorted order: the kind, of those that begin at `starts`, tells where results are (`places`: of the
/// first of a kind; null: in sorted order). `found` kinds.
template <class T>
TCC_DEVICE void write_unique(const Slice<T>& slices, const long long* order, const long long* starts, const long long* places,
                             int64 found, T* y, long long* indices, long long* inverse, long long* counts) {
  for (int64 i = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x; i < slices.count;
       i += static_cast<int64>(gridDim.x) * blockDim.x) {
    int64 low = 0, high = found - 1;
    while (low < high) {
      const int64 middle = (low + high + 1) / 2;
      if (starts[middle] <= i)
        low = middle;
      else
        high = middle - 1;
    }
    const int64 start = starts[low], first = order[start], place = places != nullptr ? places[first] : low;
    inverse[order[i]] = place;
    if (start != i) continue;
    indices[place] = first;
    counts[place] = (low + 1 < found ? starts[low + 1] : slices.count) - start;
    const Slice<T> results = {y, found, slices.inner, slices.outer};
    for (int64 element = 0; element < slices.outer * slices.inner; ++element)
      y[results.at(place, element)] = slices.x[slices.at(first, element)];
  }
}

}  // namespace tcc
