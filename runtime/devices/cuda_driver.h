// The CUDA driver, found at run time: the declarations of it that we need are our own, so that nothing of CUDA has to
// be there when tcc is built. Its ABI is stable; tests compare with cuda.h where that is at hand.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tcc::devices::cuda {

using Result = int;  // CUresult
inline constexpr Result kSuccess = 0;
inline constexpr Result kOutOfMemory = 2;
inline constexpr Result kNoDevice = 100;
inline constexpr Result kInvalidDevice = 101;
inline constexpr Result kInvalidImage = 200;
inline constexpr Result kNoBinaryForGpu = 209;
inline constexpr Result kInvalidPtx = 218;
inline constexpr Result kUnsupportedPtxVersion = 222;
inline constexpr Result kNotFound = 500;
inline constexpr Result kNotReady = 600;
inline constexpr Result kLaunchOutOfResources = 701;
inline constexpr Result kSystemNotReady = 802;

using DevicePtr = unsigned long long;  // CUdeviceptr_v2
using DeviceId = int;
struct Context;
struct Stream;
struct Event;
struct Module;
struct Function;
struct Graph;
struct GraphExec;
struct alignas(64) TensorMap {  // CUtensorMap
  unsigned char opaque[128];
};

inline constexpr int kAttributeMaxThreadsPerBlock = 1;
inline constexpr int kAttributeSharedPerBlock = 8;
inline constexpr int kAttributeWarpSize = 10;
inline constexpr int kAttributeClockRate = 13;
inline constexpr int kAttributeMultiprocessors = 16;
inline constexpr int kAttributeMemoryClockRate = 36;
inline constexpr int kAttributeMemoryBusBits = 37;
inline constexpr int kAttributeL2Bytes = 38;
inline constexpr int kAttributeMaxThreadsPerMultiprocessor = 39;
inline constexpr int kAttributeMajor = 75;
inline constexpr int kAttributeMinor = 76;
inline constexpr int kAttributeSharedPerMultiprocessor = 81;
inline constexpr int kAttributeRegistersPerMultiprocessor = 82;
inline constexpr int kAttributeSharedPerBlockOptin = 97;
inline constexpr int kFunctionMaxDynamicShared = 8;
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDefault = 0;
inline constexpr int kJitErrorLog = 5;
inline constexpr int kJitErrorLogBytes = 6;
inline constexpr int kCaptureThreadLocal = 1;
inline constexpr int kTensorMapU8 = 0;
inline constexpr int kTensorMapU16 = 1;
inline constexpr int kTensorMapU32 = 2;
inline constexpr int kTensorMapU64 = 4;
inline constexpr int kTensorMapNotInterleaved = 0;
inline constexpr int kTensorMapPromoteL2To256Bytes = 3;
inline constexpr int kTensorMapZerosBeyond = 0;

