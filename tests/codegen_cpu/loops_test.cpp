// Kernels made of loops, on odd sizes, static and dynamic, for AVX2 and what the machine has, against the interpreter.
#include <gmock/gmock.h>

#include "kernel_runner.h"

namespace tcc::codegen {
namespace {

struct Case {
  const char* cpu;
  bool dynamic;
};

class LoopsTest : public ::testing::TestWithParam<Case> {
 protected:
  LoopsTest() : runner(GetParam().cpu) {}
  bool dynamic() const { return GetParam().dynamic; }
  std::vector<int64_t> symbols(const Shape& shape) const { return dynamic() ? shape.values : std::vector<int64_t>(); }

  KernelRunner runner;
};

std::string function(const Shape& shape, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& results, const std::string& body) {
  std::string arguments, names, inputTypes, blockArguments, resultTypes, resultNames;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string comma = i ? ", " : "";
    arguments += comma + "%x" + std::to_string(i) + ": " + inputs[i];
    names += comma + "%x" + std::to_string(i);
    inputTypes += comma + inputs[i];
    blockArguments += comma + "%a" + std::to_string(i) + ": " + inputs[i];
  }
  for (size_t i = 0; i < results.size(); ++i) {
    resultTypes += (i ? ", " : "") + results[i];
    resultNames += (i ? ", %r#" : "%r#") + std::to_string(i);
  }
  return "func.func @f(" + arguments + ") -> (" + resultTypes + ")" + shape.attributes() +
         " {\n  %r:" + std::to_string(results.size()) + " = tcc.kernel(" + names + ") [\"test\"] : (" + inputTypes +
         ") -> (" + resultTypes + ") {\n  ^bb0(" + blockArguments + "):\n" + body + "  }\n  return " + resultNames +
         " : " + resultTypes + "\n}\n";
}

const int64_t kSizes[] = {0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 63, 64, 65, 127, 130, 1023, 2049};

TEST_P(LoopsTest, AddBroadcastRelu) {
  for (int64_t n : kSizes) {
    Shape shape{{3, n}, dynamic()};
    std::string t = shape.type("f32", {0, 1}), row = shape.type("f32", {1});
    std::string text = function(shape, {t, row}, {t},
                                R"(
    %s = tcc.loops )" + shape.extents({0, 1}) +
                                    R"( reduce 0 [] {
    ^bb0(%i: index, %j: index):
      %v = tcc.load %a0[affine_map<(d0, d1) -> (d0, d1)>](%i, %j) : )" +
                                    t + R"( -> f32
      %w = tcc.load %a1[affine_map<(d0, d1) -> (d1)>](%i, %j) : )" +
                                    row + R"( -> f32
      %zero = arith.constant 0.0 : f32
      %q = arith.addf %v, %w : f32
      %m = arith.maximumf %q, %zero : f32
      tcc.yield %m : f32
    } : )" + t +
                                    "\n    tcc.yield %s : " + t + "\n");
    runner.check(text, {KernelRunner::random(DType::kF32, {3, n}, 1), KernelRunner::random(DType::kF32, {n}, 2)},
                 symbols(shape));
  }
}

// Every storage type through a select, so that bool, narrow masks and conversions are met.
TEST_P(LoopsTest, StorageTypes) {
  std::pair<const char*, DType> types[] = {{"f64", DType::kF64}, {"f16", DType::kF16}, {"bf16", DType::kBF16},
                                           {"i8", DType::kI8},   {"i16", DType::kI16}, {"i32", DType::kI32},
                                           {"i64", DType::kI64}, {"i1", DType::kBool}};
  for (auto [name, dtype] : types)
    for (int64_t n : {1, 5, 33, 200}) {
      Shape shape{{n}, dynamic()};
      std::string t = shape.type(name, {0}), b = shape.type("i1", {0}), e = name;
      std::string text = function(shape, {t, t, b}, {t},
                                  R"(
    %s = tcc.loops )" + shape.extents({0}) +
                                      R"( reduce 0 [] {
    ^bb0(%i: index):
      %v = tcc.load %a0[affine_map<(d0) -> (d0)>](%i) : )" +
                                      t + " -> " + e + R"(
      %w = tcc.load %a1[affine_map<(d0) -> (d0)>](%i) : )" +
                                      t + " -> " + e + R"(
      %c = tcc.load %a2[affine_map<(d0) -> (d0)>](%i) : )" +
                                      b + R"( -> i1
      %m = arith.select %c, %v, %w : )" +
                                      e + R"(
      tcc.yield %m : )" + e + R"(
    } : )" + t +
                                      "\n    tcc.yield %s : " + t + "\n");
      runner.check(text,
                   {KernelRunner::random(dtype, {n}, 1), KernelRunner::random(dtype, {n}, 2),
                    KernelRunner::random(DType::kBool, {n}, 3)},
                   symbols(shape), 0);
    }
}

