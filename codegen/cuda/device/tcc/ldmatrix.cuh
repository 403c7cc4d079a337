// ldmatrix (sm_75): a warp loads 8x8 matrices of 16-bit elements from shared memory into the fragments of mma.sync. Lane
// 8 * m + r passes the address of row r of matrix m, 16 bytes at a multiple of 16. Register m of lane l then holds
// elements (l / 4, 2 * (l % 4)) and (l / 4, 2 * (l % 4) + 1) of matrix m; `trans`: of its transpose. Addresses of lanes
// that no matrix needs are not read.
#pragma once

#include "tcc/platform.cuh"

namespace tcc {

#ifdef TCC_SIM
}  // namespace tcc
namespace tcc_sim {
struct MatrixLoad {
  const unsigned char* row;
  unsigned* registers;
};
template <int MATRICES, bool TRANS>
TCC_SIM_RAW const char* combine_ldmatrix(void* const* lanes, unsigned arrived) {
  if (arrived != ~0u) return "not all lanes of the warp take part";
  for (int m = 0; m < MATRICES; ++m) {
    unsigned short matrix[8][8];
    for (int r = 0; r < 8; ++r) memcpy(matrix[r], static_cast<MatrixLoad*>(lanes[8 * m + r])->row, 16);
    for (int lane = 0; lane < 32; ++lane) {
      const int row = lane / 4, column = 2 * (lane % 4);
      const unsigned first = TRANS ? matrix[column][row] : matrix[row][column];
      const unsigned second = TRANS ? matrix[column + 1][row] : matrix[row][column + 1];
      static_cast<MatrixLoad*>(lanes[lane])->registers[m] = second << 16 | first;
    }
  }
  return nullptr;
}
template <int MATRICES, bool TRANS>
inline const TccSimWarpOp ldmatrix_op = {"ldmatrix", combine_ldmatrix<MATRICES, TRANS>, kTccSimAligned};
template <int MATRICES, bool TRANS>
TCC_SIM_RAW inline void ldmatrix(unsigned* registers, const void* row, const void* pc) {
  if (lane() < 8 * MATRICES) {
    if (reinterpret_cast<unsigned long>(row) % 16 != 0) api->fail("ldmatrix of a row whose address is not a multiple of 16", pc);
    api->access(row, 16, kTccSimRead, 1, pc);
  }
  MatrixLoad mine = {static_cast<const unsigned char*>(row), registers};
  api->warp(&ldmatrix_op<MATRICES, TRANS>, ~0u, &mine, pc);
}
}  // namespace tcc_sim
namespace tcc {
#define TCC_LDMATRIX(NAME, N, TRANS)                                              \
  inline TCC_SIM_CALL void NAME(uint32 (&registers)[N], const void* row) {        \
    ::tcc_sim::ldmatrix<N, TRANS>(registers, row, TCC_SIM_PC);                    \
  }
TCC_LDMATRIX(ldmatrix_x1, 1, false)
TCC_LDMATRIX(ldmatrix_x2, 2, false)
TCC_LDMATRIX(ldmatrix_x4, 4, false)
TCC_LDMATRIX(ldmatrix_x1_trans, 1, true)
TCC_LDMATRIX(ldmatrix_x2_trans, 2, true)
TCC_LDMATRIX(ldmatrix_x4_trans, 4, true)
#undef TCC_LDMATRIX
#else
TCC_DEVICE void ldmatrix_x1(uint32 (&r)[1], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(shared_address(row)) : "memory");
}
TCC_DEVICE void ldmatrix_x2(uint32 (&r)[2], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(shared_address(row)) : "memory");
}
TCC_DEVICE void ldmatrix_x4(uint32 (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}
TCC_DEVICE void ldmatrix_x1_trans(uint32 (&r)[1], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(shared_address(row)) : "memory");
}
TCC_DEVICE void ldmatrix_x2_trans(uint32 (&r)[2], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(shared_address(row)) : "memory");
}
TCC_DEVICE void ldmatrix_x4_trans(uint32 (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}
#endif

}  // namespace tcc
