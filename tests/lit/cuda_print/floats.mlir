// Literals, comparisons that NaN decides, contraction, 16-bit floats, bools in memory.
// RUN: tcc-opt --tcc-print-cuda -o /dev/null -split-input-file %s | FileCheck %s

// CHECK-LABEL: floats(
// CHECK: const float x0 = b1[0];
// CHECK-NEXT: const float x1 = b1[1];
// CHECK-NEXT: b0[0] = !(x0 >= x1) ? x0 * 0x1.99999ap-4f /*0.1*/ : -tcc::inf<float>();
// CHECK-NEXT: b0[1] = tcc::is_nan(x0) ? tcc::nan<float>() : expf(x1 / 3.0f);
// CHECK-NEXT: b0[2] = x0 * x1 + 1e+10f;
// CHECK-NEXT: b2[0] = x0 < x1;
// CHECK-NEXT: b3[0] = tcc::from_float<__half>(tcc::to_float(b3[1]) * (b2[1] != 0 ? 2.0f : -0.0f));
func.func @floats(%y: memref<?xf32>, %a: memref<?xf32>, %m: memref<?xi1>, %h: memref<?xf16>) attributes {tcc.block = array<i64: 1, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %u = memref.load %a[%c0] : memref<?xf32>
  %v = memref.load %a[%c1] : memref<?xf32>
  %tenth = arith.constant 0.1 : f32
  %inf = arith.constant 0xff800000 : f32
  %nan = arith.constant 0x7fc00000 : f32
  %three = arith.constant 3.0 : f32
  %big = arith.constant 1.0e10 : f32
  %0 = arith.cmpf ult, %u, %v : f32
  %1 = arith.mulf %u, %tenth : f32
  %2 = arith.select %0, %1, %inf : f32
  memref.store %2, %y[%c0] : memref<?xf32>
  %3 = arith.cmpf uno, %u, %u : f32
  %4 = arith.divf %v, %three : f32
  %5 = math.exp %4 : f32
  %6 = arith.select %3, %nan, %5 : f32
  memref.store %6, %y[%c1] : memref<?xf32>
  %7 = arith.mulf %u, %v : f32
  %8 = arith.addf %7, %big : f32
  memref.store %8, %y[%c2] : memref<?xf32>
  %9 = arith.cmpf olt, %u, %v : f32
  memref.store %9, %m[%c0] : memref<?xi1>
  %two = arith.constant 2.0 : f32
  %zero = arith.constant -0.0 : f32
  %half = memref.load %h[%c1] : memref<?xf16>
  %wide = arith.extf %half : f16 to f32
  %is = memref.load %m[%c1] : memref<?xi1>
  %scale = arith.select %is, %two, %zero : f32
  %10 = arith.mulf %wide, %scale : f32
  %11 = arith.truncf %10 : f32 to f16
  memref.store %11, %h[%c0] : memref<?xf16>
  return
}

// -----

// Products that no compiler may contract with a sum.
// CHECK-LABEL: strict(
// CHECK: b0[0] = __fmul_rn(b0[0], b0[1]) + b0[2];
func.func @strict(%y: memref<?xf32>) attributes {tcc.block = array<i64: 1, 1, 1>, tcc.strict} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %u = memref.load %y[%c0] : memref<?xf32>
  %v = memref.load %y[%c1] : memref<?xf32>
  %w = memref.load %y[%c2] : memref<?xf32>
  %0 = arith.mulf %u, %v : f32
  %1 = arith.addf %0, %w : f32
  memref.store %1, %y[%c0] : memref<?xf32>
  return
}
