// Matrix products: results(g, m, n) = sum over k of A(g, m, k) B(g, k, n).
//
// A block makes one tile of the results: tiles of A and B pass through a ring of buffers in shared memory that cp.async
// fills some steps ahead. The sums go to the epilogue through shared memory again, so that the threads of a warp handle
// elements that lie next to each other in memory.
//
// The epilogue is a functor of the kernel's text: `void operator()(Index g, Index m, Index n, Acc value) const`, which
// stores every output of the kernel at that place. Of several results it reads everything before it stores anything:
//   kVector > 1: `vector(g, m, n, const Acc (&values)[kVector])` is for (g, m, n + i), or (g, m + i, n) where rows are
//                fastest; that coordinate is a multiple of kVector;
//   kBatch > 1:  `operator()(g, m, n, Index dm, Index dn, const Acc (&values)[kBatch])` is for (g, m + i * dm, n + i *
//                dn).
//
// Several blocks may share the sums of a tile (splits): one of them goes on to the epilogue (gemm_split.cuh).
#pragma once
#include "tcc/gemm_mma.cuh"
#include "tcc/gemm_simt.cuh"
#include "tcc/gemm_split.cuh"
#include "tcc/gemm_wgmma.cuh"

namespace tcc {
namespace gemm {

// A product's extents. `splits`: blocks that share the sums of one tile, each over its part of k.
template <class Index>
struct Extents {
  Index batch, m, n, k;
  int splits;
};

template <class Config, class A, class B, class Acc, class Zeros = NoZeros>
struct Layout {
  using T = typename A::Element;
  static constexpr int kStageElements = (Config::kTileM + Config::kTileN) * Config::kDepth;
  using Product = typename Config::template Product<A, B, Acc, Zeros>;
  static constexpr int kSliceElements = Product::kSliceRows * Product::kPitch;
  static constexpr int kTileBytes = kStageElements * Config::kStages * static_cast<int>(sizeof(T));
  static constexpr int kSliceBytes = kSliceElements * Config::kThreads / 32 * static_cast<int>(sizeof(Acc));
  static constexpr int kBytes = kTileBytes > kSliceBytes ? kTileBytes : kSliceBytes;
};

// Which tile a block makes. Blocks that follow each other share tiles of B, and in groups of rows tiles of A: what they
// read stays in the L2 cache.
template <class Index>
struct Place {
  Index g, m0, n0, k_begin, k_end;
};
template <int kTileM, int kTileN, int kDepth, class Index>
TCC_DEVICE Place<Index> place_of(const Extents<Index>& e, Index item) {
  Index tiles_m = (e.m + kTileM - 1) / kTileM, tiles_n = (e.n + kTileN - 1) / kTileN;
  Place<Index> at;
  at.k_begin = 0;
  at.k_end = e.k;
  if (e.splits > 1) {
    const Index split = item % e.splits;
    item /= e.splits;
    Index steps = (e.k + kDepth - 1) / kDepth, each = (steps + e.splits - 1) / e.splits;
    at.k_begin = split * each * kDepth;
    at.k_end = at.k_begin + each * kDepth;
    if (at.k_end > e.k) at.k_end = e.k;
  }
  constexpr int kGroupRows = 8;
  Index tile = item % (tiles_m * tiles_n);
  at.g = item / (tiles_m * tiles_n);
  Index group = tile / (kGroupRows * tiles_n), first = group * kGroupRows;
  Index rows = tiles_m - first < kGroupRows ? tiles_m - first : Index(kGroupRows);
  Index within = tile - group * kGroupRows * tiles_n;
  at.m0 = (first + within % rows) * kTileM;
  at.n0 = within / rows * kTileN;
  return at;
}

// kRowsFastest: the epilogue's outputs lie next to each other along m.
template <class Config, class Acc, bool kRowsFastest, class A, class B, class Epilogue, class Index,
          class Zeros = NoZeros, class Shared = NoParts>
TCC_DEVICE void multiply(const A& a, const B& b, const Extents<Index>& extents, const Epilogue& epilogue,
                         const Zeros& zeros = Zeros(), const Shared& parts = Shared()) {
  using TA = typename A::Element;
  using TB = typename B::Element;
  using L = Layout<Config, A, B, Acc, Zeros>;
  using Product = typename L::Product;
  constexpr int kStages = Config::kStages, kDepth = Config::kDepth;
  TCC_DYNAMIC_SHARED(memory);
  Place<Index> at = place_of<Config::kTileM, Config::kTileN, kDepth>(extents, static_cast<Index>(blockIdx.x));

  TileLoader<A, Config::kTileM, kDepth, Config::kThreads> load_a(a, at.g, at.m0, extents.m);
  TileLoader<B, Config::kTileN, kDepth, Config::kThreads> load_b(b, at.g, at.n0, extents.n);
  Product product;
  int steps = at.k_end > at.k_begin ? static_cast<int>((at.k_end - at.k_begin + kDepth - 1) / kDepth) : 0;
  auto tile_a = [&](int stage) { return reinterpret_cast<TA*>(memory) + stage * L::kStageElements; };
  auto tile_b = [&](int stage) {
    return reinterpret_cast<TB*>(memory) + stage * L::kStageElements + Config::kTileM * kDepth;
  };
  auto load = [&](int step, int stage) {
    if (step < steps) {
      Index k0 = at.k_begin + static_cast<Index>(step) * kDepth;
      load_a.load(tile_a(stage), k0, at.k_end);
      load_b.load(tile_b(stage), k0, at.k_end);
    }
    cp_async_commit();  // also where there is nothing: waits count groups
  };

#pragma unroll
  for (int s = 0; s < kStages - 1; ++s) load(s, s);
  int stage = 0, next = kStages - 1;
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    cp_async_wait<kStages - 2>();
    if constexpr (Product::kAsync) fence_async_shared();
    __syncthreads();
    load(step + kStages - 1, next);
    product.multiply(tile_a(stage), tile_b(stage));
    stage = stage + 1 == kStages ? 0 : stage + 1;
    next = next + 1 == kStages ? 0 : next + 1;
  }
  cp_async_wait<0>();
  __syncthreads();

