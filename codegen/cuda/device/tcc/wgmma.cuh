// wgmma (sm_90a only): four warps multiply a 64 x 16 by a 16 x N tile, both in shared memory, D = A * B + D with D spread
// over their registers. Runs on while the warps go on: wgmma_fence before the first one of a group that uses the
// registers, wgmma_commit after the last, wgmma_wait before the registers are read or the tiles overwritten.
//
// On no GPU tried yet. The twin takes the operands at the instruction itself, and each warp does its 16 rows alone: that
// all four warps are at the same instruction, and that tiles stay until wgmma_wait, is not checked.
#pragma once

#include "tcc/float16.cuh"

namespace tcc {

/// How the rows of a tile lie in shared memory: 16-byte pieces of 8 rows, or rows of 32, 64 or 128 bytes whose pieces are
/// exchanged by the row's number (bits 4 and up of the address exclusive-or bits 7 and up).
enum class Swizzle { kNone = 0, k128 = 1, k64 = 2, k32 = 3 };

/// Describes a tile whose rows (of A: m, of B: n) are contiguous in k. `stride`: bytes from 8 rows to the next 8.
/// `leading`: without swizzle, bytes from a piece of 8 elements of k to the next one; else not used. The tile starts at a
/// multiple of 16, its 8 rows at a multiple of their bytes (1024 for k128) plus the offset in k.
///
/// Or one that lies along its rows (only with k128): a line of 128 bytes has 64 rows at one k. `stride`: bytes from 8 of
/// k to the next 8; `leading`: bytes from 64 rows to the next 64.
TCC_DEVICE uint64 wgmma_descriptor(const void* tile, uint32 leading, uint32 stride, Swizzle swizzle) {
#ifdef TCC_SIM
  const uint64 address = static_cast<uint64>(static_cast<const unsigned char*>(tile) - ::tcc_sim::dynamic_shared());
  if (address >= (1u << 18)) ::tcc_sim::api->fail("wgmma of a tile that is not in dynamic shared memory", TCC_SIM_PC);
#else
  const uint64 address = shared_address(tile);
#endif
  return (address & 0x3ffff) >> 4 | static_cast<uint64>((leading & 0x3ffff) >> 4) << 16 |
         static_cast<uint64>((stride & 0x3ffff) >> 4) << 32 | static_cast<uint64>(swizzle) << 62;
}

/// Element i of a thread's part of D; `thread`: of the 128.
struct WgmmaLayout {
  static TCC_DEVICE constexpr int d_row(int thread, int i) { return thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8; }
  static TCC_DEVICE constexpr int d_column(int thread, int i) { return i / 4 * 8 + thread % 4 * 2 + i % 2; }
};

/// T is __half or __nv_bfloat16. kRowsA, kRowsB: the operand lies along its rows, not along k. Without `accumulate`, D =
/// A * B.
template <int N, class T, bool kRowsA = false, bool kRowsB = false>
struct Wgmma;

#ifdef TCC_SIM
TCC_DEVICE void wgmma_fence() {}
TCC_DEVICE void wgmma_commit() {}
template <int PENDING>
TCC_DEVICE void wgmma_wait() {}
template <int REGISTERS>
TCC_DEVICE void increase_registers() {}
template <int REGISTERS>
TCC_DEVICE void decrease_registers() {}
}  // namespace tcc
namespace tcc_sim {
struct WgmmaPart {
  float* d;
  unsigned long long a, b;
  int accumulate, warp;
  const unsigned char* memory;
};
// Where the piece of 8 elements number `piece` of a row is.
TCC_SIM_RAW inline unsigned long wgmma_piece(unsigned long long descriptor, int row, int piece) {
  const unsigned long start = (descriptor & 0x3fff) << 4, leading = (descriptor >> 16 & 0x3fff) << 4;
  const unsigned long stride = (descriptor >> 32 & 0x3fff) << 4, group = start + row / 8 * stride;
  const unsigned swizzle = static_cast<unsigned>(descriptor >> 62);
  if (swizzle == 0) return group + row % 8 * 16 + piece * leading;
  // Rows of 128, 64 or 32 bytes.
  const unsigned long bytes = 256ul >> swizzle, at = group + row % 8 * bytes + piece * 16;
  return at ^ (at >> 3 & (bytes - 16));
}
// Where element (row, k) is, of a tile that lies along its rows.
TCC_SIM_RAW inline unsigned long wgmma_element(unsigned long long descriptor, int row, int k) {
  const unsigned long start = (descriptor & 0x3fff) << 4, leading = (descriptor >> 16 & 0x3fff) << 4;
  const unsigned long stride = (descriptor >> 32 & 0x3fff) << 4;
  const unsigned long at = start + row / 64 * leading + k / 8 * stride + k % 8 * 128 + row % 64 * 2;
  return at ^ (at >> 3 & 112);
}
template <int N, class T, bool kRowsA, bool kRowsB>
TCC_SIM_RAW const char* combine_wgmma(void* const* lanes, unsigned arrived) {
  if (arrived != ~0u) return "not all lanes of the warp take part";
  const WgmmaPart& first = *static_cast<WgmmaPart*>(lanes[0]);
  float a[16][16], b[N][16];
  for (int side = 0; side < 2; ++side) {
    const unsigned long long tile = side == 0 ? first.a : first.b;
    const bool rows = side == 0 ? kRowsA : kRowsB;
    if (rows && tile >> 62 != 1) return "an operand that lies along its rows is not in lines of 128 bytes";
    for (int row = 0; row < (side == 0 ? 16 : N); ++row) {
      for (int k = 0; rows && k < 16; ++k) {
        T element;
        memcpy(&element, first.memory + wgmma_element(tile, side == 0 ? first.warp * 16 + row : row, k), 2);
        (side == 0 ? a[row] : b[row])[k] = static_cast<float>(element);
      }
      for (int piece = 0; !rows && piece < 2; ++piece) {
        T elements[8];
        memcpy(elements, first.memory + wgmma_piece(tile, side == 0 ? first.warp * 16 + row : row, piece), 16);
        for (int e = 0; e < 8; ++e) (side == 0 ? a[row] : b[row])[piece * 8 + e] = static_cast<float>(elements[e]);
      }
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    const WgmmaPart& mine = *static_cast<WgmmaPart*>(lanes[lane]);
    if (mine.a != first.a || mine.b != first.b || mine.accumulate != first.accumulate) return "lanes give different operands";
    for (int i = 0; i < N / 2; ++i) {
      double sum = mine.accumulate ? mine.d[i] : 0.0;
      for (int k = 0; k < 16; ++k) {
        sum += static_cast<double>(a[::tcc::WgmmaLayout::d_row(lane, i)][k]) * b[::tcc::WgmmaLayout::d_column(lane, i)][k];
      }
      mine.d[i] = static_cast<float>(sum);
    }
  }
  return nullptr;
}
template <int N, class T, bool kRowsA, bool kRowsB>
inline const TccSimWarpOp wgmma_op = {"wgmma.mma_async", combine_wgmma<N, T, kRowsA, kRowsB>, kTccSimAligned};
template <int N, class T, bool kRowsA, bool kRowsB>
TCC_SIM_CALL void wgmma(float (&d)[N / 2], unsigned long long a, unsigned long long b, bool accumulate) {
  const int warp = static_cast<int>(self()->linear / 32 % 4);
  const unsigned char* memory = dynamic_shared();
#if TCC_SIM_CHECKED
  const int l = static_cast<int>(lane());
  // Pieces of 16 bytes: of the warp's 16 rows, and of all N.
  api->access(memory + (kRowsA ? wgmma_element(a, warp * 16 + l % 2 * 8, l / 2) : wgmma_piece(a, warp * 16 + l / 2, l % 2)),
              16, kTccSimRead, 1, TCC_SIM_PC);
  for (int i = l; i < 2 * N; i += 32)
    api->access(memory + (kRowsB ? wgmma_element(b, i / 16 * 8, i % 16) : wgmma_piece(b, i / 2, i % 2)), 16, kTccSimRead, 1,
                TCC_SIM_PC);
#endif
  WgmmaPart mine = {d, a, b, accumulate, warp, memory};
  api->warp(&wgmma_op<N, T, kRowsA, kRowsB>, ~0u, &mine, TCC_SIM_PC);
}
}  // namespace tcc_sim
namespace tcc {
template <int N, class T, bool kRowsA, bool kRowsB>
struct Wgmma {
  static TCC_DEVICE void multiply(float (&d)[N / 2], uint64 a, uint64 b, bool accumulate) {
    ::tcc_sim::wgmma<N, T, kRowsA, kRowsB>(d, a, b, accumulate);
  }
};
#else
TCC_DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
TCC_DEVICE void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Until at most PENDING of the latest groups are under way.
template <int PENDING>
TCC_DEVICE void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}
/// Registers of the threads of the warpgroup, in a kernel whose warps need different numbers; a multiple of 8.
template <int REGISTERS>
TCC_DEVICE void increase_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}
template <int REGISTERS>
TCC_DEVICE void decrease_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}
// The registers of D as PTX has them and as operands of the instruction, each longer list from the shorter one.
#define TCC_WGMMA_D8(I)                                                                                        \
  "+f"(d[I]), "+f"(d[I + 1]), "+f"(d[I + 2]), "+f"(d[I + 3]), "+f"(d[I + 4]), "+f"(d[I + 5]), "+f"(d[I + 6]), "+f"(d[I + 7])
