// Threads along what is contiguous: the reduced elements, or the results.
// RUN: tcc-opt %s --tcc-lower-to-kernels --tcc-schedule-cuda -o /dev/null | FileCheck %s

// CHECK: // launch reduction_reduce_{{[0-9a-f]+}}: {{[0-9]+}} blocks of 256 threads; {{[0-9]+}} threads a result, along it, 4 elements at once
func.func @inner(%x: tensor<8192x512xf32>) -> tensor<8192xf32> {
  %y = tcc.reduce %x {kind = #tcc.reduce_kind<sum>, axes = array<i64: 1>, keep_dims = false} : (tensor<8192x512xf32>) -> tensor<8192xf32>
  return %y : tensor<8192xf32>
}

// CHECK: // launch reduction_reduce_{{[0-9a-f]+}}: {{[0-9]+}} blocks of 256 threads; 8 threads a result{{$}}
func.func @outer(%x: tensor<64x16384xf32>) -> tensor<16384xf32> {
  %y = tcc.reduce %x {kind = #tcc.reduce_kind<max>, axes = array<i64: 0>, keep_dims = false} : (tensor<64x16384xf32>) -> tensor<16384xf32>
  return %y : tensor<16384xf32>
}

// The last block adds up what all of them have made, always in the same order: the same bits from run to run.
// CHECK: // launch reduction_reduce_{{.*}} blocks each
// CHECK-NOT: // launch
// CHECK: func.func @reduction_reduce_{{.*}}%arg2: memref<?xf32> {tcc.name = "part3", tcc.other_threads}, %arg3: memref<?xi32> {tcc.name = "counters", tcc.other_threads})
// CHECK: memref.store {{.*}}, %arg2
// CHECK: [[LAST:%.*]] = call @tcc_is_last_of(%arg3,
// CHECK-NEXT: scf.if [[LAST]] {
// CHECK: memref.load %arg2
// CHECK: memref.store {{.*}}, %arg1
func.func @split(%x: tensor<4194304xf32>) -> tensor<f32> {
  %y = tcc.reduce %x {kind = #tcc.reduce_kind<sum>, axes = array<i64: 0>, keep_dims = false} : (tensor<4194304xf32>) -> tensor<f32>
  return %y : tensor<f32>
}