TEST_P(LoopsTest, HalfArithmeticAndCasts) {
  for (std::string e : {"f16", "bf16"}) {
    DType dtype = e == "f16" ? DType::kF16 : DType::kBF16;
    Shape shape{{77}, dynamic()};
    std::string t = shape.type(e, {0}), ints = shape.type("i32", {0});
    std::string text = function(shape, {t, ints}, {t, ints},
                                R"(
    %s:2 = tcc.loops )" + shape.extents({0}) +
                                    R"( reduce 0 [] {
    ^bb0(%i: index):
      %v = tcc.load %a0[affine_map<(d0) -> (d0)>](%i) : )" +
                                    t + " -> " + e + R"(
      %n = tcc.load %a1[affine_map<(d0) -> (d0)>](%i) : )" +
                                    ints + R"( -> i32
      %f = arith.sitofp %n : i32 to )" +
                                    e + R"(
      %two = arith.constant 2.5 : )" +
                                    e + R"(
      %p = arith.mulf %v, %two : )" +
                                    e + R"(
      %x = arith.extf %p : )" + e + R"( to f32
      %g = arith.extf %f : )" + e + R"( to f32
      %y = arith.addf %x, %g : f32
      %k = arith.fptosi %y : f32 to i32
      %h = arith.truncf %y : f32 to )" +
                                    e + R"(
      tcc.yield %h, %k : )" + e + R"(, i32
    } : )" + t + ", " + ints +
                                    "\n    tcc.yield %s#0, %s#1 : " + t + ", " + ints + "\n");
    runner.check(text,
                 {KernelRunner::random(dtype, {77}, 1, -1.2, 1.2), KernelRunner::random(DType::kI32, {77}, 2, 3, 90)},
                 symbols(shape), 0.02);
  }
}

TEST_P(LoopsTest, TransposedStridedAndReversed) {
  for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 5}, {17, 3}, {16, 16}, {33, 65}, {70, 40}}) {
    Shape shape{{m, n}, dynamic()};
    std::string in = shape.type("f32", {1, 0}), out = shape.type("f32", {0, 1});
    std::string symbolsOf = dynamic() ? "[s0, s1]" : "";
    std::string last = dynamic() ? "s1" : std::to_string(n);
    std::string text = function(shape, {in, out}, {out},
                                R"(
    %s = tcc.loops )" + shape.extents({0, 1}) +
                                    R"( reduce 0 [] {
    ^bb0(%i: index, %j: index):
      %v = tcc.load %a0[affine_map<(d0, d1) -> (d1, d0)>](%i, %j) : )" +
                                    in + R"( -> f32
      %w = tcc.load %a1[affine_map<(d0, d1))" +
                                    symbolsOf + " -> (d0, " + last + R"( - 1 - d1)>](%i, %j) : )" + out + R"( -> f32
      %q = arith.subf %v, %w : f32
      tcc.yield %q : f32
    } : )" + out +
                                    "\n    tcc.yield %s : " + out + "\n");
    runner.check(text, {KernelRunner::random(DType::kF32, {n, m}, 1), KernelRunner::random(DType::kF32, {m, n}, 2)},
                 symbols(shape));
  }
}

