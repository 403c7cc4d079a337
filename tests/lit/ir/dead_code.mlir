// RUN: tcc-opt --canonicalize --cse %s | FileCheck %s

// Nothing reads the tensor, but its extent is returned.
// CHECK-LABEL: func.func @binds
// CHECK: tcc.library "nonzero"
func.func @binds(%x: tensor<5xf32>) -> tensor<i64> attributes {tcc.symbols = [#tcc.symbol<"count", 0, 5, 1>]} {
  %y = tcc.library "nonzero"(%x) {} : (tensor<5xf32>) -> tensor<1x?xi64, #tcc.extents<1, s0>>
  %count = tcc.extents {value = #tcc.extents<s0>} : () -> tensor<i64>
  return %count : tensor<i64>
}

// No symbol of its own: dead.
// CHECK-LABEL: func.func @binds_nothing
// CHECK-NEXT: return
func.func @binds_nothing(%x: tensor<?x2x2xf32, #tcc.extents<s0, 2, 2>>) attributes {tcc.symbols = [#tcc.symbol<"n", 1, 5, 1>]} {
  %y = tcc.library "det"(%x) {} : (tensor<?x2x2xf32, #tcc.extents<s0, 2, 2>>) -> tensor<?xf32, #tcc.extents<s0>>
  return
}
