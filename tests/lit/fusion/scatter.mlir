// RUN: tcc-opt --tcc-lower-to-kernels --tcc-fuse-kernels --tcc-verify-kernels --split-input-file %s | FileCheck %s

// The operand's copy takes in what makes it, the updates what makes them; the rows of the result are the updates' rows.
// CHECK: #[[$AT:.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-LABEL: func.func @rows
// CHECK: tcc.kernel(%{{.*}}) ["neg", "exp", "scatter_nd"]
// CHECK: %[[INTO:.*]] = tcc.loops <6, 5> reduce 0
// CHECK: arith.negf
// CHECK: %[[POINTS:.*]]:2 = tcc.loops <4, 5> reduce 0
// CHECK: tcc.bounds_check {{.*}} below <6>
// CHECK: math.exp
// CHECK: tcc.scatter <add> %[[POINTS]]#1 at[#[[$AT]]] (%[[POINTS]]#0) into %[[INTO]] : tensor<4x5xf32> at(tensor<4x5xi64>) into tensor<6x5xf32>
// CHECK-NOT: tcc.kernel
func.func @rows(%a: tensor<6x5xf32>, %i: tensor<4x1xi32>, %b: tensor<4x5xf32>) -> tensor<6x5xf32> {
  %x = tcc.neg %a : tensor<6x5xf32>
  %u = tcc.exp %b : tensor<4x5xf32>
  %y = tcc.scatter_nd %x, %i, %u {kind = #tcc.scatter_kind<add>} : (tensor<6x5xf32>, tensor<4x1xi32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  return %y : tensor<6x5xf32>
}

// -----

// An axis that may have no elements takes no updates, and the larger extent of the indices none where x ends.
// CHECK: #[[$INSIDE:.*]] = affine_set<(d0, d1, d2)[s0, s1, s2] : (s0 - 1 >= 0, -d1 + s1 - 1 >= 0)>
// CHECK-LABEL: func.func @elements
// CHECK: tcc.bounds_check %{{.*}} below <s1> {exact}
// CHECK: tcc.bounds_check %{{.*}} below <s0>
// CHECK: tcc.scatter <max> unsigned %{{.*}} mask #[[$INSIDE]] into
func.func @elements(%x: tensor<?x?xui8, #tcc.extents<s0, s1>>, %i: tensor<2x?xi64, #tcc.extents<2, s2>>, %u: tensor<2x?xui8, #tcc.extents<2, s2>>) -> tensor<?x?xui8, #tcc.extents<s0, s1>>
    attributes {tcc.symbols = [#tcc.symbol<"a", 0, 64, 1>, #tcc.symbol<"b", 1, 64, 1>, #tcc.symbol<"c", 1, 64, 1>]} {
  %y = tcc.scatter_elements %x, %i, %u {axis = 0 : i64, kind = #tcc.scatter_kind<max>} : (tensor<?x?xui8, #tcc.extents<s0, s1>>, tensor<2x?xi64, #tcc.extents<2, s2>>, tensor<2x?xui8, #tcc.extents<2, s2>>) -> tensor<?x?xui8, #tcc.extents<s0, s1>>
  return %y : tensor<?x?xui8, #tcc.extents<s0, s1>>
}

// -----

// Sums of half floats are float32 until the last update.
// CHECK-LABEL: func.func @halves
// CHECK: tcc.scatter <add> {{.*}} into tensor<3xf32>
// CHECK-NEXT: tcc.loops <3>
// CHECK: arith.truncf
func.func @halves(%x: tensor<3xf16>, %i: tensor<9xi64>, %u: tensor<9xf16>) -> tensor<3xf16> {
  %y = tcc.scatter_elements %x, %i, %u {axis = 0 : i64, kind = #tcc.scatter_kind<add>} : (tensor<3xf16>, tensor<9xi64>, tensor<9xf16>) -> tensor<3xf16>
  return %y : tensor<3xf16>
}
