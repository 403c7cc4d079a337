// Loops, branches, arrays and vectors: what the compiled text does.
#include <cstring>

#include "codegen/cuda/print/Print.h"
#include "gtest/gtest.h"
#include "mlir/Parser/Parser.h"
#include "tests/codegen_cuda_print/compiled.h"

namespace tcc {
namespace {

class Control : public ::testing::Test {
 protected:
  Control() { loadDialects(context); }

  // A kernel @k over an output and one input of the same type.
  template <typename T>
  std::vector<T> run(const std::string& text, std::vector<T> input, size_t outputs, long long n = 0) {
    Compiled compiled(context, text);
    auto function = compiled.kernel("k");
    EXPECT_NE(function, nullptr);
    std::vector<std::max_align_t> out(outputs * sizeof(T) + 1), in(input.size() * sizeof(T) + 1);
    memcpy(in.data(), input.data(), input.size() * sizeof(T));
    void *outPointer = out.data(), *inPointer = in.data(), *params[] = {&outPointer, &inPointer, &n};
    if (function) function(params);
    std::vector<T> result(outputs);
    memcpy(result.data(), out.data(), outputs * sizeof(T));
    return result;
  }

  static std::string kernel(const std::string& element, const std::string& body, const std::string& more = "") {
    return "func.func @k(%out: memref<?x" + element + ">, %in: memref<?x" + element +
           ">, %n: index) attributes {tcc.block = array<i64: 1, 1, 1>" + more +
           "} {\n  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n  %c2 = arith.constant 2 : index\n"
           "  %c3 = arith.constant 3 : index\n  %c4 = arith.constant 4 : index\n" +
           body + "\n  return\n}\n";
  }

  mlir::MLIRContext context;
};

// Each iteration reads all carried values of the one before.
TEST_F(Control, CarriedValuesChangeAtOnce) {
  std::string body = R"(
  %a0 = memref.load %in[%c0] : memref<?xi32>
  %b0 = memref.load %in[%c1] : memref<?xi32>
  %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %a0, %b = %b0, %d = %a0) -> (i32, i32, i32) {
    %s = arith.addi %a, %b : i32
    scf.yield %b, %s, %a : i32, i32, i32
  }
  memref.store %r#0, %out[%c0] : memref<?xi32>
  memref.store %r#1, %out[%c1] : memref<?xi32>
  memref.store %r#2, %out[%c2] : memref<?xi32>)";
  EXPECT_EQ(run<int>(kernel("i32", body), {0, 1}, 3, 10), (std::vector<int>{55, 89, 34}));
}

TEST_F(Control, NestedLoopsCarryOn) {
  std::string body = R"(
  %zero = arith.constant 0 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (i32) {
    %s = scf.for %j = %c0 to %c4 step %c2 iter_args(%b = %a) -> (i32) {
      %at = arith.addi %i, %j : index
      %x = memref.load %in[%at] : memref<?xi32>
      %t = arith.addi %b, %x : i32
      scf.yield %t : i32
    }
    scf.yield %s : i32
  }
  memref.store %r, %out[%c0] : memref<?xi32>)";
  EXPECT_EQ(run<int>(kernel("i32", body), {1, 10, 100, 1000, 10000}, 1, 2), (std::vector<int>{1111}));
}

TEST_F(Control, While) {
  // Collatz: the first region computes, and passes on more than it is given.
  std::string body = R"(
  %start = memref.load %in[%c0] : memref<?xi64>
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %three = arith.constant 3 : i64
  %r:2 = scf.while (%x = %start, %steps = %zero) : (i64, i64) -> (i64, i64) {
    %more = arith.cmpi ne, %x, %one : i64
    %next = arith.addi %steps, %one : i64
    scf.condition(%more) %next, %x : i64, i64
  } do {
  ^bb0(%count: i64, %value: i64):
    %rest = arith.andi %value, %one : i64
    %isOdd = arith.cmpi ne, %rest, %zero : i64
    %y = scf.if %isOdd -> i64 {
      %triple = arith.muli %value, %three : i64
      %up = arith.addi %triple, %one : i64
      scf.yield %up : i64
    } else {
      %half = arith.divsi %value, %two : i64
      scf.yield %half : i64
    }
    scf.yield %y, %count : i64, i64
  }
  memref.store %r#0, %out[%c0] : memref<?xi64>
  memref.store %r#1, %out[%c1] : memref<?xi64>)";
  EXPECT_EQ(run<long long>(kernel("i64", body), {6}, 2), (std::vector<long long>{9, 1}));
  // The plain form.
  std::string plain = R"(
  %limit = memref.load %in[%c0] : memref<?xi64>
  %one = arith.constant 1 : i64
  %r = scf.while (%x = %one) : (i64) -> i64 {
    %more = arith.cmpi slt, %x, %limit : i64
    scf.condition(%more) %x : i64
  } do {
  ^bb0(%value: i64):
    %twice = arith.addi %value, %value : i64
    scf.yield %twice : i64
  }
  memref.store %r, %out[%c0] : memref<?xi64>)";
  EXPECT_EQ(run<long long>(kernel("i64", plain), {100}, 1), (std::vector<long long>{128}));
}

