// What a kernel compiled for the simulated CUDA device and the simulator say to each other. Plain C structs: the device
// library embeds this file as "tcc/sim_abi.h", and kernels include it without any other header.
//
// A kernel's shared object exports
//   TccSimModule tcc_sim_module;             bind() is called once after loading, before any kernel runs
//   void NAME__sim(void** params);           what one thread of the kernel NAME does
// and reaches the simulator only through the table that bind() was given.
#pragma once

#define TCC_SIM_ABI_VERSION 3

extern "C" {

struct TccSimIndex {
  unsigned x, y, z;
};

// The calling thread. Constant while it lives.
struct TccSimThread {
  TccSimIndex thread, block, block_dim, grid_dim;
  unsigned linear;  // of the thread in its block: lane = linear % 32, warp = linear / 32
};

// A step that the lanes of a warp make together. The last lane to arrive calls `combine` with what each lane brought
// (null for lanes that did not come) and the lanes that came; it returns null, or what is wrong ("lane 3 reads from
// lane 7, which has exited").
struct TccSimWarpOp {
  const char* name;  // "__shfl_xor_sync"
  const char* (*combine)(void* const* lanes, unsigned arrived);
  unsigned flags;
};
enum {
  kTccSimAligned = 1,       // every lane must be at the same instruction (mma.sync, ldmatrix)
  kTccSimOrdersMemory = 2,  // accesses before it happen before those after it, for all lanes (__syncwarp)
};

// A variable in shared memory; laid out as the control variables of emulated TLS are.
struct TccSimShared {
  unsigned long bytes;
  unsigned long align;
  unsigned long offset;  // from the start of static shared memory, plus one; 0: not placed yet
  const void* initial;
};

// Accesses to memory; the last two are one with the memory system (volatile ones count as such) and race with none but
// the first two.
enum { kTccSimRead = 0, kTccSimWrite = 1, kTccSimAtomicUpdate = 2, kTccSimAtomicRead = 3 };
enum { kTccSimNoReduction = 0, kTccSimCount = 1, kTccSimAnd = 2, kTccSimOr = 3, kTccSimArrive = 4 };
enum {
  kTccSimMbarrierInit = 0,         // argument: arrivals of a phase
  kTccSimMbarrierArrive = 1,       // argument: bytes to expect in this phase; the parity of the phase
  kTccSimMbarrierExpectBytes = 2,  // argument: bytes
  kTccSimMbarrierTest = 3,         // argument: parity; whether that phase is over
  kTccSimMbarrierWait = 4,         // argument: parity
  kTccSimMbarrierInvalidate = 5,
};

// What stands for a CUtensorMap: a tensor in global memory, innermost extent first, and the tiles it is loaded by.
struct alignas(64) TccSimTensorMap {
  const void* base;
  unsigned rank, element_bytes, swizzle;  // swizzle: bytes of a line whose 16-byte pieces are exchanged, or 0
  unsigned box[5];
  unsigned long long extents[5], strides[4];  // strides in bytes, of the extents but the innermost
};

// `pc`: an address in the kernel's code just behind the call, for messages.
struct TccSimApi {
  unsigned version;
  unsigned bytes;  // of this struct
  const TccSimThread* (*self)();

  // Waits for `count` threads (0: all of the block that have not returned) at barrier `id`. With a reduction, the
  // result over the values of all of them. kTccSimArrive: is counted, and does not wait.
  int (*barrier)(unsigned id, unsigned count, int reduction, int value, const void* pc);
  // Joins `op` with the other lanes of `mask` (those that have not returned).
  void (*warp)(const TccSimWarpOp* op, unsigned mask, void* payload, const void* pc);
  // Lets other threads run: for loops that wait for what another thread of the block writes.
  void (*yield)(const void* pc);

  void* (*shared_variable)(TccSimShared* variable);
  void* (*dynamic_shared)();

  // Reports an access of instrumented code, or one that happens inside a helper of the device library. `aligned`: the
  // address has to be a multiple of the size.
  void (*access)(const void* address, unsigned long bytes, unsigned kind, int aligned, const void* pc);
  // __threadfence (1) and __threadfence_block (0).
  void (*fence)(int device);
  // The thread has met something that must not be; does not return.
  void (*fail)(const char* message, const void* pc);

  // cp.async: the copy is made no earlier than by the wait for its group. `bytes` are written, of which the first
  // `source_bytes` are read and the rest is zero.
  void (*async_copy)(void* shared, const void* global, unsigned bytes, unsigned source_bytes, const void* pc);
  void (*async_commit)();
  void (*async_wait)(unsigned pending, const void* pc);

  int (*mbarrier)(unsigned op, void* barrier, unsigned argument, const void* pc);
  // cp.async.bulk: to shared memory with an mbarrier that counts the bytes; from shared memory, without, in groups.
  void (*bulk_copy)(void* to, const void* from, unsigned bytes, void* mbarrier, const void* pc);
  void (*bulk_commit)();
  void (*bulk_wait)(unsigned pending);
  // cp.async.bulk.tensor: a tile, zero beyond the tensor, to shared memory. A coordinate for each extent.
  void (*tensor_load)(void* to, const TccSimTensorMap* map, const int* coordinates, void* mbarrier, const void* pc);
};

struct TccSimModule {
  unsigned version;  // TCC_SIM_ABI_VERSION
  unsigned checked;  // 1: compiled so that it reports its memory accesses
  void (*bind)(const TccSimApi* api);
  unsigned bound;     // 0: just loaded
  const void* begin;  // what the object maps
  const void* end;
};
}
