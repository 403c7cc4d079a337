// How generated CPU kernels are called. The generated code reads these fields at fixed offsets: changing this file
// means a new kAbiVersion and, for packages, a new major format.
#pragma once

#include <cstdint>

namespace tcc {

inline constexpr int64_t kKernelAbiVersion = 1;

extern "C" {
struct TccKernelContext {
  int64_t abi_version;
  void* const* buffers;    // kernel inputs, then outputs, then temporaries and constants, as the launch lists them
  const int64_t* scalars;  // values of the symbols the kernel uses, as the launch lists them
  void* scratch;           // 64-byte aligned, `scratch_bytes` of the launch, private to the calling thread
};

// Does the work items [begin, end). Different ranges may run at the same time on different threads.
typedef void (*TccKernelFunction)(const TccKernelContext* context, int64_t begin, int64_t end);
}

}  // namespace tcc
