// Stable sorts by unsigned keys, of lines of any length: chunks that a block sorts in shared memory, and passes that
// merge neighbouring runs. What is sorted are positions; equal keys stay in their order.
#pragma once
#include "tcc/keys.cuh"

namespace tcc {

/// How many of the first `diagonal` items of the merged runs come from `a`; of equal ones those of `a` are first.
template <class Key, class I>
TCC_DEVICE I merge_split(const Key* a, I a_count, const Key* b, I b_count, I diagonal) {
  I low = diagonal > b_count ? diagonal - b_count : 0, high = diagonal < a_count ? diagonal : a_count;
  while (low < high) {
    const I middle = (low + high) / 2;
    if (a[middle] <= b[diagonal - 1 - middle])
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// The items of a block, ITEMS of each thread: a chunk of THREADS * ITEMS, a power of two.
template <class Key, int THREADS, int ITEMS>
struct BlockSort {
  static constexpr int kCount = THREADS * ITEMS;
  static_assert((kCount & (kCount - 1)) == 0, "runs double");
  struct Storage {
    Key keys[kCount];
    uint16 places[kCount];
  };

  /// Sorts what is in shared memory, where it stays, by all threads; begins and ends with a barrier. `places` become the
  /// numbers in the chunk that items had.
  static TCC_DEVICE void sort(Storage& storage) {
    const int thread = static_cast<int>(threadIdx.x), first = thread * ITEMS;
    Key keys[ITEMS];
    uint16 places[ITEMS];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
      keys[i] = storage.keys[first + i];
      places[i] = static_cast<uint16>(first + i);
    }
    // Neighbours that are out of order change places, ITEMS times: equal ones never do.
#pragma unroll
    for (int round = 0; round < ITEMS; ++round) {
#pragma unroll
      for (int i = round % 2; i + 1 < ITEMS; i += 2) {
        const bool swap = keys[i] > keys[i + 1];
        const Key key = keys[i];
        const uint16 place = places[i];
        keys[i] = swap ? keys[i + 1] : key;
        places[i] = swap ? places[i + 1] : place;
        keys[i + 1] = swap ? key : keys[i + 1];
        places[i + 1] = swap ? place : places[i + 1];
      }
    }
    put(storage, keys, places);
    for (int width = ITEMS; width < kCount; width *= 2) {
      const int base = first & ~(2 * width - 1), diagonal = first - base;
      const Key *a = storage.keys + base, *b = a + width;
      int i = merge_split(a, width, b, width, diagonal), j = diagonal - i;
#pragma unroll
      for (int k = 0; k < ITEMS; ++k) {
        const bool left = j >= width || (i < width && a[i] <= b[j]);
        const int from = left ? base + i++ : base + width + j++;
        keys[k] = storage.keys[from];
        places[k] = storage.places[from];
      }
      __syncthreads();
      put(storage, keys, places);
    }
  }

 private:
  static TCC_DEVICE void put(Storage& storage, const Key (&keys)[ITEMS], const uint16 (&places)[ITEMS]) {
    const int first = static_cast<int>(threadIdx.x) * ITEMS;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
      storage.keys[first + i] = keys[i];
      storage.places[first + i] = places[i];
    }
    __syncthreads();
  }
};

/// Sorts a chunk of a line: block number line * chunks + chunk. `source(line, i)` is the key of item i. `use(line, i,
/// key, position)` gets what comes to be item i of the chunk's run; both of the whole line.
template <class Key, int THREADS, int ITEMS, class Source, class Use>
TCC_DEVICE void sort_chunk(const Source& source, int64 length, int64 chunks, const Use& use) {
  using Sort = BlockSort<Key, THREADS, ITEMS>;
  __shared__ typename Sort::Storage storage;
  const int64 line = blockIdx.x / chunks, first = blockIdx.x % chunks * Sort::kCount;
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    const int place = k * THREADS + static_cast<int>(threadIdx.x);
    // What is beyond the end is above all others, or behind its equals.
    storage.keys[place] = first + place < length ? source(line, first + place) : static_cast<Key>(~Key(0));
  }
  Sort::sort(storage);
#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    const int place = k * THREADS + static_cast<int>(threadIdx.x);
    if (first + place < length) use(line, first + place, storage.keys[place], first + storage.places[place]);
  }
}

/// Keys that are in memory.
template <class Key>
struct KeyArray {
  const Key* keys;
  int64 length;
  TCC_DEVICE Key operator()(int64 line, int64 i) const { return keys[line * length + i]; }
};

/// Keys and positions in memory, `length` of each line.
template <class Key, class Position>
struct Sorted {
  Key* keys;
  Position* positions;
  int64 length;
  TCC_DEVICE void operator()(int64 line, int64 i, Key key, int64 position) const {
    keys[line * length + i] = key;
    positions[line * length + i] = static_cast<Position>(position);
  }
};

/// Merges runs of `width`, of which only the first `keep` items are there and wanted, in pairs: block number line *
/// tiles + tile, of THREADS * ITEMS items (which divide `width`). Other blocks have nothing to do.
template <class Key, int THREADS, int ITEMS, class Position>
TCC_DEVICE void merge_runs(const Sorted<const Key, const Position>& from, const Sorted<Key, Position>& to, int64 tiles,
                           int64 width, int64 keep) {
  const int64 line = blockIdx.x / tiles, length = from.length;
  const int64 first = (blockIdx.x % tiles * THREADS + threadIdx.x) * ITEMS;
  const int64 base = first / (2 * width) * (2 * width), diagonal = first - base;
  if (first >= length || diagonal >= keep) return;
  const auto count = [&](int64 begin) {
    const int64 there = length - begin < width ? length - begin : width;
    return there < 0 ? 0 : there < keep ? there : keep;
  };
  const int64 a_count = count(base), b_count = count(base + width);
  const Key *a = from.keys + line * length + base, *b = a + width;
  int64 i = merge_split(a, a_count, b, b_count, diagonal < a_count + b_count ? diagonal : a_count + b_count);
  int64 j = diagonal - i;
  for (int k = 0; k < ITEMS && diagonal + k < keep && i + j < a_count + b_count; ++k) {
    const bool left = j >= b_count || (i < a_count && a[i] <= b[j]);
    const int64 at = left ? base + i++ : base + width + j++;
    to(line, first + k, from.keys[line * length + at], from.positions[line * length + at]);
  }
}

/// How many times runs of `chunk` are merged until a line is one. After an even number it is where the chunks were.
TCC_DEVICE int merge_passes(int64 length, int64 chunk) {
  int passes = 0;
  for (int64 width = chunk; width < length; width *= 2) ++passes;
  return passes;
}

}  // namespace tcc
