// RUN: tcc-opt --tcc-convert-precision="type=bf16" --canonicalize %s | FileCheck %s
// RUN: tcc-opt --tcc-convert-precision="type=f16" --canonicalize %s | FileCheck %s --check-prefix=F16

// Weights and what lies between the ops are narrow; what comes in and goes out is not.
// CHECK-LABEL: func @mlp(
// CHECK-SAME: %[[X:.*]]: tensor<2x4xf32>, %[[B:.*]]: tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-DAG: %[[W:.*]] = tcc.constant dense<5.000000e-01> : tensor<4x4xbf16>
// CHECK-DAG: %[[NX:.*]] = tcc.cast %[[X]] {{.*}} -> tensor<2x4xbf16>
// CHECK-DAG: %[[NB:.*]] = tcc.cast %[[B]] {{.*}} -> tensor<2x4xbf16>
// CHECK: %[[M:.*]] = tcc.matmul %[[NX]], %[[W]]
// CHECK: %[[S:.*]] = tcc.add %[[M]], %[[NB]] : tensor<2x4xbf16>
// CHECK: %[[Y:.*]] = tcc.matmul %[[S]], %[[W]]
// CHECK: %[[R:.*]] = tcc.cast %[[Y]] {{.*}} -> tensor<2x4xf32>
// CHECK: return %[[R]]
// F16-LABEL: func @mlp(
// F16: tcc.add {{.*}} : tensor<2x4xf16>
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