// Reshapes leave floordiv and mod behind.
TEST_P(LoopsTest, ReshapesAndStrides) {
  for (int64_t n : {1, 6, 20}) {
    Shape shape{{n}, dynamic()};
    std::string in = shape.type("f32", {0, -12}), wide = shape.type("f32", {0, -24}),
                out = shape.type("f32", {0, -3, -4});
    std::string text = function(shape, {in, wide}, {out},
                                R"(
    %s = tcc.loops )" + shape.extents({0, -3, -4}) +
                                    R"( reduce 0 [] {
    ^bb0(%i: index, %j: index, %k: index):
      %v = tcc.load %a0[affine_map<(d0, d1, d2) -> ((d0 * 12 + d1 * 4 + d2) floordiv 12, (d0 * 12 + d1 * 4 + d2) mod 12)>](%i, %j, %k) : )" +
                                    in + R"( -> f32
      %w = tcc.load %a1[affine_map<(d0, d1, d2) -> (d0, d1 * 8 + d2 * 2)>](%i, %j, %k) : )" +
                                    wide + R"( -> f32
      %u = tcc.load %a1[affine_map<(d0, d1, d2) -> (d0, (d1 * 5 + d2 * 3) mod 24)>](%i, %j, %k) : )" +
                                    wide + R"( -> f32
      %q = arith.subf %v, %w : f32
      %p = arith.mulf %q, %u : f32
      tcc.yield %p : f32
    } : )" + out +
                                    "\n    tcc.yield %s : " + out + "\n");
    runner.check(text, {KernelRunner::random(DType::kF32, {n, 12}, 1), KernelRunner::random(DType::kF32, {n, 24}, 2)},
                 symbols(shape));
  }
}

TEST_P(LoopsTest, PadConcatAndInSet) {
  for (std::string e : {"f32", "i8", "f64"}) {
    DType dtype = e == "f32" ? DType::kF32 : e == "i8" ? DType::kI8 : DType::kF64;
    for (int64_t n : {1, 5, 29, 64}) {
      Shape shape{{n}, dynamic()};
      std::string in = shape.type(e, {0}), s0 = shape.extent(0), symbolsOf = dynamic() ? "[s0]" : "";
      int64_t total = n + 50;
      std::string out =
          dynamic() ? "tensor<?x" + e + ", #tcc.extents<s0 + 50>>" : "tensor<" + std::to_string(total) + "x" + e + ">";
      std::string extents = dynamic() ? "#tcc.extents<s0 + 50>" : "#tcc.extents<" + std::to_string(total) + ">";
      std::string fill = e == "i8" ? "arith.constant 7 : i8" : "arith.constant 7.0 : " + e;
      std::string text = function(shape, {in, in}, {out},
                                  R"(
    %s = tcc.loops )" + extents + R"( reduce 0 [] {
    ^bb0(%i: index):
      %fill = )" + fill + R"(
      %v = tcc.load %a0[affine_map<(d0) -> (d0 - 3)>](%i) mask affine_set<(d0))" +
                                      symbolsOf + " : (d0 - 3 >= 0, " + s0 + R"( + 2 - d0 >= 0)> fill %fill : )" + e +
                                      " : " + in + " -> " + e + R"(
      %w = tcc.load %a1[affine_map<(d0) -> (d0 - 40)>](%i) mask affine_set<(d0))" +
                                      symbolsOf + " : (d0 - 40 >= 0, " + s0 + R"( + 39 - d0 >= 0)> : )" + in + " -> " +
                                      e + R"(
      %c = tcc.in_set affine_set<(d0) : (d0 - 35 >= 0)>(%i)
      %q = arith.select %c, %w, %v : )" +
                                      e + R"(
      tcc.yield %q : )" + e + R"(
    } : )" + out +
                                      "\n    tcc.yield %s : " + out + "\n");
      runner.check(text, {KernelRunner::random(dtype, {n}, 1, -9, 9), KernelRunner::random(dtype, {n}, 2, -9, 9)},
                   symbols(shape), 0);
    }
  }
}