  if constexpr (Zeros::kPresent)
    product.centre(zeros, at.g, at.m0, at.n0, extents.m, extents.n, at.k_end > at.k_begin ? at.k_end - at.k_begin : 0);
  if constexpr (Shared::kPresent)
    if (!add_parts<Config::kThreads>(product.sums, parts, extents.splits)) return;
  Acc* slice = reinterpret_cast<Acc*>(memory) + static_cast<int>(threadIdx.x) / 32 * L::kSliceElements;
  const Index m0 = at.m0 + product.warp_row, n0 = at.n0 + product.warp_column;
#pragma unroll
  for (int s = 0; s < Product::kSlices; ++s) {
    product.stage(slice, s);
    __syncwarp();
    store_slice<Product::kSliceRows, Config::kWarpN, Product::kPitch, kRowsFastest>(
        slice, epilogue, at.g, extents.m, n0, extents.n, [&](int row) { return m0 + Product::slice_row(s, row); });
    __syncwarp();
  }
}

// Which of the extents neighbouring threads run along.
enum class Fastest { kBatch, kRow, kColumn };

// Without tiles, one thread for each result: where a tile would be mostly empty (depthwise convolutions, products of
// few rows and columns). kDepth: k, where it is known and small, else 0.
template <int kThreads, Fastest kFastest, int kDepth, class Acc, class A, class B, class Epilogue, class Index>
TCC_DEVICE void direct(const A& a, const B& b, const Extents<Index>& extents, const Epilogue& epilogue) {
  Index i = static_cast<Index>(blockIdx.x) * kThreads + static_cast<Index>(threadIdx.x);
  if (i >= extents.batch * extents.m * extents.n) return;
  Index g, m, n;
  if constexpr (kFastest == Fastest::kBatch) {
    g = i % extents.batch;
    n = i / extents.batch % extents.n;
    m = i / extents.batch / extents.n;
  } else if constexpr (kFastest == Fastest::kRow) {
    m = i % extents.m;
    n = i / extents.m % extents.n;
    g = i / extents.m / extents.n;
  } else {
    n = i % extents.n;
    m = i / extents.n % extents.m;
    g = i / extents.n / extents.m;
  }
  const ElementReader<A> read_a(a, g, m);
  const ElementReader<B> read_b(b, g, n);
  Acc sum(0);
  if constexpr (kDepth > 0) {
#pragma unroll
    for (int k = 0; k < kDepth; ++k) sum = multiply_add(Acc(read_a(Index(k))), Acc(read_b(Index(k))), sum);
  } else {
#pragma unroll 4
    for (Index k = 0; k < extents.k; ++k) sum = multiply_add(Acc(read_a(k)), Acc(read_b(k)), sum);
  }
  epilogue(g, m, n, sum);
}

}  // namespace gemm
}  // namespace tcc
