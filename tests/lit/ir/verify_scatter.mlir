// RUN: tcc-opt %s --split-input-file --verify-diagnostics

func.func @update_type(%x: tensor<4xf32>, %k: tensor<2xi64>, %u: tensor<2xi32>) {
  // expected-error @+1 {{updates elements of 'f32' with 'i32'}}
  %y = tcc.scatter #tcc.scatter_kind<add> %u at [affine_map<(d0, d1) -> (d1)>] (%k) into %x : tensor<2xi32> at (tensor<2xi64>) into tensor<4xf32>
  return
}

// -----

func.func @with_sign(%x: tensor<4xui8>, %k: tensor<2xi64>, %u: tensor<2xui8>) {
  // expected-error @+1 {{has no form for elements of 'ui8'}}
  %y = tcc.scatter #tcc.scatter_kind<add> %u at [affine_map<(d0, d1) -> (d1)>] (%k) into %x : tensor<2xui8> at (tensor<2xi64>) into tensor<4xui8>
  return
}

// -----

func.func @unsigned_float(%x: tensor<4xf32>, %k: tensor<2xi64>, %u: tensor<2xf32>) {
  // expected-error @+1 {{compares floats as unsigned}}
  %y = tcc.scatter #tcc.scatter_kind<max> unsigned %u at [affine_map<(d0, d1) -> (d1)>] (%k) into %x : tensor<2xf32> at (tensor<2xi64>) into tensor<4xf32>
  return
}

// -----

func.func @position_extents(%x: tensor<4xf32>, %k: tensor<3xi64>, %u: tensor<2xf32>) {
  // expected-error @+1 {{needs positions of type i64, with the extents of the updates}}
  %y = tcc.scatter #tcc.scatter_kind<add> %u at [affine_map<(d0, d1) -> (d1)>] (%k) into %x : tensor<2xf32> at (tensor<3xi64>) into tensor<4xf32>
  return
}

// -----

func.func @position_type(%x: tensor<4xf32>, %k: tensor<2xi32>, %u: tensor<2xf32>) {
  // expected-error @+1 {{needs positions of type i64, with the extents of the updates}}
  %y = tcc.scatter #tcc.scatter_kind<add> %u at [affine_map<(d0, d1) -> (d1)>] (%k) into %x : tensor<2xf32> at (tensor<2xi32>) into tensor<4xf32>
  return
}

// -----

func.func @dims(%x: tensor<4xf32>, %k: tensor<2xi64>, %u: tensor<2xf32>) {
  // expected-error @+1 {{needs one dimension for each axis of the updates and for each tensor of positions}}
  %y = tcc.scatter #tcc.scatter_kind<add> %u at [affine_map<(d0) -> (d0)>] (%k) into %x : tensor<2xf32> at (tensor<2xi64>) into tensor<4xf32>
  return
}

// -----

func.func @axes(%x: tensor<4x4xf32>, %k: tensor<2xi64>, %u: tensor<2xf32>) {
  // expected-error @+1 {{the map needs one result for each axis of what is scattered into}}
  %y = tcc.scatter #tcc.scatter_kind<add> %u at [affine_map<(d0, d1) -> (d1)>] (%k) into %x : tensor<2xf32> at (tensor<2xi64>) into tensor<4x4xf32>
  return
}

// -----

func.func @mask(%x: tensor<4xf32>, %k: tensor<2xi64>, %u: tensor<2xf32>) {
  // expected-error @+1 {{the mask needs the dimensions of the map}}
  %y = tcc.scatter #tcc.scatter_kind<add> %u at [affine_map<(d0, d1) -> (d1)>] (%k) mask affine_set<(d0) : (d0 >= 0)> into %x : tensor<2xf32> at (tensor<2xi64>) into tensor<4xf32>
  return
}

// -----

func.func @two(%x: tensor<4xf32>, %k: tensor<2xi64>, %u: tensor<2xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{the body may hold at most one matmul, conv, conv_transpose, attention or scatter}}
  %y = tcc.kernel(%x, %k, %u) ["k"] : (tensor<4xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<2xi64>, %c: tensor<2xf32>):
    %p = tcc.scatter #tcc.scatter_kind<add> %c at [affine_map<(d0, d1) -> (d1)>] (%b) into %a : tensor<2xf32> at (tensor<2xi64>) into tensor<4xf32>
    %q = tcc.scatter #tcc.scatter_kind<add> %c at [affine_map<(d0, d1) -> (d1)>] (%b) into %p : tensor<2xf32> at (tensor<2xi64>) into tensor<4xf32>
    tcc.yield %q : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}
