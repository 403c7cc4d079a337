// RUN: tcc-opt --tcc-propagate-channels-last --canonicalize %s | FileCheck %s

// Two convolutions with a bias, a residual and a pool between them: transposes at the ends only.
// CHECK-LABEL: func @stretch(
// CHECK: tcc.constant
// CHECK-NEXT: %{{.*}} = tcc.transpose %arg0 {permutation = array<i64: 0, 2, 3, 1>}
// CHECK-NOT: tcc.transpose
// CHECK: tcc.conv {{.*}}channels_last = true{{.*}} -> tensor<1x8x8x4xf32>
// CHECK: tcc.broadcast {{.*}} -> tensor<1x8x8x4xf32>
// CHECK: tcc.add {{.*}} : tensor<1x8x8x4xf32>
// CHECK: tcc.conv {{.*}}channels_last = true
// CHECK: tcc.add {{.*}} : tensor<1x8x8x4xf32>
// CHECK: tcc.max_pool {{.*}}channels_last = true{{.*}} -> tensor<1x4x4x4xf32>
// CHECK: tcc.transpose {{.*}} {permutation = array<i64: 0, 3, 1, 2>}
// CHECK-NEXT: return
func.func @stretch(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x3x3xf32>) -> tensor<1x4x4x4xf32> {
  %b = tcc.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %b4 = tcc.reshape %b : (tensor<4xf32>) -> tensor<1x4x1x1xf32>
  %bs = tcc.broadcast %b4 : (tensor<1x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %c = tcc.conv %x, %w {strides = array<i64: 1, 1>, padding_low = array<i64: 1, 1>, padding_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x4x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x8x8xf32>
  %a = tcc.add %c, %bs : tensor<1x4x8x8xf32>
  %d = tcc.conv %a, %w {strides = array<i64: 1, 1>, padding_low = array<i64: 1, 1>, padding_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x4x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x8x8xf32>
  %r = tcc.add %d, %a : tensor<1x4x8x8xf32>
  %p = tcc.max_pool %r {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding_low = array<i64: 0, 0>, padding_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, ceil_mode = false} : (tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32>
  return %p : tensor<1x4x4x4xf32>
}

// The mean over the image, then a classifier: no transpose at the end.
// CHECK-LABEL: func @head(
// CHECK: tcc.conv
// CHECK-NOT: tcc.transpose
// CHECK: tcc.reduce {{.*}}axes = array<i64: 1, 2>{{.*}} -> tensor<2x4xf32>
func.func @head(%x: tensor<2x3x?x8xf32, #tcc.extents<2, 3, s0, 8>>, %w: tensor<4x3x1x1xf32>) -> tensor<2x4xf32> attributes {tcc.symbols = [#tcc.symbol<"h", 2, 64, 1>]} {
  %c = tcc.conv %x, %w {strides = array<i64: 1, 1>, padding_low = array<i64: 0, 0>, padding_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x3x?x8xf32, #tcc.extents<2, 3, s0, 8>>, tensor<4x3x1x1xf32>) -> tensor<2x4x?x8xf32, #tcc.extents<2, 4, s0, 8>>
  %m = tcc.reduce %c {kind = #tcc.reduce_kind<mean>, axes = array<i64: 2, 3>, keep_dims = false} : (tensor<2x4x?x8xf32, #tcc.extents<2, 4, s0, 8>>) -> tensor<2x4xf32>
  return %m : tensor<2x4xf32>
}

// The flattening before a transformer: a reshape of the channels-last image, no data moves.
// CHECK-LABEL: func @patches(
// CHECK: %[[C:.*]] = tcc.conv
// CHECK-NEXT: %[[R:.*]] = tcc.reshape %[[C]] : (tensor<1x2x2x8xf32>) -> tensor<1x4x8xf32>
// CHECK-NEXT: return %[[R]]
func.func @patches(%x: tensor<1x3x32x32xf32>, %w: tensor<8x3x16x16xf32>) -> tensor<1x4x8xf32> {
  %c = tcc.conv %x, %w {strides = array<i64: 16, 16>, padding_low = array<i64: 0, 0>, padding_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x3x32x32xf32>, tensor<8x3x16x16xf32>) -> tensor<1x8x2x2xf32>
  %r = tcc.reshape %c : (tensor<1x8x2x2xf32>) -> tensor<1x8x4xf32>
  %t = tcc.transpose %r {permutation = array<i64: 0, 2, 1>} : (tensor<1x8x4xf32>) -> tensor<1x4x8xf32>
  return %t : tensor<1x4x8xf32>
}

// The bounds of a clip were folded to splats of the whole activation: they are no reason to leave the layout.
// CHECK-LABEL: func @clip(
// CHECK: tcc.transpose %arg0
// CHECK-NOT: tcc.transpose
// CHECK: tcc.conv
// CHECK: tcc.max
// CHECK: tcc.min
// CHECK: tcc.conv
// CHECK: tcc.transpose
func.func @clip(%x: tensor<1x16x33x33xf32>, %w: tensor<16x16x1x1xf32>) -> tensor<1x16x33x33xf32> {
  %low = tcc.constant dense<0.0> : tensor<1x16x33x33xf32>
  %high = tcc.constant dense<6.0> : tensor<1x16x33x33xf32>
  %a = tcc.conv %x, %w {strides = array<i64: 1, 1>, padding_low = array<i64: 0, 0>, padding_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x33x33xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x33x33xf32>
  %b = tcc.max %a, %low : tensor<1x16x33x33xf32>
  %c = tcc.min %b, %high : tensor<1x16x33x33xf32>
  %d = tcc.conv %c, %w {strides = array<i64: 1, 1>, padding_low = array<i64: 0, 0>, padding_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x33x33xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x33x33xf32>
  return %d : tensor<1x16x33x33xf32>
}
