// RUN: tcc-opt --tcc-convert-precision="type=bf16" --canonicalize %s | FileCheck %s

// The weights are stored narrow, the bias is added in float32, and the value between the products goes narrow once.
// CHECK-LABEL: func @mlp(
// CHECK-DAG: tcc.constant dense<5.000000e-01> : tensor<4x4xbf16>
// CHECK: %[[X:.*]] = tcc.cast %arg0 {{.*}} -> tensor<2x4xbf16>
// CHECK: %[[A:.*]] = tcc.matmul %[[X]], {{.*}} -> tensor<2x4xbf16>
// CHECK: %[[W:.*]] = tcc.cast %[[A]] {{.*}} -> tensor<2x4xf32>
// CHECK: %[[S:.*]] = tcc.add %[[W]], {{.*}} : tensor<2x4xf32>
// CHECK: %[[N:.*]] = tcc.cast %[[S]] {{.*}} -> tensor<2x4xbf16>
// CHECK: %[[B:.*]] = tcc.matmul %[[N]]
// CHECK: tcc.cast %[[B]] {{.*}} -> tensor<2x4xf32>
func.func @mlp(%x: tensor<2x4xf32>, %b: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %w = tcc.constant dense<0.5> : tensor<4x4xf32>
  %m = tcc.matmul %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %s = tcc.add %m, %b : tensor<2x4xf32>
  %y = tcc.matmul %s, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// Double precision is what the model asked for.
// CHECK-LABEL: func @double(
// CHECK-NOT: bf16
func.func @double(%x: tensor<2x4xf64>, %w: tensor<4x4xf64>) -> tensor<2x4xf64> {
  %y = tcc.matmul %x, %w : (tensor<2x4xf64>, tensor<4x4xf64>) -> tensor<2x4xf64>
  return %y : tensor<2x4xf64>
}
