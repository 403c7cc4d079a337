// RUN: tcc-opt --tcc-fold-scale-into-weights --canonicalize %s | FileCheck %s

// Batch normalisation after a convolution: (conv + b) * s.
// CHECK-LABEL: func @batch_norm(
// CHECK: %[[W:.*]] = tcc.constant dense<{{\[\[\[\[}}2.000000e+00]]], {{\[\[\[}}1.500000e+01]]]]>
// CHECK: tcc.conv %arg0, %[[W]]
func.func @batch_norm(%x: tensor<1x1x5x5xf32>) -> tensor<1x2x5x5xf32> {
  %w = tcc.constant dense<[[[[1.0]]], [[[3.0]]]]> : tensor<2x1x1x1xf32>
  %b = tcc.constant dense<[[[10.0]], [[20.0]]]> : tensor<2x1x1xf32>
  %s = tcc.constant dense<[[[2.0]], [[5.0]]]> : tensor<2x1x1xf32>
  %bs = tcc.broadcast %b : (tensor<2x1x1xf32>) -> tensor<1x2x5x5xf32>
  %ss = tcc.broadcast %s : (tensor<2x1x1xf32>) -> tensor<1x2x5x5xf32>
  %c = tcc.conv %x, %w {strides = array<i64: 1, 1>, padding_low = array<i64: 0, 0>, padding_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x1x5x5xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x5x5xf32>
  %a = tcc.add %c, %bs : tensor<1x2x5x5xf32>
  %y = tcc.mul %a, %ss : tensor<1x2x5x5xf32>
  return %y : tensor<1x2x5x5xf32>
}

// Something else reads the unscaled result.
// CHECK-LABEL: func @other_use(
// CHECK: tcc.constant dense<1.000000e+00> : tensor<2x1x1x1xf32>
func.func @other_use(%x: tensor<1x1x5x5xf32>) -> (tensor<1x2x5x5xf32>, tensor<1x2x5x5xf32>) {
  %w = tcc.constant dense<1.0> : tensor<2x1x1x1xf32>
  %s = tcc.constant dense<[[[2.0]], [[5.0]]]> : tensor<2x1x1xf32>
  %ss = tcc.broadcast %s : (tensor<2x1x1xf32>) -> tensor<1x2x5x5xf32>
  %c = tcc.conv %x, %w {strides = array<i64: 1, 1>, padding_low = array<i64: 0, 0>, padding_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x1x5x5xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x5x5xf32>
  %y = tcc.mul %c, %ss : tensor<1x2x5x5xf32>
  return %y, %c : tensor<1x2x5x5xf32>, tensor<1x2x5x5xf32>
}

// A factor along another axis than the channels.
// CHECK-LABEL: func @other_axis(
// CHECK: tcc.conv
// CHECK: tcc.mul
func.func @other_axis(%x: tensor<1x1x2x2xf32>) -> tensor<1x2x2x2xf32> {
  %w = tcc.constant dense<1.0> : tensor<2x1x1x1xf32>
  %s = tcc.constant dense<[2.0, 5.0]> : tensor<2xf32>
  %ss = tcc.broadcast %s : (tensor<2xf32>) -> tensor<1x2x2x2xf32>
  %c = tcc.conv %x, %w {strides = array<i64: 1, 1>, padding_low = array<i64: 0, 0>, padding_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x1x2x2xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x2x2xf32>
  %y = tcc.mul %c, %ss : tensor<1x2x2x2xf32>
  return %y : tensor<1x2x2x2xf32>
}

// Layer scale after a linear layer, through the reshape that adds the batch axis.
// CHECK-LABEL: func @layer_scale(
// CHECK: tcc.constant dense<{{\[\[}}2.000000e+00, 5.000000e+00]]>
// CHECK-NOT: tcc.mul
func.func @layer_scale(%x: tensor<3x1xf32>) -> tensor<1x3x2xf32> {
  %w = tcc.constant dense<1.0> : tensor<1x2xf32>
  %s = tcc.constant dense<[2.0, 5.0]> : tensor<2xf32>
  %ss = tcc.broadcast %s : (tensor<2xf32>) -> tensor<1x3x2xf32>
  %m = tcc.matmul %x, %w : (tensor<3x1xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
  %r = tcc.reshape %m : (tensor<3x2xf32>) -> tensor<1x3x2xf32>
  %y = tcc.mul %r, %ss : tensor<1x3x2xf32>
  return %y : tensor<1x3x2xf32>
}

// Weights of 16 bits would be rounded a second time: the factor stays, and is applied to the accumulators.
// CHECK-LABEL: func @half(
// CHECK: tcc.matmul
// CHECK: tcc.mul
func.func @half(%x: tensor<2x4xf16>) -> tensor<2x4xf16> {
  %w = tcc.constant dense<0.5> : tensor<4x4xf16>
  %s = tcc.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf16>
  %m = tcc.matmul %x, %w : (tensor<2x4xf16>, tensor<4x4xf16>) -> tensor<2x4xf16>
  %b = tcc.broadcast %s : (tensor<4xf16>) -> tensor<2x4xf16>
  %y = tcc.mul %m, %b : tensor<2x4xf16>
  return %y : tensor<2x4xf16>
}
