// RUN: tcc-opt --tcc-verify-kernels --split-input-file --verify-diagnostics %s

// What is scattered into lies where the result will be: nothing else may read it.
func.func @operand(%x: tensor<4xf32>, %k: tensor<2xi64>, %u: tensor<2xf32>) -> tensor<4xf32> {
  %y = tcc.kernel(%x, %k, %u) ["k"] : (tensor<4xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<2xi64>, %c: tensor<2xf32>):
    // expected-error @+1 {{scatters into what is not the only result of loops that nothing else reads}}
    %p = tcc.scatter #tcc.scatter_kind<add> %c at [affine_map<(d0, d1) -> (d1)>] (%b) into %a : tensor<2xf32> at (tensor<2xi64>) into tensor<4xf32>
    tcc.yield %p : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @updates(%x: tensor<4xf32>, %k: tensor<2xi64>, %u: tensor<2xf32>) -> tensor<4xf32> {
  %y = tcc.kernel(%x, %k, %u) ["k"] : (tensor<4xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<2xi64>, %c: tensor<2xf32>):
    %o = tcc.loops #tcc.extents<4> reduce 0 [] {
    ^bb0(%i: index):
      %v = tcc.load %a[affine_map<(d0) -> (d0)>] (%i) : tensor<4xf32> -> f32
      tcc.yield %v : f32
    } : tensor<4xf32>
    // expected-error @+1 {{has updates that are not made by loops without reductions that nothing else reads}}
    %p = tcc.scatter #tcc.scatter_kind<add> %c at [affine_map<(d0, d1) -> (d1)>] (%b) into %o : tensor<2xf32> at (tensor<2xi64>) into tensor<4xf32>
    tcc.yield %p : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @positions(%x: tensor<4xf32>, %k: tensor<2xi64>, %u: tensor<2xf32>) -> tensor<4xf32> {
  %y = tcc.kernel(%x, %k, %u) ["k"] : (tensor<4xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<2xi64>, %c: tensor<2xf32>):
    %o = tcc.loops #tcc.extents<4> reduce 0 [] {
    ^bb0(%i: index):
      %v = tcc.load %a[affine_map<(d0) -> (d0)>] (%i) : tensor<4xf32> -> f32
      tcc.yield %v : f32
    } : tensor<4xf32>
    %w = tcc.loops #tcc.extents<2> reduce 0 [] {
    ^bb0(%i: index):
      %v = tcc.load %c[affine_map<(d0) -> (d0)>] (%i) : tensor<2xf32> -> f32
      tcc.yield %v : f32
    } : tensor<2xf32>
    // expected-error @+1 {{has positions that the loops of its updates do not make}}
    %p = tcc.scatter #tcc.scatter_kind<add> %w at [affine_map<(d0, d1) -> (d1)>] (%b) into %o : tensor<2xf32> at (tensor<2xi64>) into tensor<4xf32>
    tcc.yield %p : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}
