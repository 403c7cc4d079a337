// Barriers of parts of a block, mbarriers, and copies in bulk that signal them.
#pragma once

#include "tcc/platform.cuh"

namespace tcc {

//===- Named barriers: 0 to 15, of which __syncthreads is number 0 -----------===//

#ifdef TCC_SIM
inline TCC_SIM_CALL void barrier_sync(int id, int threads) {
  ::tcc_sim::api->barrier(static_cast<unsigned>(id), static_cast<unsigned>(threads), kTccSimNoReduction, 0, TCC_SIM_PC);
}
inline TCC_SIM_CALL void barrier_arrive(int id, int threads) {
  ::tcc_sim::api->barrier(static_cast<unsigned>(id), static_cast<unsigned>(threads), kTccSimArrive, 0, TCC_SIM_PC);
}
#else
/// Waits until so many threads, whole warps, have come to the barrier.
TCC_DEVICE void barrier_sync(int id, int threads) {
  asm volatile("barrier.cta.sync.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
/// Counts as one of the threads, without waiting.
TCC_DEVICE void barrier_arrive(int id, int threads) {
  asm volatile("barrier.cta.arrive.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
#endif

//===- mbarriers (sm_90) in shared memory ------------------------------------===//

// A phase is over when all arrivals have come, and all bytes that were announced for it. Phases have parity 0, 1, 0, ...
#ifdef TCC_SIM
inline TCC_SIM_CALL void mbarrier_init(uint64* barrier, int arrivals) {
  ::tcc_sim::api->mbarrier(kTccSimMbarrierInit, barrier, static_cast<unsigned>(arrivals), TCC_SIM_PC);
}
inline TCC_SIM_CALL void mbarrier_invalidate(uint64* barrier) {
  ::tcc_sim::api->mbarrier(kTccSimMbarrierInvalidate, barrier, 0, TCC_SIM_PC);
}
inline TCC_SIM_CALL void mbarrier_arrive(uint64* barrier) {
  ::tcc_sim::api->mbarrier(kTccSimMbarrierArrive, barrier, 0, TCC_SIM_PC);
}
inline TCC_SIM_CALL void mbarrier_arrive_expect_bytes(uint64* barrier, uint32 bytes) {
  ::tcc_sim::api->mbarrier(kTccSimMbarrierArrive, barrier, bytes, TCC_SIM_PC);
}
inline TCC_SIM_CALL bool mbarrier_try_wait(uint64* barrier, uint32 parity) {
  return ::tcc_sim::api->mbarrier(kTccSimMbarrierTest, barrier, parity, TCC_SIM_PC) != 0;
}
inline TCC_SIM_CALL void mbarrier_wait(uint64* barrier, uint32 parity) {
  ::tcc_sim::api->mbarrier(kTccSimMbarrierWait, barrier, parity, TCC_SIM_PC);
}
TCC_DEVICE void mbarrier_fence_init() {}
TCC_DEVICE void fence_async_shared() {}
#else
TCC_DEVICE void mbarrier_init(uint64* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}
TCC_DEVICE void mbarrier_invalidate(uint64* barrier) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
}
TCC_DEVICE void mbarrier_arrive(uint64* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
/// Arrives, and announces bytes that copies will bring in this phase.
TCC_DEVICE void mbarrier_arrive_expect_bytes(uint64* barrier, uint32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
}
/// Whether the phase of this parity is over; waits for it for a while.
TCC_DEVICE bool mbarrier_try_wait(uint64* barrier, uint32 parity) {
  uint32 done;
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
               : "=r"(done)
               : "r"(shared_address(barrier)), "r"(parity)
               : "memory");
  return done != 0;
}
TCC_DEVICE void mbarrier_wait(uint64* barrier, uint32 parity) {
  while (!mbarrier_try_wait(barrier, parity)) {
  }
}
/// Makes mbarrier_init visible to copies in bulk.
TCC_DEVICE void mbarrier_fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
/// Orders the thread's own accesses to shared memory before copies in bulk and wgmma that come later.
TCC_DEVICE void fence_async_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
#endif

//===- Copies in bulk (sm_90): one thread moves many bytes --------------------===//

// Addresses and sizes are multiples of 16.
#ifdef TCC_SIM
inline TCC_SIM_CALL void bulk_load(void* shared, const void* global, uint32 bytes, uint64* barrier) {
  ::tcc_sim::api->bulk_copy(shared, global, bytes, barrier, TCC_SIM_PC);
}
inline TCC_SIM_CALL void bulk_store(void* global, const void* shared, uint32 bytes) {
  ::tcc_sim::api->bulk_copy(global, shared, bytes, nullptr, TCC_SIM_PC);
}
inline TCC_SIM_CALL void bulk_commit() { ::tcc_sim::api->bulk_commit(); }
template <int PENDING>
TCC_SIM_CALL void bulk_wait_read() {
  ::tcc_sim::api->bulk_wait(PENDING);
}
#else
/// The mbarrier counts the bytes when they are there.
TCC_DEVICE void bulk_load(void* shared, const void* global, uint32 bytes, uint64* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_address(shared)),
               "l"(global), "r"(bytes), "r"(shared_address(barrier))
               : "memory");
}
TCC_DEVICE void bulk_store(void* global, const void* shared, uint32 bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global), "r"(shared_address(shared)), "r"(bytes) : "memory");
}
TCC_DEVICE void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/// Until at most PENDING of the thread's latest groups still read shared memory.
template <int PENDING>
TCC_DEVICE void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}
#endif

}  // namespace tcc
