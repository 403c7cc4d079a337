// Tiles of a matrix operand in shared memory, filled by cp.async.
//
// A kernel's text says what an operand is:
//
//   struct A {
//     using Element = __half;               // in memory
//     using Index = int;                    // of offsets and coordinates
//     static constexpr bool kAlongK = true; // neighbours in memory lie along k; false: along rows (of A) or columns (of B)
//     static constexpr int kVector = 8;     // from each multiple of this on, as many elements lie next to each other
//     static constexpr bool kMasked = false; // whether some elements are zero, not in memory
//     static constexpr bool kComputed = false;
//     struct Line { ... };                  // what the address needs of (g, row)
//     struct Step { ... };                  // what it needs of (g, k)
//     Line line(Index g, Index row) const;
//     Step step(Index g, Index k) const;
//     const Element* address(const Line&, const Step&) const;  // null, if kMasked: the elements are zero
//     const Element* base() const;          // the operand's memory: addresses are a multiple of kVector away from it
//   };
//
// kVector is a power of two, and kVector elements have at most 16 bytes; their first may lie at any element's alignment
// (the loader looks, and copies one by one where it must). Elements pass through registers where they are narrower than
// 4 bytes and alone, and where they are computed (kComputed: then `Element value(Index g, Index row, Index k) const`
// takes the place of line, step, address and base).
#pragma once
#include "tcc/device.cuh"

