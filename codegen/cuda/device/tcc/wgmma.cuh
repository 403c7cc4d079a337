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

/// T is __half or __nv_bfloat16. Without `accumulate`, D = A * B.
template <int N, class T>
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
  switch (descriptor >> 62) {
    case 1: {
      const unsigned long at = group + row % 8 * 128 + piece * 16;
      return at ^ (at >> 3 & 0x70);
    }
    case 2: {
      const unsigned long at = group + row % 8 * 64 + piece * 16;
      return at ^ (at >> 3 & 0x30);
    }
    case 3: {
      const unsigned long at = group + row % 8 * 32 + piece * 16;
      return at ^ (at >> 3 & 0x10);
    }
    default:
      return group + row % 8 * 16 + piece * leading;
  }
}
template <int N, class T>
TCC_SIM_RAW const char* combine_wgmma(void* const* lanes, unsigned arrived) {
  if (arrived != ~0u) return "not all lanes of the warp take part";
  const WgmmaPart& first = *static_cast<WgmmaPart*>(lanes[0]);
  float a[16][16], b[N][16];
  for (int side = 0; side < 2; ++side) {
    for (int row = 0; row < (side == 0 ? 16 : N); ++row) {
      for (int piece = 0; piece < 2; ++piece) {
        T elements[8];
        memcpy(elements, first.memory + wgmma_piece(side == 0 ? first.a : first.b, side == 0 ? first.warp * 16 + row : row, piece), 16);
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
template <int N, class T>
inline const TccSimWarpOp wgmma_op = {"wgmma.mma_async", combine_wgmma<N, T>, kTccSimAligned};
template <int N, class T>
TCC_SIM_CALL void wgmma(float (&d)[N / 2], unsigned long long a, unsigned long long b, bool accumulate) {
  const int warp = static_cast<int>(self()->linear / 32 % 4);
  const unsigned char* memory = dynamic_shared();
#if TCC_SIM_CHECKED
  const int l = static_cast<int>(lane());
  api->access(memory + wgmma_piece(a, warp * 16 + l / 2, l % 2), 16, kTccSimRead, 1, TCC_SIM_PC);
  for (int i = l; i < 2 * N; i += 32) api->access(memory + wgmma_piece(b, i / 2, i % 2), 16, kTccSimRead, 1, TCC_SIM_PC);
#endif
  WgmmaPart mine = {d, a, b, accumulate, warp, memory};
  api->warp(&wgmma_op<N, T>, ~0u, &mine, TCC_SIM_PC);
}
}  // namespace tcc_sim
namespace tcc {
template <int N, class T>
struct Wgmma {
  static TCC_DEVICE void multiply(float (&d)[N / 2], uint64 a, uint64 b, bool accumulate) {
    ::tcc_sim::wgmma<N, T>(d, a, b, accumulate);
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
#define TCC_WGMMA_64(T, PTX)                                                   \
  template <>                                                                    \
  struct Wgmma<64, T> {                                                           \
    static TCC_DEVICE void multiply(float (&d)[32], uint64 a, uint64 b, bool accumulate) { \
      asm volatile(                                                              \
        "{ .reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32." PTX " {" \
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31" \
        "}, %32, %33, p, 1, 1, 0, 0; }"                                        \
        : \
          "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), \
          "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), \
          "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]) \
        : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)) \
        : "memory");                                                             \
    }                                                                            \
  };
TCC_WGMMA_64(__half, "f16.f16")
TCC_WGMMA_64(__nv_bfloat16, "bf16.bf16")
#undef TCC_WGMMA_64
#define TCC_WGMMA_128(T, PTX)                                                   \
  template <>                                                                    \
  struct Wgmma<128, T> {                                                           \
    static TCC_DEVICE void multiply(float (&d)[64], uint64 a, uint64 b, bool accumulate) { \
      asm volatile(                                                              \
        "{ .reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32." PTX " {" \
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63" \
        "}, %64, %65, p, 1, 1, 0, 0; }"                                        \
        : \
          "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), \
          "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), \
          "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), \
          "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), \
          "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), \
          "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), \
          "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]) \
        : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)) \
        : "memory");                                                             \
    }                                                                            \
  };
TCC_WGMMA_128(__half, "f16.f16")
TCC_WGMMA_128(__nv_bfloat16, "bf16.bf16")
#undef TCC_WGMMA_128
#define TCC_WGMMA_256(T, PTX)                                                   \
  template <>                                                                    \
  struct Wgmma<256, T> {                                                           \
    static TCC_DEVICE void multiply(float (&d)[128], uint64 a, uint64 b, bool accumulate) { \
      asm volatile(                                                              \
        "{ .reg .pred p; setp.ne.b32 p, %130, 0; wgmma.mma_async.sync.aligned.m64n256k16.f32." PTX " {" \
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, " \
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127" \
        "}, %128, %129, p, 1, 1, 0, 0; }"                                        \
        : \
          "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), \
          "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), \
          "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), \
          "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), \
          "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), \
          "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), \
          "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), \
          "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), \
          "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), \
          "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), \
          "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), \
          "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), \
          "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]), \
          "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), \
          "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127]) \
        : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)) \
        : "memory");                                                             \
    }                                                                            \
  };
TCC_WGMMA_256(__half, "f16.f16")
TCC_WGMMA_256(__nv_bfloat16, "bf16.bf16")
#undef TCC_WGMMA_256
#endif

}  // namespace tcc
