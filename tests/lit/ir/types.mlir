// RUN: tcc-opt %s | tcc-opt | FileCheck %s

// Extents print as they were written, after simplification, and round-trip.
// CHECK-LABEL: func.func @extents
// CHECK-SAME: tensor<?x?x768xf32, #tcc.extents<s0, s1 * 4 + 1, 768>>
// CHECK-SAME: attributes {tcc.symbols = [#tcc.symbol<"batch", 1, 64, 1>, #tcc.symbol<"length", 2, 9223372036854775807, 8>]}
func.func @extents(%x: tensor<?x?x768xf32, #tcc.extents<s0, 1 + 4 * s1, 768>>)
    attributes {tcc.symbols = [#tcc.symbol<"batch", 1, 64, 1>, #tcc.symbol<"length", 2, 9223372036854775807, 8>]} {
  // The product of symbols and a quotient.
  // CHECK: tcc.extents {value = #tcc.extents<s0 * s1, (s0 + 7) floordiv 8, s1 mod 3>}
  %shape = tcc.extents {value = #tcc.extents<s0 * s1, (s0 + 7) floordiv 8, s1 mod 3>} : () -> tensor<3xi64>
  return
}

// Element types that MLIR lacks.
// CHECK-LABEL: func.func @element_types
// CHECK-SAME: tensor<2x!tcc.string>
// CHECK-SAME: tensor<2x!tcc.f8E8M0>
// CHECK-SAME: tensor<2x!tcc.f4E2M1>
func.func @element_types(%s: tensor<2x!tcc.string>, %e: tensor<2x!tcc.f8E8M0>, %f: tensor<2x!tcc.f4E2M1>) {
  return
}

// An empty list.
// CHECK-LABEL: func.func @empty
// CHECK: #tcc.extents<>
func.func @empty(%x: tensor<f32>) -> tensor<f32> {
  %y = tcc.slice %x {starts = #tcc.extents<>, steps = array<i64>} : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}