namespace tcc {

// a * b + c: fused for floats, wrapping for integers.
TCC_DEVICE float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
TCC_DEVICE double multiply_add(double a, double b, double c) { return fma(a, b, c); }
TCC_DEVICE int multiply_add(int a, int b, int c) {
  return static_cast<int>(static_cast<unsigned>(a) * static_cast<unsigned>(b) + static_cast<unsigned>(c));
}
TCC_DEVICE long long multiply_add(long long a, long long b, long long c) {
  using U = unsigned long long;
  return static_cast<long long>(static_cast<U>(a) * static_cast<U>(b) + static_cast<U>(c));
}
TCC_DEVICE float exp2_of(float x) { return exp2f(x); }
TCC_DEVICE double exp2_of(double x) { return exp2(x); }

// kBytes (4, 8 or 16) by cp.async, of which the first `valid` are read and the others are zero.
template <int kBytes>
TCC_DEVICE void cp_async(void* to, const void* from, int valid) {
  if constexpr (kBytes == 16)
    cp_async16(to, from, valid);
  else if constexpr (kBytes == 8)
    cp_async8(to, from, valid);
  else
    cp_async4(to, from, valid);
}

// N elements, 16 bytes at an address that is a multiple of 16.
template <class T, int N>
TCC_DEVICE void load_chunk(T (&to)[N], const T* from) {
  struct __align__(16) Chunk {
    T elements[N];
  };
  static_assert(sizeof(Chunk) == 16, "a chunk has 16 bytes");
  const Chunk chunk = *reinterpret_cast<const Chunk*>(from);
#pragma unroll
  for (int i = 0; i < N; ++i) to[i] = chunk.elements[i];
}

// Elements as mma takes them: in a register, several together.
TCC_DEVICE unsigned bits_of(__half x) { return __half_as_ushort(x); }
TCC_DEVICE unsigned bits_of(__nv_bfloat16 x) { return __bfloat16_as_ushort(x); }
TCC_DEVICE unsigned bits_of(float x) { return __float_as_uint(x); }
TCC_DEVICE unsigned bits_of(int8 x) { return static_cast<uint8>(x); }
TCC_DEVICE unsigned bits_of(uint8 x) { return x; }
template <class T>
TCC_DEVICE unsigned pack_pair(float first, float second) {
  return bits_of(T(first)) | bits_of(T(second)) << 16;
}

namespace gemm {

// Sums of 16 rows by 8 * N columns, as mma.sync and wgmma spread them over the lanes of a warp: written row-major.
template <int kPitch, int N, class Acc>
TCC_DEVICE void stage_fragments(Acc* slice, const Acc (&sums)[N][4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  Acc* at = slice + lane / 4 * kPitch + lane % 4 * 2;
#pragma unroll
  for (int j = 0; j < N; ++j)
#pragma unroll
    for (int r = 0; r < 4; ++r) at[r / 2 * 8 * kPitch + 8 * j + r % 2] = sums[j][r];
}

// Hands results in shared memory, kRows by kColumns of one warp, to the epilogue: (g, row_of(row), n0 + column), as far
// as they are within `rows` and `columns`. kRowsFastest: outputs lie next to each other along rows. An epilogue with
// kVector > 1 takes so many neighbours at once, one with kBatch > 1 so many of what is next to a lane's in the other
// direction; of those, it reads everything before it stores anything, so that its reads are under way together.
template <int kRows, int kColumns, int kPitch, bool kRowsFastest, class Acc, class Epilogue, class Index, class RowOf>
TCC_DEVICE void store_slice(const Acc* slice, const Epilogue& epilogue, Index g, Index rows, Index n0, Index columns,
                            RowOf row_of) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  constexpr int kVector = Epilogue::kVector, kBatch = Epilogue::kBatch;
  if constexpr (kVector > 1) {
    constexpr int kAlong = (kRowsFastest ? kRows : kColumns) / kVector;
    static_assert((kRowsFastest ? kRows : kColumns) % kVector == 0, "vectors divide a slice");
#pragma unroll 1
    for (int i = lane; i < kRows * kColumns / kVector; i += 32) {
      const int row = kRowsFastest ? i % kAlong * kVector : i / kAlong;
      const int column = kRowsFastest ? i / kAlong : i % kAlong * kVector;
      const Index m = row_of(row), n = n0 + column;
      if (m >= rows || n >= columns) continue;
      Acc values[kVector];
      constexpr int kChunk = 16 / static_cast<int>(sizeof(Acc));
      if constexpr (!kRowsFastest && kVector % kChunk == 0 && kPitch % kChunk == 0) {
#pragma unroll
        for (int j = 0; j < kVector; j += kChunk) {
          Acc chunk[kChunk];
          load_chunk(chunk, slice + row * kPitch + column + j);
#pragma unroll
          for (int c = 0; c < kChunk; ++c) values[j + c] = chunk[c];
        }
      } else {
#pragma unroll
        for (int j = 0; j < kVector; ++j)
          values[j] = slice[kRowsFastest ? (row + j) * kPitch + column : row * kPitch + column + j];
      }
      const Index last_m = kRowsFastest ? m + (kVector - 1) : m, last_n = kRowsFastest ? n : n + (kVector - 1);
      if (last_m < rows && last_n < columns) {
        epilogue.vector(g, m, n, values);
      } else {
#pragma unroll
        for (int j = 0; j < kVector; ++j) {
          const Index mj = kRowsFastest ? m + j : m, nj = kRowsFastest ? n : n + j;
          if (mj < rows && nj < columns) epilogue(g, mj, nj, values[j]);
        }
      }
    }
  } else {
    constexpr int kBatches = kRowsFastest ? kColumns : kRows;
    static_assert(kBatches % kBatch == 0, "batches divide a slice");
    constexpr int kAlong = kRowsFastest ? kRows : kColumns;
    const Index step = row_of(1) - row_of(0);
#pragma unroll 1
    for (int i = lane; i < kRows * kColumns / kBatch; i += 32) {
      const int row = kRowsFastest ? i % kAlong : i / kAlong * kBatch;
      const int column = kRowsFastest ? i / kAlong * kBatch : i % kAlong;
      const Index m = row_of(row), n = n0 + column;
      if (m >= rows || n >= columns) continue;
      Acc values[kBatch];
#pragma unroll
      for (int j = 0; j < kBatch; ++j)
        values[j] = slice[kRowsFastest ? row * kPitch + column + j : (row + j) * kPitch + column];
      if constexpr (kBatch > 1) {
        const Index last_m = kRowsFastest ? m : row_of(row + kBatch - 1), last_n = kRowsFastest ? n + (kBatch - 1) : n;
        if (last_m < rows && last_n < columns) {
          epilogue(g, m, n, kRowsFastest ? Index(0) : step, kRowsFastest ? Index(1) : Index(0), values);
          continue;
        }
      }
#pragma unroll
      for (int j = 0; j < kBatch; ++j) {
        const Index mj = kRowsFastest ? m : row_of(row + j), nj = kRowsFastest ? n + j : n;
        if (mj < rows && nj < columns) epilogue(g, mj, nj, values[j]);
      }
    }
  }
}

// A tile of kRows rows (columns of B) by kDepth of k. In memory it is lines of 16-byte chunks: a line is a row where
// neighbours lie along k, else all rows at one k. Chunks of a line are permuted so that the same chunk of 8 lines that
// follow each other, and 8 neighbouring chunks of one line, lie in different banks.
template <class T, int kRows_, int kDepth_, bool kAlongK>
struct TileShape {
  static constexpr int kRows = kRows_, kDepth = kDepth_;
  static constexpr int kChunk = 16 / sizeof(T);
  static constexpr int kLines = kAlongK ? kRows : kDepth;
  static constexpr int kMinor = kAlongK ? kDepth : kRows;
  static constexpr int kChunks = kMinor / kChunk;
  static constexpr int kElements = kRows * kDepth;
  static_assert(kMinor % kChunk == 0 && (kChunks & (kChunks - 1)) == 0, "whole chunks, a power of two");

