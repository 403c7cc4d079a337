// What the printer does not know is an error where it stands.
// RUN: tcc-opt --tcc-print-cuda -split-input-file -verify-diagnostics %s

func.func @unknown_op(%y: memref<?xi32>) attributes {tcc.block = array<i64: 1, 1, 1>} {
  %c0 = arith.constant 0 : index
  %x = memref.load %y[%c0] : memref<?xi32>
  // expected-error @below {{'arith.mulsi_extended' op cannot be printed as CUDA C++}}
  %low, %high = arith.mulsi_extended %x, %x : i32
  memref.store %high, %y[%c0] : memref<?xi32>
  return
}

// -----

func.func @half(%y: memref<?xf16>) attributes {tcc.block = array<i64: 1, 1, 1>} {
  %c0 = arith.constant 0 : index
  %x = memref.load %y[%c0] : memref<?xf16>
  // expected-error @below {{float16 and bfloat16 are computed as float32}}
  %s = arith.addf %x, %x : f16
  memref.store %s, %y[%c0] : memref<?xf16>
  return
}

// -----

func.func @type(%y: memref<?xi24>) attributes {tcc.block = array<i64: 1, 1, 1>} {
  return
}
// expected-error @-3 {{unknown type of argument 0: 'memref<?xi24>'}}

// -----

// expected-error @below {{tcc.block is not a block of 1 to 1024 threads}}
func.func @block(%y: memref<?xi32>) attributes {tcc.block = array<i64: 1024, 2, 1>} {
  return
}

// -----

// expected-error @below {{its name is no identifier of C++}}
func.func @"a; system(0)"(%y: memref<?xi32>) attributes {tcc.block = array<i64: 1, 1, 1>} {
  return
}

// -----

func.func private @f(f32) attributes {tcc.device_name = "f(0); evil"}
func.func @callee(%y: memref<?xf32>) attributes {tcc.block = array<i64: 1, 1, 1>} {
  %one = arith.constant 1.0 : f32
  // expected-error @below {{tcc.device_name is no name of a function}}
  func.call @f(%one) : (f32) -> ()
  return
}

// -----

// expected-error @below {{it calls itself}}
func.func @loop(%x: f32) -> f32 attributes {tcc.device_function} {
  %y = func.call @loop(%x) : (f32) -> f32
  return %y : f32
}
func.func @recursive(%y: memref<?xf32>) attributes {tcc.block = array<i64: 1, 1, 1>} {
  %one = arith.constant 1.0 : f32
  %z = func.call @loop(%one) : (f32) -> f32
  return
}

// -----

func.func @wide(%y: memref<?xf32>) attributes {tcc.block = array<i64: 1, 1, 1>} {
  %c0 = arith.constant 0 : index
  // expected-error @below {{vectors in memory have 1, 2, 4, 8 or 16 bytes}}
  %x = vector.load %y[%c0] : memref<?xf32>, vector<8xf32>
  vector.store %x, %y[%c0] : memref<?xf32>, vector<8xf32>
  return
}

// -----

func.func @index(%y: memref<?xi64>) attributes {tcc.block = array<i64: 1, 1, 1>, tcc.index_bits = 32 : i64} {
  %c0 = arith.constant 0 : index
  // expected-error @below {{the index does not fit into tcc.index_bits}}
  %big = arith.constant 4294967296 : index
  %x = arith.index_cast %big : index to i64
  memref.store %x, %y[%c0] : memref<?xi64>
  return
}
