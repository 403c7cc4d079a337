// Non-maximum suppression: boxes by falling score, each kept unless it overlaps one that was kept before.
#pragma once
#include "tcc/select.cuh"
#include "tcc/sort.cuh"

namespace tcc {

struct Box {
  float y1, x1, y2, x2;
};

/// As the reference computes it: no product is fused with a sum.
TCC_DEVICE float box_area(const Box& a) { return __fmul_rn(__fsub_rn(a.y2, a.y1), __fsub_rn(a.x2, a.x1)); }
TCC_DEVICE float intersection_over_union(const Box& a, const Box& b) {
  const float height = __fsub_rn(min<float>(a.y2, b.y2), max<float>(a.y1, b.y1));
  const float width = __fsub_rn(min<float>(a.x2, b.x2), max<float>(a.x1, b.x1));
  if (!(height > 0.0f && width > 0.0f)) return 0.0f;
  const float shared = __fmul_rn(height, width);
  const float all = __fsub_rn(__fadd_rn(box_area(a), box_area(b)), shared);
  return all > 0.0f ? __fdiv_rn(shared, all) : 0.0f;
}

enum class BoxForm { kCorners, kCenter, kSorted };

/// Of ONNX: any two opposite corners (y, x), or center and size (x, y); of torchvision: (x1, y1, x2, y2).
template <BoxForm FORM>
TCC_DEVICE Box box_at(const float* v) {
  if constexpr (FORM == BoxForm::kCenter) {
    const float h = __fdiv_rn(v[3], 2.0f), w = __fdiv_rn(v[2], 2.0f);
    return {__fsub_rn(v[1], h), __fsub_rn(v[0], w), __fadd_rn(v[1], h), __fadd_rn(v[0], w)};
  } else if constexpr (FORM == BoxForm::kCorners) {
    return {min<float>(v[0], v[2]), min<float>(v[1], v[3]), max<float>(v[0], v[2]), max<float>(v[1], v[3])};
  } else {
    return {v[1], v[0], v[3], v[2]};
  }
}

/// Keys of scores, the highest first. Without NAN_FIRST, NaN and what is not above the threshold (if there is one)
/// have the greatest key, which no other score has.
template <bool NAN_FIRST>
struct ScoreKeys {
  const float* scores;
  int64 length;
  const float* threshold;
  TCC_DEVICE uint32 operator()(int64 line, int64 i) const {
    const float score = scores[line * length + i];
    if (!NAN_FIRST && (score != score || (threshold != nullptr && !(score > *threshold)))) return ~0u;
    return ~Ordered<float>::key(score);
  }
};

/// What suppression works on, of all lines (a line is a class of a batch).
template <BoxForm FORM, class Position>
struct Candidates {
  const float* boxes; // [batches, length, 4]
  int64 length, classes;
  const uint32* keys;
  const Position* positions;
  TCC_DEVICE Box box(int64 line, int64 i) const {
    return box_at<FORM>(boxes + (line / classes * length + positions[line * length + i]) * 4);
  }
};

/// A line by a block: the numbers (among the sorted ones) of what is kept, and how many those are. `gone` is room for a
/// byte each. With ALL, every candidate is one, NaN too.
template <bool ALL, int THREADS, BoxForm FORM, class Position>
TCC_DEVICE void suppress(const Candidates<FORM, Position>& candidates, int64 limit, float threshold, unsigned char* gone,
                         Position* kept, int64* counts) {
  const int64 line = blockIdx.x, length = candidates.length;
  gone += line * length;
  kept += line * length;
  // Each thread has candidates of its own.
  for (int64 i = threadIdx.x; i < length; i += THREADS) gone[i] = !ALL && candidates.keys[line * length + i] == ~0u;
  __syncthreads();
  int64 count = 0;
  // (Those that are none come last.)
  int64 current = length > 0 && (ALL || candidates.keys[line * length] != ~0u) ? 0 : length;
  while (current < length && count < limit) {
    if (threadIdx.x == 0) kept[count] = candidates.positions[line * length + current];
    ++count;
    const Box box = candidates.box(line, current);
    int64 next = length;
    for (int64 i = current / THREADS * THREADS + threadIdx.x; i < length; i += THREADS) {
      if (i <= current || gone[i]) continue;
      if (intersection_over_union(candidates.box(line, i), box) > threshold)
        gone[i] = 1;
      else if (i < next)
        next = i;
    }
    current = block_reduce_min<int64, THREADS>(next);
  }
  if (threadIdx.x == 0) counts[line] = count;
}

/// The rows (batch, class, box) of what is kept, a block for each line; after offsets_of().
template <class Position>
TCC_DEVICE void write_kept(const Position* kept, const int64* offsets, const long long* total, int64 lines, int64 length,
                           int64 classes, long long* y) {
  const int64 line = blockIdx.x, first = offsets[line], end = line + 1 < lines ? offsets[line + 1] : *total;
  for (int64 i = threadIdx.x; first + i < end; i += blockDim.x) {
    long long* row = y + (first + i) * 3;
    row[0] = line / classes;
    row[1] = line % classes;
    row[2] = kept[line * length + i];
  }
}

}  // namespace tcc
