// RUN: tcc-opt --tcc-lower-to-kernels --tcc-fuse-kernels --tcc-verify-kernels --split-input-file %s | FileCheck %s

// Between two ops of a kernel half floats stay float32; one rounding, at the store.
// CHECK-LABEL: func.func @one_rounding
// CHECK: arith.addf
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: arith.truncf
// CHECK-NEXT: tcc.yield
func.func @one_rounding(%x: tensor<5xf16>, %y: tensor<5xf16>) -> tensor<5xf16> {
  %a = tcc.add %x, %y : tensor<5xf16>
  %m = tcc.mul %a, %a : tensor<5xf16>
  return %m : tensor<5xf16>
}

// -----

// A cast of the model rounds.
// CHECK-LABEL: func.func @cast
// CHECK: arith.truncf %{{.*}}{{.*}}
// CHECK-NEXT: arith.extf
func.func @cast(%x: tensor<5xf32>) -> tensor<5xf32> {
  %h = tcc.cast %x : (tensor<5xf32>) -> tensor<5xbf16>
  %f = tcc.cast %h : (tensor<5xbf16>) -> tensor<5xf32>
  return %f : tensor<5xf32>
}