  static TCC_DEVICE int swizzle(int line) {
    if constexpr (kChunks >= 8)
      return line & 7;
    else
      return (line / (8 / kChunks)) & (kChunks - 1);
  }
  // Position of a chunk's first element.
  static TCC_DEVICE int at(int line, int chunk) {
    return (line * kChunks + (chunk ^ swizzle(line))) * kChunk;
  }
  static TCC_DEVICE int element(int line, int minor) {
    return at(line, minor / kChunk) + minor % kChunk;
  }
};

// One thread's share of the copies of an operand's tiles: the same rows (columns) for every tile along k. kHot: what
// addresses need of the rows stays in registers, and all copies are unrolled.
template <class Operand, int kRows, int kDepth, int kThreads, bool kHot = true>
struct TileLoader {
  using T = typename Operand::Element;
  using Index = typename Operand::Index;
  static constexpr bool kComputed = Operand::kComputed;
  static constexpr bool kAlongK = Operand::kAlongK;
  static constexpr int kVector = Operand::kVector;
  static constexpr int kBytes = kVector * static_cast<int>(sizeof(T));
  using Shape = TileShape<T, kRows, kDepth, kAlongK>;
  static constexpr int kPerLine = Shape::kMinor / kVector;  // copies
  static constexpr int kColumns = kPerLine < kThreads ? kPerLine : kThreads;
  static constexpr int kAcross = kPerLine / kColumns;         // copies of a thread along a line
  static constexpr int kStride = kThreads / kColumns;         // lines that all threads cover at a time
  static constexpr int kDown = (Shape::kLines + kStride - 1) / kStride;
  static_assert(kBytes <= 16 && kPerLine % kColumns == 0 && kThreads % kColumns == 0, "copies divide evenly");

  const Operand& operand;
  Index g, row0, rows;  // of the tile, and the operand's number of rows
  int column, line0;
  bool aligned;
  static constexpr int kMostKept = 16;  // of them, or there are too few registers
  static constexpr bool kKeepLines = kHot && kBytes >= 4 && (kAlongK ? kDown : kAcross) <= kMostKept;
  static constexpr int kKept = kComputed || !kKeepLines ? 1 : kAlongK ? kDown : kAcross;
  static constexpr int kUnroll = kKeepLines ? kDown : kHot ? 4 : 2;
  struct Nothing {};
  template <class O, bool>
  struct LineOf {
    using Type = typename O::Line;
  };
  template <class O>
  struct LineOf<O, true> {
    using Type = Nothing;
  };
  typename LineOf<Operand, kComputed || !kKeepLines>::Type lines[kKept];

  TCC_DEVICE TileLoader(const Operand& o, Index g_, Index row0_, Index rows_)
      : operand(o), g(g_), row0(row0_), rows(rows_) {
    column = static_cast<int>(threadIdx.x) % kColumns;
    line0 = static_cast<int>(threadIdx.x) / kColumns;
    if constexpr (!kComputed) {
      aligned = kBytes == sizeof(T) || reinterpret_cast<size_t>(o.base()) % kBytes == 0;
      if constexpr (kKeepLines) {
#pragma unroll
        for (int i = 0; i < kKept; ++i) lines[i] = line_of(i);
      }
    }
  }

