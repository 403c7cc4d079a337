// RUN: tcc-opt --canonicalize --split-input-file %s | FileCheck %s

// Shape -> Gather -> Concat -> Reshape as exporters write it: only the extents remain.
// CHECK-LABEL: func.func @shape_chain
func.func @shape_chain() -> tensor<3xi64> attributes {tcc.symbols = [#tcc.symbol<"n", 1, 64, 1>, #tcc.symbol<"t", 2, 4096, 1>]} {
  %shape = tcc.extents {value = #tcc.extents<s0, s1, 768>} : () -> tensor<3xi64>
  %zero = tcc.constant dense<0> : tensor<i64>
  %one = tcc.constant dense<1> : tensor<i64>
  %batch = tcc.gather %shape, %zero {axis = 0 : i64} : (tensor<3xi64>, tensor<i64>) -> tensor<i64>
  %length = tcc.gather %shape, %one {axis = 0 : i64} : (tensor<3xi64>, tensor<i64>) -> tensor<i64>
  %heads = tcc.constant dense<12> : tensor<1xi64>
  %rows = tcc.mul %batch, %length : tensor<i64>
  %rows1 = tcc.reshape %rows : (tensor<i64>) -> tensor<1xi64>
  %batch1 = tcc.reshape %batch : (tensor<i64>) -> tensor<1xi64>
  %y = tcc.concat %batch1, %rows1, %heads {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
  // CHECK-NEXT: %[[Y:.*]] = tcc.extents {value = #tcc.extents<s0, s0 * s1, 12>} : () -> tensor<3xi64>
  // CHECK-NEXT: return %[[Y]]
  return %y : tensor<3xi64>
}

// -----

// Where(Equal(shape, -1), ones, shape): the comparison is decided by the ranges of the symbols.
// CHECK-LABEL: func.func @expand_idiom
func.func @expand_idiom() -> tensor<2xi64> attributes {tcc.symbols = [#tcc.symbol<"n", 1, 64, 1>]} {
  %shape = tcc.extents {value = #tcc.extents<s0, 4>} : () -> tensor<2xi64>
  %minus = tcc.constant dense<-1> : tensor<2xi64>
  %ones = tcc.constant dense<1> : tensor<2xi64>
  %inferred = tcc.compare %shape, %minus {predicate = #tcc.predicate<eq>} : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
  %y = tcc.select %inferred, %ones, %shape : (tensor<2xi1>, tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  // CHECK-NEXT: tcc.extents {value = #tcc.extents<s0, 4>}
  return %y : tensor<2xi64>
}

// -----

// Not decided: s0 may be 1 or more.
// CHECK-LABEL: func.func @undecided
func.func @undecided() -> tensor<i1> attributes {tcc.symbols = [#tcc.symbol<"n", 1, 64, 1>]} {
  %n = tcc.extents {value = #tcc.extents<s0>} : () -> tensor<i64>
  %one = tcc.constant dense<1> : tensor<i64>
  // CHECK: tcc.compare
  %y = tcc.compare %n, %one {predicate = #tcc.predicate<gt>} : (tensor<i64>, tensor<i64>) -> tensor<i1>
  return %y : tensor<i1>
}

// -----

// Division truncates: of what may be negative it is not the floor.
// CHECK-LABEL: func.func @division
func.func @division() -> (tensor<i64>, tensor<i64>, tensor<i64>) attributes {tcc.symbols = [#tcc.symbol<"n", 1, 64, 1>]} {
  %n = tcc.extents {value = #tcc.extents<s0>} : () -> tensor<i64>
  %less = tcc.extents {value = #tcc.extents<s0 - 10>} : () -> tensor<i64>
  %four = tcc.constant dense<4> : tensor<i64>
  // CHECK-DAG: %[[A:.*]] = tcc.extents {value = #tcc.extents<s0 floordiv 4>}
  // CHECK-DAG: %[[B:.*]] = tcc.div
  // CHECK-DAG: %[[C:.*]] = tcc.extents {value = #tcc.extents<s0 mod 4>}
  // CHECK: return %[[A]], %[[B]], %[[C]]
  %a = tcc.div %n, %four : tensor<i64>
  %b = tcc.div %less, %four : tensor<i64>
  %c = tcc.mod %n, %four : tensor<i64>
  return %a, %b, %c : tensor<i64>, tensor<i64>, tensor<i64>
}

// -----

// Slices, reversals, reductions, and a scatter into a shape.
// CHECK-LABEL: func.func @movement
func.func @movement() -> (tensor<2xi64>, tensor<i64>, tensor<3xi64>, tensor<2x2xi32>) attributes {tcc.symbols = [#tcc.symbol<"a", 1, 9, 1>, #tcc.symbol<"b", 10, 99, 1>]} {
  %shape = tcc.extents {value = #tcc.extents<s0, s1, 3>} : () -> tensor<3xi64>
  %tail = tcc.slice %shape {starts = #tcc.extents<2>, steps = array<i64: -1>} : (tensor<3xi64>) -> tensor<2xi64>
  %most = tcc.reduce %shape {kind = #tcc.reduce_kind<max>, axes = array<i64: 0>, keep_dims = false} : (tensor<3xi64>) -> tensor<i64>
  %index = tcc.constant dense<1> : tensor<1x1xi64>
  %seven = tcc.constant dense<7> : tensor<1xi64>
  %changed = tcc.scatter_nd %shape, %index, %seven {kind = #tcc.scatter_kind<assign>} : (tensor<3xi64>, tensor<1x1xi64>, tensor<1xi64>) -> tensor<3xi64>
  %row = tcc.extents {value = #tcc.extents<s0, s1>} : () -> tensor<1x2xi64>
  %narrow = tcc.cast %row : (tensor<1x2xi64>) -> tensor<1x2xi32>
  %square = tcc.broadcast %narrow : (tensor<1x2xi32>) -> tensor<2x2xi32>
  // CHECK-DAG: %[[TAIL:.*]] = tcc.extents {value = #tcc.extents<3, s1>}
  // CHECK-DAG: %[[MOST:.*]] = tcc.extents {value = #tcc.extents<s1>}
  // CHECK-DAG: %[[CHANGED:.*]] = tcc.extents {value = #tcc.extents<s0, 7, 3>}
  // CHECK-DAG: %[[SQUARE:.*]] = tcc.extents {value = #tcc.extents<s0, s1, s0, s1>} : () -> tensor<2x2xi32>
  // CHECK: return %[[TAIL]], %[[MOST]], %[[CHANGED]], %[[SQUARE]]
  return %tail, %most, %changed, %square : tensor<2xi64>, tensor<i64>, tensor<3xi64>, tensor<2x2xi32>
}

// -----

// An index out of range is left for the run to report.
// CHECK-LABEL: func.func @out_of_range
func.func @out_of_range() -> tensor<i64> {
  %shape = tcc.extents {value = #tcc.extents<s0, 3>} : () -> tensor<2xi64>
  %index = tcc.constant dense<5> : tensor<i64>
  // CHECK: tcc.gather
  %y = tcc.gather %shape, %index {axis = 0 : i64} : (tensor<2xi64>, tensor<i64>) -> tensor<i64>
  return %y : tensor<i64>
}
