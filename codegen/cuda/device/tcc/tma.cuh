// Loads of tiles by TMA (sm_90): one thread starts the copy of a box of a tensor to shared memory, zero beyond the
// tensor, whose bytes an mbarrier counts. The host says what the tensor and its boxes are: a TensorMap, a parameter of
// the kernel (CUDA driver API, cuTensorMapEncodeTiled).
#pragma once

#include "tcc/barrier.cuh"

namespace tcc {

/// Parameters are `const TCC_GRID_CONSTANT tcc::TensorMap NAME`: the copy engine reads it where the launch put it.
struct alignas(64) TensorMap {
  unsigned char opaque[128];
};

// `shared` lies at a multiple of 128 bytes, with a swizzle of N bytes of 8 * N. Coordinates are those of the box's first
// element, innermost first.
#ifdef TCC_SIM
#define TCC_GRID_CONSTANT
static_assert(sizeof(TccSimTensorMap) == sizeof(TensorMap), "takes its place");
inline TCC_SIM_CALL void tensor_load(void* shared, const TensorMap& map, int x, int y, uint64* barrier) {
  const int coordinates[5] = {x, y};
  ::tcc_sim::api->tensor_load(shared, reinterpret_cast<const TccSimTensorMap*>(&map), coordinates, barrier, TCC_SIM_PC);
}
inline TCC_SIM_CALL void tensor_load(void* shared, const TensorMap& map, int x, int y, int z, uint64* barrier) {
  const int coordinates[5] = {x, y, z};
  ::tcc_sim::api->tensor_load(shared, reinterpret_cast<const TccSimTensorMap*>(&map), coordinates, barrier, TCC_SIM_PC);
}
TCC_DEVICE void prefetch_map(const TensorMap&) {}
#else
#define TCC_GRID_CONSTANT __grid_constant__
TCC_DEVICE void tensor_load(void* shared, const TensorMap& map, int x, int y, uint64* barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                   shared_address(shared)),
               "l"(&map), "r"(x), "r"(y), "r"(shared_address(barrier))
               : "memory");
}
TCC_DEVICE void tensor_load(void* shared, const TensorMap& map, int x, int y, int z, uint64* barrier) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(
                   shared_address(shared)),
               "l"(&map), "r"(x), "r"(y), "r"(z), "r"(shared_address(barrier))
               : "memory");
}
/// The map will be needed soon.
TCC_DEVICE void prefetch_map(const TensorMap& map) { asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory"); }
#endif

}  // namespace tcc