  // Starts the copies of the tile at k = k0 (of `depth` in all) to `to`. Elements beyond the operand are zero.
  TCC_DEVICE void load(T* to, Index k0, Index depth) const {
    if constexpr (kComputed) {
      load_computed(to, k0, depth);
    } else if constexpr (kAlongK) {
#pragma unroll
      for (int a = 0; a < kAcross; ++a) {
        int minor = (column + a * kColumns) * kVector;
        Index k = k0 + minor;
        auto step = operand.step(g, k < depth ? k : Index(0));
        int valid = depth - k >= kVector ? kVector : depth > k ? static_cast<int>(depth - k) : 0;
#pragma unroll kUnroll
        for (int i = 0; i < kDown; ++i) {
          int line = line0 + i * kStride;
          if (kDown * kStride != Shape::kLines && line >= Shape::kLines) break;
          const T* from = operand.address(kept_line(i), step);
          copy(to + Shape::element(line, minor), from, row0 + line < rows ? valid : 0);
        }
      }
    } else {
#pragma unroll kUnroll
      for (int i = 0; i < kDown; ++i) {
        int line = line0 + i * kStride;
        if (kDown * kStride != Shape::kLines && line >= Shape::kLines) break;
        Index k = k0 + line;
        auto step = operand.step(g, k < depth ? k : Index(0));
#pragma unroll
        for (int a = 0; a < kAcross; ++a) {
          int minor = (column + a * kColumns) * kVector;
          Index row = row0 + minor;
          int valid = rows - row >= kVector ? kVector : rows > row ? static_cast<int>(rows - row) : 0;
          copy(to + Shape::element(line, minor), operand.address(kept_line(a), step), k < depth ? valid : 0);
        }
      }
    }
  }

 private:
  // What addresses need of the thread's i-th row, or of the first row of its i-th copy along a line.
  TCC_DEVICE auto line_of(int i) const {
    Index row = row0 + (kAlongK ? line0 + i * kStride : (column + i * kColumns) * kVector);
    return operand.line(g, row < rows ? row : Index(0));
  }
  TCC_DEVICE auto kept_line(int i) const {
    if constexpr (kKeepLines)
      return lines[i];
    else
      return line_of(i);
  }
  // kVector elements, of which the first `valid` are read and the others are zero.
  TCC_DEVICE void copy(T* to, const T* from, int valid) const {
    if constexpr (Operand::kMasked)
      if (from == nullptr) valid = 0;
    if constexpr (kBytes >= 4) {
      if (aligned) {
        cp_async<kBytes>(to, valid > 0 ? from : operand.base(), valid * static_cast<int>(sizeof(T)));
        return;
      }
    }
#pragma unroll
    for (int i = 0; i < kVector; ++i) to[i] = i < valid ? from[i] : T(0);
  }

  TCC_DEVICE void load_computed(T* to, Index k0, Index depth) const {
#pragma unroll 1
    for (int i = 0; i < kDown; ++i) {
      int line = line0 + i * kStride;
      if (line >= Shape::kLines) break;
#pragma unroll 1
      for (int a = 0; a < kPerLine; a += kColumns) {
        int minor = column + a;
        Index row = row0 + (kAlongK ? line : minor), k = k0 + (kAlongK ? minor : line);
        to[Shape::element(line, minor)] = row < rows && k < depth ? operand.value(g, row, k) : T(0);
      }
    }
  }
};

// Elements of one row (column) of an operand, read from memory.
template <class Operand, bool kComputed = Operand::kComputed>
struct ElementReader {
  using T = typename Operand::Element;
  using Index = typename Operand::Index;
  const Operand& operand;
  Index g;
  typename Operand::Line line;
  TCC_DEVICE ElementReader(const Operand& o, Index g_, Index row) : operand(o), g(g_), line(o.line(g_, row)) {}
  TCC_DEVICE T operator()(Index k) const {
    const T* from = operand.address(line, operand.step(g, k));
    if constexpr (Operand::kMasked)
      if (from == nullptr) return T(0);
    return *from;
  }
};
template <class Operand>
struct ElementReader<Operand, true> {
  using T = typename Operand::Element;
  using Index = typename Operand::Index;
  const Operand& operand;
  Index g, row;
  TCC_DEVICE ElementReader(const Operand& o, Index g_, Index row_) : operand(o), g(g_), row(row_) {}
  TCC_DEVICE T operator()(Index k) const { return operand.value(g, row, k); }
};

}  // namespace gemm
}  // namespace tcc
