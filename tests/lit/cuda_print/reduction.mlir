// A row in a block: a loop with an accumulator, vectors, shared memory, a call of the device library and a shuffle.
// RUN: tcc-opt --tcc-print-cuda -o /dev/null %s | FileCheck %s

// CHECK: __launch_bounds__(128) row_sum(
// CHECK-NEXT: const float* __restrict__ x, long long n_64)
// CHECK: const int tx = threadIdx.x;
// CHECK-NEXT: const int row = blockIdx.x;
// CHECK-NEXT: const int at0 = row * n;
// CHECK-NEXT: float acc = 0.0f;
// CHECK-NEXT: #pragma unroll 2
// CHECK-NEXT: for (int i = tx * 4; i < n; i += 512) {
// CHECK-NEXT:   const tcc::Vec<float, 4> x0 = tcc::load_vec<4>(x + (at0 + i));
// CHECK-NEXT:   tcc::Vec<float, 4> v0;
// CHECK-NEXT:   #pragma unroll
// CHECK-NEXT:   for (int e = 0; e < 4; ++e) v0[e] = x0[e] * x0[e];
// CHECK-NEXT:   float v1 = v0[0];
// CHECK-NEXT:   #pragma unroll
// CHECK-NEXT:   for (int e = 1; e < 4; ++e) v1 = v1 + v0[e];
// CHECK-NEXT:   acc = acc + v1;
// CHECK-NEXT: }
// CHECK-NEXT: const float sum = tcc::block_reduce_sum<float, 128>(acc);
// CHECK-NEXT: __shared__ __align__(16) float tile[4][33];
// CHECK-NEXT: tile[tx / 32][tx % 32] = sum;
// CHECK-NEXT: __syncthreads();
// CHECK-NEXT: const float other = __shfl_xor_sync(0xffffffffu, tile[0][tx % 32], 16);
// CHECK-NEXT: tcc::atomic_add(y + row, other);
func.func private @block_sum(f32) -> f32 attributes {tcc.device_name = "tcc::block_reduce_sum<float, 128>"}
func.func @row_sum(%y: memref<?xf32> {tcc.name = "y"}, %x: memref<?xf32> {tcc.name = "x"}, %n: index {tcc.name = "n"})
    attributes {tcc.block = array<i64: 128, 1, 1>, tcc.index_bits = 32 : i64} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %c512 = arith.constant 512 : index
  %offset = arith.constant 16 : i32
  %width = arith.constant 32 : i32
  %zero = arith.constant 0.0 : f32
  %tx = gpu.thread_id x
  %row = gpu.block_id x {tcc.name = "row"}
  %first = arith.muli %tx, %c4 : index
  %start = arith.muli %row, %n : index
  %acc = scf.for %i = %first to %n step %c512 iter_args(%a = %zero) -> (f32) {
    %at = arith.addi %start, %i : index
    %v = vector.load %x[%at] : memref<?xf32>, vector<4xf32>
    %squares = arith.mulf %v, %v : vector<4xf32>
    %s = vector.reduction <add>, %squares : vector<4xf32> into f32
    %next = arith.addf %a, %s : f32
    scf.yield %next : f32
  } {tcc.unroll = 2 : i64}
  %sum = func.call @block_sum(%acc) : (f32) -> f32
  %tile = memref.alloca() {tcc.name = "tile"} : memref<4x33xf32, #gpu.address_space<workgroup>>
  %warp = arith.divsi %tx, %c32 : index
  %lane = arith.remsi %tx, %c32 : index
  memref.store %sum, %tile[%warp, %lane] : memref<4x33xf32, #gpu.address_space<workgroup>>
  gpu.barrier
  %lane2 = arith.remsi %tx, %c32 : index
  %mine = memref.load %tile[%c0, %lane2] : memref<4x33xf32, #gpu.address_space<workgroup>>
  %other, %valid = gpu.shuffle xor %mine, %offset, %width : f32
  %old = memref.atomic_rmw addf %other, %y[%row] : (f32, memref<?xf32>) -> f32
  return
}
