// RUN: tcc-opt %s --split-input-file --verify-diagnostics

func.func @signed_argument(%x: tensor<2xui8>) {
  // expected-error @+1 {{argument 0 of the body must have the input's extents, and its element type without a sign}}
  %y = tcc.kernel(%x) ["k"] : (tensor<2xui8>) -> tensor<2xui8> {
  ^bb0(%a: tensor<2xui8>):
    tcc.yield %a : tensor<2xui8>
  }
  return
}

// -----

func.func @yielded(%x: tensor<2xf32>) {
  // expected-error @+1 {{yielded value 0 must have the result's extents}}
  %y = tcc.kernel(%x) ["k"] : (tensor<2xf32>) -> tensor<3xf32> {
  ^bb0(%a: tensor<2xf32>):
    tcc.yield %a : tensor<2xf32>
  }
  return
}

// -----

func.func @two_templates(%x: tensor<2x2xf32>) {
  // expected-error @+1 {{the body may hold at most one matmul, conv, conv_transpose, attention or scatter}}
  %y = tcc.kernel(%x) ["k"] : (tensor<2x2xf32>) -> tensor<2x2xf32> {
  ^bb0(%a: tensor<2x2xf32>):
    %b = tcc.matmul %a, %a : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %c = tcc.matmul %a, %b : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    tcc.yield %c : tensor<2x2xf32>
  }
  return
}

// -----

func.func @index_count(%x: tensor<2xf32>) {
  // expected-error @+1 {{the body needs one index for each extent}}
  %y = tcc.loops #tcc.extents<2, 3> reduce 0 [] {
  ^bb0(%i: index):
    %v = arith.constant 0.0 : f32
    tcc.yield %v : f32
  } : tensor<2x3xf32>
  return
}

// -----

func.func @mean(%x: tensor<2xf32>) {
  // expected-error @+1 {{mean is no combiner: sum, and divide}}
  %y = tcc.loops #tcc.extents<2> reduce 1 [#tcc.reduce_kind<mean>] {
  ^bb0(%i: index):
    %v = arith.constant 0.0 : f32
    tcc.yield %v : f32
  } : tensor<f32>
  return
}

// -----

func.func @combiners(%x: tensor<2xf32>) {
  // expected-error @+1 {{needs one combiner for each result of a reduction, and none without}}
  %y = tcc.loops #tcc.extents<2> reduce 1 [] {
  ^bb0(%i: index):
    %v = arith.constant 0.0 : f32
    tcc.yield %v : f32
  } : tensor<f32>
  return
}

// -----

func.func @yielded_type() {
  // expected-error @+1 {{yields 'f32' for a result of 'tensor<2xf16>'}}
  %y = tcc.loops #tcc.extents<2> reduce 0 [] {
  ^bb0(%i: index):
    %v = arith.constant 0.0 : f32
    tcc.yield %v : f32
  } : tensor<2xf16>
  return
}

// -----

func.func @load(%x: tensor<2x2xf32>, %i: index) {
  // expected-error @+1 {{the map needs one result for each axis of the tensor}}
  %v = tcc.load %x[affine_map<(d0) -> (d0)>](%i) : tensor<2x2xf32> -> f32
  return
}

// -----

func.func @load_type(%x: tensor<2xf32>, %i: index) {
  // expected-error @+1 {{loads 'f16' from a tensor of 'f32'}}
  %v = tcc.load %x[affine_map<(d0) -> (d0)>](%i) : tensor<2xf32> -> f16
  return
}

// -----

func.func @mask(%x: tensor<2xf32>, %i: index) {
  // expected-error @+1 {{the mask needs one dimension for each index}}
  %v = tcc.load %x[affine_map<(d0) -> (d0)>](%i) mask affine_set<(d0, d1) : (d0 - d1 >= 0)> : tensor<2xf32> -> f32
  return
}

// -----

func.func @apply(%i: index) {
  // expected-error @+1 {{the map needs one dimension for each index, and one result}}
  %v = tcc.apply affine_map<(d0) -> (d0, d0)>(%i)
  return
}
