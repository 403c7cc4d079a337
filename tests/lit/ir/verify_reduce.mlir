// RUN: tcc-opt %s --split-input-file --verify-diagnostics

func.func @sorted(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{axes must be sorted}}
  %y = tcc.reduce %x {kind = #tcc.reduce_kind<sum>, axes = array<i64: 1, 0>, keep_dims = false} : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @kept(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<2x1xf32>' are incompatible}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = tcc.reduce %x {kind = #tcc.reduce_kind<sum>, axes = array<i64: 1>, keep_dims = true} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @arg(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{kind must be max or min}}
  %y = tcc.arg_reduce %x {kind = #tcc.reduce_kind<sum>, axis = 1 : i64, keep_dims = false, select_last = false} : (tensor<2x3xf32>) -> tensor<2xi64>
  return
}

// -----

func.func @scan(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{kind mean has no running form}}
  %y = tcc.scan %x {kind = #tcc.reduce_kind<mean>, axis = 1 : i64, exclusive = false, reverse = false} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @softmax(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{axis -1 is outside [0, 2)}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = tcc.softmax %x {axis = -1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @top_k(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{takes 4 of the 3 elements of axis 1}}
  %v, %i = tcc.top_k %x {axis = 1 : i64, largest = true} : (tensor<2x3xf32>) -> (tensor<2x4xf32>, tensor<2x4xi64>)
  return
}

// -----

func.func @top_k_indices(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{values must have the operand's element type, indices i64}}
  %v, %i = tcc.top_k %x {axis = 1 : i64, largest = true} : (tensor<2x3xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)
  return
}
