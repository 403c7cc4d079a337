// Integers wrap: as unsigned ones, as a signed overflow means nothing in C++. Indices that are made of ids, loop counters
// and arguments alone are promised not to, and read plainly.
// RUN: tcc-opt --tcc-print-cuda -o /dev/null -split-input-file %s | FileCheck %s

// CHECK-LABEL: wraps(
// CHECK-NEXT: const int x0 = b1[0];
// CHECK-NEXT: const int x1 = b1[1];
// CHECK-NEXT: b0[0] = (unsigned)x0 * (unsigned)x1 + 7u;
// CHECK-NEXT: b0[1] = (int)((unsigned)x0 - (unsigned)x1) >> 3;
// CHECK-NEXT: b0[2] = (unsigned)x0 >> (x1 & 31);
// CHECK-NEXT: b0[3] = tcc::min(x0, (int)(0u - (unsigned)x1));
// CHECK-NEXT: b0[4] = x0 + x1;
// CHECK-NEXT: b0[5] = (unsigned)x0 < 0xfffffff0u ? ~x0 & x1 : (-2147483647 - 1);
func.func @wraps(%y: memref<?xi32>, %a: memref<?xi32>) attributes {tcc.block = array<i64: 1, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %u = memref.load %a[%c0] : memref<?xi32>
  %v = memref.load %a[%c1] : memref<?xi32>
  %zero = arith.constant 0 : i32
  %three = arith.constant 3 : i32
  %seven = arith.constant 7 : i32
  %0 = arith.muli %u, %v : i32
  %1 = arith.addi %0, %seven : i32
  memref.store %1, %y[%c0] : memref<?xi32>
  %2 = arith.subi %u, %v : i32
  %3 = arith.shrsi %2, %three : i32
  memref.store %3, %y[%c1] : memref<?xi32>
  %4 = arith.shrui %u, %v : i32
  memref.store %4, %y[%c2] : memref<?xi32>
  %5 = arith.subi %zero, %v : i32
  %6 = arith.minsi %u, %5 : i32
  memref.store %6, %y[%c3] : memref<?xi32>
  %7 = arith.addi %u, %v overflow<nsw> : i32
  memref.store %7, %y[%c4] : memref<?xi32>
  %limit = arith.constant -16 : i32
  %ones = arith.constant -1 : i32
  %lowest = arith.constant -2147483648 : i32
  %8 = arith.cmpi ult, %u, %limit : i32
  %9 = arith.xori %u, %ones : i32
  %10 = arith.andi %9, %v : i32
  %11 = arith.select %8, %10, %lowest : i32
  memref.store %11, %y[%c5] : memref<?xi32>
  return
}

// -----

// CHECK-LABEL: indices(
// CHECK: const int tx = threadIdx.x;
// CHECK-NEXT: const int at0 = s0 - 1;
// CHECK-NEXT: for (int i = tx / 8 - 1; i < s0; ++i) {
// CHECK-NEXT:   const int at1 = (int)b1[i * 4 + (int)((unsigned)tx % 8u)];
// CHECK-NEXT:   const int at2 = tcc::min(at1 < 0 ? (int)((unsigned)at1 + (unsigned)s0) : at1, at0);
// CHECK-NEXT:   const int row = tcc::max(at2, 0);
// CHECK-NEXT:   b0[row * 4 + tx] = 1.0f;
// CHECK-NEXT: }
func.func @indices(%y: memref<?xf32>, %a: memref<?xi64>, %n: index) attributes {tcc.block = array<i64: 32, 1, 1>,
                                                                                tcc.index_bits = 32 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %one = arith.constant 1.0 : f32
  %tx = gpu.thread_id x
  %eighth = arith.divsi %tx, %c8 : index
  %start = arith.subi %eighth, %c1 : index
  %last = arith.subi %n, %c1 : index
  scf.for %i = %start to %n step %c1 {
    %0 = arith.muli %i, %c4 : index
    %1 = arith.remui %tx, %c8 : index
    %2 = arith.addi %0, %1 : index
    %3 = memref.load %a[%2] : memref<?xi64>
    %4 = arith.index_cast %3 : i64 to index
    %5 = arith.cmpi slt, %4, %c0 : index
    %6 = arith.addi %4, %n : index
    %7 = arith.select %5, %6, %4 : index
    %8 = arith.minsi %7, %last : index
    %9 = arith.maxsi %8, %c0 {tcc.name = "row"} : index
    %10 = arith.muli %9, %c4 : index
    %11 = arith.addi %10, %tx : index
    memref.store %one, %y[%11] : memref<?xf32>
  }
  return
}
