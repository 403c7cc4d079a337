// cp.async (sm_80): copies from global to shared memory that do not pass through registers. What a thread started is in
// shared memory after it waited for the group, for other threads after a barrier behind that. Both addresses are
// multiples of the size.
#pragma once

#include "tcc/platform.cuh"

namespace tcc {

#ifdef TCC_SIM
TCC_SIM_CALL inline void cp_async16(void* shared, const void* global) {
  ::tcc_sim::api->async_copy(shared, global, 16, 16, TCC_SIM_PC);
}
TCC_SIM_CALL inline void cp_async16(void* shared, const void* global, int source_bytes) {
  ::tcc_sim::api->async_copy(shared, global, 16, static_cast<unsigned>(source_bytes), TCC_SIM_PC);
}
TCC_SIM_CALL inline void cp_async8(void* shared, const void* global) {
  ::tcc_sim::api->async_copy(shared, global, 8, 8, TCC_SIM_PC);
}
TCC_SIM_CALL inline void cp_async8(void* shared, const void* global, int source_bytes) {
  ::tcc_sim::api->async_copy(shared, global, 8, static_cast<unsigned>(source_bytes), TCC_SIM_PC);
}
TCC_SIM_CALL inline void cp_async4(void* shared, const void* global) {
  ::tcc_sim::api->async_copy(shared, global, 4, 4, TCC_SIM_PC);
}
TCC_SIM_CALL inline void cp_async4(void* shared, const void* global, int source_bytes) {
  ::tcc_sim::api->async_copy(shared, global, 4, static_cast<unsigned>(source_bytes), TCC_SIM_PC);
}
TCC_SIM_CALL inline void cp_async_commit() { ::tcc_sim::api->async_commit(); }
template <int PENDING>
TCC_SIM_CALL void cp_async_wait() {
  ::tcc_sim::api->async_wait(PENDING, TCC_SIM_PC);
}
TCC_SIM_CALL inline void cp_async_wait_all() { ::tcc_sim::api->async_wait(~0u, TCC_SIM_PC); }
#else
/// 16 bytes, kept in L2 only. With `source_bytes`: so many are read, the rest of the 16 is zero.
TCC_DEVICE void cp_async16(void* shared, const void* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(shared)), "l"(global) : "memory");
}
TCC_DEVICE void cp_async16(void* shared, const void* global, int source_bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)), "l"(global), "r"(source_bytes) : "memory");
}
TCC_DEVICE void cp_async8(void* shared, const void* global) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(shared_address(shared)), "l"(global) : "memory");
}
TCC_DEVICE void cp_async8(void* shared, const void* global, int source_bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(shared_address(shared)), "l"(global), "r"(source_bytes) : "memory");
}
TCC_DEVICE void cp_async4(void* shared, const void* global) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(shared)), "l"(global) : "memory");
}
TCC_DEVICE void cp_async4(void* shared, const void* global, int source_bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(shared)), "l"(global), "r"(source_bytes) : "memory");
}
/// Closes the group of the copies that the thread started since the last commit.
TCC_DEVICE void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Until at most PENDING of the thread's latest groups are under way.
template <int PENDING>
TCC_DEVICE void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}
/// Until all copies that the thread started are done, those without a group too.
TCC_DEVICE void cp_async_wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }
#endif

}  // namespace tcc
