// RUN: tcc-opt --tcc-fold-constants="max-elements=100000" --canonicalize %s | FileCheck %s

// A weight too large for the folder, transposed.
// CHECK-LABEL: func @weights(
// CHECK-NEXT: %[[W:.*]] = tcc.constant
// CHECK-SAME: tensor<300x300xf32>
// CHECK-NEXT: tcc.matmul %arg0, %[[W]]
func.func @weights(%x: tensor<2x300xf32>) -> tensor<2x300xf32> {
  %a = tcc.constant dense<2.0> : tensor<300x300xf32>
  %b = tcc.constant dense<3.0> : tensor<300x300xf32>
  %w = tcc.add %a, %b : tensor<300x300xf32>
  %t = tcc.transpose %w {permutation = array<i64: 1, 0>} : (tensor<300x300xf32>) -> tensor<300x300xf32>
  %y = tcc.matmul %x, %t : (tensor<2x300xf32>, tensor<300x300xf32>) -> tensor<2x300xf32>
  return %y : tensor<2x300xf32>
}

// Over the limit: stays.
// CHECK-LABEL: func @too_large(
// CHECK: tcc.add
func.func @too_large() -> tensor<400x300xf32> {
  %a = tcc.constant dense<2.0> : tensor<400x300xf32>
  %b = tcc.constant dense<3.0> : tensor<400x300xf32>
  %w = tcc.add %a, %b : tensor<400x300xf32>
  return %w : tensor<400x300xf32>
}

// A broadcast repeats elements: as a constant it would only take memory.
// CHECK-LABEL: func @growing(
// CHECK: tcc.broadcast
func.func @growing() -> tensor<300x300xf32> {
  %a = tcc.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %r = tcc.reshape %a : (tensor<2xf32>) -> tensor<2x1xf32>
  %b = tcc.broadcast %r : (tensor<2x1xf32>) -> tensor<2x45000xf32>
  %c = tcc.reshape %b : (tensor<2x45000xf32>) -> tensor<300x300xf32>
  return %c : tensor<300x300xf32>
}