TEST_P(LoopsTest, GatherRowsAndElements) {
  for (std::string e : {"f32", "i8", "f16"}) {
    DType dtype = e == "f32" ? DType::kF32 : e == "i8" ? DType::kI8 : DType::kF16;
    Shape shape{{9, 37, 21}, dynamic()};
    std::string table = shape.type(e, {0, 2}), ids = shape.type("i64", {1}), out = shape.type(e, {1, 2});
    std::string flat = shape.type(e, {1});
    std::string text = function(shape, {table, ids}, {out, flat},
                                R"(
    %s = tcc.loops )" + shape.extents({1, 2}) +
                                    R"( reduce 0 [] {
    ^bb0(%i: index, %j: index):
      %n = tcc.load %a1[affine_map<(d0, d1) -> (d0)>](%i, %j) : )" +
                                    ids + R"( -> i64
      %k = arith.index_cast %n : i64 to index
      %c = tcc.bounds_check %k below )" +
                                    shape.extents({0}) + R"(
      %v = tcc.load %a0[affine_map<(d0, d1) -> (d0, d1)>](%c, %j) : )" +
                                    table + " -> " + e + R"(
      tcc.yield %v : )" + e + R"(
    } : )" + out + R"(
    %t = tcc.loops )" + shape.extents({1}) +
                                    R"( reduce 0 [] {
    ^bb0(%i: index):
      %n = tcc.load %a1[affine_map<(d0) -> (d0)>](%i) : )" +
                                    ids + R"( -> i64
      %k = arith.index_cast %n : i64 to index
      %c = tcc.bounds_check %k below )" +
                                    shape.extents({0}) + R"(
      %v = tcc.load %a0[affine_map<(d0) -> (d0, 3)>](%c) : )" +
                                    table + " -> " + e + R"(
      tcc.yield %v : )" + e + R"(
    } : )" + flat +
                                    "\n    tcc.yield %s, %t : " + out + ", " + flat + "\n");
    Tensor indices = KernelRunner::random(DType::kI64, {37}, 5, -9, 9);
    Tensor values = KernelRunner::random(dtype, {9, 21}, 1, -9, 9);
    runner.check(text, {values, indices}, symbols(shape), 0);

    static_cast<int64_t*>(indices.data())[30] = 9;
    RunResult bad = runner.run(runner.parse(text), {values, indices}, symbols(shape));
    EXPECT_EQ(bad.error, kTccIndexOutOfRange);
  }
}

TEST_P(LoopsTest, IntegerDivisionDoesNotTrap) {
  Shape shape{{40}, dynamic()};
  std::string t = shape.type("i32", {0});
  std::string text = function(shape, {t, t}, {t, t},
                              R"(
    %s:2 = tcc.loops )" + shape.extents({0}) +
                                  R"( reduce 0 [] {
    ^bb0(%i: index):
      %v = tcc.load %a0[affine_map<(d0) -> (d0)>](%i) : )" +
                                  t + R"( -> i32
      %w = tcc.load %a1[affine_map<(d0) -> (d0)>](%i) : )" +
                                  t + R"( -> i32
      %q = arith.divsi %v, %w : i32
      %p = arith.remsi %v, %w : i32
      tcc.yield %q, %p : i32, i32
    } : )" + t + ", " + t +
                                  "\n    tcc.yield %s#0, %s#1 : " + t + ", " + t + "\n");
  Tensor a = KernelRunner::random(DType::kI32, {40}, 1, -1000, 1000),
         b = KernelRunner::random(DType::kI32, {40}, 2, 1, 30);
  auto *x = static_cast<int32_t*>(a.data()), *y = static_cast<int32_t*>(b.data());
  y[3] = -7;
  runner.check(text, {a, b}, symbols(shape));
  x[5] = INT32_MIN;
  y[5] = -1;
  RunResult result = runner.run(runner.parse(text), {a, b}, symbols(shape));
  EXPECT_EQ(result.error, 0);
  EXPECT_EQ(static_cast<int32_t*>(result.outputs[0].data())[5], INT32_MIN);
  EXPECT_EQ(static_cast<int32_t*>(result.outputs[1].data())[5], 0);
  y[39] = 0;
  EXPECT_EQ(runner.run(runner.parse(text), {a, b}, symbols(shape)).error, kTccDivisionByZero);
}

std::string reduction(const Shape& shape, const std::string& e, const std::string& kind, const std::string& map) {
  std::string in = shape.type(e, {0, 1, 2}), out = shape.type(e, {0, 1});
  return function(shape, {map == "inner" ? in : shape.type(e, {2, 0, 1})}, {out},
                  R"(
    %s = tcc.loops )" +
                      shape.extents({0, 1, 2}) + " reduce 1 [#tcc.reduce_kind<" + kind + R"(>] {
    ^bb0(%i: index, %j: index, %k: index):
      %v = tcc.load %a0[affine_map<(d0, d1, d2) -> )" +
                      (map == "inner" ? "(d0, d1, d2)" : "(d2, d0, d1)") +
                      ">](%i, %j, %k) : " + (map == "inner" ? in : shape.type(e, {2, 0, 1})) + " -> " + e + R"(
      tcc.yield %v : )" +
                      e + R"(
    } : )" + out +
                      "\n    tcc.yield %s : " + out + "\n");
}