// A value that is used once, behind a write to where it was loaded from.
TEST_F(Control, LoadsStayBeforeStores) {
  std::string body = R"(
  %x = memref.load %out[%c0] : memref<?xi32>
  %one = arith.constant 1 : i32
  %y = arith.addi %x, %one : i32
  scf.for %i = %c0 to %c4 step %c1 {
    memref.store %one, %out[%i] : memref<?xi32>
  }
  memref.store %y, %out[%c1] : memref<?xi32>
  %bound = memref.load %in[%c0] : memref<?xi32>
  %also = memref.load %in[%c0] : memref<?xi32>
  %none = arith.subi %also, %bound : i32
  %all = arith.addi %none, %bound : i32
  %end = arith.index_cast %all : i32 to index
  scf.for %i = %c0 to %end step %c1 {
    memref.store %one, %in[%c0] : memref<?xi32>
    memref.store %bound, %out[%c2] : memref<?xi32>
    %old = memref.load %out[%c3] : memref<?xi32>
    %new = arith.addi %old, %one : i32
    memref.store %new, %out[%c3] : memref<?xi32>
  })";
  EXPECT_EQ(run<int>(kernel("i32", body, ", tcc.may_alias"), {5}, 4), (std::vector<int>{1, 1, 5, 6}));
}

TEST_F(Control, Arrays) {
  std::string body = R"(
  %t = memref.alloca() : memref<2x3xf32, #gpu.address_space<private>>
  scf.for %i = %c0 to %c2 step %c1 {
    scf.for %j = %c0 to %c3 step %c1 {
      %row = arith.muli %i, %c3 : index
      %at = arith.addi %row, %j : index
      %x = memref.load %in[%at] : memref<?xf32>
      memref.store %x, %t[%i, %j] : memref<2x3xf32, #gpu.address_space<private>>
    }
  }
  %view = memref.subview %out[%c1] [%c4] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  scf.for %i = %c0 to %c2 step %c1 {
    scf.for %j = %c0 to %c3 step %c1 {
      %x = memref.load %t[%i, %j] : memref<2x3xf32, #gpu.address_space<private>>
      %row = arith.muli %j, %c2 : index
      %at = arith.addi %row, %i : index
      memref.store %x, %view[%at] : memref<?xf32, strided<[1], offset: ?>>
    }
  })";
  EXPECT_EQ(run<float>(kernel("f32", body), {1, 2, 3, 4, 5, 6}, 7), (std::vector<float>{0, 1, 4, 2, 5, 3, 6}));
}

TEST_F(Control, Vectors) {
  std::string body = R"(
  %x = vector.load %in[%c0] : memref<?xf32>, vector<4xf32>
  %first = vector.extract %x[0] : f32 from vector<4xf32>
  %last = vector.extract %x[3] : f32 from vector<4xf32>
  %all = vector.broadcast %last : f32 to vector<4xf32>
  %k = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : vector<4xf32>
  %half = arith.constant dense<0.5> : vector<4xf32>
  %s = arith.addf %x, %all : vector<4xf32>
  %t = arith.mulf %s, %k : vector<4xf32>
  %u = arith.mulf %t, %half : vector<4xf32>
  %is = arith.cmpf ogt, %u, %all : vector<4xf32>
  %v = arith.select %is, %u, %x : vector<4xi1>, vector<4xf32>
  %w = vector.insert %first, %v [3] : f32 into vector<4xf32>
  %w2 = vector.insert %last, %w [0] : f32 into vector<4xf32>
  vector.store %w2, %out[%c0] : memref<?xf32>, vector<4xf32>
  %sum = vector.reduction <add>, %v : vector<4xf32> into f32
  memref.store %sum, %out[%c4] : memref<?xf32>
  %sh = vector.shuffle %x, %k [3, 4, 0, 7] : vector<4xf32>, vector<4xf32>
  %c8 = arith.constant 8 : index
  vector.store %sh, %out[%c8] : memref<?xf32>, vector<4xf32>
  %acc0 = arith.constant dense<0.0> : vector<4xf32>
  %acc = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %acc0) -> (vector<4xf32>) {
    %b = arith.addf %a, %x : vector<4xf32>
    scf.yield %b : vector<4xf32>
  }
  %c12 = arith.constant 12 : index
  vector.store %acc, %out[%c12] : memref<?xf32>, vector<4xf32>)";
  EXPECT_EQ(run<float>(kernel("f32", body), {1, 2, 3, 4}, 16),
            (std::vector<float>{4, 6, 10.5f, 1, 33.5f, 0, 0, 0, 4, 1, 1, 4, 3, 6, 9, 12}));
}

