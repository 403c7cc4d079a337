// RUN: tcc-opt %s --split-input-file --verify-diagnostics

func.func @constant() {
  // expected-error @+1 {{lists 2 values for 3 elements}}
  %y = tcc.extents {value = #tcc.extents<1, 2>} : () -> tensor<3xi64>
  return
}

// -----

func.func @small(%x: tensor<2xf32>) {
  // expected-error @+1 {{needs a result of static extents and of 32 or 64 bit integers}}
  %y = tcc.extents {value = #tcc.extents<1, 2>} : () -> tensor<2xi8>
  return
}

// -----

func.func @cast(%x: tensor<2xf32>) {
  // expected-error @+1 {{all non-scalar operands/results must have the same shape and base type}}
  %y = tcc.cast %x : (tensor<2xf32>) -> tensor<3xf16>
  return
}

// -----

func.func @cast_symbols(%x: tensor<?xf32, #tcc.extents<s0>>) {
  // expected-error @+1 {{must keep the extents}}
  %y = tcc.cast %x : (tensor<?xf32, #tcc.extents<s0>>) -> tensor<?xf16, #tcc.extents<s1>>
  return
}

// -----

func.func @bitcast(%x: tensor<2xf32>) {
  // expected-error @+1 {{must keep the width, 'f32' and 'i16' differ}}
  %y = tcc.bitcast %x : (tensor<2xf32>) -> tensor<2xi16>
  return
}

// -----

func.func @reshape(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{changes the number of elements from 6 to 7}}
  %y = tcc.reshape %x : (tensor<2x3xf32>) -> tensor<7xf32>
  return
}

// -----

func.func @reshape_symbolic(%x: tensor<?x3xf32, #tcc.extents<s0, 3>>) {
  // expected-error @+1 {{changes the number of elements from s0 * 3 to s0 * 3 + 1}}
  %y = tcc.reshape %x : (tensor<?x3xf32, #tcc.extents<s0, 3>>) -> tensor<?xf32, #tcc.extents<s0 * 3 + 1>>
  return
}

// -----

func.func @permutation(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{axis 1 is listed twice}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = tcc.transpose %x {permutation = array<i64: 1, 1>} : (tensor<2x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @permutation_axis(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{axis 2 is outside [0, 2)}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = tcc.transpose %x {permutation = array<i64: 0, 2>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @transpose_type(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'tcc.transpose' op inferred type(s) 'tensor<3x2xf32>' are incompatible}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = tcc.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @broadcast(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{cannot broadcast extent 2 to 4}}
  %y = tcc.broadcast %x : (tensor<2x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @broadcast_symbolic(%x: tensor<?xf32, #tcc.extents<s0>>) {
  // expected-error @+1 {{cannot broadcast extent s0 to s0 + 1}}
  %y = tcc.broadcast %x : (tensor<?xf32, #tcc.extents<s0>>) -> tensor<?xf32, #tcc.extents<s0 + 1>>
  return
}

// -----

func.func @slice_range(%x: tensor<4xf32>) {
  // expected-error @+1 {{reads elements 1 to 5 of axis 0, whose extent is 4}}
  %y = tcc.slice %x {starts = #tcc.extents<1>, steps = array<i64: 2>} : (tensor<4xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @slice_step(%x: tensor<4xf32>) {
  // expected-error @+1 {{step of axis 0 is 0}}
  %y = tcc.slice %x {starts = #tcc.extents<1>, steps = array<i64: 0>} : (tensor<4xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @pad_extent(%x: tensor<4xf32>) {
  // expected-error @+1 {{result extent of axis 0 is not low + extent + high}}
  %y = tcc.pad %x {low = #tcc.extents<1>, high = #tcc.extents<1>, mode = #tcc.pad_mode<constant>} : (tensor<4xf32>) -> tensor<7xf32>
  return
}

// -----

func.func @pad_reflect(%x: tensor<4xf32>) {
  // expected-error @+1 {{pads axis 0 by 4, more than its 4 elements allow in this mode}}
  %y = tcc.pad %x {low = #tcc.extents<4>, high = #tcc.extents<0>, mode = #tcc.pad_mode<reflect>} : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @pad_fill(%x: tensor<4xf32>, %f: tensor<f16>) {
  // expected-error @+1 {{fill must be a scalar of the operand's element type}}
  %y = tcc.pad %x, %f {low = #tcc.extents<1>, high = #tcc.extents<0>, mode = #tcc.pad_mode<constant>} : (tensor<4xf32>, tensor<f16>) -> tensor<5xf32>
  return
}

// -----

func.func @concat(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error @+2 {{operands differ in the extent of axis 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %z = tcc.concat %x, %y {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @gather(%x: tensor<2x3xf32>, %i: tensor<5xi64>) {
  // expected-error @+2 {{axis 2 is outside [0, 2)}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = tcc.gather %x, %i {axis = 2 : i64} : (tensor<2x3xf32>, tensor<5xi64>) -> tensor<2x5xf32>
  return
}

// -----

func.func @gather_nd(%x: tensor<2x3xf32>, %i: tensor<5x3xi64>) {
  // expected-error @+2 {{the last axis of indices must be a known number of axes after the batch axes}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = tcc.gather_nd %x, %i {batch_dims = 0 : i64} : (tensor<2x3xf32>, tensor<5x3xi64>) -> tensor<5xf32>
  return
}

// -----

func.func @scatter_elements(%x: tensor<4xf32>, %i: tensor<2xi64>, %u: tensor<3xf32>) {
  // expected-error @+1 {{indices and updates must have the same extents}}
  %y = tcc.scatter_elements %x, %i, %u {axis = 0 : i64, kind = #tcc.scatter_kind<add>} : (tensor<4xf32>, tensor<2xi64>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @scatter_nd(%x: tensor<4x5xf32>, %i: tensor<2x1xi64>, %u: tensor<2x4xf32>) {
  // expected-error @+1 {{updates must have the extents of the indices but the last, then those of the operand's other axes}}
  %y = tcc.scatter_nd %x, %i, %u {kind = #tcc.scatter_kind<assign>} : (tensor<4x5xf32>, tensor<2x1xi64>, tensor<2x4xf32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @select(%c: tensor<2xi1>, %a: tensor<2xf32>, %b: tensor<2xf16>) {
  // expected-error @+2 {{condition and both values must have the same extents, and the values the same type}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = tcc.select %c, %a, %b : (tensor<2xi1>, tensor<2xf32>, tensor<2xf16>) -> tensor<2xf32>
  return
}