#define TCC_WGMMA_D32(I) TCC_WGMMA_D8(I), TCC_WGMMA_D8(I + 8), TCC_WGMMA_D8(I + 16), TCC_WGMMA_D8(I + 24)
#define TCC_WGMMA_D64 TCC_WGMMA_D32(0)
#define TCC_WGMMA_D128 TCC_WGMMA_D64, TCC_WGMMA_D32(32)
#define TCC_WGMMA_D256 TCC_WGMMA_D128, TCC_WGMMA_D32(64), TCC_WGMMA_D32(96)
#define TCC_WGMMA_LIST64 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15" \
  ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define TCC_WGMMA_LIST128 TCC_WGMMA_LIST64 \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47" \
  ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define TCC_WGMMA_LIST256 TCC_WGMMA_LIST128 \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79" \
  ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95" \
  ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111" \
  ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
// A, B, P, TA and TB are the numbers of the operands behind those of D.
#define TCC_WGMMA(N, T, PTX, A, B, P, TA, TB)                                                                  \
  template <bool kRowsA, bool kRowsB>                                                                          \
  struct Wgmma<N, T, kRowsA, kRowsB> {                                                                                         \
    static TCC_DEVICE void multiply(float (&d)[N / 2], uint64 a, uint64 b, bool accumulate) {                  \
      asm volatile("{ .reg .pred p; setp.ne.b32 p, %" #P ", 0; wgmma.mma_async.sync.aligned.m64n" #N           \
                   "k16.f32." PTX " {" TCC_WGMMA_LIST##N "}, %" #A ", %" #B ", p, 1, 1, %" #TA ", %" #TB "; }" \
                   : TCC_WGMMA_D##N                                                                            \
                   : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)), "n"(kRowsA ? 1 : 0), "n"(kRowsB ? 1 : 0) \
                   : "memory");                                                                                \
    }                                                                                                          \
  };
#define TCC_WGMMA_TYPES(N, A, B, P, TA, TB)                 \
  TCC_WGMMA(N, __half, "f16.f16", A, B, P, TA, TB)          \
  TCC_WGMMA(N, __nv_bfloat16, "bf16.bf16", A, B, P, TA, TB)
TCC_WGMMA_TYPES(64, 32, 33, 34, 35, 36)
TCC_WGMMA_TYPES(128, 64, 65, 66, 67, 68)
TCC_WGMMA_TYPES(256, 128, 129, 130, 131, 132)
#undef TCC_WGMMA_TYPES
#undef TCC_WGMMA
#undef TCC_WGMMA_LIST256
#undef TCC_WGMMA_LIST128
#undef TCC_WGMMA_LIST64
#undef TCC_WGMMA_D256
#undef TCC_WGMMA_D128
#undef TCC_WGMMA_D64
#undef TCC_WGMMA_D32
#undef TCC_WGMMA_D8
#endif

}  // namespace tcc
