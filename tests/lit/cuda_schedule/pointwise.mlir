// How kernels without reductions are scheduled: vectors where rows are a multiple of them, shared memory where what is
// contiguous in the source is not in the result.
// RUN: tcc-opt %s --tcc-lower-to-kernels --tcc-schedule-cuda -o /dev/null | FileCheck %s
// RUN: tcc-opt %s --tcc-lower-to-kernels --tcc-schedule-cuda=source=true -o /dev/null | FileCheck %s --check-prefix=CUDA

// CHECK: // pointwise
// CHECK-NEXT: // launch [[EXP:pointwise_exp_[0-9a-f]+]]: 4096 blocks of 256 threads; 4 elements a thread
// CHECK: // launch [[ODD:pointwise_exp_[0-9a-f]+]]: 4097 blocks of 256 threads; 4 elements a thread
// CHECK: // launch [[TRANSPOSED:transposed_transpose_[0-9a-f]+]]: 64 blocks of 256 threads; squares of 32 x 32
// CHECK: // launch [[SELECT:pointwise_select_[0-9a-f]+]]:

// CHECK: func.func @[[EXP]](
// CHECK-SAME: tcc.index_bits = 32
// CHECK: call @{{.*}}load_any{{.*}} -> vector<4xf32>
// CHECK: math.exp {{.*}} : f32
func.func @whole(%x: tensor<4194304xf32>) -> tensor<4194304xf32> {
  %y = tcc.exp %x : tensor<4194304xf32>
  return %y : tensor<4194304xf32>
}

// The last thread has fewer elements: a loop of its own.
// CHECK: func.func @[[ODD]](
// CHECK: arith.cmpi sle
// CHECK: call @{{.*}}load_any
// CHECK: arith.cmpi sgt
// CHECK: scf.for
func.func @rest(%x: tensor<4194305xf32>) -> tensor<4194305xf32> {
  %y = tcc.exp %x : tensor<4194305xf32>
  return %y : tensor<4194305xf32>
}

// CHECK: func.func @[[TRANSPOSED]](
// CHECK: memref.alloca() {{.*}}: memref<32x33xf32, #gpu.address_space<workgroup>>
// CHECK: gpu.barrier
// CUDA: __global__ void __launch_bounds__(256) transposed_transpose_
// CUDA: __shared__ {{.*}}float square[32][33];
// CUDA: __syncthreads();
func.func @transpose(%x: tensor<8x64x128xf32>) -> tensor<8x128x64xf32> {
  %t = tcc.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<8x64x128xf32>) -> tensor<8x128x64xf32>
  return %t : tensor<8x128x64xf32>
}

// One function of the device library for two types: two declarations, of different names.
// CHECK-DAG: func.func private @[[BOOLS:.*load_any[a-z0-9_]*]](memref<?xi8>
// CHECK-DAG: func.func private @[[FLOATS:.*load_any[a-z0-9_]*]](memref<?xf32>
// CHECK: func.func @[[SELECT]](
// CHECK: call @[[BOOLS]](
// CHECK: call @[[FLOATS]](
func.func @two_types(%c: tensor<4194304xi1>, %x: tensor<4194304xf32>, %y: tensor<4194304xf32>) -> tensor<4194304xf32> {
  %r = tcc.select %c, %x, %y : (tensor<4194304xi1>, tensor<4194304xf32>, tensor<4194304xf32>) -> tensor<4194304xf32>
  return %r : tensor<4194304xf32>
}
