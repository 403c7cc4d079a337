// Results whose extents are data: slices, pads, repetitions, broadcasts, ranges. One thread finds the extents; each result
// then takes its element from where every axis says.
#pragma once
#include "tcc/narrow.cuh"

namespace tcc {

/// Numbers of a tensor's axes. Indexed by constants only, after unrolling, so that they stay in registers.
template <int RANK>
struct Axes {
  int64 at[RANK > 0 ? RANK : 1];
};
/// A list of integers that a tensor holds.
template <class Int>
struct List {
  const Int* data;
  int64 count;
  TCC_DEVICE int64 operator[](int64 i) const { return static_cast<int64>(data[i]); }
};
/// The list 0, 1, 2, ...: axes where none are given.
struct AllAxes {
  int64 count;
  TCC_DEVICE int64 operator[](int64 i) const { return i; }
};
/// Steps where none are given.
struct AllOnes {
  int64 count;
  TCC_DEVICE int64 operator[](int64) const { return 1; }
};

/// Calls use(entry, axis) for the axes of a list. False: one is none of RANK, or there twice.
template <int RANK, class AxisList, class Use>
TCC_DEVICE bool for_axes(const AxisList& axes, const Use& use) {
  unsigned seen = 0;
  for (int64 entry = 0; entry < axes.count; ++entry) {
    const int64 axis = axes[entry] < 0 ? axes[entry] + RANK : axes[entry];
    if (axis < 0 || axis >= RANK || (seen >> axis & 1u) != 0) return false;
    seen |= 1u << axis;
    use(entry, axis);
  }
  return true;
}

/// By one thread: leaves extents, or reports that they cannot be.
template <int RANK>
TCC_DEVICE void leave_extents(bool good, const Axes<RANK>& extents, long long* found, long long* error) {
#pragma unroll
  for (int a = 0; a < RANK; ++a) {
    good = good && extents.at[a] >= 0;
    found[a] = extents.at[a];
  }
  if (!good) report_error(error, 1);  // kTccIndexOutOfRange
}

/// Result `index` of extents `out` is the element of x that `map(axis, i)` says for each axis; `fill` where it says -1.
template <int RANK, class T, class Map>
TCC_DEVICE void take_by_axes(const T* x, T* y, const Axes<RANK>& in, const Axes<RANK>& out, int64 count, const Map& map,
                             T fill) {
  const int64 index = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= count) return;
  int64 rest = index, offset = 0, stride = 1;
  bool inside = true;
#pragma unroll
  for (int a = RANK - 1; a >= 0; --a) {
    const int64 from = map(a, rest % out.at[a]);
    rest /= out.at[a];
    inside = inside && from >= 0;
    offset += from * stride;
    stride *= in.at[a];
  }
  y[index] = inside ? x[offset] : fill;
}

//===- Slices ----------------------------------------------------------------===//

template <int RANK>
struct Slices {
  bool good = true;
  Axes<RANK> start, step, count;
  TCC_DEVICE int64 operator()(int a, int64 i) const { return start.at[a] + i * step.at[a]; }
};
/// Starts and ends clamp to the axis, as ONNX has it.
template <int RANK, class Starts, class Ends, class AxisList, class Steps>
TCC_DEVICE Slices<RANK> read_slices(const Axes<RANK>& in, const Starts& starts, const Ends& ends, const AxisList& axes,
                                    const Steps& steps) {
  Slices<RANK> slices;
#pragma unroll
  for (int a = 0; a < RANK; ++a) {
    slices.start.at[a] = 0;
    slices.step.at[a] = 1;
    slices.count.at[a] = in.at[a];
  }
  bool steps_good = true;
  slices.good = starts.count == axes.count && ends.count == axes.count && steps.count == axes.count;
  if (!slices.good) return slices;
  slices.good = for_axes<RANK>(axes, [&](int64 entry, int64 axis) {
    const int64 step = steps[entry];
    steps_good = steps_good && step != 0;
#pragma unroll
    for (int a = 0; a < RANK; ++a) {
      const int64 extent = in.at[a];
      if (a != axis || extent == 0) continue;
      const int64 low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
      const int64 first = starts[entry] < 0 ? starts[entry] + extent : starts[entry];
      const int64 last = ends[entry] < 0 ? ends[entry] + extent : ends[entry];
      const int64 start = tcc::min(tcc::max(first, int64(0)), high), end = tcc::min(tcc::max(last, low), high);
      const bool some = step > 0 ? start < end : start > end;
      // Unsigned: a step may be the smallest number.
      const uint64 span = static_cast<uint64>(step > 0 ? end - start : start - end);
      const uint64 stride = step > 0 ? static_cast<uint64>(step) : 0ull - static_cast<uint64>(step);
      slices.start.at[a] = start;
      slices.step.at[a] = step;
      slices.count.at[a] = some && stride != 0 ? static_cast<int64>((span - 1) / stride) + 1 : 0;
    }
  });
  slices.good = slices.good && steps_good;
  return slices;
}

