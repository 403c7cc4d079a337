// RUN: tcc-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{'tcc.symbols' must be a list of #tcc.symbol, not 3 : i64}}
func.func @not_symbols() attributes {tcc.symbols = [3]} {
  return
}

// -----

// expected-error @+1 {{symbol 'n' has an empty or negative range}}
func.func @empty_range() attributes {tcc.symbols = [#tcc.symbol<"n", 8, 4, 1>]} {
  return
}

// -----

// expected-error @+1 {{'tcc.name' of argument 0 must be a string}}
func.func @name(%x: tensor<2xf32> {tcc.name = 3}) {
  return
}

// -----

func.func @no_encoding(%x: tensor<?xf32>) {
  // expected-error @+1 {{operand type is dynamic but does not carry its extents}}
  %y = tcc.softmax %x {axis = 0 : i64} : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @unknown_symbol(%x: tensor<?xf32, #tcc.extents<s1>>) attributes {tcc.symbols = [#tcc.symbol<"n", 1, 4, 1>]} {
  // expected-error @+1 {{operand type names the symbol s1, but the function has 1 symbols}}
  %y = tcc.abs %x : tensor<?xf32, #tcc.extents<s1>>
  return
}

// -----

func.func @unknown_symbol_in_list(%x: tensor<4xf32>) attributes {tcc.symbols = []} {
  // expected-error @+1 {{starts names the symbol s0, but the function has 0 symbols}}
  %y = tcc.slice %x {starts = #tcc.extents<s0>, steps = array<i64: 1>} : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

// expected-error @+1 {{has 2 extents, but its encoding lists 1}}
func.func @count(%x: tensor<?x?xf32, #tcc.extents<s0>>) {
  return
}

// -----

// expected-error @+1 {{extent of axis 0 differs from its encoding}}
func.func @constant(%x: tensor<?x?xf32, #tcc.extents<3, s0>>) {
  return
}
