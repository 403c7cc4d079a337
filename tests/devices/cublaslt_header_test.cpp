// The declarations of cuBLASLt that are ours, compared with its own.
#include <cublasLt.h>
#include <gtest/gtest.h>

#include "runtime/devices/extern/cublaslt.h"
#include "tests/devices/abi_match.h"

namespace tcc::devices::cublaslt {
namespace {

#define TCC_CHECK(name, symbol, result, parameters) \
  static_assert(AbiMatches<decltype(Library::name), decltype(&::symbol)>::value, #symbol);
TCC_CUBLASLT_FUNCTIONS(TCC_CHECK)

TEST(CublasLtHeader, Constants) {
  EXPECT_EQ(kSuccess, CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(kAllocFailed, CUBLAS_STATUS_ALLOC_FAILED);
  EXPECT_EQ(kArchMismatch, CUBLAS_STATUS_ARCH_MISMATCH);
  EXPECT_EQ(kNotSupported, CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(kCompute32F, CUBLAS_COMPUTE_32F);
  EXPECT_EQ(kCompute64F, CUBLAS_COMPUTE_64F);
  EXPECT_EQ(kCompute32FastTf32, CUBLAS_COMPUTE_32F_FAST_TF32);
  EXPECT_EQ(kR32F, CUDA_R_32F);
  EXPECT_EQ(kR64F, CUDA_R_64F);
  EXPECT_EQ(kR16F, CUDA_R_16F);
  EXPECT_EQ(kR16BF, CUDA_R_16BF);
  EXPECT_EQ(kOpN, CUBLAS_OP_N);
  EXPECT_EQ(kOpT, CUBLAS_OP_T);
  EXPECT_EQ(kDescTransA, CUBLASLT_MATMUL_DESC_TRANSA);
  EXPECT_EQ(kDescTransB, CUBLASLT_MATMUL_DESC_TRANSB);
  EXPECT_EQ(kDescEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
  EXPECT_EQ(kDescBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
  EXPECT_EQ(kEpilogueDefault, CUBLASLT_EPILOGUE_DEFAULT);
  EXPECT_EQ(kEpilogueRelu, CUBLASLT_EPILOGUE_RELU);
  EXPECT_EQ(kEpilogueBias, CUBLASLT_EPILOGUE_BIAS);
  EXPECT_EQ(kEpilogueBias | kEpilogueRelu, CUBLASLT_EPILOGUE_RELU_BIAS);
  EXPECT_EQ(kLayoutBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  EXPECT_EQ(kLayoutBatchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  EXPECT_EQ(kPreferenceWorkspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  EXPECT_EQ(kPreferenceAlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
  EXPECT_EQ(kPreferenceAlignmentA + 3, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
}

TEST(CublasLtHeader, Structures) {
  EXPECT_EQ(sizeof(Algorithm), sizeof(cublasLtMatmulAlgo_t));
  EXPECT_EQ(sizeof(HeuristicResult), sizeof(cublasLtMatmulHeuristicResult_t));
  EXPECT_EQ(offsetof(HeuristicResult, workspace), offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
  EXPECT_EQ(offsetof(HeuristicResult, state), offsetof(cublasLtMatmulHeuristicResult_t, state));
}

}  // namespace
}  // namespace tcc::devices::cublaslt
