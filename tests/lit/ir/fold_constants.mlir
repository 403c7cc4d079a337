// RUN: tcc-opt --canonicalize --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @arithmetic
func.func @arithmetic() -> (tensor<3xi32>, tensor<3xi1>) {
  %a = tcc.constant dense<[7, -7, 2147483647]> : tensor<3xi32>
  %b = tcc.constant dense<[2, 2, 1]> : tensor<3xi32>
  // Integers wrap, and division truncates.
  // CHECK-DAG: tcc.constant dense<[3, -3, 2147483647]> : tensor<3xi32>
  %q = tcc.div %a, %b : tensor<3xi32>
  // CHECK-DAG: tcc.constant dense<[false, true, true]> : tensor<3xi1>
  %sum = tcc.add %a, %b : tensor<3xi32>
  %zero = tcc.constant dense<0> : tensor<3xi32>
  %negative = tcc.compare %sum, %zero {predicate = #tcc.predicate<lt>} : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
  return %q, %negative : tensor<3xi32>, tensor<3xi1>
}

// -----

// A splat stays one, and no element of it is ever made.
// CHECK-LABEL: func.func @splat
func.func @splat() -> tensor<256x256xf32> {
  %x = tcc.constant dense<2.0> : tensor<f32>
  %wide = tcc.broadcast %x : (tensor<f32>) -> tensor<256x256xf32>
  %turned = tcc.transpose %wide {permutation = array<i64: 1, 0>} : (tensor<256x256xf32>) -> tensor<256x256xf32>
  // CHECK-NEXT: tcc.constant dense<4.000000e+00> : tensor<256x256xf32>
  // CHECK-NEXT: return
  %y = tcc.mul %turned, %wide : tensor<256x256xf32>
  return %y : tensor<256x256xf32>
}

// -----

// Ops that only repeat are cheaper to fuse than to store.
// CHECK-LABEL: func.func @growing
func.func @growing() -> (tensor<100x2xf32>, tensor<100xi64>, tensor<4xi64>) {
  %x = tcc.constant dense<[1.0, 2.0]> : tensor<2xf32>
  // CHECK-DAG: tcc.broadcast
  %y = tcc.broadcast %x : (tensor<2xf32>) -> tensor<100x2xf32>
  // CHECK-DAG: tcc.iota
  %i = tcc.iota {axis = 0 : i64} : () -> tensor<100xi64>
  // Small ones are shape arithmetic, and fold.
  // CHECK-DAG: tcc.constant dense<[0, 1, 2, 3]>
  %j = tcc.iota {axis = 0 : i64} : () -> tensor<4xi64>
  return %y, %i, %j : tensor<100x2xf32>, tensor<100xi64>, tensor<4xi64>
}

// -----

// A reshape of a resource shares its blob.
// CHECK-LABEL: func.func @resource
func.func @resource() -> tensor<4xf32> {
  %x = tcc.constant dense_resource<weights> : tensor<2x2xf32>
  // CHECK-NEXT: tcc.constant dense_resource<weights> : tensor<4xf32>
  %y = tcc.reshape %x : (tensor<2x2xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
{-# dialect_resources: { builtin: { weights: "0x040000000000803F000000400000404000008040" } } #-}

// -----

// CHECK-LABEL: func.func @identities
// CHECK-SAME: %[[X:.*]]: tensor<?xf32
func.func @identities(%x: tensor<?xf32, #tcc.extents<s0>>) -> tensor<?xf32, #tcc.extents<s0>> attributes {tcc.symbols = [#tcc.symbol<"n", 1, 64, 1>]} {
  %one = tcc.constant dense<1.0> : tensor<f32>
  %ones = tcc.broadcast %one : (tensor<f32>) -> tensor<?xf32, #tcc.extents<s0>>
  %zero = tcc.constant dense<0.0> : tensor<f32>
  %zeros = tcc.broadcast %zero : (tensor<f32>) -> tensor<?xf32, #tcc.extents<s0>>
  %a = tcc.mul %x, %ones : tensor<?xf32, #tcc.extents<s0>>
  %b = tcc.sub %a, %zeros : tensor<?xf32, #tcc.extents<s0>>
  %c = tcc.neg %b : tensor<?xf32, #tcc.extents<s0>>
  %d = tcc.neg %c : tensor<?xf32, #tcc.extents<s0>>
  %e = tcc.cast %d : (tensor<?xf32, #tcc.extents<s0>>) -> tensor<?xf64, #tcc.extents<s0>>
  %f = tcc.cast %e : (tensor<?xf64, #tcc.extents<s0>>) -> tensor<?xf32, #tcc.extents<s0>>
  %g = tcc.max %f, %f : tensor<?xf32, #tcc.extents<s0>>
  // CHECK-NEXT: return %[[X]]
  return %g : tensor<?xf32, #tcc.extents<s0>>
}

// -----

// Not identities: -0.0 + 0.0 is 0.0, 0 * NaN is NaN, and f16 cannot hold every f32.
// CHECK-LABEL: func.func @not_identities
func.func @not_identities(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %zeros = tcc.constant dense<0.0> : tensor<2xf32>
  // CHECK: tcc.add
  %a = tcc.add %x, %zeros : tensor<2xf32>
  // CHECK: tcc.mul
  %b = tcc.mul %x, %zeros : tensor<2xf32>
  // CHECK: tcc.cast
  // CHECK: tcc.cast
  %c = tcc.cast %x : (tensor<2xf32>) -> tensor<2xf16>
  %d = tcc.cast %c : (tensor<2xf16>) -> tensor<2xf32>
  return %a, %b, %d : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
