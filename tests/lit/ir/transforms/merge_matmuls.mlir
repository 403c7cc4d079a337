// RUN: tcc-opt --tcc-merge-matmuls --canonicalize %s | FileCheck %s

// Queries, keys and values: one product, one bias; attention reads its slices.
// CHECK-LABEL: func @projections(
// CHECK-DAG: %[[W:.*]] = tcc.constant dense<{{.*}}> : tensor<8x24xf32>
// CHECK-DAG: %[[B:.*]] = tcc.constant dense<[{{.*}}]> : tensor<24xf32>
// CHECK: %[[Y:.*]] = tcc.matmul %arg0, %[[W]]
// CHECK: %[[S:.*]] = tcc.add %[[Y]], %{{.*}} : tensor<6x24xf32>
// CHECK: tcc.slice %[[S]] {starts = #tcc.extents<0, 0>
// CHECK: tcc.slice %[[S]] {starts = #tcc.extents<0, 8>
// CHECK: tcc.slice %[[S]] {starts = #tcc.extents<0, 16>
// CHECK-NOT: tcc.add
// CHECK: tcc.attention
func.func @projections(%x: tensor<6x8xf32>) -> tensor<1x2x6x4xf32> {
  %wq = tcc.constant dense<0.25> : tensor<8x8xf32>
  %wk = tcc.constant dense<0.5> : tensor<8x8xf32>
  %wv = tcc.constant dense<0.75> : tensor<8x8xf32>
  %bq = tcc.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : tensor<8xf32>
  %bv = tcc.constant dense<0.5> : tensor<8xf32>
  %yq = tcc.matmul %x, %wq : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
  %rq = tcc.reshape %yq : (tensor<6x8xf32>) -> tensor<1x6x8xf32>
  %bbq = tcc.broadcast %bq : (tensor<8xf32>) -> tensor<1x6x8xf32>
  %sq = tcc.add %rq, %bbq : tensor<1x6x8xf32>
  %hq = tcc.reshape %sq : (tensor<1x6x8xf32>) -> tensor<1x6x2x4xf32>
  %q = tcc.transpose %hq {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x6x2x4xf32>) -> tensor<1x2x6x4xf32>
  // No bias, and nothing between the product and the heads.
  %yk = tcc.matmul %x, %wk : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
  %hk = tcc.reshape %yk : (tensor<6x8xf32>) -> tensor<1x6x2x4xf32>
  %k = tcc.transpose %hk {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x6x2x4xf32>) -> tensor<1x2x6x4xf32>
  %yv = tcc.matmul %x, %wv : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
  %bbv = tcc.broadcast %bv : (tensor<8xf32>) -> tensor<6x8xf32>
  %sv = tcc.add %bbv, %yv : tensor<6x8xf32>
  %hv = tcc.reshape %sv : (tensor<6x8xf32>) -> tensor<1x6x2x4xf32>
  %v = tcc.transpose %hv {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x6x2x4xf32>) -> tensor<1x2x6x4xf32>
  %y = tcc.attention %q, %k, %v {scale = 0.5 : f64, causal = false} : (tensor<1x2x6x4xf32>, tensor<1x2x6x4xf32>, tensor<1x2x6x4xf32>) -> tensor<1x2x6x4xf32>
  return %y : tensor<1x2x6x4xf32>
}

