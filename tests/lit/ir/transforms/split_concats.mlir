// RUN: tcc-opt --tcc-split-concats=most-operands=3 %s | FileCheck %s
// RUN: tcc-opt --tcc-split-concats %s | FileCheck %s --check-prefix=WIDE

// Order and extents stay; one that is left over goes in as it is.
// CHECK-LABEL: func @seven(
// CHECK-SAME: %[[A:.*]]: tensor<2x1xf32>, %[[B:.*]]: tensor<2x2xf32>, %[[C:.*]]: tensor<2x3xf32>
// CHECK: %[[X:.*]] = tcc.concat %[[A]], %[[B]] {axis = 1 : i64} : (tensor<2x1xf32>, tensor<2x2xf32>) -> tensor<2x3xf32>
// CHECK: %[[Y:.*]] = tcc.concat %[[C]], %[[A]] {axis = 1 : i64}
// CHECK: %[[Z:.*]] = tcc.concat %[[B]], %[[C]], %[[B]] {axis = 1 : i64}
// CHECK: tcc.concat %[[X]], %[[Y]], %[[Z]] {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x4xf32>, tensor<2x7xf32>) -> tensor<2x14xf32>
// WIDE-LABEL: func @seven(
// WIDE: tcc.concat %arg0, %arg1, %arg2, %arg0, %arg1, %arg2, %arg1
func.func @seven(%a: tensor<2x1xf32>, %b: tensor<2x2xf32>, %c: tensor<2x3xf32>) -> tensor<2x14xf32> {
  %y = tcc.concat %a, %b, %c, %a, %b, %c, %b {axis = 1 : i64} : (tensor<2x1xf32>, tensor<2x2xf32>, tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x2xf32>, tensor<2x3xf32>, tensor<2x2xf32>) -> tensor<2x14xf32>
  return %y : tensor<2x14xf32>
}

// A tree of more than two levels.
// CHECK-LABEL: func @eleven(
// CHECK-COUNT-4: tcc.concat
// CHECK: tcc.concat
// CHECK: tcc.concat
// CHECK: return
func.func @eleven(%a: tensor<?x2xi8, #tcc.extents<s0, 2>>) -> tensor<?x2xi8, #tcc.extents<s0 * 11, 2>> attributes {tcc.symbols = [#tcc.symbol<"n", 0, 9, 1>]} {
  %y = tcc.concat %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a {axis = 0 : i64} : (tensor<?x2xi8, #tcc.extents<s0, 2>>, tensor<?x2xi8, #tcc.extents<s0, 2>>, tensor<?x2xi8, #tcc.extents<s0, 2>>, tensor<?x2xi8, #tcc.extents<s0, 2>>, tensor<?x2xi8, #tcc.extents<s0, 2>>, tensor<?x2xi8, #tcc.extents<s0, 2>>, tensor<?x2xi8, #tcc.extents<s0, 2>>, tensor<?x2xi8, #tcc.extents<s0, 2>>, tensor<?x2xi8, #tcc.extents<s0, 2>>, tensor<?x2xi8, #tcc.extents<s0, 2>>, tensor<?x2xi8, #tcc.extents<s0, 2>>) -> tensor<?x2xi8, #tcc.extents<s0 * 11, 2>>
  return %y : tensor<?x2xi8, #tcc.extents<s0 * 11, 2>>
}
