// How generated CPU kernels are called. The generated code reads these fields at fixed offsets: changing this file
// means a new kAbiVersion and, for packages, a new major format.
#pragma once

#include <cstdint>

namespace tcc {

inline constexpr int64_t kKernelAbiVersion = 1;

extern "C" {
struct TccKernelContext {
  int64_t abi_version;
  // Kernel inputs, then outputs, then temporaries and constants, as the launch lists them. Memory of the arena, of
  // constants and of fresh values is 64-byte aligned, and up to 64 bytes past its end may be read. Inputs and outputs
  // that the caller owns are aligned to their element only and end where they end.
  void* const* buffers;
  const int64_t* scalars;  // values of the symbols the kernel uses, as the launch lists them
  void* scratch;           // 64-byte aligned, `scratch_bytes` of the launch, private to the calling thread
  // A kernel that meets bad data stores one of TccKernelError here (a plain store: all threads may), and goes on
  // without touching memory outside its buffers. The caller then fails the call. Kernels never read or clear it.
  int64_t* error;
};

enum TccKernelError : int64_t {
  kTccKernelOk = 0,
  kTccIndexOutOfRange = 1,  // an index of a gather, scatter, ... lies outside the axis
  kTccDivisionByZero = 2,   // of integers
};

// Does the work items [begin, end). Different ranges may run at the same time on different threads.
typedef void (*TccKernelFunction)(const TccKernelContext* context, int64_t begin, int64_t end);
}

}  // namespace tcc
