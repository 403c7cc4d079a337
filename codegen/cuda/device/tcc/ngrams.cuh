// TfIdfVectorizer: how often the n-grams of a pool are in each row.
#pragma once
#include "tcc/narrow.cuh"

namespace tcc {

/// The pool: `tokens` one after another, where each n-gram begins and how long it is, and those of each result, which are
/// `slots[result]` to `slots[result + 1]`. The last n-gram of a result that is there says what it is.
struct Ngrams {
  const long long *tokens, *begins, *lengths, *slots;
  const float* weights;
  int64 least, most, skips;
};

/// A thread for each result. IDF: occurrences count once.
template <class T, bool IDF>
TCC_DEVICE void count_ngrams(const T* x, float* y, const Ngrams& pool, int64 columns, int64 results, int64 count) {
  const int64 index = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= count) return;
  const T* row = x + index / results * columns;
  const int64 slot = index % results;
  float value = 0.0f;
  for (int64 gram = pool.slots[slot]; gram < pool.slots[slot + 1]; ++gram) {
    const int64 length = pool.lengths[gram];
    const long long* wanted = pool.tokens + pool.begins[gram];
    if (length < pool.least || length > pool.most) continue;
    const int64 strides = length == 1 ? 1 : tcc::min(pool.skips + 1, columns);
    int64 found = 0;
    for (int64 stride = 1; stride <= strides; ++stride) {
      for (int64 first = 0; first + (length - 1) * stride < columns; ++first) {
        int64 k = 0;
        while (k < length && static_cast<int64>(row[first + k * stride]) == wanted[k]) ++k;
        if (k == length) ++found;
      }
    }
    if (found > 0) value = static_cast<float>((IDF ? 1.0 : static_cast<double>(found)) * static_cast<double>(pool.weights[gram]));
  }
  y[index] = value;
}

}  // namespace tcc
