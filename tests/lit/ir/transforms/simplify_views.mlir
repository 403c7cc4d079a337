// RUN: tcc-opt --tcc-simplify-views %s | FileCheck %s

// Attention as exporters write it: heads folded into the batch, and back.
// CHECK-LABEL: func @heads(
// CHECK-NEXT: %[[T:.*]] = tcc.transpose %arg0 {permutation = array<i64: 0, 1, 3, 2>}
// CHECK-NEXT: return %[[T]]
func.func @heads(%k: tensor<2x4x16x8xf32>) -> tensor<2x4x8x16xf32> {
  %a = tcc.reshape %k : (tensor<2x4x16x8xf32>) -> tensor<8x16x8xf32>
  %b = tcc.transpose %a {permutation = array<i64: 0, 2, 1>} : (tensor<8x16x8xf32>) -> tensor<8x8x16xf32>
  %c = tcc.reshape %b : (tensor<8x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %c : tensor<2x4x8x16xf32>
}

// An image to a row of pixels before a transformer, and to an image after it: nothing is left.
// CHECK-LABEL: func @pixels(
// CHECK-NEXT: return %arg0
func.func @pixels(%x: tensor<1x3x5x7xf32>) -> tensor<1x3x5x7xf32> {
  %rows = tcc.reshape %x : (tensor<1x3x5x7xf32>) -> tensor<1x3x35xf32>
  %last = tcc.transpose %rows {permutation = array<i64: 0, 2, 1>} : (tensor<1x3x35xf32>) -> tensor<1x35x3xf32>
  %image = tcc.reshape %last : (tensor<1x35x3xf32>) -> tensor<1x5x7x3xf32>
  %y = tcc.transpose %image {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x5x7x3xf32>) -> tensor<1x3x5x7xf32>
  return %y : tensor<1x3x5x7xf32>
}

// The same with extents that vary.
// CHECK-LABEL: func @varying(
// CHECK-NEXT: return %arg0
func.func @varying(%x: tensor<?x3x?x7xf32, #tcc.extents<s0, 3, s1, 7>>) -> tensor<?x3x?x7xf32, #tcc.extents<s0, 3, s1, 7>> attributes {tcc.symbols = [#tcc.symbol<"n", 1, 9, 1>, #tcc.symbol<"h", 1, 9, 1>]} {
  %rows = tcc.reshape %x : (tensor<?x3x?x7xf32, #tcc.extents<s0, 3, s1, 7>>) -> tensor<?x3x?xf32, #tcc.extents<s0, 3, s1 * 7>>
  %last = tcc.transpose %rows {permutation = array<i64: 0, 2, 1>} : (tensor<?x3x?xf32, #tcc.extents<s0, 3, s1 * 7>>) -> tensor<?x?x3xf32, #tcc.extents<s0, s1 * 7, 3>>
  %image = tcc.reshape %last : (tensor<?x?x3xf32, #tcc.extents<s0, s1 * 7, 3>>) -> tensor<?x?x7x3xf32, #tcc.extents<s0, s1, 7, 3>>
  %y = tcc.transpose %image {permutation = array<i64: 0, 3, 1, 2>} : (tensor<?x?x7x3xf32, #tcc.extents<s0, s1, 7, 3>>) -> tensor<?x3x?x7xf32, #tcc.extents<s0, 3, s1, 7>>
  return %y : tensor<?x3x?x7xf32, #tcc.extents<s0, 3, s1, 7>>
}

// Axes that are merged after they changed places lie apart in %x: no reshape of %x is the same.
// CHECK-LABEL: func @apart(
// CHECK-NEXT: %[[T:.*]] = tcc.transpose %arg0 {permutation = array<i64: 0, 2, 1>}
// CHECK-NEXT: %[[R:.*]] = tcc.reshape %[[T]]
// CHECK-NEXT: return %[[R]]
func.func @apart(%x: tensor<2x3x5xf32>) -> tensor<2x15xf32> {
  %t = tcc.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<2x3x5xf32>) -> tensor<2x5x3xf32>
  %y = tcc.reshape %t : (tensor<2x5x3xf32>) -> tensor<2x15xf32>
  return %y : tensor<2x15xf32>
}

// Extents that regroup across an axis boundary: 4 x 6 into 8 x 3.
// CHECK-LABEL: func @across(
// CHECK-NEXT: tcc.transpose
// CHECK-NEXT: tcc.reshape
func.func @across(%x: tensor<6x4xf32>) -> tensor<8x3xf32> {
  %t = tcc.transpose %x {permutation = array<i64: 1, 0>} : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %y = tcc.reshape %t : (tensor<4x6xf32>) -> tensor<8x3xf32>
  return %y : tensor<8x3xf32>
}
