// Device functions: before the kernel that calls them, by themselves, and as a functor.
// RUN: tcc-opt --tcc-print-cuda -o /dev/null -split-input-file %s | FileCheck %s

// CHECK-LABEL: // kernel
// CHECK: struct halves_results {
// CHECK-NEXT: float r0;
// CHECK-NEXT: float r1;
// CHECK-NEXT: };
// CHECK-NEXT: static __device__ __forceinline__ halves_results halves(float a0) {
// CHECK-NEXT: return {a0 * 0.5f, a0 - a0 * 0.5f};
// CHECK-NEXT: }
// CHECK: const auto [halves0, halves1] = halves(b0[0]);
// CHECK-NEXT: b0[0] = halves0 * halves1;
func.func @kernel(%y: memref<?xf32>) attributes {tcc.block = array<i64: 1, 1, 1>} {
  %c0 = arith.constant 0 : index
  %x = memref.load %y[%c0] : memref<?xf32>
  %h:2 = func.call @halves(%x) : (f32) -> (f32, f32)
  %p = arith.mulf %h#0, %h#1 : f32
  memref.store %p, %y[%c0] : memref<?xf32>
  return
}
func.func @halves(%x: f32) -> (f32, f32) attributes {tcc.device_function} {
  %half = arith.constant 0.5 : f32
  %0 = arith.mulf %x, %half : f32
  %1 = arith.mulf %x, %half : f32
  %2 = arith.subf %x, %1 : f32
  return %0, %2 : f32, f32
}

// -----

// What other blocks write is no memory of this one's alone.
// CHECK: // hands_over
// CHECK: float* __restrict__ b0, float* parts, long long s0, int* counters)
// CHECK: const bool {{.*}} = tcc::is_last_of(counters, s0, 4LL);
func.func @hands_over(%y: memref<?xf32>, %parts: memref<?xf32> {tcc.name = "parts", tcc.other_threads}, %n: index,
                      %counters: memref<?xi32> {tcc.name = "counters", tcc.other_threads}) attributes {tcc.block = array<i64: 1, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %x = memref.load %y[%c0] : memref<?xf32>
  memref.store %x, %parts[%c0] : memref<?xf32>
  %last = func.call @is_last_of(%counters, %n, %c4) : (memref<?xi32>, index, index) -> i1
  scf.if %last {
    %z = memref.load %parts[%c0] : memref<?xf32>
    memref.store %z, %y[%c0] : memref<?xf32>
  }
  return
}
func.func private @is_last_of(memref<?xi32>, index, index) -> i1 attributes {tcc.device_name = "tcc::is_last_of"}

// -----

// CHECK: struct epilogue {
// CHECK-NEXT:   const float* bias;
// CHECK-NEXT:   long long s1;
// CHECK-NEXT:   __device__ __forceinline__ float operator()(float acc, long long i, long long j) const {
// CHECK-NEXT:     return tcc::maximum(acc + bias[j] + (float)i, 0.0f);
// CHECK-NEXT:   }
// CHECK-NEXT: };
func.func @epilogue(%bias: memref<?xf32> {tcc.name = "bias"}, %n: index, %acc: f32 {tcc.name = "acc"},
                    %i: index {tcc.name = "i"}, %j: index {tcc.name = "j"}) -> f32 attributes {
    tcc.device_function, tcc.members = 2 : i64} {
  %zero = arith.constant 0.0 : f32
  %b = memref.load %bias[%j] : memref<?xf32>
  %0 = arith.addf %acc, %b : f32
  %1 = arith.index_cast %i : index to i64
  %2 = arith.sitofp %1 : i64 to f32
  %3 = arith.addf %0, %2 : f32
  %4 = arith.maximumf %3, %zero : f32
  return %4 : f32
}
