// RUN: tcc-opt %s --split-input-file --verify-diagnostics

func.func @matmul(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  // expected-error @+2 {{the last extent of the first operand must be the second but last of the second}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = tcc.matmul %a, %b : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @matmul_batch(%a: tensor<7x2x3xf32>, %b: tensor<1x3x5xf32>) {
  // expected-error @+2 {{operands differ in the extent of batch axis 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = tcc.matmul %a, %b : (tensor<7x2x3xf32>, tensor<1x3x5xf32>) -> tensor<7x2x5xf32>
  return
}

// -----

func.func @channels(%x: tensor<1x4x8x8xf32>, %w: tensor<6x3x3x3xf32>) {
  // expected-error @+2 {{the input's channels must be the weights' second extent times groups}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = tcc.conv %x, %w {strides = array<i64: 1, 1>, padding_low = array<i64: 0, 0>, padding_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x4x8x8xf32>, tensor<6x3x3x3xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @groups(%x: tensor<1x4x8x8xf32>, %w: tensor<5x2x3x3xf32>) {
  // expected-error @+2 {{output channels must be a multiple of groups}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = tcc.conv %x, %w {strides = array<i64: 1, 1>, padding_low = array<i64: 0, 0>, padding_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 2 : i64} : (tensor<1x4x8x8xf32>, tensor<5x2x3x3xf32>) -> tensor<1x5x6x6xf32>
  return
}

// -----

func.func @stride(%x: tensor<1x4x8xf32>, %w: tensor<5x4x3xf32>) {
  // expected-error @+2 {{strides and dilations must be positive}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = tcc.conv %x, %w {strides = array<i64: 0>, padding_low = array<i64: 0>, padding_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64} : (tensor<1x4x8xf32>, tensor<5x4x3xf32>) -> tensor<1x5x6xf32>
  return
}

// -----

func.func @element(%x: tensor<1x4x8xf32>, %w: tensor<5x4x3xf16>) {
  // expected-error @+1 {{operands must have the same element type}}
  %y = tcc.conv %x, %w {strides = array<i64: 1>, padding_low = array<i64: 0>, padding_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64} : (tensor<1x4x8xf32>, tensor<5x4x3xf16>) -> tensor<1x5x6xf32>
  return
}

// -----

func.func @pool(%x: tensor<1x4x8x8xf32>) {
  // expected-error @+2 {{needs a kernel extent for each spatial axis}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = tcc.max_pool %x {kernel = array<i64: 2>, strides = array<i64: 2>, padding_low = array<i64: 0>, padding_high = array<i64: 0>, dilations = array<i64: 1>, ceil_mode = false} : (tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32>
  return
}

// -----

func.func @heads(%q: tensor<1x6x4x8xf32>, %k: tensor<1x4x5x8xf32>) {
  // expected-error @+1 {{has 6 query heads, no multiple of its 4 key heads}}
  %y = tcc.attention %q, %k, %k {scale = 1.0 : f64, causal = false} : (tensor<1x6x4x8xf32>, tensor<1x4x5x8xf32>, tensor<1x4x5x8xf32>) -> tensor<1x6x4x8xf32>
  return
}

// -----

func.func @mask(%q: tensor<1x4x4x8xf32>, %k: tensor<1x4x5x8xf32>, %m: tensor<4x4xf32>) {
  // expected-error @+1 {{extent 4 of the mask does not broadcast to 5}}
  %y = tcc.attention %q, %k, %k, %m {scale = 1.0 : f64, causal = false} : (tensor<1x4x4x8xf32>, tensor<1x4x5x8xf32>, tensor<1x4x5x8xf32>, tensor<4x4xf32>) -> tensor<1x4x4x8xf32>
  return
}

// -----

func.func @grid(%x: tensor<1x4x8x8xf32>, %g: tensor<1x2x2x3xf32>) {
  // expected-error @+2 {{the grid must have the operand's batch, and a coordinate for each spatial axis}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = tcc.grid_sample %x, %g {mode = #tcc.grid_mode<linear>, padding = #tcc.grid_padding<zeros>, align_corners = false} : (tensor<1x4x8x8xf32>, tensor<1x2x2x3xf32>) -> tensor<1x4x2x2xf32>
  return
}