// name, the symbol in the library, parameters
#define TCC_CUDA_FUNCTIONS(F)                                                                                   \
  F(Init, "cuInit", (unsigned))                                                                                 \
  F(DriverGetVersion, "cuDriverGetVersion", (int*))                                                             \
  F(GetErrorName, "cuGetErrorName", (Result, const char**))                                                     \
  F(GetErrorString, "cuGetErrorString", (Result, const char**))                                                 \
  F(DeviceGetCount, "cuDeviceGetCount", (int*))                                                                 \
  F(DeviceGet, "cuDeviceGet", (DeviceId*, int))                                                                 \
  F(DeviceGetName, "cuDeviceGetName", (char*, int, DeviceId))                                                   \
  F(DeviceGetAttribute, "cuDeviceGetAttribute", (int*, int, DeviceId))                                          \
  F(DeviceTotalMem, "cuDeviceTotalMem_v2", (size_t*, DeviceId))                                                 \
  F(PrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (Context**, DeviceId))                                        \
  F(PrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (DeviceId))                                              \
  F(CtxGetCurrent, "cuCtxGetCurrent", (Context**))                                                              \
  F(CtxSetCurrent, "cuCtxSetCurrent", (Context*))                                                               \
  F(MemGetInfo, "cuMemGetInfo_v2", (size_t*, size_t*))                                                          \
  F(MemAlloc, "cuMemAlloc_v2", (DevicePtr*, size_t))                                                            \
  F(MemFree, "cuMemFree_v2", (DevicePtr))                                                                       \
  F(MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (DevicePtr, const void*, size_t, Stream*))                         \
  F(MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void*, DevicePtr, size_t, Stream*))                               \
  F(MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", (DevicePtr, DevicePtr, size_t, Stream*))                           \
  F(MemsetD8Async, "cuMemsetD8Async", (DevicePtr, unsigned char, size_t, Stream*))                              \
  F(StreamCreate, "cuStreamCreate", (Stream**, unsigned))                                                       \
  F(StreamDestroy, "cuStreamDestroy_v2", (Stream*))                                                             \
  F(StreamSynchronize, "cuStreamSynchronize", (Stream*))                                                        \
  F(StreamWaitEvent, "cuStreamWaitEvent", (Stream*, Event*, unsigned))                                          \
  F(EventCreate, "cuEventCreate", (Event**, unsigned))                                                          \
  F(EventDestroy, "cuEventDestroy_v2", (Event*))                                                                \
  F(EventRecord, "cuEventRecord", (Event*, Stream*))                                                            \
  F(EventQuery, "cuEventQuery", (Event*))                                                                       \
  F(EventElapsedTime, "cuEventElapsedTime", (float*, Event*, Event*))                                           \
  F(ModuleLoadDataEx, "cuModuleLoadDataEx", (Module**, const void*, unsigned, int*, void**))                    \
  F(ModuleUnload, "cuModuleUnload", (Module*))                                                                  \
  F(ModuleGetFunction, "cuModuleGetFunction", (Function**, Module*, const char*))                               \
  F(FuncSetAttribute, "cuFuncSetAttribute", (Function*, int, int))                                              \
  F(LaunchKernel, "cuLaunchKernel",                                                                             \
    (Function*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream*, void**, void**)) \
  F(StreamBeginCapture, "cuStreamBeginCapture_v2", (Stream*, int))                                              \
  F(StreamEndCapture, "cuStreamEndCapture", (Stream*, Graph**))                                                 \
  F(GraphInstantiate, "cuGraphInstantiateWithFlags", (GraphExec**, Graph*, unsigned long long))                 \
  F(GraphLaunch, "cuGraphLaunch", (GraphExec*, Stream*))                                                        \
  F(GraphExecDestroy, "cuGraphExecDestroy", (GraphExec*))                                                       \
  F(GraphDestroy, "cuGraphDestroy", (Graph*))

// Of newer drivers; where it is missing it is null.
#define TCC_CUDA_LATER_FUNCTIONS(F)                                                                           \
  F(TensorMapEncodeTiled, "cuTensorMapEncodeTiled",                                                           \
    (TensorMap*, int, unsigned, void*, const unsigned long long*, const unsigned long long*, const unsigned*, \
     const unsigned*, int, int, int, int))                                                                    \
  F(FuncGetParamInfo, "cuFuncGetParamInfo", (Function*, size_t, size_t*, size_t*))

struct Driver {
#define TCC_CUDA_MEMBER(name, symbol, parameters) Result(*name) parameters = nullptr;
  TCC_CUDA_FUNCTIONS(TCC_CUDA_MEMBER)
  TCC_CUDA_LATER_FUNCTIONS(TCC_CUDA_MEMBER)
#undef TCC_CUDA_MEMBER

  int version = 0;  // 13000: CUDA 13.0
  int devices = 0;

  // Loads `library`, once per name and process; empty: $TCC_CUDA_DRIVER, or else libcuda.so.1. Errors (NotFound,
  // FailedPrecondition) for no library, no device, and a driver too old.
  static absl::StatusOr<const Driver*> Load(const std::string& library);

  // "out of memory (CUDA_ERROR_OUT_OF_MEMORY)", as a status of the kind it is.
  absl::Status Error(Result result, absl::string_view what) const;
};

}  // namespace tcc::devices::cuda
