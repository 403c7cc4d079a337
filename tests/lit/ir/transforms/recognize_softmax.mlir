// RUN: tcc-opt --tcc-recognize-softmax --canonicalize %s | FileCheck %s

// CHECK-LABEL: func @last(
// CHECK-NEXT: tcc.softmax %arg0 {axis = 2 : i64}
func.func @last(%x: tensor<2x3x?xf32, #tcc.extents<2, 3, s0>>) -> tensor<2x3x?xf32, #tcc.extents<2, 3, s0>> attributes {tcc.symbols = [#tcc.symbol<"n", 1, 9, 1>]} {
  %max = tcc.reduce %x {kind = #tcc.reduce_kind<max>, axes = array<i64: 2>, keep_dims = true} : (tensor<2x3x?xf32, #tcc.extents<2, 3, s0>>) -> tensor<2x3x1xf32>
  %maxes = tcc.broadcast %max : (tensor<2x3x1xf32>) -> tensor<2x3x?xf32, #tcc.extents<2, 3, s0>>
  %shifted = tcc.sub %x, %maxes : tensor<2x3x?xf32, #tcc.extents<2, 3, s0>>
  %e = tcc.exp %shifted : tensor<2x3x?xf32, #tcc.extents<2, 3, s0>>
  %sum = tcc.reduce %e {kind = #tcc.reduce_kind<sum>, axes = array<i64: 2>, keep_dims = true} : (tensor<2x3x?xf32, #tcc.extents<2, 3, s0>>) -> tensor<2x3x1xf32>
  %sums = tcc.broadcast %sum : (tensor<2x3x1xf32>) -> tensor<2x3x?xf32, #tcc.extents<2, 3, s0>>
  %y = tcc.div %e, %sums : tensor<2x3x?xf32, #tcc.extents<2, 3, s0>>
  return %y : tensor<2x3x?xf32, #tcc.extents<2, 3, s0>>
}

// Any axis, with the reduced axis dropped and put back.
// CHECK-LABEL: func @first(
// CHECK-NEXT: tcc.softmax %arg0 {axis = 0 : i64}
func.func @first(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %max = tcc.reduce %x {kind = #tcc.reduce_kind<max>, axes = array<i64: 0>, keep_dims = false} : (tensor<4x4xf32>) -> tensor<4xf32>
  %maxes = tcc.broadcast %max : (tensor<4xf32>) -> tensor<4x4xf32>
  %shifted = tcc.sub %x, %maxes : tensor<4x4xf32>
  %e = tcc.exp %shifted : tensor<4x4xf32>
  %sum = tcc.reduce %e {kind = #tcc.reduce_kind<sum>, axes = array<i64: 0>, keep_dims = false} : (tensor<4x4xf32>) -> tensor<4xf32>
  %row = tcc.reshape %sum : (tensor<4xf32>) -> tensor<1x4xf32>
  %sums = tcc.broadcast %row : (tensor<1x4xf32>) -> tensor<4x4xf32>
  %y = tcc.div %e, %sums : tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// The maximum of row j is taken from column j.
// CHECK-LABEL: func @turned(
// CHECK-NOT: tcc.softmax
func.func @turned(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %max = tcc.reduce %x {kind = #tcc.reduce_kind<max>, axes = array<i64: 1>, keep_dims = false} : (tensor<4x4xf32>) -> tensor<4xf32>
  %maxes = tcc.broadcast %max : (tensor<4xf32>) -> tensor<4x4xf32>
  %shifted = tcc.sub %x, %maxes : tensor<4x4xf32>
  %e = tcc.exp %shifted : tensor<4x4xf32>
  %sum = tcc.reduce %e {kind = #tcc.reduce_kind<sum>, axes = array<i64: 1>, keep_dims = true} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %sums = tcc.broadcast %sum : (tensor<4x1xf32>) -> tensor<4x4xf32>
  %y = tcc.div %e, %sums : tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// Maximum and sum over different axes.
// CHECK-LABEL: func @two_axes(
// CHECK-NOT: tcc.softmax
func.func @two_axes(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %max = tcc.reduce %x {kind = #tcc.reduce_kind<max>, axes = array<i64: 0>, keep_dims = true} : (tensor<4x4xf32>) -> tensor<1x4xf32>
  %maxes = tcc.broadcast %max : (tensor<1x4xf32>) -> tensor<4x4xf32>
  %shifted = tcc.sub %x, %maxes : tensor<4x4xf32>
  %e = tcc.exp %shifted : tensor<4x4xf32>
  %sum = tcc.reduce %e {kind = #tcc.reduce_kind<sum>, axes = array<i64: 1>, keep_dims = true} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %sums = tcc.broadcast %sum : (tensor<4x1xf32>) -> tensor<4x4xf32>
  %y = tcc.div %e, %sums : tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// Without the maximum large values overflow: softmax would hide that.
// CHECK-LABEL: func @unshifted(
// CHECK-NOT: tcc.softmax
func.func @unshifted(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %e = tcc.exp %x : tensor<4x4xf32>
  %sum = tcc.reduce %e {kind = #tcc.reduce_kind<sum>, axes = array<i64: 1>, keep_dims = true} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %sums = tcc.broadcast %sum : (tensor<4x1xf32>) -> tensor<4x4xf32>
  %y = tcc.div %e, %sums : tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}
