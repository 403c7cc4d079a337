// RUN: tcc-opt --tcc-lower-to-kernels --tcc-fuse-kernels --cse --tcc-fuse-siblings --tcc-verify-kernels --split-input-file %s | FileCheck %s

// x is read once.
// CHECK-LABEL: func.func @relu_and_sigmoid
// CHECK: %[[BOTH:.*]]:2 = tcc.kernel(%{{.*}}) ["max", "sigmoid"]
// CHECK-COUNT-1: tcc.load
// CHECK-NOT: tcc.load
// CHECK: return %[[BOTH]]#1, %[[BOTH]]#0
func.func @relu_and_sigmoid(%x: tensor<64x256xf32>) -> (tensor<64x256xf32>, tensor<64x256xf32>) {
  %zero = tcc.constant dense<0.0> : tensor<64x256xf32>
  %a = tcc.max %x, %zero : tensor<64x256xf32>
  %b = tcc.sigmoid %x : tensor<64x256xf32>
  return %a, %b : tensor<64x256xf32>, tensor<64x256xf32>
}

// -----

// One pass over a row, and the sum that the mean needs is the sum.
// CHECK-LABEL: func.func @statistics
// CHECK: tcc.kernel
// CHECK: tcc.loops <64, 256> reduce 1 [#tcc.reduce_kind<sum>, #tcc.reduce_kind<sum>, #tcc.reduce_kind<max>]
// CHECK-COUNT-1: tcc.load %{{.*}} : tensor<64x256xf32>
// CHECK-NOT: tcc.load %{{.*}} : tensor<64x256xf32>
// CHECK: return
func.func @statistics(%x: tensor<64x256xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %mean = tcc.reduce %x {kind = #tcc.reduce_kind<mean>, axes = array<i64: 1>, keep_dims = false} : (tensor<64x256xf32>) -> tensor<64xf32>
  %max = tcc.reduce %x {kind = #tcc.reduce_kind<max>, axes = array<i64: 1>, keep_dims = false} : (tensor<64x256xf32>) -> tensor<64xf32>
  %sum = tcc.reduce %x {kind = #tcc.reduce_kind<sum>, axes = array<i64: 1>, keep_dims = false} : (tensor<64x256xf32>) -> tensor<64xf32>
  %squares = tcc.mul %x, %x : tensor<64x256xf32>
  %power = tcc.reduce %squares {kind = #tcc.reduce_kind<sum>, axes = array<i64: 1>, keep_dims = false} : (tensor<64x256xf32>) -> tensor<64xf32>
  return %mean, %max, %sum, %power : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

// -----

// Lanes go along the columns, in both.
// CHECK-LABEL: func.func @columns
// CHECK: tcc.loops <256, 64> reduce 1 [#tcc.reduce_kind<min>, #tcc.reduce_kind<max>]
// CHECK-NOT: tcc.kernel
func.func @columns(%x: tensor<64x256xf32>) -> (tensor<256xf32>, tensor<256xf32>) {
  %a = tcc.reduce %x {kind = #tcc.reduce_kind<max>, axes = array<i64: 0>, keep_dims = false} : (tensor<64x256xf32>) -> tensor<256xf32>
  %b = tcc.reduce %x {kind = #tcc.reduce_kind<min>, axes = array<i64: 0>, keep_dims = false} : (tensor<64x256xf32>) -> tensor<256xf32>
  return %a, %b : tensor<256xf32>, tensor<256xf32>
}

// -----

// The mean has a loop over columns after its reduction: with the maximum's in one kernel, lanes would no longer go
// along columns.
// CHECK-LABEL: func.func @columns_as_rows
// CHECK-COUNT-2: tcc.kernel
// CHECK-NOT: tcc.kernel
func.func @columns_as_rows(%x: tensor<64x256xf32>) -> (tensor<256xf32>, tensor<256xf32>) {
  %a = tcc.reduce %x {kind = #tcc.reduce_kind<max>, axes = array<i64: 0>, keep_dims = false} : (tensor<64x256xf32>) -> tensor<256xf32>
  %b = tcc.reduce %x {kind = #tcc.reduce_kind<mean>, axes = array<i64: 0>, keep_dims = false} : (tensor<64x256xf32>) -> tensor<256xf32>
  return %a, %b : tensor<256xf32>, tensor<256xf32>
}

// -----

// Four readers in a row; three results at most with one that is to come.
// CHECK-LABEL: func.func @many
// CHECK: %{{.*}}:4 = tcc.kernel
// CHECK: tcc.kernel({{.*}}) ["cos"]
// CHECK-NOT: tcc.kernel
func.func @many(%x: tensor<64x256xf32>) -> (tensor<64x256xf32>, tensor<64x256xf32>, tensor<64x256xf32>, tensor<64x256xf32>, tensor<64x256xf32>) {
  %a = tcc.exp %x : tensor<64x256xf32>
  %b = tcc.sigmoid %x : tensor<64x256xf32>
  %c = tcc.tanh %x : tensor<64x256xf32>
  %d = tcc.sin %x : tensor<64x256xf32>
  %e = tcc.cos %x : tensor<64x256xf32>
  return %a, %b, %c, %d, %e : tensor<64x256xf32>, tensor<64x256xf32>, tensor<64x256xf32>, tensor<64x256xf32>, tensor<64x256xf32>
}

// -----

// Sums of x and of x * x that fusion brought into one kernel.
// CHECK-LABEL: func.func @norm_of_moments
// CHECK: tcc.kernel
// CHECK: tcc.loops <64, 1, 256> reduce 1 [#tcc.reduce_kind<sum>, #tcc.reduce_kind<sum>]
// CHECK-NOT: reduce 1
// CHECK-NOT: tcc.kernel
func.func @norm_of_moments(%x: tensor<64x256xf32>) -> tensor<64x256xf32> {
  %mean = tcc.reduce %x {kind = #tcc.reduce_kind<mean>, axes = array<i64: 1>, keep_dims = true} : (tensor<64x256xf32>) -> tensor<64x1xf32>
  %squares = tcc.mul %x, %x : tensor<64x256xf32>
  %power = tcc.reduce %squares {kind = #tcc.reduce_kind<mean>, axes = array<i64: 1>, keep_dims = true} : (tensor<64x256xf32>) -> tensor<64x1xf32>
  %m2 = tcc.mul %mean, %mean : tensor<64x1xf32>
  %variance = tcc.sub %power, %m2 : tensor<64x1xf32>
  %deviation = tcc.sqrt %variance : tensor<64x1xf32>
  %m = tcc.broadcast %mean : (tensor<64x1xf32>) -> tensor<64x256xf32>
  %d = tcc.broadcast %deviation : (tensor<64x1xf32>) -> tensor<64x256xf32>
  %centred = tcc.sub %x, %m : tensor<64x256xf32>
  %y = tcc.div %centred, %d : tensor<64x256xf32>
  return %y : tensor<64x256xf32>
}

// -----

// The library call reads the one and makes what the other reads.
// CHECK-LABEL: func.func @path
// CHECK: tcc.kernel(%{{.*}}) ["sigmoid"]
// CHECK: tcc.scan
// CHECK: tcc.kernel(%{{.*}}) ["add"]
func.func @path(%x: tensor<64x256xf32>) -> (tensor<64x256xf32>, tensor<64x256xf32>) {
  %a = tcc.sigmoid %x : tensor<64x256xf32>
  %c = tcc.scan %a {kind = #tcc.reduce_kind<sum>, axis = 1 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %b = tcc.add %x, %c : tensor<64x256xf32>
  return %a, %b : tensor<64x256xf32>, tensor<64x256xf32>
}

// -----

// A library call in between that has to do with neither is no path; nor is one of which the second reads the result
// before the first is read: the kernel stands between.
// CHECK-LABEL: func.func @no_path
// CHECK: %[[C:.*]] = tcc.scan
// CHECK: %[[BOTH:.*]]:2 = tcc.kernel(%{{.*}}) ["sigmoid", "add"]
// CHECK: tcc.scan %[[BOTH]]#1
func.func @no_path(%x: tensor<64x256xf32>) -> (tensor<64x256xf32>, tensor<64x256xf32>) {
  %a = tcc.sigmoid %x : tensor<64x256xf32>
  %c = tcc.scan %x {kind = #tcc.reduce_kind<sum>, axis = 1 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %d = tcc.scan %a {kind = #tcc.reduce_kind<sum>, axis = 1 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %b = tcc.add %x, %c : tensor<64x256xf32>
  return %d, %b : tensor<64x256xf32>, tensor<64x256xf32>
}

// -----

// A branch that reads the first counts where it stands.
// CHECK-LABEL: func.func @branch
// CHECK: %[[BOTH:.*]]:2 = tcc.kernel(%{{.*}}) ["sigmoid", "tanh"]
// CHECK: tcc.if
// CHECK: tcc.scan %[[BOTH]]#1
// CHECK: return %{{.*}}, %[[BOTH]]#0
func.func @branch(%if: tensor<i1>, %x: tensor<64x256xf32>) -> (tensor<64x256xf32>, tensor<64x256xf32>) {
  %a = tcc.sigmoid %x : tensor<64x256xf32>
  %r = tcc.if %if : (tensor<i1>) -> tensor<64x256xf32> {
    %c = tcc.scan %a {kind = #tcc.reduce_kind<sum>, axis = 1 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
    tcc.yield %c : tensor<64x256xf32>
  } else {
    tcc.yield %x : tensor<64x256xf32>
  }
  %b = tcc.tanh %x : tensor<64x256xf32>
  return %r, %b : tensor<64x256xf32>, tensor<64x256xf32>
}

// -----

// ... and makes what the second reads.
// CHECK-LABEL: func.func @path_through_branch
// CHECK: tcc.kernel({{.*}}) ["sigmoid"]
// CHECK: tcc.kernel({{.*}}) ["add"]
func.func @path_through_branch(%if: tensor<i1>, %x: tensor<64x256xf32>) -> (tensor<64x256xf32>, tensor<64x256xf32>) {
  %a = tcc.sigmoid %x : tensor<64x256xf32>
  %r = tcc.if %if : (tensor<i1>) -> tensor<64x256xf32> {
    %c = tcc.scan %a {kind = #tcc.reduce_kind<sum>, axis = 1 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
    tcc.yield %c : tensor<64x256xf32>
  } else {
    tcc.yield %x : tensor<64x256xf32>
  }
  %b = tcc.add %x, %r : tensor<64x256xf32>
  return %a, %b : tensor<64x256xf32>, tensor<64x256xf32>
}

// -----

// Loops over other extents.
// CHECK-LABEL: func.func @extents
// CHECK-COUNT-2: tcc.kernel
func.func @extents(%x: tensor<64x256xf32>) -> (tensor<64xf32>, tensor<64x256xf32>) {
  %a = tcc.reduce %x {kind = #tcc.reduce_kind<sum>, axes = array<i64: 1>, keep_dims = false} : (tensor<64x256xf32>) -> tensor<64xf32>
  %b = tcc.tanh %x : tensor<64x256xf32>
  return %a, %b : tensor<64xf32>, tensor<64x256xf32>
}

// -----

// Still in the nearest cache.
// CHECK-LABEL: func.func @small
// CHECK-COUNT-2: tcc.kernel
func.func @small(%x: tensor<16x256xf32>) -> (tensor<16x256xf32>, tensor<16x256xf32>) {
  %a = tcc.sigmoid %x : tensor<16x256xf32>
  %b = tcc.tanh %x : tensor<16x256xf32>
  return %a, %b : tensor<16x256xf32>, tensor<16x256xf32>
}

// -----

// A large tensor of which both read one row is small.
// CHECK-LABEL: func.func @small_part
// CHECK-COUNT-2: tcc.kernel
func.func @small_part(%x: tensor<64x4096xf32>) -> (tensor<1x4096xf32>, tensor<1x4096xf32>) {
  %r = tcc.slice %x {starts = #tcc.extents<5, 0>, sizes = #tcc.extents<1, 4096>, steps = array<i64: 1, 1>} : (tensor<64x4096xf32>) -> tensor<1x4096xf32>
  %a = tcc.sigmoid %r : tensor<1x4096xf32>
  %b = tcc.tanh %r : tensor<1x4096xf32>
  return %a, %b : tensor<1x4096xf32>, tensor<1x4096xf32>
}

// -----

// The one reads x across.
// CHECK-LABEL: func.func @transposed
// CHECK-COUNT-2: tcc.kernel
func.func @transposed(%x: tensor<128x128xf32>) -> (tensor<128x128xf32>, tensor<128x128xf32>) {
  %a = tcc.sigmoid %x : tensor<128x128xf32>
  %t = tcc.transpose %x {permutation = array<i64: 1, 0>} : (tensor<128x128xf32>) -> tensor<128x128xf32>
  %b = tcc.tanh %t : tensor<128x128xf32>
  return %a, %b : tensor<128x128xf32>, tensor<128x128xf32>
}

// -----

// What is shared is a row beside every element.
// CHECK-LABEL: func.func @bias
// CHECK-COUNT-2: tcc.kernel
func.func @bias(%x: tensor<4x16384xf32>, %y: tensor<4x16384xf32>, %bias: tensor<16384xf32>) -> (tensor<4x16384xf32>, tensor<4x16384xf32>) {
  %w = tcc.broadcast %bias : (tensor<16384xf32>) -> tensor<4x16384xf32>
  %a = tcc.add %x, %w : tensor<4x16384xf32>
  %b = tcc.sub %y, %w : tensor<4x16384xf32>
  return %a, %b : tensor<4x16384xf32>, tensor<4x16384xf32>
}

// -----

// Vectors of doubles are half as many lanes.
// CHECK-LABEL: func.func @widths
// CHECK-COUNT-2: tcc.kernel
func.func @widths(%x: tensor<64x256xf32>) -> (tensor<64x256xf32>, tensor<64x256xf64>) {
  %a = tcc.sigmoid %x : tensor<64x256xf32>
  %b = tcc.cast %x : (tensor<64x256xf32>) -> tensor<64x256xf64>
  return %a, %b : tensor<64x256xf32>, tensor<64x256xf64>
}

// -----

// Three values a row: alone, tanh runs through all rows as one.
// CHECK-LABEL: func.func @short_rows
// CHECK-COUNT-2: tcc.kernel
func.func @short_rows(%x: tensor<8192x3xf32>, %bias: tensor<3xf32>) -> (tensor<8192x3xf32>, tensor<8192x3xf32>) {
  %a = tcc.tanh %x : tensor<8192x3xf32>
  %w = tcc.broadcast %bias : (tensor<3xf32>) -> tensor<8192x3xf32>
  %b = tcc.add %x, %w : tensor<8192x3xf32>
  return %a, %b : tensor<8192x3xf32>, tensor<8192x3xf32>
}

// -----

// A gather reports bad indices, and goes its own way through memory.
// CHECK-LABEL: func.func @gather
// CHECK-COUNT-2: tcc.kernel
func.func @gather(%x: tensor<64x256xf32>, %i: tensor<64xi64>) -> (tensor<64x256xf32>, tensor<64x256xf32>) {
  %g = tcc.gather %x, %i {axis = 0 : i64} : (tensor<64x256xf32>, tensor<64xi64>) -> tensor<64x256xf32>
  %a = tcc.add %g, %x : tensor<64x256xf32>
  %b = tcc.tanh %x : tensor<64x256xf32>
  return %a, %b : tensor<64x256xf32>, tensor<64x256xf32>
}

// -----

// What is scattered has places of its own.
// CHECK-LABEL: func.func @scatter
// CHECK-COUNT-2: tcc.kernel
func.func @scatter(%x: tensor<64x256xf32>, %i: tensor<64x1xi64>, %u: tensor<64x256xf32>) -> (tensor<64x256xf32>, tensor<64x256xf32>) {
  %s = tcc.scatter_nd %x, %i, %u {kind = #tcc.scatter_kind<add>} : (tensor<64x256xf32>, tensor<64x1xi64>, tensor<64x256xf32>) -> tensor<64x256xf32>
  %b = tcc.tanh %x : tensor<64x256xf32>
  return %s, %b : tensor<64x256xf32>, tensor<64x256xf32>
}

// -----

// Extents that are equal as expressions, and large as far as one knows.
// CHECK-LABEL: func.func @dynamic
// CHECK: tcc.kernel(%{{.*}}) ["sigmoid", "add"]
// CHECK-NOT: tcc.kernel
func.func @dynamic(%x: tensor<?x64xf32, #tcc.extents<s0 * s1, 64>>, %y: tensor<?x64xf32, #tcc.extents<s1 * s0, 64>>) -> (tensor<?x64xf32, #tcc.extents<s0 * s1, 64>>, tensor<?x64xf32, #tcc.extents<s1 * s0, 64>>)
    attributes {tcc.symbols = [#tcc.symbol<"b", 1, 64, 1>, #tcc.symbol<"t", 1, 1024, 1>]} {
  %a = tcc.sigmoid %x : tensor<?x64xf32, #tcc.extents<s0 * s1, 64>>
  %b = tcc.add %x, %y : tensor<?x64xf32, #tcc.extents<s1 * s0, 64>>
  return %a, %b : tensor<?x64xf32, #tcc.extents<s0 * s1, 64>>, tensor<?x64xf32, #tcc.extents<s1 * s0, 64>>
}

// -----

// Never more than 8 rows.
// CHECK-LABEL: func.func @dynamic_but_small
// CHECK-COUNT-2: tcc.kernel
func.func @dynamic_but_small(%x: tensor<?x64xf32, #tcc.extents<s0, 64>>) -> (tensor<?x64xf32, #tcc.extents<s0, 64>>, tensor<?x64xf32, #tcc.extents<s0, 64>>)
    attributes {tcc.symbols = [#tcc.symbol<"b", 1, 8, 1>]} {
  %a = tcc.sigmoid %x : tensor<?x64xf32, #tcc.extents<s0, 64>>
  %b = tcc.tanh %x : tensor<?x64xf32, #tcc.extents<s0, 64>>
  return %a, %b : tensor<?x64xf32, #tcc.extents<s0, 64>>, tensor<?x64xf32, #tcc.extents<s0, 64>>
}

// -----

// Only the second knows how many elements are not zero, and only behind the library call that counts them.
// CHECK-LABEL: func.func @found_extent
// CHECK: tcc.kernel({{.*}}) ["sigmoid"]
// CHECK: tcc.library
// CHECK: tcc.kernel({{.*}}) ["cast", "broadcast", "add"]
func.func @found_extent(%x: tensor<64x256xf32>, %z: tensor<7xf32>) -> (tensor<64x256xf32>, tensor<64x256xf32>, tensor<1x?xi64, #tcc.extents<1, s0>>)
    attributes {tcc.symbols = [#tcc.symbol<"found", 0, 7, 1>]} {
  %a = tcc.sigmoid %x : tensor<64x256xf32>
  %r = tcc.scan %a {kind = #tcc.reduce_kind<sum>, axis = 1 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %f = tcc.library "nonzero"(%z) {} : (tensor<7xf32>) -> tensor<1x?xi64, #tcc.extents<1, s0>>
  %n = tcc.extents {value = #tcc.extents<s0>} : () -> tensor<1xi32>
  %m = tcc.cast %n : (tensor<1xi32>) -> tensor<1xf32>
  %w = tcc.broadcast %m : (tensor<1xf32>) -> tensor<64x256xf32>
  %b = tcc.add %x, %w : tensor<64x256xf32>
  return %r, %b, %f : tensor<64x256xf32>, tensor<64x256xf32>, tensor<1x?xi64, #tcc.extents<1, s0>>
}

// -----

// Half of the results would wait for seventeen ops, and nothing is freed for them.
// CHECK-LABEL: func.func @far_apart
// CHECK: tcc.kernel({{.*}}) ["sigmoid"]
// CHECK-COUNT-17: tcc.scan
// CHECK: tcc.kernel({{.*}}) ["tanh"]
func.func @far_apart(%x: tensor<64x256xf32>) -> (tensor<64x256xf32>, tensor<64x256xf32>, tensor<64x256xf32>) {
  %a = tcc.sigmoid %x : tensor<64x256xf32>
  %c0 = tcc.scan %a {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c1 = tcc.scan %c0 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c2 = tcc.scan %c1 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c3 = tcc.scan %c2 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c4 = tcc.scan %c3 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c5 = tcc.scan %c4 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c6 = tcc.scan %c5 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c7 = tcc.scan %c6 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c8 = tcc.scan %c7 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c9 = tcc.scan %c8 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c10 = tcc.scan %c9 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c11 = tcc.scan %c10 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c12 = tcc.scan %c11 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c13 = tcc.scan %c12 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c14 = tcc.scan %c13 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c15 = tcc.scan %c14 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c16 = tcc.scan %c15 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %b = tcc.tanh %x : tensor<64x256xf32>
  return %a, %c16, %b : tensor<64x256xf32>, tensor<64x256xf32>, tensor<64x256xf32>
}

// -----

// ... but here for the input of both, which then needs no memory.
// CHECK-LABEL: func.func @far_apart_but_freed
// CHECK: tcc.kernel({{.*}}) ["sigmoid", "tanh"]
// CHECK-NOT: tcc.kernel
func.func @far_apart_but_freed(%in: tensor<64x256xf32>) -> (tensor<64x256xf32>, tensor<64x256xf32>, tensor<64x256xf32>) {
  %x = tcc.scan %in {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %a = tcc.sigmoid %x : tensor<64x256xf32>
  %c0 = tcc.scan %a {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c1 = tcc.scan %c0 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c2 = tcc.scan %c1 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c3 = tcc.scan %c2 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c4 = tcc.scan %c3 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c5 = tcc.scan %c4 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c6 = tcc.scan %c5 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c7 = tcc.scan %c6 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c8 = tcc.scan %c7 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c9 = tcc.scan %c8 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c10 = tcc.scan %c9 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c11 = tcc.scan %c10 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c12 = tcc.scan %c11 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c13 = tcc.scan %c12 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c14 = tcc.scan %c13 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c15 = tcc.scan %c14 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c16 = tcc.scan %c15 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %b = tcc.tanh %x : tensor<64x256xf32>
  return %a, %c16, %b : tensor<64x256xf32>, tensor<64x256xf32>, tensor<64x256xf32>
}

// -----

// A number for each row: from however far.
// CHECK-LABEL: func.func @far_apart_but_small
// CHECK: tcc.kernel({{.*}}) ["reduce"]
// CHECK-NOT: tcc.kernel
func.func @far_apart_but_small(%in: tensor<64x256xf32>) -> (tensor<64xf32>, tensor<64x256xf32>, tensor<64xf32>) {
  %x = tcc.scan %in {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %a = tcc.reduce %x {kind = #tcc.reduce_kind<sum>, axes = array<i64: 1>, keep_dims = false} : (tensor<64x256xf32>) -> tensor<64xf32>
  %c0 = tcc.scan %x {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c1 = tcc.scan %c0 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c2 = tcc.scan %c1 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c3 = tcc.scan %c2 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c4 = tcc.scan %c3 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c5 = tcc.scan %c4 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c6 = tcc.scan %c5 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c7 = tcc.scan %c6 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c8 = tcc.scan %c7 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c9 = tcc.scan %c8 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c10 = tcc.scan %c9 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c11 = tcc.scan %c10 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c12 = tcc.scan %c11 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c13 = tcc.scan %c12 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c14 = tcc.scan %c13 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c15 = tcc.scan %c14 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c16 = tcc.scan %c15 {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %b = tcc.reduce %x {kind = #tcc.reduce_kind<max>, axes = array<i64: 1>, keep_dims = false} : (tensor<64x256xf32>) -> tensor<64xf32>
  return %a, %c16, %b : tensor<64xf32>, tensor<64x256xf32>, tensor<64xf32>
}