//===- Pads --------------------------------------------------------------------===//

enum class PadMode { kConstant, kReflect, kEdge, kWrap };
template <int RANK, PadMode MODE>
struct Pads {
  bool good = true;
  Axes<RANK> in, low, size;
  /// What a negative pad has cropped is not repeated.
  Axes<RANK> first, kept;
  TCC_DEVICE int64 operator()(int a, int64 i) const {
    const int64 from = i - low.at[a], first_of = first.at[a], kept_of = kept.at[a], extent = in.at[a];
    if (from >= first_of && from < first_of + kept_of) return from;
    if (MODE == PadMode::kConstant) return -1;
    if (MODE == PadMode::kEdge) return from < 0 ? 0 : extent - 1;
    if (MODE == PadMode::kReflect) return from < 0 ? -from : 2 * (extent - 1) - from;
    return first_of + ((from - first_of) % kept_of + kept_of) % kept_of;
  }
};
/// `pads`: those in front of all axes of the list, then those behind.
template <int RANK, PadMode MODE, class PadList, class AxisList>
TCC_DEVICE Pads<RANK, MODE> read_pads(const Axes<RANK>& in, const PadList& list, const AxisList& axes) {
  Pads<RANK, MODE> pads;
  Axes<RANK> high;
#pragma unroll
  for (int a = 0; a < RANK; ++a) pads.low.at[a] = high.at[a] = 0;
  pads.in = in;
  pads.good = list.count == 2 * axes.count && for_axes<RANK>(axes, [&](int64 entry, int64 axis) {
#pragma unroll
    for (int a = 0; a < RANK; ++a) {
      if (a != axis) continue;
      pads.low.at[a] = list[entry];
      high.at[a] = list[entry + axes.count];
    }
  });
#pragma unroll
  for (int a = 0; a < RANK; ++a) {
    const int64 extent = in.at[a], before = pads.low.at[a], after = high.at[a];
    constexpr int64 kMost = 1ll << 40;
    pads.good = pads.good && before < kMost && after < kMost && before > -kMost && after > -kMost;
    const int64 size = extent + before + after;
    pads.size.at[a] = size;
    pads.first.at[a] = MODE == PadMode::kWrap && before < 0 ? -before : 0;
    pads.kept.at[a] = MODE == PadMode::kWrap && after < 0 ? extent + after - pads.first.at[a] : extent - pads.first.at[a];
    if (MODE == PadMode::kReflect && size > 0 && (before > 0 || after > 0))
      pads.good = pads.good && tcc::max(before, after) < extent;
    if ((MODE == PadMode::kEdge || MODE == PadMode::kWrap) && size > 0) pads.good = pads.good && pads.kept.at[a] > 0;
  }
  return pads;
}

//===- Broadcasts and repetitions ----------------------------------------------===//

/// Axes of one element have it everywhere.
template <int RANK>
struct Broadcast {
  Axes<RANK> in;
  TCC_DEVICE int64 operator()(int a, int64 i) const { return in.at[a] == 1 ? 0 : i; }
};
/// `in` has ones in front; the shape says its last axes.
template <int RANK, class Shape>
TCC_DEVICE void find_broadcast(Axes<RANK> in, const Shape& shape, long long* found, long long* error) {
  bool good = shape.count <= RANK;
#pragma unroll
  for (int a = 0; a < RANK; ++a) {
    const int64 entry = shape.count - RANK + a;
    const int64 wanted = good && entry >= 0 ? shape[entry] : 1;
    good = good && (wanted == in.at[a] || wanted == 1 || in.at[a] == 1);
    in.at[a] = in.at[a] == 1 ? wanted : in.at[a];
  }
  leave_extents<RANK>(good, in, found, error);
}