TEST_P(LoopsTest, ReductionsInnerAndOuter) {
  for (std::string e : {"f32", "f64", "i32", "i8", "bf16", "i1"}) {
    DType dtype = e == "f32"    ? DType::kF32
                  : e == "f64"  ? DType::kF64
                  : e == "i32"  ? DType::kI32
                  : e == "i8"   ? DType::kI8
                  : e == "bf16" ? DType::kBF16
                                : DType::kBool;
    for (std::string kind : {"sum", "prod", "max", "min"}) {
      if (e == "i1" && (kind == "sum" || kind == "prod")) continue;
      for (auto [m, n, k] :
           {std::tuple<int64_t, int64_t, int64_t>{2, 3, 0}, {1, 1, 1}, {3, 5, 7}, {2, 17, 33}, {1, 70, 131}})
        for (std::string map : {"inner", "outer"}) {
          Shape shape{{m, n, k}, dynamic()};
          std::vector<int64_t> dims = map == "inner" ? std::vector<int64_t>{m, n, k} : std::vector<int64_t>{k, m, n};
          Tensor x = KernelRunner::random(dtype, dims, 1, kind == "prod" ? 0.9 : -2, kind == "prod" ? 1.1 : 2);
          runner.check(reduction(shape, e, kind, map), {x}, symbols(shape), e == "bf16" ? 0.02 : 1e-4);
          if (HasFatalFailure()) return;
        }
    }
  }
}

TEST_P(LoopsTest, ReductionsKeepNan) {
  for (std::string kind : {"max", "min"})
    for (std::string map : {"inner", "outer"}) {
      Shape shape{{1, 9, 90}, dynamic()};
      std::vector<int64_t> dims = map == "inner" ? std::vector<int64_t>{1, 9, 90} : std::vector<int64_t>{90, 1, 9};
      Tensor x = KernelRunner::random(DType::kF32, dims, 1);
      for (int64_t at : {3, 95, 400, 809}) static_cast<float*>(x.data())[at] = NAN;
      runner.check(reduction(shape, "f32", kind, map), {x}, symbols(shape));
    }
}

// Few results of many elements: items share a reduction, whose result must not depend on how they are run.
TEST_P(LoopsTest, SplitReductions) {
  for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{1, 1, 300001}, {1, 3, 70000}, {1, 2, 65536}})
    for (std::string map : {"inner", "outer"}) {
      Shape shape{{m, n, k}, dynamic()};
      std::vector<int64_t> dims = map == "inner" ? std::vector<int64_t>{m, n, k} : std::vector<int64_t>{k, m, n};
      Tensor x = KernelRunner::random(DType::kF32, dims, 1, 0, 1);
      std::string text = reduction(shape, "f32", "sum", map);
      runner.check(text, {x}, symbols(shape), 1e-4);
      RunResult a = runner.run(runner.parse(text), {x}, symbols(shape), 7);
      RunResult b = runner.run(runner.parse(text), {x}, symbols(shape), 8);
      if (!dynamic()) EXPECT_EQ(a.code.launches.size(), 2u);
      EXPECT_EQ(memcmp(a.outputs[0].data(), b.outputs[0].data(), n * 4), 0);
    }
}

