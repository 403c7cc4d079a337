// RUN: tcc-opt %s --split-input-file --verify-diagnostics

func.func @condition(%c: tensor<2xi1>, %x: tensor<2xf32>) {
  // expected-error @+1 {{condition must be a scalar}}
  %y = tcc.if %c : (tensor<2xi1>) -> tensor<2xf32> {
    tcc.yield %x : tensor<2xf32>
  } else {
    tcc.yield %x : tensor<2xf32>
  }
  return
}

// -----

func.func @branches(%c: tensor<i1>, %x: tensor<2xf32>, %z: tensor<2x2xf32>) {
  // expected-error @+1 {{branches must yield values of the result's rank and element type}}
  %y = tcc.if %c : (tensor<i1>) -> tensor<2xf32> {
    tcc.yield %x : tensor<2xf32>
  } else {
    tcc.yield %z : tensor<2x2xf32>
  }
  return
}

// -----

func.func @trip(%n: tensor<i32>, %x: tensor<2xf32>) {
  // expected-error @+1 {{the trip count must be an i64 scalar}}
  %y = tcc.loop trip %n : tensor<i32> carry(%x) : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%i: tensor<i64>, %c: tensor<2xf32>):
    %true = tcc.constant dense<true> : tensor<i1>
    tcc.yield %true, %c : tensor<i1>, tensor<2xf32>
  }
  return
}

// -----

func.func @scan(%n: tensor<i64>, %x: tensor<2xf32>) {
  // expected-error @+1 {{scan output 0 must have one axis more than the element it stacks}}
  %y, %s = tcc.loop trip %n : tensor<i64> carry(%x) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  ^bb0(%i: tensor<i64>, %c: tensor<2xf32>):
    %true = tcc.constant dense<true> : tensor<i1>
    tcc.yield %true, %c, %c : tensor<i1>, tensor<2xf32>, tensor<2xf32>
  }
  return
}

// -----

func.func @carried(%n: tensor<i64>, %x: tensor<2xf32>) {
  // expected-error @+1 {{carried value 0 changes its rank or element type}}
  %y = tcc.loop trip %n : tensor<i64> carry(%x) : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%i: tensor<i64>, %c: tensor<2xf16>):
    %true = tcc.constant dense<true> : tensor<i1>
    tcc.yield %true, %c : tensor<i1>, tensor<2xf16>
  }
  return
}

// -----

func.func @absent(%x: tensor<2xf32>) {
  // expected-error @+1 {{absent operands must be ascending positions below 3}}
  %y = tcc.library "clip"(%x) {} {absent = array<i64: 2, 1>} : (tensor<2xf32>) -> tensor<2xf32>
  return
}
