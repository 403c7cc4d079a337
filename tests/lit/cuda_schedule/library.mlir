// What has no form as loops: launches of templates of the device library.
// RUN: tcc-opt %s --tcc-lower-to-kernels --tcc-schedule-cuda -o /dev/null | FileCheck %s
// RUN: tcc-opt %s --tcc-lower-to-kernels --tcc-schedule-cuda=source=true -o /dev/null | FileCheck %s --check-prefix=CUDA

// Lines of a thousand are chunks of one block.
// CHECK: // device library
// CHECK-NEXT: // launch top_k_{{[0-9a-f]+}}: 64 blocks of 128 threads
// CUDA: tcc::sort_chunk<unsigned, 128, 8>(tcc::TopKeys<float, true>
func.func @top_k(%x: tensor<64x1000xf32>) -> (tensor<64x5xf32>, tensor<64x5xi64>) {
  %v, %i = tcc.top_k %x {axis = 1 : i64, largest = true} : (tensor<64x1000xf32>) -> (tensor<64x5xf32>, tensor<64x5xi64>)
  return %v, %i : tensor<64x5xf32>, tensor<64x5xi64>
}

// Longer ones are merged: as often as the longest one needs, by no blocks where a line is short.
// CHECK: // device library
// CHECK-NEXT: // launch top_k_sort_{{[0-9a-f]+}}: ((s0 + 2047) floordiv 2048) * 2 blocks of 256 threads
// CHECK-NEXT: // launch top_k_merge_{{[0-9a-f]+}}: {{.*}}floordiv 4096{{.*}} blocks of 128 threads
// CHECK-NEXT: // launch top_k_merge_{{[0-9a-f]+}}: {{.*}}floordiv 8192{{.*}} blocks of 128 threads
// CHECK-NEXT: // launch top_k_results_{{[0-9a-f]+}}: 1 blocks of 256 threads
func.func @long(%x: tensor<2x?xf32, #tcc.extents<2, s0>>) -> (tensor<2x5xf32>, tensor<2x5xi64>)
    attributes {tcc.symbols = [#tcc.symbol<"n", 5, 8000, 1>]} {
  %v, %i = tcc.top_k %x {axis = 1 : i64, largest = false} : (tensor<2x?xf32, #tcc.extents<2, s0>>) -> (tensor<2x5xf32>, tensor<2x5xi64>)
  return %v, %i : tensor<2x5xf32>, tensor<2x5xi64>
}

// Neighbouring lines by neighbouring threads where there are many, a block for each else, several for a long one.
// CHECK: // device library
// CHECK-NEXT: // launch scan_lines_{{[0-9a-f]+}}: 16 blocks of 256 threads
func.func @columns(%x: tensor<100x4096xf32>) -> tensor<100x4096xf32> {
  %y = tcc.scan %x {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<100x4096xf32>) -> tensor<100x4096xf32>
  return %y : tensor<100x4096xf32>
}
// CHECK: // device library
// CHECK-NEXT: // launch scan_{{[0-9a-f]+}}: 8 blocks of 256 threads
func.func @rows(%x: tensor<8x5000xf32>) -> tensor<8x5000xf32> {
  %y = tcc.scan %x {kind = #tcc.reduce_kind<sum>, axis = 1 : i64, exclusive = false, reverse = false} : (tensor<8x5000xf32>) -> tensor<8x5000xf32>
  return %y : tensor<8x5000xf32>
}
// CHECK: // device library
// CHECK-NEXT: // launch scan_totals_{{[0-9a-f]+}}: 62 blocks of 256 threads
// CHECK-NEXT: // launch scan_befores_{{[0-9a-f]+}}: 1 blocks of 256 threads
// CHECK-NEXT: // launch scan_parts_{{[0-9a-f]+}}: 62 blocks of 256 threads
func.func @long_row(%x: tensor<1000000xf32>) -> tensor<1000000xf32> {
  %y = tcc.scan %x {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<1000000xf32>) -> tensor<1000000xf32>
  return %y : tensor<1000000xf32>
}

// Updates whose order changes nothing are atomic; sums of floats keep theirs.
// CHECK: // scatter
// CHECK: // launch scatter_atomic_{{.*}}: 32 blocks of 128 threads; an atomic update a thread
func.func @counts(%x: tensor<50xi32>, %i: tensor<4096x1xi64>, %u: tensor<4096xi32>) -> tensor<50xi32> {
  %y = tcc.scatter_nd %x, %i, %u {kind = #tcc.scatter_kind<add>} : (tensor<50xi32>, tensor<4096x1xi64>, tensor<4096xi32>) -> tensor<50xi32>
  return %y : tensor<50xi32>
}
// CHECK: // scatter
// CHECK: // launch scatter_keys_
// CHECK-NEXT: // launch scatter_sort_
// CHECK: // launch scatter_sums_{{.*}}: 2048 blocks of 128 threads; updates in order, a thread for an element
func.func @sums(%x: tensor<50x64xf32>, %i: tensor<4096x1xi64>, %u: tensor<4096x64xf32>) -> tensor<50x64xf32> {
  %y = tcc.scatter_nd %x, %i, %u {kind = #tcc.scatter_kind<add>} : (tensor<50x64xf32>, tensor<4096x1xi64>, tensor<4096x64xf32>) -> tensor<50x64xf32>
  return %y : tensor<50x64xf32>
}
