// RUN: tcc-opt --tcc-lower-to-kernels --tcc-verify-kernels --split-input-file %s | FileCheck %s

// The number of every pixel is a float32.
// CHECK-LABEL: func.func @all_numbered
// CHECK: tcc.kernel
func.func @all_numbered(%x: tensor<1x1x16777216xf16>, %g: tensor<1x3x1xf16>) -> tensor<1x1x3xf16> {
  %y = tcc.grid_sample %x, %g {mode = #tcc.grid_mode<nearest>, padding = #tcc.grid_padding<border>, align_corners = true} : (tensor<1x1x16777216xf16>, tensor<1x3x1xf16>) -> tensor<1x1x3xf16>
  return %y : tensor<1x1x3xf16>
}

// -----

// One pixel more: the last one's number would be rounded, perhaps to one beyond the image.
// CHECK-LABEL: func.func @one_more
// CHECK-NOT: tcc.kernel
// CHECK: tcc.grid_sample
func.func @one_more(%x: tensor<1x1x16777217xf16>, %g: tensor<1x3x1xf16>) -> tensor<1x1x3xf16> {
  %y = tcc.grid_sample %x, %g {mode = #tcc.grid_mode<nearest>, padding = #tcc.grid_padding<border>, align_corners = true} : (tensor<1x1x16777217xf16>, tensor<1x3x1xf16>) -> tensor<1x1x3xf16>
  return %y : tensor<1x1x3xf16>
}

// -----

// float64 numbers them all.
// CHECK-LABEL: func.func @double
// CHECK: tcc.kernel
func.func @double(%x: tensor<1x1x16777217xf64>, %g: tensor<1x3x1xf64>) -> tensor<1x1x3xf64> {
  %y = tcc.grid_sample %x, %g {mode = #tcc.grid_mode<nearest>, padding = #tcc.grid_padding<border>, align_corners = true} : (tensor<1x1x16777217xf64>, tensor<1x3x1xf64>) -> tensor<1x1x3xf64>
  return %y : tensor<1x1x3xf64>
}

// -----

// An extent that may be that large: what float32 says is bounded as an integer, before it is an index.
// CHECK-LABEL: func.func @may_be_large
// CHECK: %[[EXTENT:.*]] = arith.index_cast %{{.*}} : index to i64
// CHECK: arith.sitofp %[[EXTENT]] : i64 to f32
// CHECK: %[[AT:.*]] = arith.fptosi
// CHECK-NEXT: %[[INSIDE:.*]] = arith.minsi %[[AT]], %[[EXTENT]] : i64
// CHECK-NEXT: arith.index_cast %[[INSIDE]] : i64 to index
func.func @may_be_large(%x: tensor<1x1x?xf32, #tcc.extents<1, 1, s0>>, %g: tensor<1x3x1xf32>) -> tensor<1x1x3xf32> attributes {tcc.symbols = [#tcc.symbol<"w", 1, 16777217, 1>]} {
  %y = tcc.grid_sample %x, %g {mode = #tcc.grid_mode<nearest>, padding = #tcc.grid_padding<border>, align_corners = true} : (tensor<1x1x?xf32, #tcc.extents<1, 1, s0>>, tensor<1x3x1xf32>) -> tensor<1x1x3xf32>
  return %y : tensor<1x1x3xf32>
}

// -----

// One that may not.
// CHECK-LABEL: func.func @is_not_large
// CHECK: arith.fptosi
// CHECK-NOT: arith.minsi
// CHECK: arith.index_cast
func.func @is_not_large(%x: tensor<1x1x?xf32, #tcc.extents<1, 1, s0>>, %g: tensor<1x3x1xf32>) -> tensor<1x1x3xf32> attributes {tcc.symbols = [#tcc.symbol<"w", 1, 16777216, 1>]} {
  %y = tcc.grid_sample %x, %g {mode = #tcc.grid_mode<nearest>, padding = #tcc.grid_padding<border>, align_corners = true} : (tensor<1x1x?xf32, #tcc.extents<1, 1, s0>>, tensor<1x3x1xf32>) -> tensor<1x1x3xf32>
  return %y : tensor<1x1x3xf32>
}
