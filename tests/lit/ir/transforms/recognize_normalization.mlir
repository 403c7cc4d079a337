// RUN: tcc-opt --tcc-recognize-normalization %s | FileCheck %s

// CHECK-LABEL: func @rms(
// CHECK: tcc.rms_norm %arg0 {axis = 2 : i64, epsilon = 9.9{{[0-9]+}}E-7
func.func @rms(%x: tensor<1x7x32xf32>) -> tensor<1x7x32xf32> {
  %two = tcc.constant dense<2.0> : tensor<f32>
  %e = tcc.constant dense<1.0e-6> : tensor<f32>
  %twos = tcc.broadcast %two : (tensor<f32>) -> tensor<1x7x32xf32>
  %es = tcc.broadcast %e : (tensor<f32>) -> tensor<1x7x1xf32>
  %square = tcc.pow %x, %twos : tensor<1x7x32xf32>
  %mean = tcc.reduce %square {kind = #tcc.reduce_kind<mean>, axes = array<i64: 2>, keep_dims = true} : (tensor<1x7x32xf32>) -> tensor<1x7x1xf32>
  %a = tcc.add %mean, %es : tensor<1x7x1xf32>
  %root = tcc.sqrt %a : tensor<1x7x1xf32>
  %inverse = tcc.reciprocal %root : tensor<1x7x1xf32>
  %wide = tcc.broadcast %inverse : (tensor<1x7x1xf32>) -> tensor<1x7x32xf32>
  %y = tcc.mul %x, %wide : tensor<1x7x32xf32>
  return %y : tensor<1x7x32xf32>
}

// CHECK-LABEL: func @layer(
// CHECK: tcc.layer_norm %arg0 {axis = 1 : i64
func.func @layer(%x: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %e = tcc.constant dense<1.0e-5> : tensor<4x1xf32>
  %mean = tcc.reduce %x {kind = #tcc.reduce_kind<mean>, axes = array<i64: 1>, keep_dims = true} : (tensor<4x32xf32>) -> tensor<4x1xf32>
  %means = tcc.broadcast %mean : (tensor<4x1xf32>) -> tensor<4x32xf32>
  %centred = tcc.sub %x, %means : tensor<4x32xf32>
  %square = tcc.mul %centred, %centred : tensor<4x32xf32>
  %variance = tcc.reduce %square {kind = #tcc.reduce_kind<mean>, axes = array<i64: 1>, keep_dims = true} : (tensor<4x32xf32>) -> tensor<4x1xf32>
  %a = tcc.add %variance, %e : tensor<4x1xf32>
  %root = tcc.sqrt %a : tensor<4x1xf32>
  %wide = tcc.broadcast %root : (tensor<4x1xf32>) -> tensor<4x32xf32>
  %y = tcc.div %centred, %wide : tensor<4x32xf32>
  return %y : tensor<4x32xf32>
}

// A mean over a leading axis is not a row normalisation.
// CHECK-LABEL: func @leading_axis(
// CHECK-NOT: tcc.rms_norm
func.func @leading_axis(%x: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %e = tcc.constant dense<1.0e-5> : tensor<1x32xf32>
  %square = tcc.mul %x, %x : tensor<4x32xf32>
  %mean = tcc.reduce %square {kind = #tcc.reduce_kind<mean>, axes = array<i64: 0>, keep_dims = true} : (tensor<4x32xf32>) -> tensor<1x32xf32>
  %a = tcc.add %mean, %e : tensor<1x32xf32>
  %root = tcc.sqrt %a : tensor<1x32xf32>
  %wide = tcc.broadcast %root : (tensor<1x32xf32>) -> tensor<4x32xf32>
  %y = tcc.div %x, %wide : tensor<4x32xf32>
  return %y : tensor<4x32xf32>
}

// The epsilon is added to the root, not under it.
// CHECK-LABEL: func @epsilon_outside(
// CHECK-NOT: tcc.rms_norm
func.func @epsilon_outside(%x: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %e = tcc.constant dense<1.0e-5> : tensor<4x1xf32>
  %square = tcc.mul %x, %x : tensor<4x32xf32>
  %mean = tcc.reduce %square {kind = #tcc.reduce_kind<mean>, axes = array<i64: 1>, keep_dims = true} : (tensor<4x32xf32>) -> tensor<4x1xf32>
  %root = tcc.sqrt %mean : tensor<4x1xf32>
  %a = tcc.add %root, %e : tensor<4x1xf32>
  %wide = tcc.broadcast %a : (tensor<4x1xf32>) -> tensor<4x32xf32>
  %y = tcc.div %x, %wide : tensor<4x32xf32>
  return %y : tensor<4x32xf32>
}

// The mean of the squares of one value scales another.
// CHECK-LABEL: func @two_values(
// CHECK-NOT: tcc.rms_norm
func.func @two_values(%x: tensor<4x32xf32>, %z: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %e = tcc.constant dense<1.0e-5> : tensor<4x1xf32>
  %square = tcc.mul %z, %z : tensor<4x32xf32>
  %mean = tcc.reduce %square {kind = #tcc.reduce_kind<mean>, axes = array<i64: 1>, keep_dims = true} : (tensor<4x32xf32>) -> tensor<4x1xf32>
  %a = tcc.add %mean, %e : tensor<4x1xf32>
  %root = tcc.sqrt %a : tensor<4x1xf32>
  %wide = tcc.broadcast %root : (tensor<4x1xf32>) -> tensor<4x32xf32>
  %y = tcc.div %x, %wide : tensor<4x32xf32>
  return %y : tensor<4x32xf32>
}

// The mean of row j goes to column j: on a square tensor the extents do not show it.
// CHECK-LABEL: func @turned_statistic(
// CHECK-NOT: tcc.rms_norm
func.func @turned_statistic(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %e = tcc.constant dense<1.0e-5> : tensor<4xf32>
  %square = tcc.mul %x, %x : tensor<4x4xf32>
  %mean = tcc.reduce %square {kind = #tcc.reduce_kind<mean>, axes = array<i64: 1>, keep_dims = false} : (tensor<4x4xf32>) -> tensor<4xf32>
  %a = tcc.add %mean, %e : tensor<4xf32>
  %root = tcc.sqrt %a : tensor<4xf32>
  %wide = tcc.broadcast %root : (tensor<4xf32>) -> tensor<4x4xf32>
  %y = tcc.div %x, %wide : tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// The mean that is subtracted is turned; only the second half is a normalisation.
// CHECK-LABEL: func @turned_mean(
// CHECK-NOT: tcc.layer_norm
// CHECK: tcc.rms_norm
func.func @turned_mean(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %e = tcc.constant dense<1.0e-5> : tensor<4x1xf32>
  %mean = tcc.reduce %x {kind = #tcc.reduce_kind<mean>, axes = array<i64: 1>, keep_dims = false} : (tensor<4x4xf32>) -> tensor<4xf32>
  %means = tcc.broadcast %mean : (tensor<4xf32>) -> tensor<4x4xf32>
  %centred = tcc.sub %x, %means : tensor<4x4xf32>
  %square = tcc.mul %centred, %centred : tensor<4x4xf32>
  %variance = tcc.reduce %square {kind = #tcc.reduce_kind<mean>, axes = array<i64: 1>, keep_dims = true} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %a = tcc.add %variance, %e : tensor<4x1xf32>
  %root = tcc.sqrt %a : tensor<4x1xf32>
  %wide = tcc.broadcast %root : (tensor<4x1xf32>) -> tensor<4x4xf32>
  %y = tcc.div %centred, %wide : tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// Without the reduced axes in the statistic, but put back where they were.
// CHECK-LABEL: func @reshaped_statistic(
// CHECK: tcc.rms_norm %arg0 {axis = 1 : i64
func.func @reshaped_statistic(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %e = tcc.constant dense<1.0e-5> : tensor<4xf32>
  %square = tcc.mul %x, %x : tensor<4x4xf32>
  %mean = tcc.reduce %square {kind = #tcc.reduce_kind<mean>, axes = array<i64: 1>, keep_dims = false} : (tensor<4x4xf32>) -> tensor<4xf32>
  %a = tcc.add %mean, %e : tensor<4xf32>
  %root = tcc.sqrt %a : tensor<4xf32>
  %column = tcc.reshape %root : (tensor<4xf32>) -> tensor<4x1xf32>
  %wide = tcc.broadcast %column : (tensor<4x1xf32>) -> tensor<4x4xf32>
  %y = tcc.div %x, %wide : tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}