// A normalisation: rows that are read three times, sums in registers.
TEST_P(LoopsTest, RowsNormalisation) {
  for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 5}, {3, 1}, {40, 33}, {9, 768}, {2, 1000}}) {
    Shape shape{{m, n}, dynamic()};
    std::string t = shape.type("f32", {0, 1}), rows = shape.type("f32", {0}), row = shape.type("f32", {1});
    std::string d2 = "affine_map<(d0, d1) -> (d0, d1)>", d0 = "affine_map<(d0, d1) -> (d0)>";
    std::string text = function(shape, {t, row}, {t},
                                R"(
    %sum = tcc.loops )" + shape.extents({0, 1}) +
                                    R"( reduce 1 [#tcc.reduce_kind<sum>] {
    ^bb0(%i: index, %j: index):
      %v = tcc.load %a0[)" + d2 +
                                    "](%i, %j) : " + t + R"( -> f32
      tcc.yield %v : f32
    } : )" + rows + R"(
    %mean = tcc.loops )" + shape.extents({0}) +
                                    R"( reduce 0 [] {
    ^bb0(%i: index):
      %v = tcc.load %sum[affine_map<(d0) -> (d0)>](%i) : )" +
                                    rows + R"( -> f32
      %c = arith.constant 0.125 : f32
      %q = arith.mulf %v, %c : f32
      tcc.yield %q : f32
    } : )" + rows + R"(
    %squares = tcc.loops )" + shape.extents({0, 1}) +
                                    R"( reduce 1 [#tcc.reduce_kind<sum>] {
    ^bb0(%i: index, %j: index):
      %v = tcc.load %a0[)" + d2 +
                                    "](%i, %j) : " + t + R"( -> f32
      %m = tcc.load %mean[)" + d0 +
                                    "](%i, %j) : " + rows + R"( -> f32
      %c = arith.subf %v, %m : f32
      %q = arith.mulf %c, %c : f32
      tcc.yield %q : f32
    } : )" + rows + R"(
    %twice = tcc.loops )" + shape.extents({0, 1}) +
                                    R"( reduce 0 [] {
    ^bb0(%i: index, %j: index):
      %v = tcc.load %a0[)" + d2 +
                                    "](%i, %j) : " + t + R"( -> f32
      %m = tcc.load %mean[)" + d0 +
                                    "](%i, %j) : " + rows + R"( -> f32
      %c = arith.subf %v, %m : f32
      tcc.yield %c : f32
    } : )" + t + R"(
    %out = tcc.loops )" + shape.extents({0, 1}) +
                                    R"( reduce 0 [] {
    ^bb0(%i: index, %j: index):
      %c = tcc.load %twice[)" + d2 +
                                    "](%i, %j) : " + t + R"( -> f32
      %s = tcc.load %squares[)" + d0 +
                                    "](%i, %j) : " + rows + R"( -> f32
      %w = tcc.load %a1[affine_map<(d0, d1) -> (d1)>](%i, %j) : )" +
                                    row + R"( -> f32
      %one = arith.constant 1.0 : f32
      %p = arith.addf %s, %one : f32
      %r = math.sqrt %p : f32
      %q = arith.divf %c, %r : f32
      %o = arith.mulf %q, %w : f32
      tcc.yield %o : f32
    } : )" + t +
                                    "\n    tcc.yield %out : " + t + "\n");
    runner.check(text, {KernelRunner::random(DType::kF32, {m, n}, 1), KernelRunner::random(DType::kF32, {n}, 2)},
                 symbols(shape), 1e-4);
  }
}

TEST_P(LoopsTest, InPlaceIsOfferedAndWorks) {
  Shape shape{{4, 100}, dynamic()};
  std::string t = shape.type("f32", {0, 1});
  std::string text = function(shape, {t, t}, {t},
                              R"(
    %s = tcc.loops )" + shape.extents({0, 1}) +
                                  R"( reduce 0 [] {
    ^bb0(%i: index, %j: index):
      %v = tcc.load %a0[affine_map<(d0, d1) -> (d0, d1)>](%i, %j) : )" +
                                  t + R"( -> f32
      %w = tcc.load %a1[affine_map<(d0, d1) -> (0, d1)>](%i, %j) : )" +
                                  t + R"( -> f32
      %q = arith.addf %v, %w : f32
      tcc.yield %q : f32
    } : )" + t +
                                  "\n    tcc.yield %s : " + t + "\n");
  RunResult result = runner.run(
      runner.parse(text),
      {KernelRunner::random(DType::kF32, {4, 100}, 1), KernelRunner::random(DType::kF32, {4, 100}, 2)}, symbols(shape));
  EXPECT_THAT(result.code.inPlace, ::testing::ElementsAre(::testing::Pair(0, 0)));
}

std::vector<Case> cases() {
  std::vector<Case> all = {{"x86-64-v3", false}, {"x86-64-v3", true}};
  auto host = describeCpu("");
  if (host && host->vectorBits > 256) {
    all.push_back({"", false});
    all.push_back({"", true});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Cpus, LoopsTest, ::testing::ValuesIn(cases()), [](const auto& info) {
  return std::string(*info.param.cpu ? "v3" : "host") + (info.param.dynamic ? "_dynamic" : "_static");
});

}  // namespace
}  // namespace tcc::codegen
