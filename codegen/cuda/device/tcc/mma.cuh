// mma.sync: a warp multiplies small matrices, D = A * B + D, whose elements are spread over its lanes ("fragments"). All
// lanes must be at the same instruction. The layouts (PTX ISA, "Matrix fragments for mma.m16n8k16" and so on) are the
// functions of MmaLayout, which kernels and the host twin share.
#pragma once

#include "tcc/float16.cuh"

namespace tcc {

/// Where element i of a lane's fragments lies. A is 16 x K, B is K x 8, C and D are 16 x 8. PER_REGISTER elements share a
/// 32-bit register of A and B, the first in its low bits. K is 8 * PER_REGISTER: 8 (tf32), 16 (f16, bf16), 32 (int8).
template <int PER_REGISTER>
struct MmaLayout {
  static constexpr int kM = 16, kN = 8, kK = 8 * PER_REGISTER;
  static constexpr int kRegistersA = 4, kRegistersB = 2, kRegistersC = 4;

  static TCC_DEVICE constexpr int a_row(int lane, int i) { return lane / 4 + (i / PER_REGISTER % 2) * 8; }
  static TCC_DEVICE constexpr int a_column(int lane, int i) {
    return lane % 4 * PER_REGISTER + i % PER_REGISTER + i / (2 * PER_REGISTER) * 4 * PER_REGISTER;
  }
  static TCC_DEVICE constexpr int b_row(int lane, int i) {
    return lane % 4 * PER_REGISTER + i % PER_REGISTER + i / PER_REGISTER * 4 * PER_REGISTER;
  }
  static TCC_DEVICE constexpr int b_column(int lane, int) { return lane / 4; }
  static TCC_DEVICE constexpr int c_row(int lane, int i) { return lane / 4 + i / 2 * 8; }
  static TCC_DEVICE constexpr int c_column(int lane, int i) { return lane % 4 * 2 + i % 2; }
};
using MmaLayout16 = MmaLayout<2>;    // m16n8k16 of f16 and bf16
using MmaLayoutTf32 = MmaLayout<1>;  // m16n8k8 of tf32
using MmaLayoutInt8 = MmaLayout<4>;  // m16n8k32 of s8 and u8

#ifdef TCC_SIM
}  // namespace tcc
namespace tcc_sim {
template <class C>
struct Mma {
  C* d;
  const unsigned *a, *b;
};
// DECODE_A and DECODE_B give element i of registers as a number that holds every product and sum exactly enough.
template <int PER_REGISTER, class C, class Wide, class DecodeA, class DecodeB>
TCC_SIM_RAW const char* combine_mma(void* const* lanes, unsigned arrived) {
  using Layout = ::tcc::MmaLayout<PER_REGISTER>;
  if (arrived != ~0u) return "not all lanes of the warp take part";
  Wide a[16][Layout::kK], b[8][Layout::kK];
  for (int lane = 0; lane < 32; ++lane) {
    auto* mine = static_cast<Mma<C>*>(lanes[lane]);
    for (int i = 0; i < 4 * PER_REGISTER; ++i) a[Layout::a_row(lane, i)][Layout::a_column(lane, i)] = DecodeA::element(mine->a, i);
    for (int i = 0; i < 2 * PER_REGISTER; ++i) b[Layout::b_column(lane, i)][Layout::b_row(lane, i)] = DecodeB::element(mine->b, i);
  }
  for (int lane = 0; lane < 32; ++lane) {
    auto* mine = static_cast<Mma<C>*>(lanes[lane]);
    for (int i = 0; i < 4; ++i) {
      const Wide *row = a[Layout::c_row(lane, i)], *column = b[Layout::c_column(lane, i)];
      Wide sum = static_cast<Wide>(mine->d[i]);
      for (int k = 0; k < Layout::kK; ++k) sum += row[k] * column[k];
      mine->d[i] = static_cast<C>(sum);
    }
  }
  return nullptr;
}
struct DecodeF16 {
  static TCC_SIM_RAW double element(const unsigned* r, int i) { return ::tcc::f16_value(static_cast<unsigned short>(r[i / 2] >> (i % 2 * 16))); }
};
struct DecodeBf16 {
  static TCC_SIM_RAW double element(const unsigned* r, int i) { return ::tcc::bf16_value(static_cast<unsigned short>(r[i / 2] >> (i % 2 * 16))); }
};
struct DecodeTf32 {  // the low bits are not looked at
  static TCC_SIM_RAW double element(const unsigned* r, int i) { return __uint_as_float(r[i] & 0xffffe000u); }
};
struct DecodeS8 {
  static TCC_SIM_RAW unsigned element(const unsigned* r, int i) { return static_cast<unsigned>(static_cast<signed char>(r[i / 4] >> (i % 4 * 8))); }
};
struct DecodeU8 {
  static TCC_SIM_RAW unsigned element(const unsigned* r, int i) { return static_cast<unsigned char>(r[i / 4] >> (i % 4 * 8)); }
};
template <int PER_REGISTER, class C, class Wide, class DecodeA, class DecodeB>
inline const TccSimWarpOp mma_op = {"mma.sync", combine_mma<PER_REGISTER, C, Wide, DecodeA, DecodeB>, kTccSimAligned};
}  // namespace tcc_sim
namespace tcc {
#define TCC_MMA(NAME, PTX, PER_REGISTER, C, CONSTRAINT, WIDE, DECODE_A, DECODE_B)                        \
  inline TCC_SIM_CALL void NAME(C(&d)[4], const uint32(&a)[4], const uint32(&b)[2]) {                    \
    ::tcc_sim::Mma<C> mine = {d, a, b};                                                                  \
    ::tcc_sim::api->warp(&::tcc_sim::mma_op<PER_REGISTER, C, WIDE, ::tcc_sim::DECODE_A, ::tcc_sim::DECODE_B>, ~0u, &mine, TCC_SIM_PC); \
  }
#else
#define TCC_MMA(NAME, PTX, PER_REGISTER, C, CONSTRAINT, WIDE, DECODE_A, DECODE_B)                        \
  TCC_DEVICE void NAME(C(&d)[4], const uint32(&a)[4], const uint32(&b)[2]) {                             \
    asm volatile("mma.sync.aligned." PTX " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
                 : "+" CONSTRAINT(d[0]), "+" CONSTRAINT(d[1]), "+" CONSTRAINT(d[2]), "+" CONSTRAINT(d[3]) \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                     \
  }
#endif
TCC_MMA(mma_m16n8k16_f16, "m16n8k16.row.col.f32.f16.f16.f32", 2, float, "f", double, DecodeF16, DecodeF16)
TCC_MMA(mma_m16n8k16_bf16, "m16n8k16.row.col.f32.bf16.bf16.f32", 2, float, "f", double, DecodeBf16, DecodeBf16)
TCC_MMA(mma_m16n8k8_tf32, "m16n8k8.row.col.f32.tf32.tf32.f32", 1, float, "f", double, DecodeTf32, DecodeTf32)
TCC_MMA(mma_m16n8k32_s8s8, "m16n8k32.row.col.s32.s8.s8.s32", 4, int32, "r", unsigned, DecodeS8, DecodeS8)
TCC_MMA(mma_m16n8k32_u8u8, "m16n8k32.row.col.s32.u8.u8.s32", 4, int32, "r", unsigned, DecodeU8, DecodeU8)
TCC_MMA(mma_m16n8k32_s8u8, "m16n8k32.row.col.s32.s8.u8.s32", 4, int32, "r", unsigned, DecodeS8, DecodeU8)
TCC_MMA(mma_m16n8k32_u8s8, "m16n8k32.row.col.s32.u8.s8.s32", 4, int32, "r", unsigned, DecodeU8, DecodeS8)
#undef TCC_MMA

/// By the element type, for templates.
template <class T>
TCC_DEVICE void mma_m16n8k16(float (&d)[4], const uint32 (&a)[4], const uint32 (&b)[2]);
template <>
TCC_DEVICE void mma_m16n8k16<__half>(float (&d)[4], const uint32 (&a)[4], const uint32 (&b)[2]) {
  mma_m16n8k16_f16(d, a, b);
}
template <>
TCC_DEVICE void mma_m16n8k16<__nv_bfloat16>(float (&d)[4], const uint32 (&a)[4], const uint32 (&b)[2]) {
  mma_m16n8k16_bf16(d, a, b);
}

/// The bits of a float rounded to tf32 (10 bits of mantissa): to nearest, ties away from zero.
#ifdef TCC_SIM
TCC_DEVICE uint32 to_tf32(float x) {
  const uint32 bits = __float_as_uint(x);
  return (bits & 0x7f800000u) == 0x7f800000u ? bits : (bits + 0x1000u) & 0xffffe000u;
}
#else
TCC_DEVICE uint32 to_tf32(float x) {
  uint32 bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
}
#endif

}  // namespace tcc
