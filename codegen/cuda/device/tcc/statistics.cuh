// Accumulators of more than one number, and how two of them become one.
#pragma once

#include "tcc/reduce.cuh"

namespace tcc {

/// Mean and sum of squared differences from it, in one pass (Welford 1962; merging: Chan, Golub, LeVeque 1979).
struct Welford {
  float mean, m2, count;

  static TCC_DEVICE Welford empty() { return {0.0f, 0.0f, 0.0f}; }
  TCC_DEVICE void add(float x) {
    count += 1.0f;
    const float delta = x - mean;
    mean += delta / count;
    m2 += delta * (x - mean);
  }
  /// Of the numbers added, with `correction` subtracted from their count. NaN where none is left.
  TCC_DEVICE float variance(float correction = 0.0f) const { return m2 / (count - correction); }
};
struct MergeWelford {
  TCC_DEVICE Welford operator()(Welford a, Welford b) const {
    const float count = a.count + b.count;
    if (count == 0.0f) return a;
    const float delta = b.mean - a.mean;
    // Symmetric in a and b, so that all lanes get the same bits.
    return {(a.mean * a.count + b.mean * b.count) / count, a.m2 + b.m2 + delta * delta * (a.count * b.count / count), count};
  }
};
template <int THREADS>
TCC_DEVICE Welford block_reduce_welford(Welford x) {
  return block_reduce<THREADS>(x, MergeWelford());
}

/// The greatest number and the sum of exp(x - max), in one pass (Milakov, Gimelshein 2018). Of nothing, or of -inf
/// only: -inf and 0. NaN where any number is NaN or +inf.
struct OnlineSoftmax {
  float max, sum;

  static TCC_DEVICE OnlineSoftmax empty() { return {-infinity(), 0.0f}; }
  TCC_DEVICE void add(float x) {
    const float next = maximum<float>(max, x);
    if (next == -infinity()) return;
    sum = sum * expf(max - next) + expf(x - next);
    max = next;
  }
  /// exp(x - max) / sum
  TCC_DEVICE float probability(float x) const { return expf(x - max) / sum; }
};
struct MergeOnlineSoftmax {
  TCC_DEVICE OnlineSoftmax operator()(OnlineSoftmax a, OnlineSoftmax b) const {
    const float max = maximum<float>(a.max, b.max);
    if (max == -infinity()) return {max, 0.0f};
    return {max, a.sum * expf(a.max - max) + b.sum * expf(b.max - max)};
  }
};
template <int THREADS>
TCC_DEVICE OnlineSoftmax block_reduce_softmax(OnlineSoftmax x) {
  return block_reduce<THREADS>(x, MergeOnlineSoftmax());
}

}  // namespace tcc