// Angles made of positions have no precision to spare, until they meet an activation.
// CHECK-LABEL: func @positions(
// CHECK: tcc.mul {{.*}} : tensor<4xf32>
// CHECK: %[[SIN:.*]] = tcc.sin {{.*}} : tensor<4xf32>
// CHECK: %[[N:.*]] = tcc.cast {{.*}} -> tensor<4xbf16>
// CHECK: tcc.add {{.*}} : tensor<4xbf16>
func.func @positions(%x: tensor<4xf32>, %positions: tensor<4xi64>) -> tensor<4xf32> {
  %p = tcc.cast %positions : (tensor<4xi64>) -> tensor<4xf32>
  %f = tcc.constant dense<[1.0, 0.1, 0.01, 0.001]> : tensor<4xf32>
  %a = tcc.mul %p, %f : tensor<4xf32>
  %s = tcc.sin %a : tensor<4xf32>
  %y = tcc.add %s, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// Nor has what becomes an integer.
// CHECK-LABEL: func @index(
// CHECK-NOT: bf16
func.func @index(%x: tensor<4xf32>) -> tensor<4xi64> {
  %y = tcc.add %x, %x : tensor<4xf32>
  %i = tcc.cast %y : (tensor<4xf32>) -> tensor<4xi64>
  return %i : tensor<4xi64>
}

// The lowest float32, which masks are made of, is not infinite afterwards; infinity stays. An epsilon that float16 has no
// number for is added in float32.
// CHECK-LABEL: func @constants(
// CHECK-DAG: tcc.constant dense<-3.389530e+38> : tensor<4xbf16>
// CHECK-DAG: tcc.constant dense<0xFF80> : tensor<4xbf16>
// F16-LABEL: func @constants(
// F16-DAG: tcc.constant dense<-6.550400e+04> : tensor<4xf16>
// F16-DAG: tcc.constant dense<9.99999996E-13> : tensor<4xf32>
// F16-DAG: tcc.add {{.*}} : tensor<4xf32>
// F16-DAG: tcc.constant dense<0xFC00> : tensor<4xf16>
func.func @constants(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %lowest = tcc.constant dense<-3.40282347E+38> : tensor<4xf32>
  %small = tcc.constant dense<1.0E-12> : tensor<4xf32>
  %infinite = tcc.constant dense<0xFF800000> : tensor<4xf32>
  %a = tcc.max %x, %lowest : tensor<4xf32>
  %b = tcc.add %x, %small : tensor<4xf32>
  %c = tcc.max %x, %infinite : tensor<4xf32>
  return %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// A mask computed from integers: limited before it goes narrow.
// CHECK-LABEL: func @mask(
// CHECK: tcc.is_inf
// CHECK: %[[M:.*]] = tcc.cast {{.*}} -> tensor<1x1x2x2xbf16>
// CHECK: tcc.attention {{.*}}, %[[M]]
func.func @mask(%q: tensor<1x1x2x4xf32>, %m: tensor<1x1x2x2xf32>) -> tensor<1x1x2x4xf32> {
  %y = "tcc.attention"(%q, %q, %q, %m) {scale = 0.5 : f64, causal = false} : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x4xf32>
  return %y : tensor<1x1x2x4xf32>
}

// Weights that are moved before they are used are stored narrow, too.
// CHECK-LABEL: func @bias(
// CHECK: %[[B:.*]] = tcc.constant {{.*}} : tensor<2x4xbf16>
// CHECK: tcc.add {{.*}}, %[[B]] : tensor<2x4xbf16>
func.func @bias(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %b = tcc.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %c = tcc.broadcast %b : (tensor<4xf32>) -> tensor<2x4xf32>
  %y = tcc.add %x, %c : tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// What a constant beyond float16 makes of activations stays in float32 until it is small again.
// F16-LABEL: func @beyond(
// F16: tcc.add {{.*}} : tensor<2x4xf32>
// F16: tcc.transpose {{.*}} -> tensor<4x2xf32>
// F16: %[[P:.*]] = tcc.softmax {{.*}} -> tensor<4x2xf32>
// F16: %[[N:.*]] = tcc.cast %[[P]] {{.*}} -> tensor<4x2xf16>
// F16: tcc.matmul %[[N]], {{.*}} -> tensor<4x4xf16>
// CHECK-LABEL: func @beyond(
// CHECK: tcc.add {{.*}} : tensor<2x4xbf16>
func.func @beyond(%x: tensor<2x4xf32>) -> tensor<4x4xf32> {
  %k = tcc.constant dense<-1.0E+9> : tensor<2x4xf32>
  %a = tcc.add %x, %k : tensor<2x4xf32>
  %t = tcc.transpose %a {permutation = array<i64: 1, 0>} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %p = "tcc.softmax"(%t) {axis = 1 : i64} : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %y = tcc.matmul %p, %x : (tensor<4x2xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// A limit that no float16 reaches is none; one that all are below is a value.
// F16-LABEL: func @limits(
// F16: tcc.min {{.*}} : tensor<4xf16>
// F16: tcc.max {{.*}} : tensor<4xf32>
func.func @limits(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %k = tcc.constant dense<3.0E+38> : tensor<4xf32>
  %a = tcc.min %x, %k : tensor<4xf32>
  %b = tcc.max %x, %k : tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// An epsilon counts up to the division; a weight of normal size makes a few tiny ones none of its concern.
// F16-LABEL: func @epsilon(
// F16: tcc.add {{.*}} : tensor<4xf32>
// F16: tcc.rsqrt {{.*}} : tensor<4xf32>
// F16: tcc.mul {{.*}} : tensor<4xf16>
// F16: tcc.mul {{.*}} : tensor<4xf16>
func.func @epsilon(%x: tensor<4xf32>) -> tensor<4xf32> {
  %k = tcc.constant dense<1.0E-12> : tensor<4xf32>
  %w = tcc.constant dense<[1.0, 2.0, 0.5, 1.0E-20]> : tensor<4xf32>
  %a = tcc.add %x, %k : tensor<4xf32>
  %r = tcc.rsqrt %a : tensor<4xf32>
  %m = tcc.mul %r, %x : tensor<4xf32>
  %y = tcc.mul %m, %w : tensor<4xf32>
  return %y : tensor<4xf32>
}

// Masks of attention stay what they are; those that fit are narrow.
// F16-LABEL: func @attention_mask(
// F16-DAG: %[[FITS:.*]] = tcc.constant {{.*}} : tensor<2x2xf16>
// F16-DAG: %[[LARGE:.*]] = tcc.constant {{.*}} : tensor<2x2xf32>
// F16: tcc.attention {{.*}}, %[[LARGE]] {{.*}}tensor<2x2xf32>) -> tensor<1x1x2x4xf16>
// F16: tcc.attention {{.*}}, %[[FITS]] {{.*}}tensor<2x2xf16>) -> tensor<1x1x2x4xf16>
func.func @attention_mask(%q: tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32> {
  %large = tcc.constant dense<[[0.0, -1.0E+9], [-1.0E+9, -1.0E+9]]> : tensor<2x2xf32>
  %fits = tcc.constant dense<[[0.0, -1.0E+4], [0.0, 0.0]]> : tensor<2x2xf32>
  %a = "tcc.attention"(%q, %q, %q, %large) {scale = 0.5 : f64, causal = false} : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<2x2xf32>) -> tensor<1x1x2x4xf32>
  %b = "tcc.attention"(%a, %q, %q, %fits) {scale = 0.5 : f64, causal = false} : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<2x2xf32>) -> tensor<1x1x2x4xf32>
  return %b : tensor<1x1x2x4xf32>
}
