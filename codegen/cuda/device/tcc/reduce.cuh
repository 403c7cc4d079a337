// Reductions over the lanes of a warp and the threads of a block. Every thread gets the result, all of them the same
// bits: partial results meet in a fixed order.
#pragma once

#include "tcc/platform.cuh"
#include "tcc/scalar.cuh"

namespace tcc {

/// The thread's number in its block.
TCC_DEVICE int linear_thread() {
  return static_cast<int>(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
}

/// Moves a value of any type between lanes, a word at a time.
template <class T, class Move>
TCC_DEVICE T move_words(T x, Move move) {
  constexpr int kWords = (sizeof(T) + 3) / 4;
  uint32 words[kWords] = {};
  memcpy(words, &x, sizeof(T));
#pragma unroll
  for (int i = 0; i < kWords; ++i) words[i] = move(words[i]);
  memcpy(&x, words, sizeof(T));
  return x;
}
template <class T>
TCC_DEVICE T shuffle_xor(T x, int lane_mask) {
  return move_words(x, [=](uint32 word) { return __shfl_xor_sync(kFullMask, word, lane_mask); });
}
template <class T>
TCC_DEVICE T shuffle_up(T x, int delta) {
  return move_words(x, [=](uint32 word) { return __shfl_up_sync(kFullMask, word, static_cast<unsigned>(delta)); });
}
template <class T>
TCC_DEVICE T shuffle_from(T x, int lane) {
  return move_words(x, [=](uint32 word) { return __shfl_sync(kFullMask, word, lane); });
}

//===- Combiners: associative and commutative -------------------------------===//

template <class T>
struct IsFloat {
  static constexpr bool value = false;
};
template <>
struct IsFloat<float> {
  static constexpr bool value = true;
};
template <>
struct IsFloat<double> {
  static constexpr bool value = true;
};

template <class T>
struct Sum {
  TCC_DEVICE T operator()(T a, T b) const { return a + b; }
};
template <class T>
struct Prod {
  TCC_DEVICE T operator()(T a, T b) const { return a * b; }
};
/// NaN when either is.
template <class T>
struct Max {
  TCC_DEVICE T operator()(T a, T b) const {
    if constexpr (IsFloat<T>::value) return maximum<T>(a, b);
    else return a < b ? b : a;
  }
};
template <class T>
struct Min {
  TCC_DEVICE T operator()(T a, T b) const {
    if constexpr (IsFloat<T>::value) return minimum<T>(a, b);
    else return b < a ? b : a;
  }
};
template <class T>
struct And {
  TCC_DEVICE T operator()(T a, T b) const { return a & b; }
};
template <class T>
struct Or {
  TCC_DEVICE T operator()(T a, T b) const { return a | b; }
};
template <class T>
struct Xor {
  TCC_DEVICE T operator()(T a, T b) const { return a ^ b; }
};

/// A value and where it is.
template <class T>
struct ValueIndex {
  T value;
  int64 index;
};
/// The greatest (smallest) value: of equal ones that of the lowest index, of NaNs the first.
template <class T, bool kGreatest>
struct ArgBest {
  TCC_DEVICE ValueIndex<T> operator()(ValueIndex<T> a, ValueIndex<T> b) const {
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    if (a_nan || b_nan) return a_nan && (!b_nan || a.index < b.index) ? a : b;
    const bool better = kGreatest ? a.value > b.value : a.value < b.value;
    return better || (a.value == b.value && a.index < b.index) ? a : b;
  }
};
template <class T>
struct ArgMax : ArgBest<T, true> {};
template <class T>
struct ArgMin : ArgBest<T, false> {};

//===- Warps ----------------------------------------------------------------===//

#if defined(TCC_SIM) && !TCC_SIM_CHECKED
// One step of the warp in place of five, with the same result. Checked code takes the shuffles.
}  // namespace tcc
namespace tcc_sim {
template <class T, class Op>
struct Reduction {
  T value;
  const Op* op;
};
template <int WIDTH, class T, class Op>
TCC_SIM_RAW const char* combine_reduction(void* const* lanes, unsigned arrived) {
  if (arrived != ~0u) return "a lane of the warp takes no part: it has returned, or does not exist";
  T values[32], next[32];
  for (int lane = 0; lane < 32; ++lane) values[lane] = static_cast<Reduction<T, Op>*>(lanes[lane])->value;
  const Op& op = *static_cast<Reduction<T, Op>*>(lanes[0])->op;
  for (int step = WIDTH / 2; step > 0; step /= 2) {
    for (int lane = 0; lane < 32; ++lane) next[lane] = op(values[lane], values[lane ^ step]);
    for (int lane = 0; lane < 32; ++lane) values[lane] = next[lane];
  }
  for (int lane = 0; lane < 32; ++lane) static_cast<Reduction<T, Op>*>(lanes[lane])->value = values[lane];
  return nullptr;
}
template <int WIDTH, class T, class Op>
inline const TccSimWarpOp reduction_op = {"warp_reduce", combine_reduction<WIDTH, T, Op>, 0};
}  // namespace tcc_sim
namespace tcc {
template <int WIDTH = 32, class T, class Op>
TCC_SIM_CALL T warp_reduce(T x, Op op) {
  ::tcc_sim::Reduction<T, Op> mine = {x, &op};
  ::tcc_sim::api->warp(&::tcc_sim::reduction_op<WIDTH, T, Op>, ~0u, &mine, TCC_SIM_PC);
  return mine.value;
}
#else
/// Over groups of WIDTH neighbouring lanes, a power of two. All lanes of the warp must call it.
template <int WIDTH = 32, class T, class Op>
TCC_DEVICE T warp_reduce(T x, Op op) {
  static_assert(WIDTH >= 1 && WIDTH <= 32 && (WIDTH & (WIDTH - 1)) == 0, "a group of lanes is a power of two");
#pragma unroll
  for (int step = WIDTH / 2; step > 0; step /= 2) x = op(x, shuffle_xor(x, step));
  return x;
}
#endif
template <int WIDTH = 32, class T>
TCC_DEVICE T warp_reduce_sum(T x) {
  return warp_reduce<WIDTH>(x, Sum<T>());
}
template <int WIDTH = 32, class T>
TCC_DEVICE T warp_reduce_prod(T x) {
  return warp_reduce<WIDTH>(x, Prod<T>());
}
template <int WIDTH = 32, class T>
TCC_DEVICE T warp_reduce_max(T x) {
  return warp_reduce<WIDTH>(x, Max<T>());
}
template <int WIDTH = 32, class T>
TCC_DEVICE T warp_reduce_min(T x) {
  return warp_reduce<WIDTH>(x, Min<T>());
}

//===- Blocks ---------------------------------------------------------------===//

/// Over the THREADS threads of the block (whole warps); all of them must call it. Ends with a
/// barrier, so that it may be called again at once.
template <int THREADS, class T, class Op>
TCC_DEVICE T block_reduce(T x, Op op) {
  static_assert(THREADS % 32 == 0 && THREADS <= 1024, "a block is 1 to 32 whole warps");
  constexpr int kWarps = THREADS / 32;
  x = warp_reduce(x, op);
  if constexpr (kWarps > 1) {
    __shared__ T partial[kWarps];
    const int thread = linear_thread();
    if (thread % 32 == 0) partial[thread / 32] = x;
    __syncthreads();
    if constexpr ((kWarps & (kWarps - 1)) == 0) {
      x = warp_reduce<kWarps>(partial[thread % kWarps], op);
    } else {
      x = partial[0];
#pragma unroll
      for (int warp = 1; warp < kWarps; ++warp) x = op(x, partial[warp]);
    }
    __syncthreads();
  }
  return x;
}
template <class T, int THREADS>
TCC_DEVICE T block_reduce_sum(T x) {
  return block_reduce<THREADS>(x, Sum<T>());
}
template <class T, int THREADS>
TCC_DEVICE T block_reduce_prod(T x) {
  return block_reduce<THREADS>(x, Prod<T>());
}
template <class T, int THREADS>
TCC_DEVICE T block_reduce_max(T x) {
  return block_reduce<THREADS>(x, Max<T>());
}
template <class T, int THREADS>
TCC_DEVICE T block_reduce_min(T x) {
  return block_reduce<THREADS>(x, Min<T>());
}
template <class T, int THREADS>
TCC_DEVICE T block_reduce_and(T x) {
  return block_reduce<THREADS>(x, And<T>());
}
template <class T, int THREADS>
TCC_DEVICE T block_reduce_or(T x) {
  return block_reduce<THREADS>(x, Or<T>());
}
template <class T, int THREADS>
TCC_DEVICE T block_reduce_xor(T x) {
  return block_reduce<THREADS>(x, Xor<T>());
}

//===- Scans ----------------------------------------------------------------===//

/// Inclusive: lane i gets x of lanes 0 to i, combined in this order (`op` need not commute).
template <class T, class Op>
TCC_DEVICE T warp_scan(T x, Op op) {
  const int lane = linear_thread() % 32;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const T before = shuffle_up(x, step);
    if (lane >= step) x = op(before, x);
  }
  return x;
}

/// Inclusive, over the block; `total` is the last thread's result. Ends with a barrier.
template <int THREADS, class T, class Op>
TCC_DEVICE T block_scan(T x, Op op, T& total) {
  static_assert(THREADS % 32 == 0 && THREADS <= 1024, "a block is 1 to 32 whole warps");
  constexpr int kWarps = THREADS / 32;
  __shared__ T partial[kWarps];
  const int thread = linear_thread(), lane = thread % 32, warp = thread / 32;
  x = warp_scan(x, op);
  if (lane == 31) partial[warp] = x;
  __syncthreads();
  T before = partial[0];
  for (int w = 1; w < warp; ++w) before = op(before, partial[w]);
  if (warp > 0) x = op(before, x);
  total = warp > 0 ? op(before, partial[warp]) : before;
  for (int w = warp + 1; w < kWarps; ++w) total = op(total, partial[w]);
  __syncthreads();
  return x;
}

}  // namespace tcc
