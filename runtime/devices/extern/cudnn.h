// cuDNN 9, found at run time, by its graph API ("backend API"): the declarations of it that we need are our own, so
// that nothing of CUDA has to be there when tcc is built. A test compares with cudnn_graph.h where that is at hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/devices/extern/dynamic_library.h"

namespace tcc::devices::cudnn {

using Result = int;  // cudnnStatus_t: thousands say what kind of error it is
inline constexpr Result kSuccess = 0;
inline constexpr Result kNotSupported = 3000;
inline constexpr Result kHostAllocation = 4003;
inline constexpr Result kDeviceAllocation = 4004;

// cudnnBackendDescriptorType_t
inline constexpr int kPointwise = 0;
inline constexpr int kConvolution = 1;
inline constexpr int kEngine = 2;
inline constexpr int kEngineConfig = 3;
inline constexpr int kHeuristics = 4;
inline constexpr int kExecutionPlan = 5;
inline constexpr int kConvolutionForward = 10;
inline constexpr int kPointwiseOperation = 13;
inline constexpr int kOperationGraph = 15;
inline constexpr int kVariantPack = 16;
inline constexpr int kTensor = 17;

// cudnnBackendAttributeType_t
inline constexpr int kTypeHandle = 0;
inline constexpr int kTypeDataType = 1;
inline constexpr int kTypeBoolean = 2;
inline constexpr int kTypeInt64 = 3;
inline constexpr int kTypeFloat = 4;
inline constexpr int kTypePointer = 6;
inline constexpr int kTypeConvolutionMode = 7;
inline constexpr int kTypeHeuristicsMode = 8;
inline constexpr int kTypeNumericalNote = 11;
inline constexpr int kTypePointwiseMode = 14;
inline constexpr int kTypeDescriptor = 15;

// cudnnBackendAttributeName_t
inline constexpr int kPointwiseMode = 0;
inline constexpr int kPointwisePrecision = 1;
inline constexpr int kConvolutionType = 100;
inline constexpr int kConvolutionMode = 101;
inline constexpr int kConvolutionDilations = 102;
inline constexpr int kConvolutionStrides = 103;
inline constexpr int kConvolutionPaddingAfter = 104;
inline constexpr int kConvolutionPaddingBefore = 105;
inline constexpr int kConvolutionAxes = 106;
inline constexpr int kHeuristicsMode = 200;
inline constexpr int kHeuristicsGraph = 201;
inline constexpr int kHeuristicsResults = 202;
inline constexpr int kEngineConfigEngine = 300;
inline constexpr int kPlanHandle = 400;
inline constexpr int kPlanEngineConfig = 401;
inline constexpr int kPlanWorkspace = 402;
inline constexpr int kForwardAlpha = 700;
inline constexpr int kForwardBeta = 701;
inline constexpr int kForwardConvolution = 702;
inline constexpr int kForwardW = 703;
inline constexpr int kForwardX = 704;
inline constexpr int kForwardY = 705;
inline constexpr int kOperationPointwise = 750;
inline constexpr int kOperationX = 751;
inline constexpr int kOperationB = 752;
inline constexpr int kOperationY = 753;
inline constexpr int kGraphHandle = 800;
inline constexpr int kGraphOperations = 801;
inline constexpr int kTensorAlignment = 900;
inline constexpr int kTensorType = 901;
inline constexpr int kTensorExtents = 902;
inline constexpr int kTensorStrides = 903;
inline constexpr int kTensorId = 906;
inline constexpr int kTensorIsVirtual = 907;
inline constexpr int kPackIds = 1000;
inline constexpr int kPackPointers = 1001;
inline constexpr int kPackWorkspace = 1003;
inline constexpr int kEngineNumericalNotes = 1303;

inline constexpr int kFloat = 0;  // cudnnDataType_t
inline constexpr int kHalf = 2;
inline constexpr int kBfloat16 = 9;
inline constexpr int kCrossCorrelation = 1;  // cudnnConvolutionMode_t
inline constexpr int kAdd = 0;               // cudnnPointwiseMode_t
inline constexpr int kRelu = 100;
inline constexpr int kModeFallback = 2;  // cudnnBackendHeurMode_t
inline constexpr int kModeA = 3;
// cudnnBackendNumericalNote_t
inline constexpr int kNoteTensorCore = 0;
inline constexpr int kNoteDownConvert = 1;
inline constexpr int kNoteReducedSums = 2;
inline constexpr int kNoteFft = 3;
inline constexpr int kNoteNondeterministic = 4;
inline constexpr int kNoteWinograd = 5;
inline constexpr int kMostNotes = 64;  // room for those of later versions

struct Handle;
struct Descriptor;

// name, the symbol in the library, result, parameters
#define TCC_CUDNN_FUNCTIONS(F)                                                                \
  F(GetErrorString, cudnnGetErrorString, const char*, (Result))                               \
  F(Create, cudnnCreate, Result, (Handle**))                                                  \
  F(Destroy, cudnnDestroy, Result, (Handle*))                                                 \
  F(SetStream, cudnnSetStream, Result, (Handle*, void*))                                      \
  F(CreateDescriptor, cudnnBackendCreateDescriptor, Result, (int, Descriptor**))              \
  F(DestroyDescriptor, cudnnBackendDestroyDescriptor, Result, (Descriptor*))                  \
  F(Finalize, cudnnBackendFinalize, Result, (Descriptor*))                                    \
  F(Set, cudnnBackendSetAttribute, Result, (Descriptor*, int, int, int64_t, const void*))     \
  F(Get, cudnnBackendGetAttribute, Result, (Descriptor*, int, int, int64_t, int64_t*, void*)) \
  F(Execute, cudnnBackendExecute, Result, (Handle*, Descriptor*, Descriptor*))

// What it is called, and where it is looked for.
const LibraryName& Name();

struct Library {
  size_t version = 0;  // 92600 for 9.26.0
  TCC_CUDNN_FUNCTIONS(TCC_LIBRARY_MEMBER)

  std::string VersionText() const;  // "9.26.0"
  // OK for kSuccess.
  absl::Status Error(Result result, absl::string_view what) const;

  // `path`: the file; empty: $TCC_CUDNN, else where the loader finds libcudnn.so.9. NotFound where there is none,
  // FailedPrecondition for another version, or none at all; says which file, and what to do. Each is loaded once and
  // stays; thread-safe.
  static absl::StatusOr<const Library*> Load(const std::string& path = "");
};

}  // namespace tcc::devices::cudnn
