// A CUDA device on the host: kernels that clang compiled against the host twin of the device library run with the
// threads of a block as fibers. docs/cuda-sim.md says how, and what it proves.
//
// Compiling: the kernel's text, then ExportText(NAME) for each kernel in it, by clang++ with CompileFlags(), gives a
// shared object. Loading: dlopen (RTLD_NOW | RTLD_LOCAL), then FindKernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/devices/sim/sim_abi.h"

namespace tcc::sim {

// How clang++ has to be called, without input, output and include folders: `-I DIR` where DIR/tcc/device.cuh is. The
// text goes in as C++ (`-x c++` is among the flags). `checked`: the code reports its memory accesses, which makes it
// ten to fifty times slower, and lets Launch find what the class comment of LaunchOptions lists.
std::vector<std::string> CompileFlags(bool checked);

// What follows the text of a kernel so that FindKernel finds it.
std::string ExportText(absl::string_view kernel);

struct Kernel {
  std::string name;
  void (*entry)(void** params) = nullptr;
  TccSimModule* module = nullptr;
  std::shared_ptr<const std::string> object;
};

// A kernel of a shared object that dlopen returned; it stays loaded as long as the kernel is used. `object`: the bytes
// of the shared object, from which messages get their line numbers; without, they are looked for in the file it was
// loaded from, which may be gone (deleted, an anonymous file). Errors: kNotFound, kFailedPrecondition for an object
// made for another version of the simulator. Thread-safe.
absl::StatusOr<Kernel> FindKernel(void* dlopen_handle, absl::string_view name,
                                  std::shared_ptr<const std::string> object = nullptr);

struct Dim {
  unsigned x = 1, y = 1, z = 1;
};

struct MemoryRange {
  uintptr_t begin, end;
};

// Always found: collective operations that not all of their threads reach (a barrier in a branch, a shuffle that waits
// for a lane which went elsewhere), lanes that read from lanes that are not there, fragments and wide loads at
// misaligned addresses. In code compiled with `checked`: accesses outside of what the kernel may touch, misaligned
// ones, races between threads of a block (a missing barrier) and between blocks, shared memory read before it is
// written.
struct LaunchOptions {
  // Host threads that run blocks. More than one: sums of floats by atomics differ from run to run. Checked code always
  // runs on one.
  int threads = 1;
  // Checked code reports reads of shared memory that no thread of the block wrote.
  bool uninitialised_shared = true;
  // What checked code may access. Empty: all registered memory. The buffers that a launch was given, where they lie
  // side by side in one allocation: an index past the end of one of them is found then, too. They may overlap.
  std::vector<MemoryRange> buffers;
};

// Runs the kernel; it is done when this returns. `params`: an address for each parameter of the kernel, as
// cuLaunchKernel takes them. Blocks run in ascending order (x fastest), each to its end: a kernel may wait for blocks
// before its own, never for later ones.
// Errors: kInvalidArgument for a launch that no GPU would accept (more than 1024 threads, more shared memory than 227
// KiB, empty grid); kInternal for what the checks find: kernel, block, thread and line.
// Thread-safe: any number of threads may launch. Memory that two launches at a time write is the caller's affair.
absl::Status Launch(const Kernel& kernel, Dim grid, Dim block, size_t shared_bytes, void** params,
                    const LaunchOptions& options = {});

// Device memory, as the allocator hands it out: checked code may access registered memory only. Thread-safe. Memory in
// use by a running launch must stay registered.
void RegisterMemory(const void* memory, size_t bytes);
void UnregisterMemory(const void* memory);

}  // namespace tcc::sim
