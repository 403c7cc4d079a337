// RUN: tcc-opt --tcc-merge-sliced-ops --canonicalize %s | FileCheck %s

// A rotary embedding of four heads of queries and two of keys, side by side in one product.
// CHECK-LABEL: func @rotary(
// CHECK: %[[QK:.*]] = tcc.slice %arg0 {starts = #tcc.extents<0, 0>{{.*}} -> tensor<3x24xf32>
// CHECK: tcc.reshape %[[QK]] : (tensor<3x24xf32>) -> tensor<1x3x6x4xf32>
// CHECK: tcc.mul %{{.*}} : tensor<1x6x3x4xf32>
// CHECK: tcc.concat
// CHECK: tcc.mul %{{.*}} : tensor<1x6x3x4xf32>
// CHECK: %[[R:.*]] = tcc.add %{{.*}} : tensor<1x6x3x4xf32>
// CHECK: tcc.slice %[[R]] {starts = #tcc.extents<0, 0, 0, 0>{{.*}} -> tensor<1x4x3x4xf32>
// CHECK: tcc.slice %[[R]] {starts = #tcc.extents<0, 4, 0, 0>{{.*}} -> tensor<1x2x3x4xf32>
// CHECK-NOT: tcc.mul
// CHECK: tcc.attention
func.func @rotary(%y: tensor<3x32xf32>, %cos: tensor<1x1x3x4xf32>, %sin: tensor<1x1x3x4xf32>) -> tensor<1x4x3x4xf32> {
  %sq = tcc.slice %y {starts = #tcc.extents<0, 0>, steps = array<i64: 1, 1>} : (tensor<3x32xf32>) -> tensor<3x16xf32>
  %sk = tcc.slice %y {starts = #tcc.extents<0, 16>, steps = array<i64: 1, 1>} : (tensor<3x32xf32>) -> tensor<3x8xf32>
  %sv = tcc.slice %y {starts = #tcc.extents<0, 24>, steps = array<i64: 1, 1>} : (tensor<3x32xf32>) -> tensor<3x8xf32>
  %hq = tcc.reshape %sq : (tensor<3x16xf32>) -> tensor<1x3x4x4xf32>
  %q = tcc.transpose %hq {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x3x4x4xf32>) -> tensor<1x4x3x4xf32>
  %hk = tcc.reshape %sk : (tensor<3x8xf32>) -> tensor<1x3x2x4xf32>
  %k = tcc.transpose %hk {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x3x2x4xf32>) -> tensor<1x2x3x4xf32>
  %hv = tcc.reshape %sv : (tensor<3x8xf32>) -> tensor<1x3x2x4xf32>
  %v = tcc.transpose %hv {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x3x2x4xf32>) -> tensor<1x2x3x4xf32>
  %cq = tcc.broadcast %cos : (tensor<1x1x3x4xf32>) -> tensor<1x4x3x4xf32>
  %nq = tcc.broadcast %sin : (tensor<1x1x3x4xf32>) -> tensor<1x4x3x4xf32>
  %q1 = tcc.mul %q, %cq : tensor<1x4x3x4xf32>
  %qa = tcc.slice %q {starts = #tcc.extents<0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<1x4x3x4xf32>) -> tensor<1x4x3x2xf32>
  %qb = tcc.slice %q {starts = #tcc.extents<0, 0, 0, 2>, steps = array<i64: 1, 1, 1, 1>} : (tensor<1x4x3x4xf32>) -> tensor<1x4x3x2xf32>
  %qm = tcc.neg %qb : tensor<1x4x3x2xf32>
  %qr = tcc.concat %qm, %qa {axis = 3 : i64} : (tensor<1x4x3x2xf32>, tensor<1x4x3x2xf32>) -> tensor<1x4x3x4xf32>
  %q2 = tcc.mul %qr, %nq : tensor<1x4x3x4xf32>
  %qrot = tcc.add %q1, %q2 : tensor<1x4x3x4xf32>
  %ck = tcc.broadcast %cos : (tensor<1x1x3x4xf32>) -> tensor<1x2x3x4xf32>
  %nk = tcc.broadcast %sin : (tensor<1x1x3x4xf32>) -> tensor<1x2x3x4xf32>
  %k1 = tcc.mul %k, %ck : tensor<1x2x3x4xf32>
  %ka = tcc.slice %k {starts = #tcc.extents<0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x2xf32>
  %kb = tcc.slice %k {starts = #tcc.extents<0, 0, 0, 2>, steps = array<i64: 1, 1, 1, 1>} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x2xf32>
  %km = tcc.neg %kb : tensor<1x2x3x2xf32>
  %kr = tcc.concat %km, %ka {axis = 3 : i64} : (tensor<1x2x3x2xf32>, tensor<1x2x3x2xf32>) -> tensor<1x2x3x4xf32>
  %k2 = tcc.mul %kr, %nk : tensor<1x2x3x4xf32>
  %krot = tcc.add %k1, %k2 : tensor<1x2x3x4xf32>
  %r = tcc.attention %qrot, %krot, %v {scale = 0.5 : f64, causal = true} : (tensor<1x4x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x4x3x4xf32>
  return %r : tensor<1x4x3x4xf32>
}

// Norms of queries and of keys, each with its weights: constants for each head.
// CHECK-LABEL: func @norms(
// CHECK: %[[N:.*]] = tcc.rms_norm %{{.*}} -> tensor<?x3x4xf32, #tcc.extents<s0, 3, 4>>
// CHECK: %[[W:.*]] = tcc.broadcast %{{.*}} : (tensor<1x3x4xf32>) -> tensor<?x3x4xf32, #tcc.extents<s0, 3, 4>>
// CHECK: tcc.mul %[[N]], %[[W]]
// CHECK-NOT: tcc.rms_norm
// CHECK: tcc.matmul
func.func @norms(%y: tensor<?x12xf32, #tcc.extents<s0, 12>>) -> tensor<?x2x1xf32, #tcc.extents<s0, 2, 1>>
    attributes {tcc.symbols = [#tcc.symbol<"n", 1, 9, 1>]} {
  %wq = tcc.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %wk = tcc.constant dense<[5.0, 6.0, 7.0, 8.0]> : tensor<4xf32>
  %sq = tcc.slice %y {starts = #tcc.extents<0, 0>, steps = array<i64: 1, 1>} : (tensor<?x12xf32, #tcc.extents<s0, 12>>) -> tensor<?x8xf32, #tcc.extents<s0, 8>>
  %sk = tcc.slice %y {starts = #tcc.extents<0, 8>, steps = array<i64: 1, 1>} : (tensor<?x12xf32, #tcc.extents<s0, 12>>) -> tensor<?x4xf32, #tcc.extents<s0, 4>>
  %hq = tcc.reshape %sq : (tensor<?x8xf32, #tcc.extents<s0, 8>>) -> tensor<?x2x4xf32, #tcc.extents<s0, 2, 4>>
  %hk = tcc.reshape %sk : (tensor<?x4xf32, #tcc.extents<s0, 4>>) -> tensor<?x1x4xf32, #tcc.extents<s0, 1, 4>>
  %nq = tcc.rms_norm %hq {axis = 2 : i64, epsilon = 1.0e-3 : f64} : (tensor<?x2x4xf32, #tcc.extents<s0, 2, 4>>) -> tensor<?x2x4xf32, #tcc.extents<s0, 2, 4>>
  %nk = tcc.rms_norm %hk {axis = 2 : i64, epsilon = 1.0e-3 : f64} : (tensor<?x1x4xf32, #tcc.extents<s0, 1, 4>>) -> tensor<?x1x4xf32, #tcc.extents<s0, 1, 4>>
  %bq = tcc.broadcast %wq : (tensor<4xf32>) -> tensor<?x2x4xf32, #tcc.extents<s0, 2, 4>>
  %bk = tcc.broadcast %wk : (tensor<4xf32>) -> tensor<?x1x4xf32, #tcc.extents<s0, 1, 4>>
  %mq = tcc.mul %nq, %bq : tensor<?x2x4xf32, #tcc.extents<s0, 2, 4>>
  %mk = tcc.mul %nk, %bk : tensor<?x1x4xf32, #tcc.extents<s0, 1, 4>>
  %t = tcc.transpose %mk {permutation = array<i64: 0, 2, 1>} : (tensor<?x1x4xf32, #tcc.extents<s0, 1, 4>>) -> tensor<?x4x1xf32, #tcc.extents<s0, 4, 1>>
  %r = tcc.matmul %mq, %t : (tensor<?x2x4xf32, #tcc.extents<s0, 2, 4>>, tensor<?x4x1xf32, #tcc.extents<s0, 4, 1>>) -> tensor<?x2x1xf32, #tcc.extents<s0, 2, 1>>
  return %r : tensor<?x2x1xf32, #tcc.extents<s0, 2, 1>>
}

// What reads the results would take in what makes them.
// CHECK-LABEL: func @gates(
// CHECK-COUNT-2: tcc.sigmoid %{{.*}} : tensor<3x4xf32>
func.func @gates(%y: tensor<3x8xf32>) -> tensor<3x4xf32> {
  %a = tcc.slice %y {starts = #tcc.extents<0, 0>, steps = array<i64: 1, 1>} : (tensor<3x8xf32>) -> tensor<3x4xf32>
  %b = tcc.slice %y {starts = #tcc.extents<0, 4>, steps = array<i64: 1, 1>} : (tensor<3x8xf32>) -> tensor<3x4xf32>
  %sa = tcc.sigmoid %a : tensor<3x4xf32>
  %sb = tcc.sigmoid %b : tensor<3x4xf32>
  %r = tcc.mul %sa, %sb : tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// Slices with something between them.
// CHECK-LABEL: func @apart(
// CHECK-COUNT-2: tcc.exp %{{.*}} : tensor<4x4xf32>
func.func @apart(%y: tensor<4x12xf32>) -> tensor<4x4xf32> {
  %a = tcc.slice %y {starts = #tcc.extents<0, 0>, steps = array<i64: 1, 1>} : (tensor<4x12xf32>) -> tensor<4x4xf32>
  %b = tcc.slice %y {starts = #tcc.extents<0, 5>, steps = array<i64: 1, 1>} : (tensor<4x12xf32>) -> tensor<4x4xf32>
  %sa = tcc.exp %a : tensor<4x4xf32>
  %sb = tcc.exp %b : tensor<4x4xf32>
  %r = tcc.matmul %sa, %sb : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// Ops that are not alike, and one that goes along the slices' axis.
// CHECK-LABEL: func @unlike(
// CHECK: tcc.exp %{{.*}} : tensor<4x4xf32>
// CHECK: tcc.tanh %{{.*}} : tensor<4x4xf32>
// CHECK-COUNT-2: tcc.softmax
func.func @unlike(%y: tensor<4x16xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %a = tcc.slice %y {starts = #tcc.extents<0, 0>, steps = array<i64: 1, 1>} : (tensor<4x16xf32>) -> tensor<4x4xf32>
  %b = tcc.slice %y {starts = #tcc.extents<0, 4>, steps = array<i64: 1, 1>} : (tensor<4x16xf32>) -> tensor<4x4xf32>
  %c = tcc.slice %y {starts = #tcc.extents<0, 8>, steps = array<i64: 1, 1>} : (tensor<4x16xf32>) -> tensor<4x4xf32>
  %d = tcc.slice %y {starts = #tcc.extents<0, 12>, steps = array<i64: 1, 1>} : (tensor<4x16xf32>) -> tensor<4x4xf32>
  %sa = tcc.exp %a : tensor<4x4xf32>
  %sb = tcc.tanh %b : tensor<4x4xf32>
  %r = tcc.matmul %sa, %sb : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %sc = tcc.softmax %c {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %sd = tcc.softmax %d {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %r2 = tcc.matmul %sc, %sd : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r, %r2 : tensor<4x4xf32>, tensor<4x4xf32>
}
