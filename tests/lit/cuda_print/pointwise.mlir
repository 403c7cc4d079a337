// A grid-stride loop: ids and loads have names by their role, the rest of the body is one expression.
// RUN: tcc-opt --tcc-print-cuda -o /dev/null %s | FileCheck %s --match-full-lines --strict-whitespace

// CHECK:// add_relu computes
// CHECK-NEXT://   Add "layer1/add"
// CHECK-NEXT://   Relu "layer1/relu"
// CHECK-NEXT:// Schedule: pointwise, 1 element a thread
// CHECK-NEXT:// Block: 256 x 1 x 1; grid: ceil(s0 / 256).
// CHECK-NEXT:#include "tcc/device.cuh"
// CHECK-EMPTY:
// CHECK-NEXT:extern "C" __global__ void __launch_bounds__(256, 2) add_relu(
// CHECK-NEXT:    float* __restrict__ b0, const float* __restrict__ b1, const float* __restrict__ b2, long long s0_64) {
// CHECK-NEXT:  const int s0 = (int)s0_64;
// CHECK-NEXT:  const int tx = threadIdx.x;
// CHECK-NEXT:  const int bx = blockIdx.x;
// CHECK-NEXT:  const int grid_x = gridDim.x;
// CHECK-NEXT:  for (int i = bx * 256 + tx; i < s0; i += grid_x * 256) {
// CHECK-NEXT:    b0[i] = tcc::maximum(b1[i] + b2[i], 0.0f);
// CHECK-NEXT:  }
// CHECK-NEXT:}
func.func @add_relu(%y: memref<?xf32>, %a: memref<?xf32>, %b: memref<?xf32>, %n: index) attributes {
    tcc.block = array<i64: 256, 1, 1>, tcc.min_blocks = 2 : i64, tcc.index_bits = 32 : i64,
    tcc.sources = ["Add \22layer1/add\22", "Relu \22layer1/relu\22"], tcc.grid = ["ceil(s0 / 256)"],
    tcc.schedule = "pointwise, 1 element a thread"} {
  %zero = arith.constant 0.0 : f32
  %c256 = arith.constant 256 : index
  %tx = gpu.thread_id x
  %bx = gpu.block_id x
  %gx = gpu.grid_dim x
  %start = arith.muli %bx, %c256 : index
  %first = arith.addi %start, %tx : index
  %step = arith.muli %gx, %c256 : index
  scf.for %i = %first to %n step %step {
    %u = memref.load %a[%i] : memref<?xf32>
    %v = memref.load %b[%i] : memref<?xf32>
    %s = arith.addf %u, %v fastmath<contract> : f32
    %r = arith.maximumf %s, %zero : f32
    memref.store %r, %y[%i] : memref<?xf32>
  }
  return
}