// Different numbers of columns, each of which begins at 16 bytes; rows that are not known; f16.
// CHECK-LABEL: func @uneven(
// CHECK: tcc.matmul %arg0, %{{.*}} : (tensor<?x4xf16, #tcc.extents<s0, 4>>, tensor<4x24xf16>) -> tensor<?x24xf16, #tcc.extents<s0, 24>>
// CHECK: tcc.slice %{{.*}} {starts = #tcc.extents<0, 0>{{.*}} -> tensor<?x3xf16, #tcc.extents<s0, 3>>
// CHECK: tcc.slice %{{.*}} {starts = #tcc.extents<0, 8>{{.*}} -> tensor<?x9xf16, #tcc.extents<s0, 9>>
func.func @uneven(%x: tensor<?x4xf16, #tcc.extents<s0, 4>>) -> (tensor<?x3xf16, #tcc.extents<s0, 3>>, tensor<?x9xf16, #tcc.extents<s0, 9>>)
    attributes {tcc.symbols = [#tcc.symbol<"n", 1, 9, 1>]} {
  %wa = tcc.constant dense<0.5> : tensor<4x3xf16>
  %wb = tcc.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
                            [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]]> : tensor<4x9xf16>
  %a = tcc.matmul %x, %wa : (tensor<?x4xf16, #tcc.extents<s0, 4>>, tensor<4x3xf16>) -> tensor<?x3xf16, #tcc.extents<s0, 3>>
  %b = tcc.matmul %x, %wb : (tensor<?x4xf16, #tcc.extents<s0, 4>>, tensor<4x9xf16>) -> tensor<?x9xf16, #tcc.extents<s0, 9>>
  %sa = tcc.softmax %a {axis = 1 : i64} : (tensor<?x3xf16, #tcc.extents<s0, 3>>) -> tensor<?x3xf16, #tcc.extents<s0, 3>>
  %sb = tcc.layer_norm %b {axis = 1 : i64, epsilon = 1.0e-2 : f64} : (tensor<?x9xf16, #tcc.extents<s0, 9>>) -> tensor<?x9xf16, #tcc.extents<s0, 9>>
  return %sa, %sb : tensor<?x3xf16, #tcc.extents<s0, 3>>, tensor<?x9xf16, #tcc.extents<s0, 9>>
}

// Batches: one matrix of weights for all, and one for each.
// CHECK-LABEL: func @batches(
// CHECK-COUNT-2: tcc.matmul %arg0, %{{.*}} : (tensor<2x3x4xf32>, tensor<2x4x8xf32>)
// CHECK-NOT: tcc.matmul
func.func @batches(%x: tensor<2x3x4xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %w0 = tcc.constant dense<0.5> : tensor<4x4xf32>
  %w1 = tcc.constant dense<0.25> : tensor<4x4xf32>
  %w2 = tcc.constant dense<2.0> : tensor<2x4x4xf32>
  %w3 = tcc.constant dense<3.0> : tensor<2x4x4xf32>
  %b0 = tcc.broadcast %w0 : (tensor<4x4xf32>) -> tensor<2x4x4xf32>
  %b1 = tcc.broadcast %w1 : (tensor<4x4xf32>) -> tensor<2x4x4xf32>
  %y0 = tcc.matmul %x, %b0 : (tensor<2x3x4xf32>, tensor<2x4x4xf32>) -> tensor<2x3x4xf32>
  %y1 = tcc.matmul %x, %b1 : (tensor<2x3x4xf32>, tensor<2x4x4xf32>) -> tensor<2x3x4xf32>
  %y2 = tcc.matmul %x, %w2 : (tensor<2x3x4xf32>, tensor<2x4x4xf32>) -> tensor<2x3x4xf32>
  %y3 = tcc.matmul %x, %w3 : (tensor<2x3x4xf32>, tensor<2x4x4xf32>) -> tensor<2x3x4xf32>
  %r0 = tcc.reduce %y0 {kind = #tcc.reduce_kind<sum>, axes = array<i64: 2>, keep_dims = false} : (tensor<2x3x4xf32>) -> tensor<2x3xf32>
  %r1 = tcc.reduce %y1 {kind = #tcc.reduce_kind<max>, axes = array<i64: 2>, keep_dims = false} : (tensor<2x3x4xf32>) -> tensor<2x3xf32>
  %r2 = tcc.reduce %y2 {kind = #tcc.reduce_kind<sum>, axes = array<i64: 2>, keep_dims = false} : (tensor<2x3x4xf32>) -> tensor<2x3xf32>
  %r3 = tcc.reduce %y3 {kind = #tcc.reduce_kind<max>, axes = array<i64: 2>, keep_dims = false} : (tensor<2x3x4xf32>) -> tensor<2x3xf32>
  return %r0, %r1, %r2, %r3 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// The weights on the left: their rows, and a bias for each row.
// CHECK-LABEL: func @rows(
// CHECK: tcc.matmul %{{.*}}, %arg0 : (tensor<5x4xf32>, tensor<4x6xf32>) -> tensor<5x6xf32>
// CHECK: tcc.add
// CHECK: tcc.slice %{{.*}} {starts = #tcc.extents<0, 0>{{.*}} -> tensor<2x6xf32>
// CHECK: tcc.slice %{{.*}} {starts = #tcc.extents<2, 0>{{.*}} -> tensor<3x6xf32>
func.func @rows(%x: tensor<4x6xf32>) -> (tensor<2x6xf32>, tensor<3x6xf32>) {
  %wa = tcc.constant dense<[[1.0, 2.0, 3.0, 4.0], [0.5, 0.25, 0.0, 1.0]]> : tensor<2x4xf32>
  %wb = tcc.constant dense<2.0> : tensor<3x4xf32>
  %bias = tcc.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %a = tcc.matmul %wa, %x : (tensor<2x4xf32>, tensor<4x6xf32>) -> tensor<2x6xf32>
  %b = tcc.matmul %wb, %x : (tensor<3x4xf32>, tensor<4x6xf32>) -> tensor<3x6xf32>
  %spread = tcc.broadcast %bias : (tensor<2x1xf32>) -> tensor<2x6xf32>
  %s = tcc.add %a, %spread : tensor<2x6xf32>
  %na = tcc.softmax %s {axis = 1 : i64} : (tensor<2x6xf32>) -> tensor<2x6xf32>
  %nb = tcc.softmax %b {axis = 1 : i64} : (tensor<3x6xf32>) -> tensor<3x6xf32>
  return %na, %nb : tensor<2x6xf32>, tensor<3x6xf32>
}

// Whose readers are epilogues: a gate and what goes through it.
// CHECK-LABEL: func @gated(
// CHECK-COUNT-2: tcc.matmul %arg0
func.func @gated(%x: tensor<6x8xf32>) -> tensor<6x8xf32> {
  %wa = tcc.constant dense<0.25> : tensor<8x8xf32>
  %wb = tcc.constant dense<0.5> : tensor<8x8xf32>
  %a = tcc.matmul %x, %wa : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
  %b = tcc.matmul %x, %wb : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
  %s = tcc.sigmoid %a : tensor<6x8xf32>
  %y = tcc.mul %s, %b : tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}

// Results that have to be in memory by themselves.
// CHECK-LABEL: func @returned(
// CHECK-COUNT-2: tcc.matmul %arg0
func.func @returned(%x: tensor<6x8xf32>) -> (tensor<6x8xf32>, tensor<6x8xf32>) {
  %wa = tcc.constant dense<0.25> : tensor<8x8xf32>
  %wb = tcc.constant dense<0.5> : tensor<8x8xf32>
  %a = tcc.matmul %x, %wa : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
  %b = tcc.matmul %x, %wb : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
  return %a, %b : tensor<6x8xf32>, tensor<6x8xf32>
}

// Two layers with the same weights: these are merged once. Where one of them is needed elsewhere too, and large, nothing is.
// CHECK-LABEL: func @shared_weights(
// CHECK-COUNT-2: tcc.matmul %{{.*}}, %{{.*}} : (tensor<6x256xf32>, tensor<256x512xf32>)
// CHECK-NOT: tcc.matmul
func.func @shared_weights(%x: tensor<6x256xf32>, %z: tensor<6x256xf32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) {
  %wa = tcc.constant dense<0.25> : tensor<256x256xf32>
  %wb = tcc.constant dense<0.5> : tensor<256x256xf32>
  %a = tcc.matmul %x, %wa : (tensor<6x256xf32>, tensor<256x256xf32>) -> tensor<6x256xf32>
  %b = tcc.matmul %x, %wb : (tensor<6x256xf32>, tensor<256x256xf32>) -> tensor<6x256xf32>
  %c = tcc.matmul %z, %wa : (tensor<6x256xf32>, tensor<256x256xf32>) -> tensor<6x256xf32>
  %d = tcc.matmul %z, %wb : (tensor<6x256xf32>, tensor<256x256xf32>) -> tensor<6x256xf32>
  %ra = tcc.reduce %a {kind = #tcc.reduce_kind<sum>, axes = array<i64: 1>, keep_dims = false} : (tensor<6x256xf32>) -> tensor<6xf32>
  %rb = tcc.reduce %b {kind = #tcc.reduce_kind<sum>, axes = array<i64: 1>, keep_dims = false} : (tensor<6x256xf32>) -> tensor<6xf32>
  %rc = tcc.reduce %c {kind = #tcc.reduce_kind<sum>, axes = array<i64: 1>, keep_dims = false} : (tensor<6x256xf32>) -> tensor<6xf32>
  %rd = tcc.reduce %d {kind = #tcc.reduce_kind<sum>, axes = array<i64: 1>, keep_dims = false} : (tensor<6x256xf32>) -> tensor<6xf32>
  return %ra, %rb, %rc, %rd : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
}

// CHECK-LABEL: func @weights_needed_elsewhere(
// CHECK-COUNT-2: tcc.matmul %arg0, %{{.*}} : (tensor<6x272xf32>, tensor<272x272xf32>)
func.func @weights_needed_elsewhere(%x: tensor<6x272xf32>, %z: tensor<272x272xf32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<272x272xf32>) {
  %wa = tcc.constant dense<0.375> : tensor<272x272xf32>
  %wb = tcc.constant dense<0.625> : tensor<272x272xf32>
  %a = tcc.matmul %x, %wa : (tensor<6x272xf32>, tensor<272x272xf32>) -> tensor<6x272xf32>
  %b = tcc.matmul %x, %wb : (tensor<6x272xf32>, tensor<272x272xf32>) -> tensor<6x272xf32>
  %c = tcc.mul %z, %wa : tensor<272x272xf32>
  %ra = tcc.reduce %a {kind = #tcc.reduce_kind<sum>, axes = array<i64: 1>, keep_dims = false} : (tensor<6x272xf32>) -> tensor<6xf32>
  %rb = tcc.reduce %b {kind = #tcc.reduce_kind<sum>, axes = array<i64: 1>, keep_dims = false} : (tensor<6x272xf32>) -> tensor<6xf32>
  return %ra, %rb, %c : tensor<6xf32>, tensor<6xf32>, tensor<272x272xf32>
}