// More elements than a vector in memory has: in registers only.
TEST_F(Control, WideVectorsOfHalves) {
  std::string body = R"(
  %x = vector.load %in[%c0] : memref<?xf16>, vector<8xf16>
  %w = arith.extf %x : vector<8xf16> to vector<8xf32>
  %two = arith.constant dense<2.0> : vector<8xf32>
  %third = vector.extract %w[2] : f32 from vector<8xf32>
  %all = vector.splat %third : vector<8xf32>
  %y = vector.fma %w, %two, %all : vector<8xf32>
  %is = arith.cmpf ogt, %y, %all : vector<8xf32>
  %z = arith.select %is, %y, %w : vector<8xi1>, vector<8xf32>
  %r = arith.truncf %z : vector<8xf32> to vector<8xf16>
  vector.store %r, %out[%c0] : memref<?xf16>, vector<8xf16>)";
  // 1, -1, 2, 0, 4, 0.5, 8, inf
  std::vector<uint16_t> input = {0x3c00, 0xbc00, 0x4000, 0, 0x4400, 0x3800, 0x4800, 0x7c00};
  EXPECT_EQ(run<uint16_t>(kernel("f16", body), input, 8),
            (std::vector<uint16_t>{0x4400, 0xbc00, 0x4600, 0, 0x4900, 0x4200, 0x4c80, 0x7c00}));
}

// Statements for a template that prints what is around them.
TEST_F(Control, Body) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
func.func @f(%x: f32, %b: memref<?xf32>, %i: index) -> (f32, f32) attributes {tcc.index_bits = 32 : i64} {
  %c1 = arith.constant 1 : index
  %at = arith.addi %i, %c1 : index
  %y = memref.load %b[%at] : memref<?xf32>
  %s = arith.addf %x, %y : f32
  %e = math.exp %s : f32
  %t = arith.mulf %e, %e : f32
  memref.store %t, %b[%i] : memref<?xf32>
  return %t, %s : f32, f32
})",
                                                        &context);
  ASSERT_TRUE(module);
  auto function = module->lookupSymbol<mlir::func::FuncOp>("f");
  mlir::FailureOr<codegen::CudaBody> body = codegen::printCudaBody(function, {"acc[i]", "out", "column"}, 2, "_f");
  ASSERT_TRUE(mlir::succeeded(body));
  EXPECT_EQ(body->statements,
            "    const float v0_f = acc[i] + out[column + 1];\n"
            "    const float v1_f = expf(v0_f);\n"
            "    const float v2_f = v1_f * v1_f;\n"
            "    out[column] = v2_f;\n");
  EXPECT_EQ(body->results, (std::vector<std::string>{"v2_f", "v0_f"}));
}

TEST_F(Control, DeviceFunctions) {
  std::string text = kernel("f32", R"(
  %x = memref.load %in[%c0] : memref<?xf32>
  %y:2 = func.call @split(%x, %in, %c1) : (f32, memref<?xf32>, index) -> (f32, f32)
  memref.store %y#0, %out[%c0] : memref<?xf32>
  memref.store %y#1, %out[%c1] : memref<?xf32>
  %z = func.call @max(%x, %y#1) : (f32, f32) -> f32
  memref.store %z, %out[%c2] : memref<?xf32>)");
  text += R"(
func.func private @max(f32, f32) -> f32 attributes {tcc.device_name = "tcc::maximum<float>"}
func.func @split(%x: f32, %b: memref<?xf32>, %i: index) -> (f32, f32) attributes {tcc.device_function} {
  %two = arith.constant 2.0 : f32
  %h = arith.divf %x, %two : f32
  %v = memref.load %b[%i] : memref<?xf32>
  %d = func.call @twice(%v) : (f32) -> f32
  return %h, %d : f32, f32
}
func.func @twice(%x: f32) -> f32 attributes {tcc.device_function} {
  %y = arith.addf %x, %x : f32
  return %y : f32
}
)";
  EXPECT_EQ(run<float>(text, {3, 5}, 3), (std::vector<float>{1.5f, 10, 10}));
}

}  // namespace
}  // namespace tcc
