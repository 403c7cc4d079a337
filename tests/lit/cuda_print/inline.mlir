// What is printed where it is used, and what gets a name.
// RUN: tcc-opt --tcc-print-cuda -o /dev/null -split-input-file %s | FileCheck %s

// Parentheses only where the order needs them: float operations are never reassociated.
// CHECK-LABEL: parentheses(
// CHECK: b0[0] = (x0 + x1) * x0 - (x1 - x0);
// CHECK-NEXT: b0[1] = x0 + (x1 + x0);
// CHECK-NEXT: b0[2] = x0 + x1 + x0;
// CHECK-NEXT: b0[3] = -(x0 / (x1 * x0)) - -x1;
// CHECK-NEXT: b0[4] = x0 - -2.0f;
func.func @parentheses(%y: memref<?xf32>, %a: memref<?xf32>) attributes {tcc.block = array<i64: 1, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %u = memref.load %a[%c0] : memref<?xf32>
  %v = memref.load %a[%c1] : memref<?xf32>
  %0 = arith.addf %u, %v : f32
  %1 = arith.mulf %0, %u : f32
  %2 = arith.subf %v, %u : f32
  %3 = arith.subf %1, %2 : f32
  memref.store %3, %y[%c0] : memref<?xf32>
  %4 = arith.addf %v, %u : f32
  %5 = arith.addf %u, %4 : f32
  memref.store %5, %y[%c1] : memref<?xf32>
  %6 = arith.addf %u, %v : f32
  %7 = arith.addf %6, %u : f32
  memref.store %7, %y[%c2] : memref<?xf32>
  %8 = arith.mulf %v, %u : f32
  %9 = arith.divf %u, %8 : f32
  %10 = arith.negf %9 : f32
  %11 = arith.negf %v : f32
  %12 = arith.subf %10, %11 : f32
  memref.store %12, %y[%c3] : memref<?xf32>
  %two = arith.constant -2.0 : f32
  %13 = arith.subf %u, %two : f32
  memref.store %13, %y[%c4] : memref<?xf32>
  return
}

// -----

// A load stays before a store, a barrier and a call; dead values are left out.
// CHECK-LABEL: order(
// CHECK-NEXT: const float x0 = b0[0];
// CHECK-NEXT: b0[0] = 1.0f;
// CHECK-NEXT: const float x1 = b0[1];
// CHECK-NEXT: __syncthreads();
// CHECK-NEXT: b0[1] = x0 + x1 + b0[2];
// CHECK-NEXT: }
func.func @order(%y: memref<?xf32>) attributes {tcc.block = array<i64: 1, 1, 1>, tcc.may_alias} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %one = arith.constant 1.0 : f32
  %u = memref.load %y[%c0] : memref<?xf32>
  %dead = arith.addf %u, %u : f32
  memref.store %one, %y[%c0] : memref<?xf32>
  %v = memref.load %y[%c1] : memref<?xf32>
  gpu.barrier
  %w = memref.load %y[%c2] : memref<?xf32>
  %s = arith.addf %u, %v : f32
  %t = arith.addf %s, %w : f32
  memref.store %t, %y[%c1] : memref<?xf32>
  return
}

// -----

// A load under a condition is a choice; one with a store in a branch is not.
// CHECK-LABEL: guarded(
// CHECK: const long long tx = threadIdx.x;
// CHECK-NEXT: b0[tx] = (tx < s0 ? b1[tx] : 0.0f) * 2.0f;
// CHECK-NEXT: float y0;
// CHECK-NEXT: if (tx >= s0 && tx != 3) {
// CHECK-NEXT:   b0[tx] = 1.0f;
// CHECK-NEXT:   y0 = 3.0f;
// CHECK-NEXT: } else {
// CHECK-NEXT:   y0 = 4.0f;
// CHECK-NEXT: }
// CHECK-NEXT: b0[tx + 1] = y0;
func.func @guarded(%y: memref<?xf32>, %a: memref<?xf32>, %n: index) attributes {tcc.block = array<i64: 32, 1, 1>} {
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %three = arith.constant 3.0 : f32
  %four = arith.constant 4.0 : f32
  %tx = gpu.thread_id x
  %in = arith.cmpi slt, %tx, %n : index
  %u = scf.if %in -> f32 {
    %v = memref.load %a[%tx] : memref<?xf32>
    scf.yield %v : f32
  } else {
    scf.yield %zero : f32
  }
  %twice = arith.mulf %u, %two : f32
  memref.store %twice, %y[%tx] : memref<?xf32>
  %out = arith.cmpi sge, %tx, %n : index
  %other = arith.cmpi ne, %tx, %c3 : index
  %both = arith.andi %out, %other : i1
  %w = scf.if %both -> f32 {
    memref.store %one, %y[%tx] : memref<?xf32>
    scf.yield %three : f32
  } else {
    scf.yield %four : f32
  }
  %next = arith.addi %tx, %c1 : index
  memref.store %w, %y[%next] : memref<?xf32>
  return
}
