// Names of nodes come from models: they end no comment and join no lines, and become identifiers that are none of C++'s.
// RUN: tcc-opt --tcc-print-cuda -o /dev/null %s | FileCheck %s

// CHECK: // hostile computes
// CHECK-NEXT: //   Relu "a_#include <evil>_"
// CHECK-NEXT: //   Add "x _/ evil(); _* y _?/"
// CHECK-NEXT: //   {{_+}}
// CHECK-NEXT: //   {{a+}}...{{$}}
// CHECK-NEXT: // Schedule: one_two
// CHECK: hostile(
// CHECK-NEXT: float* __restrict__ b0, const float* __restrict__ float_1, const float* __restrict__ x_system_1)
// CHECK: b0[0] = float_1[0] + x_system_1[0];
func.func @hostile(%y: memref<?xf32>, %a: memref<?xf32> {tcc.name = "float"},
                   %b: memref<?xf32> {tcc.name = "x;system(1)//"}) attributes {
    tcc.block = array<i64: 1, 1, 1>, tcc.schedule = "one\0Atwo",
    tcc.sources = ["Relu \22a\0A#include <evil>\5C\22", "Add \22x */ evil(); /* y ??/\22", "\C3\A9\0D\E2\80\A8",
                   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]} {
  %c0 = arith.constant 0 : index
  %u = memref.load %a[%c0] : memref<?xf32>
  %v = memref.load %b[%c0] : memref<?xf32>
  %s = arith.addf %u, %v : f32
  memref.store %s, %y[%c0] : memref<?xf32>
  return
}
