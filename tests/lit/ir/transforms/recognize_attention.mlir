// RUN: tcc-opt --tcc-simplify-views --tcc-recognize-attention --canonicalize %s | FileCheck %s

// As PyTorch's exporter writes scaled_dot_product_attention: the key transposed in rank 3, half of the scale on either side, a NaN guard.
// CHECK-LABEL: func @exported(
// CHECK-SAME: %[[Q:.*]]: tensor<2x4x17x8xf32>, %[[K:.*]]: tensor<2x4x9x8xf32>, %[[V:.*]]: tensor<2x4x9x8xf32>, %[[MASK:.*]]: tensor<2x1x17x9xf32>
// CHECK-NEXT: %[[Y:.*]] = tcc.attention %[[Q]], %[[K]], %[[V]], %[[MASK]] {causal = false, masked_rows = #tcc.masked_rows<guarded>, scale = 2.500000e-01
// CHECK-NEXT: return %[[Y]]
func.func @exported(%q: tensor<2x4x17x8xf32>, %k: tensor<2x4x9x8xf32>, %v: tensor<2x4x9x8xf32>, %mask: tensor<2x1x17x9xf32>) -> tensor<2x4x17x8xf32> {
  %half = tcc.constant dense<0.5> : tensor<f32>
  %zero = tcc.constant dense<0.0> : tensor<2x4x17x9xf32>
  %sq = tcc.broadcast %half : (tensor<f32>) -> tensor<2x4x17x8xf32>
  %sk = tcc.broadcast %half : (tensor<f32>) -> tensor<2x4x8x9xf32>
  %k3 = tcc.reshape %k : (tensor<2x4x9x8xf32>) -> tensor<8x9x8xf32>
  %kt3 = tcc.transpose %k3 {permutation = array<i64: 0, 2, 1>} : (tensor<8x9x8xf32>) -> tensor<8x8x9xf32>
  %kt = tcc.reshape %kt3 : (tensor<8x8x9xf32>) -> tensor<2x4x8x9xf32>
  %qs = tcc.mul %q, %sq : tensor<2x4x17x8xf32>
  %ks = tcc.mul %kt, %sk : tensor<2x4x8x9xf32>
  %scores = tcc.matmul %qs, %ks : (tensor<2x4x17x8xf32>, tensor<2x4x8x9xf32>) -> tensor<2x4x17x9xf32>
  %wide = tcc.broadcast %mask : (tensor<2x1x17x9xf32>) -> tensor<2x4x17x9xf32>
  %masked = tcc.add %scores, %wide : tensor<2x4x17x9xf32>
  %p = tcc.softmax %masked {axis = 3 : i64} : (tensor<2x4x17x9xf32>) -> tensor<2x4x17x9xf32>
  %nan = tcc.is_nan %p : (tensor<2x4x17x9xf32>) -> tensor<2x4x17x9xi1>
  %guarded = tcc.select %nan, %zero, %p : (tensor<2x4x17x9xi1>, tensor<2x4x17x9xf32>, tensor<2x4x17x9xf32>) -> tensor<2x4x17x9xf32>
  %y = tcc.matmul %guarded, %v : (tensor<2x4x17x9xf32>, tensor<2x4x9x8xf32>) -> tensor<2x4x17x8xf32>
  return %y : tensor<2x4x17x8xf32>
}

// Without the guard a row whose mask excludes every key is NaN.
// CHECK-LABEL: func @no_guard(
// CHECK: tcc.attention {{.*}} {causal = false, masked_rows = #tcc.masked_rows<nan>, scale = 1.0
func.func @no_guard(%q: tensor<1x2x5x8xf32>, %kt: tensor<1x2x8x5xf32>, %v: tensor<1x2x5x8xf32>, %mask: tensor<1x2x5x5xf32>) -> tensor<1x2x5x8xf32> {
  %scores = tcc.matmul %q, %kt : (tensor<1x2x5x8xf32>, tensor<1x2x8x5xf32>) -> tensor<1x2x5x5xf32>
  %masked = tcc.add %scores, %mask : tensor<1x2x5x5xf32>
  %p = tcc.softmax %masked {axis = 3 : i64} : (tensor<1x2x5x5xf32>) -> tensor<1x2x5x5xf32>
  %y = tcc.matmul %p, %v : (tensor<1x2x5x5xf32>, tensor<1x2x5x8xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}

// Softmax over the queries is something else.
// CHECK-LABEL: func @wrong_axis(
// CHECK-NOT: tcc.attention
func.func @wrong_axis(%q: tensor<1x2x5x8xf32>, %kt: tensor<1x2x8x5xf32>, %v: tensor<1x2x5x8xf32>) -> tensor<1x2x5x8xf32> {
  %scores = tcc.matmul %q, %kt : (tensor<1x2x5x8xf32>, tensor<1x2x8x5xf32>) -> tensor<1x2x5x5xf32>
  %p = tcc.softmax %scores {axis = 2 : i64} : (tensor<1x2x5x5xf32>) -> tensor<1x2x5x5xf32>
  %y = tcc.matmul %p, %v : (tensor<1x2x5x5xf32>, tensor<1x2x5x8xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}

// The probabilities are a result of the model too: they must be computed anyway.
// CHECK-LABEL: func @probabilities_used(
// CHECK-NOT: tcc.attention
func.func @probabilities_used(%q: tensor<1x2x5x8xf32>, %kt: tensor<1x2x8x5xf32>, %v: tensor<1x2x5x8xf32>) -> (tensor<1x2x5x8xf32>, tensor<1x2x5x5xf32>) {
  %scores = tcc.matmul %q, %kt : (tensor<1x2x5x8xf32>, tensor<1x2x8x5xf32>) -> tensor<1x2x5x5xf32>
  %p = tcc.softmax %scores {axis = 3 : i64} : (tensor<1x2x5x5xf32>) -> tensor<1x2x5x5xf32>
  %y = tcc.matmul %p, %v : (tensor<1x2x5x5xf32>, tensor<1x2x5x8xf32>) -> tensor<1x2x5x8xf32>
  return %y, %p : tensor<1x2x5x8xf32>, tensor<1x2x5x5xf32>
}

// Attention without heads is nothing to recognise.
// CHECK-LABEL: func @no_heads(
// CHECK-NOT: tcc.attention
func.func @no_heads(%q: tensor<1x0x5x8xf32>, %kt: tensor<1x0x8x5xf32>, %v: tensor<1x0x5x8xf32>) -> tensor<1x0x5x8xf32> {
  %scores = tcc.matmul %q, %kt : (tensor<1x0x5x8xf32>, tensor<1x0x8x5xf32>) -> tensor<1x0x5x5xf32>
  %p = tcc.softmax %scores {axis = 3 : i64} : (tensor<1x0x5x5xf32>) -> tensor<1x0x5x5xf32>
  %y = tcc.matmul %p, %v : (tensor<1x0x5x5xf32>, tensor<1x0x5x8xf32>) -> tensor<1x0x5x8xf32>
  return %y : tensor<1x0x5x8xf32>
}