template <int RANK>
struct Repeated {
  Axes<RANK> in;
  TCC_DEVICE int64 operator()(int a, int64 i) const { return i % in.at[a]; }
};
template <int RANK, class Repeats>
TCC_DEVICE void find_repeated(Axes<RANK> in, const Repeats& repeats, long long* found, long long* error) {
  bool good = repeats.count == RANK;
#pragma unroll
  for (int a = 0; a < RANK; ++a) {
    const int64 times = good ? repeats[a] : 0;
    good = good && times >= 0 && (in.at[a] == 0 || times <= 0x7fffffffffffffffll / in.at[a]);
    in.at[a] = good ? in.at[a] * times : 0;
  }
  leave_extents<RANK>(good, in, found, error);
}

//===- Ranges and one-hot ------------------------------------------------------===//

/// How many numbers there are from `start` on, below `limit`. False: not a number, or too many.
TCC_DEVICE bool count_range(double start, double limit, double delta, int64& count) {
  const double n = ceil((limit - start) / delta);
  count = n > 0 ? static_cast<int64>(n < 1e15 ? n : 0) : 0;
  return delta != 0 && n <= 1e15;
}
TCC_DEVICE bool count_range(float start, float limit, float delta, int64& count) {
  return count_range(static_cast<double>(start), static_cast<double>(limit), static_cast<double>(delta), count);
}
TCC_DEVICE bool count_up(uint64 span, uint64 step, int64& count) {
  const uint64 n = step == 0 ? 0 : span / step + (span % step != 0 ? 1 : 0);
  count = static_cast<int64>(n);
  return step != 0 && count >= 0;
}
TCC_DEVICE bool count_range(int64 start, int64 limit, int64 delta, int64& count) {
  count = 0;
  if (delta == 0 || (delta > 0 ? limit <= start : limit >= start)) return delta != 0;
  const uint64 from = static_cast<uint64>(start), to = static_cast<uint64>(limit), by = static_cast<uint64>(delta);
  return delta > 0 ? count_up(to - from, by, count) : count_up(from - to, 0ull - by, count);
}
TCC_DEVICE bool count_range(uint64 start, uint64 limit, uint64 delta, int64& count) {
  count = 0;
  if (delta == 0 || limit <= start) return delta != 0;
  return count_up(limit - start, delta, count);
}

template <class T>
TCC_DEVICE void find_range(const T* start, const T* limit, const T* delta, long long* found, long long* error) {
  using From = Plain<T>;
  Axes<1> count;
  const bool good = count_range(From::load(start, 0), From::load(limit, 0), From::load(delta, 0), count.at[0]);
  leave_extents<1>(good, count, found, error);
}
/// In float64 for floats, float64 of a float that 16 bits hold. Integers wrap.
TCC_DEVICE double range_at(double start, double delta, int64 i) { return start + static_cast<double>(i) * delta; }
TCC_DEVICE float range_at(float start, float delta, int64 i) {
  return static_cast<float>(range_at(static_cast<double>(start), static_cast<double>(delta), i));
}
TCC_DEVICE int64 range_at(int64 start, int64 delta, int64 i) {
  return static_cast<int64>(static_cast<uint64>(start) + static_cast<uint64>(i) * static_cast<uint64>(delta));
}
TCC_DEVICE uint64 range_at(uint64 start, uint64 delta, int64 i) { return start + static_cast<uint64>(i) * delta; }
template <class T>
TCC_DEVICE void write_range(const T* start, const T* delta, T* y, int64 count) {
  const int64 i = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) y[i] = Plain<T>::bits(range_at(Plain<T>::load(start, 0), Plain<T>::load(delta, 0), i), false);
}

/// Lines of `depth`: `on` at the index, which counts from the end below zero, `off` elsewhere.
template <class Int, class T>
TCC_DEVICE void write_one_hot(const Int* indices, const T* values, T* y, int64 depth, int64 inner, int64 count) {
  const int64 at = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= count) return;
  const int64 i = at / inner % depth, raw = static_cast<int64>(indices[at / inner / depth * inner + at % inner]);
  y[at] = values[(raw < 0 ? raw + depth : raw) == i ? 1 : 0];
}

}  // namespace tcc
