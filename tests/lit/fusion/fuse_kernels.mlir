// RUN: tcc-opt --tcc-lower-to-kernels --tcc-fuse-kernels --tcc-verify-kernels --split-input-file %s | FileCheck %s

// The bias is read at the column alone; the constant is part of the code.
// CHECK-LABEL: func.func @bias_and_scale
// CHECK: tcc.kernel(%{{.*}}, %{{.*}}) ["broadcast", "mul", "add"]
// CHECK-NOT: tcc.kernel(
func.func @bias_and_scale(%x: tensor<3x5xf32>, %b: tensor<5xf32>) -> tensor<3x5xf32> {
  %c = tcc.constant dense<0.5> : tensor<f32>
  %s = tcc.broadcast %c : (tensor<f32>) -> tensor<3x5xf32>
  %m = tcc.mul %x, %s : tensor<3x5xf32>
  %bb = tcc.broadcast %b : (tensor<5xf32>) -> tensor<3x5xf32>
  %a = tcc.add %m, %bb : tensor<3x5xf32>
  return %a : tensor<3x5xf32>
}

// -----

// Heads of attention: the epilogue of the matmul stores through the reshape and the transpose.
// CHECK: #[[$HEADS:.*]] = affine_map<(d0, d1, d2, d3) -> (d0 * 3 + d2, d1 * 4 + d3)>
// CHECK-LABEL: func.func @split_heads
// CHECK: tcc.matmul
// CHECK-NEXT: tcc.loops <2, 2, 3, 4>
// CHECK: tcc.load %{{.*}}[#[[$HEADS]]]
// CHECK-NOT: tcc.reshape
func.func @split_heads(%x: tensor<6x4xf32>, %w: tensor<4x8xf32>) -> tensor<2x2x3x4xf32> {
  %m = tcc.matmul %x, %w : (tensor<6x4xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
  %h = tcc.reshape %m : (tensor<6x8xf32>) -> tensor<2x3x2x4xf32>
  %t = tcc.transpose %h {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x3x2x4xf32>) -> tensor<2x2x3x4xf32>
  return %t : tensor<2x2x3x4xf32>
}

// -----

// A transposing copy is not fused into a reduction that would then walk through memory in strides.
// CHECK-LABEL: func.func @transpose_before_sum
// CHECK: tcc.kernel({{.*}}) ["transpose"]
// CHECK: tcc.kernel({{.*}}) ["reduce"]
func.func @transpose_before_sum(%x: tensor<64x48xf32>) -> tensor<48xf32> {
  %t = tcc.transpose %x {permutation = array<i64: 1, 0>} : (tensor<64x48xf32>) -> tensor<48x64xf32>
  %s = tcc.reduce %t {kind = #tcc.reduce_kind<sum>, axes = array<i64: 1>, keep_dims = false} : (tensor<48x64xf32>) -> tensor<48xf32>
  return %s : tensor<48xf32>
}

// -----

// The sum is a scalar that is read beside every element: it counts as such when the pad asks how its producer is walked.
// CHECK-LABEL: func.func @scalar_below_a_pad
// CHECK: tcc.kernel
func.func @scalar_below_a_pad(%x: tensor<?xf32, #tcc.extents<s0>>) -> (tensor<?xf32, #tcc.extents<s0 + 1>>, tensor<f32>) attributes {tcc.symbols = [#tcc.symbol<"n", 0, 64, 1>]} {
  %r = tcc.reduce %x {axes = array<i64: 0>, keep_dims = false, kind = #tcc.reduce_kind<sum>} : (tensor<?xf32, #tcc.extents<s0>>) -> tensor<f32>
  %b = tcc.broadcast %r : (tensor<f32>) -> tensor<?xf32, #tcc.extents<s0>>
  %d = tcc.div %b, %x : tensor<?xf32, #tcc.extents<s0>>
  %p = tcc.pad %d {high = #tcc.extents<1>, low = #tcc.extents<0>, mode = #tcc.pad_mode<constant>} : (tensor<?xf32, #tcc.extents<s0>>) -> tensor<?xf32, #tcc.extents<s0 + 1>>
  return %p, %r : tensor<?xf32, #tcc.extents<s0 + 1>>, tensor<f32>
}

// -----

// The value is known, not whether the index is one: the check stays, once.
// CHECK-LABEL: func.func @only_element
// CHECK-COUNT-1: tcc.bounds_check
// CHECK-NOT: tcc.bounds_check
func.func @only_element(%x: tensor<1x4xf32>, %i: tensor<5xi64>) -> tensor<5x4xf32> {
  %g = tcc.gather %x, %i {axis = 0 : i64} : (tensor<1x4xf32>, tensor<5xi64>) -> tensor<5x4xf32>
  %n = tcc.neg %x : tensor<1x4xf32>
  %h = tcc.gather %n, %i {axis = 0 : i64} : (tensor<1x4xf32>, tensor<5xi64>) -> tensor<5x4xf32>
  %y = tcc.add %g, %h : tensor<5x4xf32>
  return %y : tensor<5x4xf32>
}

// -----

// Indices that are known need no check.
// CHECK-LABEL: func.func @known_index
// CHECK: tcc.kernel
// CHECK-NOT: tcc.bounds_check
func.func @known_index(%x: tensor<3x4xf32>) -> tensor<5x4xf32> {
  %i = tcc.constant dense<-1> : tensor<5xi64>
  %g = tcc.gather %x, %i {axis = 0 : i64} : (tensor<3x4xf32>, tensor<5xi64>) -> tensor<5x4xf32>
  return %g : tensor<5x4xf32>
}

// -----

// The pass that writes the norm also adds the position to it: two results, and the norm is not read again.
// CHECK-LABEL: func.func @norm_and_position
// CHECK: %[[BOTH:.*]]:2 = tcc.kernel(%{{.*}}, %{{.*}}) ["layer_norm", "add"]
// CHECK: tcc.yield %{{.*}}, %{{.*}} : f32, f32
// CHECK-NOT: tcc.kernel(
// CHECK: tcc.scan %[[BOTH]]#1
func.func @norm_and_position(%x: tensor<6x128xf32>, %p: tensor<6x128xf32>) -> (tensor<6x128xf32>, tensor<6x128xf32>) {
  %n = tcc.layer_norm %x {axis = 1 : i64, epsilon = 1.0e-5} : (tensor<6x128xf32>) -> tensor<6x128xf32>
  %q = tcc.add %n, %p : tensor<6x128xf32>
  %s = tcc.scan %n {kind = #tcc.reduce_kind<sum>, axis = 1 : i64, exclusive = false, reverse = false} : (tensor<6x128xf32>) -> tensor<6x128xf32>
  return %q, %s : tensor<6x128xf32>, tensor<6x128xf32>
}

// -----

// Read across.
// CHECK-LABEL: func.func @norm_read_otherwise
// CHECK: tcc.kernel({{.*}}) ["layer_norm"]
// CHECK: tcc.kernel({{.*}}) ["transpose", "add"]
func.func @norm_read_otherwise(%x: tensor<128x128xf32>, %p: tensor<128x128xf32>) -> (tensor<128x128xf32>, tensor<128x128xf32>) {
  %n = tcc.layer_norm %x {axis = 1 : i64, epsilon = 1.0e-5} : (tensor<128x128xf32>) -> tensor<128x128xf32>
  %t = tcc.transpose %n {permutation = array<i64: 1, 0>} : (tensor<128x128xf32>) -> tensor<128x128xf32>
  %q = tcc.add %t, %p : tensor<128x128xf32>
  %s = tcc.scan %n {kind = #tcc.reduce_kind<sum>, axis = 1 : i64, exclusive = false, reverse = false} : (tensor<128x128xf32>) -> tensor<128x128xf32>
  return %q, %s : tensor<128x128xf32>, tensor<128x128xf32>
}

// -----

// CHECK-LABEL: func.func @norm_read_before
// CHECK: tcc.kernel({{.*}}) ["layer_norm"]
// CHECK: tcc.scan
// CHECK: tcc.kernel({{.*}}) ["add"]
func.func @norm_read_before(%x: tensor<6x128xf32>) -> (tensor<6x128xf32>, tensor<6x128xf32>) {
  %n = tcc.layer_norm %x {axis = 1 : i64, epsilon = 1.0e-5} : (tensor<6x128xf32>) -> tensor<6x128xf32>
  %s = tcc.scan %n {kind = #tcc.reduce_kind<sum>, axis = 1 : i64, exclusive = false, reverse = false} : (tensor<6x128xf32>) -> tensor<6x128xf32>
  %q = tcc.add %n, %s : tensor<6x128xf32>
  return %q, %n : tensor<6x128xf32>, tensor<6x128xf32>
}
