// The declarations of runtime/devices/cuda_driver.h against those of CUDA's own header.
#include <cuda.h>
#include <gtest/gtest.h>

#include <string_view>

#include "runtime/devices/cuda_driver.h"
#include "tests/devices/abi_match.h"

namespace tcc::devices::cuda {
namespace {

// The names in the header are macros for those in the library. (CUDA 13 calls a second version of cuEventElapsedTime by
// that name; it takes the same, and the first is there still.)
constexpr bool IsNamed(std::string_view symbol, std::string_view in_header) {
  return symbol == in_header || (symbol == "cuEventElapsedTime" && in_header == "cuEventElapsedTime_v2");
}
#define TCC_CHECK(name, symbol, parameters)                                                \
  static_assert(AbiMatches<decltype(Driver::name), decltype(&::cu##name)>::value, symbol); \
  static_assert(IsNamed(symbol, TCC_SYMBOL(cu##name)), symbol);
#define cuPrimaryCtxRetain cuDevicePrimaryCtxRetain
#define cuPrimaryCtxRelease cuDevicePrimaryCtxRelease
TCC_CUDA_FUNCTIONS(TCC_CHECK)
TCC_CUDA_LATER_FUNCTIONS(TCC_CHECK)

static_assert(sizeof(DevicePtr) == sizeof(CUdeviceptr));
static_assert(kOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY && kNoDevice == CUDA_ERROR_NO_DEVICE);
static_assert(kInvalidDevice == CUDA_ERROR_INVALID_DEVICE && kInvalidImage == CUDA_ERROR_INVALID_IMAGE);
static_assert(kNoBinaryForGpu == CUDA_ERROR_NO_BINARY_FOR_GPU && kInvalidPtx == CUDA_ERROR_INVALID_PTX);
static_assert(kUnsupportedPtxVersion == CUDA_ERROR_UNSUPPORTED_PTX_VERSION && kNotFound == CUDA_ERROR_NOT_FOUND);
static_assert(kNotReady == CUDA_ERROR_NOT_READY);
static_assert(kLaunchOutOfResources == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
static_assert(kSystemNotReady == CUDA_ERROR_SYSTEM_NOT_READY);
static_assert(kAttributeMaxThreadsPerBlock == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
static_assert(kAttributeSharedPerBlock == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
static_assert(kAttributeWarpSize == CU_DEVICE_ATTRIBUTE_WARP_SIZE);
static_assert(kAttributeClockRate == CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
static_assert(kAttributeMultiprocessors == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(kAttributeMemoryClockRate == CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
static_assert(kAttributeMemoryBusBits == CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
static_assert(kAttributeL2Bytes == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
static_assert(kAttributeMaxThreadsPerMultiprocessor == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
static_assert(kAttributeMajor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(kAttributeMinor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(kAttributeSharedPerMultiprocessor == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
static_assert(kAttributeRegistersPerMultiprocessor == CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
static_assert(kAttributeSharedPerBlockOptin == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
static_assert(kFunctionMaxDynamicShared == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
static_assert(kStreamNonBlocking == CU_STREAM_NON_BLOCKING && kEventDefault == CU_EVENT_DEFAULT);
static_assert(kJitErrorLog == CU_JIT_ERROR_LOG_BUFFER && kJitErrorLogBytes == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
static_assert(kCaptureThreadLocal == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);

// What is above is checked by compiling it.
TEST(CudaHeader, DeclarationsAreThoseOfTheDriver) { SUCCEED(); }

}  // namespace
}  // namespace tcc::devices::cuda
