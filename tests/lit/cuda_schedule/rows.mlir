// Which threads share a row, and where its values are.
// RUN: tcc-opt %s --tcc-lower-to-kernels --tcc-schedule-cuda -o /dev/null | FileCheck %s
// RUN: tcc-opt %s --tcc-lower-to-kernels --tcc-schedule-cuda=source=true -o /dev/null | FileCheck %s --check-prefix=CUDA

// CHECK: // rows
// CHECK-NEXT: // launch [[WARP:rows_softmax_[0-9a-f]+]]: 64 blocks of 256 threads; 32 threads a row, 4 elements at once
// CHECK: // rows
// CHECK-NEXT: // launch [[BLOCK:rows_layer_norm_[0-9a-f]+]]: 512 blocks of 256 threads; 256 threads a row, 4 elements at once

// One launch; a warp reads its row once, nothing goes through shared memory.
// CHECK: func.func @[[WARP]](
// CHECK: memref.alloca() {{.*}}row_of_input
// CHECK-NOT: gpu.barrier
// CHECK: gpu.shuffle xor
// CHECK: return
// CUDA: rows_softmax_
// CUDA: float row_of_input[24];
// CUDA: load_any<4>
// CUDA-NOT: load_any<4>
// CUDA: rows_layer_norm_
func.func @softmax(%x: tensor<512x768xf32>) -> tensor<512x768xf32> {
  %y = tcc.softmax %x {axis = 1 : i64} : (tensor<512x768xf32>) -> tensor<512x768xf32>
  return %y : tensor<512x768xf32>
}

// CHECK: func.func @[[BLOCK]](
// CHECK: #gpu.address_space<workgroup>
// CHECK: gpu.barrier
func.func @layer_norm(%x: tensor<512x8192xf32>) -> tensor<512x8192xf32> {
  %y = tcc.layer_norm %x {axis = 1 : i64, epsilon = 1.0e-5} : (tensor<512x8192xf32>) -> tensor<512x8192xf32>
  return %y : tensor<512x8192xf32>
}
