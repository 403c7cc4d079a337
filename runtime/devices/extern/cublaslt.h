// cuBLASLt, found at run time: the declarations of it that we need are our own, so that nothing of CUDA has to be there
// when tcc is built. From "cuBLAS Library", chapter "Using the cuBLASLt API"; a test compares with cublasLt.h where
// that is at hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/devices/extern/dynamic_library.h"

namespace tcc::devices::cublaslt {

using Result = int;  // cublasStatus_t
inline constexpr Result kSuccess = 0;
inline constexpr Result kAllocFailed = 3;
inline constexpr Result kArchMismatch = 8;
inline constexpr Result kNotSupported = 15;

inline constexpr int kCompute32F = 68;  // cublasComputeType_t
inline constexpr int kCompute64F = 70;
inline constexpr int kCompute32FastTf32 = 77;
inline constexpr int kR32F = 0;  // cudaDataType
inline constexpr int kR64F = 1;
inline constexpr int kR16F = 2;
inline constexpr int kR16BF = 14;
inline constexpr int32_t kOpN = 0;  // cublasOperation_t
inline constexpr int32_t kOpT = 1;
inline constexpr int kDescTransA = 3;  // cublasLtMatmulDescAttributes_t
inline constexpr int kDescTransB = 4;
inline constexpr int kDescEpilogue = 7;
inline constexpr int kDescBiasPointer = 8;
inline constexpr uint32_t kEpilogueDefault = 1;  // cublasLtEpilogue_t
inline constexpr uint32_t kEpilogueRelu = 2;
inline constexpr uint32_t kEpilogueBias = 4;
inline constexpr int kLayoutBatchCount = 5;  // cublasLtMatrixLayoutAttribute_t
inline constexpr int kLayoutBatchStride = 6;
inline constexpr int kPreferenceWorkspace = 1;   // cublasLtMatmulPreferenceAttributes_t
inline constexpr int kPreferenceAlignmentA = 5;  // then those of B, C, D

struct Handle;
struct Desc;
struct Layout;
struct Preference;
struct Algorithm {
  uint64_t data[8];
};
struct HeuristicResult {
  Algorithm algorithm;
  size_t workspace;
  Result state;
  float waves;
  int reserved[4];
};

// name, the symbol in the library, result, parameters
#define TCC_CUBLASLT_FUNCTIONS(F)                                                                                \
  F(GetStatusString, cublasLtGetStatusString, const char*, (Result))                                             \
  F(Create, cublasLtCreate, Result, (Handle**))                                                                  \
  F(Destroy, cublasLtDestroy, Result, (Handle*))                                                                 \
  F(DescCreate, cublasLtMatmulDescCreate, Result, (Desc**, int, int))                                            \
  F(DescDestroy, cublasLtMatmulDescDestroy, Result, (Desc*))                                                     \
  F(DescSet, cublasLtMatmulDescSetAttribute, Result, (Desc*, int, const void*, size_t))                          \
  F(LayoutCreate, cublasLtMatrixLayoutCreate, Result, (Layout**, int, uint64_t, uint64_t, int64_t))              \
  F(LayoutDestroy, cublasLtMatrixLayoutDestroy, Result, (Layout*))                                               \
  F(LayoutSet, cublasLtMatrixLayoutSetAttribute, Result, (Layout*, int, const void*, size_t))                    \
  F(PreferenceCreate, cublasLtMatmulPreferenceCreate, Result, (Preference**))                                    \
  F(PreferenceDestroy, cublasLtMatmulPreferenceDestroy, Result, (Preference*))                                   \
  F(PreferenceSet, cublasLtMatmulPreferenceSetAttribute, Result, (Preference*, int, const void*, size_t))        \
  F(Heuristic, cublasLtMatmulAlgoGetHeuristic, Result,                                                           \
    (Handle*, Desc*, Layout*, Layout*, Layout*, Layout*, Preference*, int, HeuristicResult*, int*))              \
  F(Matmul, cublasLtMatmul, Result,                                                                              \
    (Handle*, Desc*, const void*, const void*, Layout*, const void*, Layout*, const void*, const void*, Layout*, \
     void*, Layout*, const Algorithm*, void*, size_t, void*))

// What it is called, and where it is looked for.
const LibraryName& Name();

struct Library {
  size_t version = 0;  // 130000 for 13.0.0
  TCC_CUBLASLT_FUNCTIONS(TCC_LIBRARY_MEMBER)

  std::string VersionText() const;  // "13.0"
  // OK for kSuccess.
  absl::Status Error(Result result, absl::string_view what) const;

  // `path`: the file; empty: $TCC_CUBLASLT, else where the loader finds libcublasLt.so.13 or .12. NotFound where there
  // is none, FailedPrecondition for one that is too old, or none at all; says which file, and what to do. Each is
  // loaded once and stays; thread-safe.
  static absl::StatusOr<const Library*> Load(const std::string& path = "");
};

}  // namespace tcc::devices::cublaslt
