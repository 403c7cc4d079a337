// Matrix products: odd sizes, static and dynamic, transposed and batched operands, dtypes, prologues, epilogues.
#include <cmath>

#include "gtest/gtest.h"
#include "tests/codegen_gemm/harness.h"
#include "tests/codegen_gemm/kernel_text.h"

namespace tcc::codegen::testing {
namespace {

std::string Matmul(const std::string& a, const std::string& b, const std::string& ta, const std::string& tb,
                   const std::string& ty) {
  return "    %c = tcc.matmul " + a + ", " + b + " : (" + ta + ", " + tb + ") -> " + ty + "\n";
}

std::string Plain(const Extents& a, const Extents& b, const Extents& y, const std::string& element, int symbols) {
  std::string ta = Type(a, element), tb = Type(b, element), ty = Type(y, element);
  return Kernel({ta, tb}, Matmul("%a0", "%a1", ta, tb, ty), "%c", {ty}, symbols);
}

class MatmulSizes : public ::testing::TestWithParam<std::tuple<int, int, int>> {};

TEST_P(MatmulSizes, StaticAndDynamic) {
  auto [m, n, k] = GetParam();
  std::string M = std::to_string(m), N = std::to_string(n), K = std::to_string(k);
  for (const char* cpu : {"", "x86-64-v3"}) {
    SCOPED_TRACE(M + "x" + N + "x" + K + " " + cpu);
    Check({.text = Plain({M, K}, {K, N}, {M, N}, "f32", 0), .cpu = cpu});
    Check({.text = Plain({M, K}, {K, N}, {M, N}, "f32", 0), .constants = {1}, .cpu = cpu});
    Check({.text = Plain({"s0", "s1"}, {"s1", "s2"}, {"s0", "s2"}, "f32", 3), .symbols = {m, k, n}, .cpu = cpu});
  }
}
INSTANTIATE_TEST_SUITE_P(Odd, MatmulSizes,
                         ::testing::Values(std::tuple(1, 1, 1), std::tuple(0, 5, 3), std::tuple(3, 0, 2),
                                           std::tuple(5, 7, 0), std::tuple(1, 129, 67), std::tuple(2, 33, 17),
                                           std::tuple(3, 16, 5), std::tuple(7, 31, 13), std::tuple(13, 37, 300),
                                           std::tuple(14, 32, 8), std::tuple(15, 33, 9), std::tuple(29, 65, 521),
                                           std::tuple(61, 10, 1100), std::tuple(97, 101, 40)));

// A symbol that the kernel does not read may have no value yet where it runs.
TEST(Matmul, LaunchesTakeOnlySymbolsTheyRead) {
  Case test{.text = Plain({"s1", "8"}, {"8", "s3"}, {"s1", "s3"}, "f32", 5), .symbols = {-1, 5, -1, 9, -1}};
  Check(test);
  Runner runner(test);
  ASSERT_TRUE(runner.ok());
  for (const LaunchSpec& launch : runner.code().launches)
    for (unsigned symbol : launch.symbols) EXPECT_TRUE(symbol == 1 || symbol == 3) << launch.function << " " << symbol;
}

TEST(Matmul, TilesOfAnyoneAreBounded) {
  Runner runner({.text = Plain({"8", "8"}, {"8", "8"}, {"8", "8"}, "f32", 0)});
  const gemm::GemmTiles good{.lanes = 8, .rows = 6, .vectors = 2, .rowTiles = 4, .panels = 2, .kBlock = 64};
  gemm::setTiles(runner.kernel(), good);
  EXPECT_EQ(gemm::getTiles(runner.kernel()), good);
  for (int64_t gemm::GemmTiles::* size :
       {&gemm::GemmTiles::lanes, &gemm::GemmTiles::rows, &gemm::GemmTiles::vectors, &gemm::GemmTiles::rowTiles,
        &gemm::GemmTiles::panels, &gemm::GemmTiles::kBlock})
    for (int64_t value : {int64_t{0}, int64_t{-1}, int64_t{1} << 40, INT64_MAX}) {
      gemm::GemmTiles tiles = good;
      tiles.*size = value;
      gemm::setTiles(runner.kernel(), tiles);
      EXPECT_FALSE(gemm::getTiles(runner.kernel())) << value;
    }
}

TEST(Matmul, ElementTypes) {
  for (std::string element : {"f16", "bf16", "f64", "i32", "i64", "i8", "i16"})
    for (bool constant : {false, true}) {
      SCOPED_TRACE(element);
      Case test{.text = Plain({"19", "45"}, {"45", "35"}, {"19", "35"}, element, 0)};
      if (constant) test.constants = {1};
      Check(test);
      test.cpu = "x86-64-v3";
      Check(test);
    }
}

TEST(Matmul, Batches) {
  Check({.text = Plain({"3", "2", "5", "9"}, {"3", "2", "9", "17"}, {"3", "2", "5", "17"}, "f32", 0)});
  Check({.text = Plain({"s0", "2", "s1", "9"}, {"s0", "2", "9", "17"}, {"s0", "2", "s1", "17"}, "f32", 2),
         .symbols = {3, 41}});
  Check({.text = Plain({"0", "5", "9"}, {"0", "9", "17"}, {"0", "5", "17"}, "f32", 0)});
}

// Operands that are read through transpositions, broadcasts and reshapes.
TEST(Matmul, IndexedOperands) {
  for (bool dynamic : {false, true}) {
    std::string M = dynamic ? "s0" : "37", K = dynamic ? "s1" : "70", N = dynamic ? "s2" : "45";
    int symbols = dynamic ? 3 : 0;
    std::vector<int64_t> values = dynamic ? std::vector<int64_t>{37, 70, 45} : std::vector<int64_t>{};
    std::string ty = Type({M, N}, "f32"), ta = Type({M, K}, "f32"), tb = Type({K, N}, "f32");
    std::string at = Type({K, M}, "f32"), bt = Type({N, K}, "f32"), swap = "affine_map<(d0, d1) -> (d1, d0)>";
    std::string both = Kernel({at, bt},
                              Read("%ta", {M, K}, "%a0", swap, at, "f32") +
                                  Read("%tb", {K, N}, "%a1", swap, bt, "f32") + Matmul("%ta", "%tb", ta, tb, ty),
                              "%c", {ty}, symbols);
    for (const char* cpu : {"", "x86-64-v3"}) {
      Check({.text = both, .symbols = values, .cpu = cpu});
      if (!dynamic) Check({.text = both, .constants = {1}, .cpu = cpu});
    }
  }
  // [B, S, H * D] read as [B, H, S, D], and one matrix for all batches.
  std::string x = Type({"2", "11", "24"}, "f32"), heads = Type({"2", "3", "11", "8"}, "f32"),
              w = Type({"8", "20"}, "f32"), wide = Type({"2", "3", "8", "20"}, "f32"),
              y = Type({"2", "3", "11", "20"}, "f32");
  Check({.text = Kernel(
             {x, w},
             Read("%ta", {"2", "3", "11", "8"}, "%a0", "affine_map<(d0, d1, d2, d3) -> (d0, d2, d1 * 8 + d3)>", x,
                  "f32") +
                 Read("%tb", {"2", "3", "8", "20"}, "%a1", "affine_map<(d0, d1, d2, d3) -> (d2, d3)>", w, "f32") +
                 Matmul("%ta", "%tb", heads, wide, y),
             "%c", {y})});
  std::string a = Type({"s0", "s1", "24"}, "f32"), b = Type({"s0", "24", "20"}, "f32"),
              c = Type({"s0", "s1", "20"}, "f32"), matrix = Type({"24", "20"}, "f32");
  Check({.text = Kernel({a, matrix},
                        Read("%tb", {"s0", "24", "20"}, "%a1", "affine_map<(d0, d1, d2) -> (d1, d2)>", matrix, "f32") +
                            Matmul("%a0", "%tb", a, b, c),
                        "%c", {c}, 2),
         .symbols = {3, 17},
         .constants = {1}});
}

// The accumulators reach the epilogue as float32, though the product of half floats is of their type.
TEST(Matmul, EpilogueReadsUnroundedSums) {
  for (const char* element : {"f16", "bf16"})
    for (const char* n : {"1", "45"}) {
      const std::string ta = Type({"7", "30"}, element), tb = Type({"30", n}, element), ty = Type({"7", n}, element),
                        wide = Type({"7", n}, "f32");
      std::string body = Matmul("%a0", "%a1", ta, tb, ty);
      body += "    %e = tcc.loops " + List({"7", n}) + " reduce 0 [] {\n    ^bb0(%i: index, %j: index):\n";
      body += "      %v = tcc.load %c[" + Identity(2) + "](%i, %j) : " + ty + " -> " + element + "\n";
      body += "      %w = arith.extf %v : " + std::string(element) +
              " to f32\n      tcc.yield %w : f32\n    } : " + wide + "\n";
      Runner runner({.text = Kernel({ta, tb}, body, "%e", {wide})});
      ASSERT_TRUE(runner.ok());
      runner.Run();
      const std::vector<double>&a = runner.inputs[0].values, &b = runner.inputs[1].values;
      const Array got = runner.Results()[0];
      const int64_t columns = got.dims[1];
      for (int64_t i = 0; i < got.size(); ++i) {
        double want = 0, magnitude = 0;
        for (int64_t k = 0; k < 30; ++k) {
          const double product = a[i / columns * 30 + k] * b[k * columns + i % columns];
          want += product;
          magnitude += std::fabs(product);
        }
        // Thirty float32 roundings; one to 8 or 11 bits would exceed it a hundredfold.
        EXPECT_NEAR(got.values[i], want, 30 * 0x1p-24 * magnitude) << element << " " << i;
      }
    }
}

// bias, activation, residual, a second result; f32 and converted.
TEST(Matmul, Epilogue) {
  for (bool dynamic : {false, true})
    for (const char* n : {"64", "45"})
      for (const char* k : {"30", "1300"})
        for (const char* cpu : {"", "x86-64-v3"}) {
          std::string M = dynamic ? "s0" : "31", N = n, K = k;
          std::string ta = Type({M, K}, "f32"), tb = Type({K, N}, "f32"), ty = Type({M, N}, "f32"),
                      bias = Type({N}, "f32"), th = Type({M, N}, "f16");
          std::string body = Matmul("%a0", "%a1", ta, tb, ty);
          body += "    %e:2 = tcc.loops " + List({M, N}) + " reduce 0 [] {\n    ^bb0(%i: index, %j: index):\n";
          body += "      %v = tcc.load %c[" + Identity(2) + "](%i, %j) : " + ty + " -> f32\n";
          body += "      %b = tcc.load %a2[affine_map<(d0, d1) -> (d1)>](%i, %j) : " + bias + " -> f32\n";
          body += "      %r = tcc.load %a3[" + Identity(2) + "](%i, %j) : " + ty + " -> f32\n";
          body += "      %zero = arith.constant 0.0 : f32\n      %s = arith.addf %v, %b : f32\n";
          body += "      %m = arith.maximumf %s, %zero : f32\n      %t = arith.addf %m, %r : f32\n";
          body += "      %h = arith.truncf %s : f32 to f16\n";
          body += "      tcc.yield %t, %h : f32, f16\n    } : " + ty + ", " + th + "\n";
          Case test{.text = Kernel({ta, tb, bias, ty}, body, "%e#0, %e#1", {ty, th}, dynamic)};
          if (dynamic) test.symbols = {31};
          test.cpu = cpu;
          test.tolerance = 1e-4;
          Check(test);
          test.constants = {1};
          test.in_place = true;
          Check(test);
        }
}

// The result leaves as [B, H, S, D], and the epilogue has a costly and a masked part.
TEST(Matmul, ReindexedEpilogue) {
  for (bool dynamic : {false, true})
    for (int head : {16, 10, 64}) {
      std::string B = dynamic ? "s0" : "3", S = dynamic ? "s1" : "7", D = std::to_string(head),
                  N = std::to_string(3 * head);
      std::string rows = dynamic ? "s0 * s1" : "21", d = dynamic ? "s1" : "7", symbolic = dynamic ? "[s0, s1]" : "";
      std::string ta = Type({rows, "20"}, "f32"), tb = Type({"20", N}, "f32"), ty = Type({rows, N}, "f32"),
                  out = Type({B, "3", S, D}, "f32");
      std::string body = Matmul("%a0", "%a1", ta, tb, ty);
      body += "    %e = tcc.loops " + List({B, "3", S, D}) +
              " reduce 0 [] {\n    ^bb0(%b: index, %h: index, %s: index, %d: index):\n";
      body += "      %v = tcc.load %c[affine_map<(d0, d1, d2, d3)" + symbolic + " -> (d0 * " + d + " + d2, d1 * " + D +
              " + d3)>](%b, %h, %s, %d) : " + ty + " -> f32\n";
      body += "      %two = arith.constant 2.0 : f32\n      %t = arith.divf %v, %two : f32\n";
      body += "      %in = tcc.in_set affine_set<(d0, d1, d2, d3) : (d2 - 2 >= 0, d3 - 3 >= 0)>(%b, %h, %s, %d)\n";
      body += "      %r = arith.select %in, %t, %v : f32\n      tcc.yield %r : f32\n    } : " + out + "\n";
      Case test{.text = Kernel({ta, tb}, body, "%e", {out}, dynamic ? 2 : 0)};
      if (dynamic) test.symbols = {3, 7};
      Check(test);
    }
}

// A pointwise prologue with a mask: a padded, scaled A; an i8 B that is dequantised.
TEST(Matmul, ComputedOperands) {
  std::string x = Type({"9", "21"}, "f32"), w = Type({"25", "33"}, "i8"), scale = Type({"33"}, "f32");
  std::string ta = Type({"11", "25"}, "f32"), tb = Type({"25", "33"}, "f32"), ty = Type({"11", "33"}, "f32");
  std::string body = "    %p = tcc.loops " + List({"11", "25"}) + " reduce 0 [] {\n    ^bb0(%i: index, %j: index):\n";
  body += "      %one = arith.constant 1.0 : f32\n";
  body +=
      "      %v = tcc.load %a0[affine_map<(d0, d1) -> (d0 - 1, d1 - 2)>](%i, %j) mask affine_set<(d0, d1) : (d0 - 1 >= "
      "0, 9 - d0 >= 0, d1 - 2 >= 0, 22 - d1 >= 0)> fill %one : f32 : " +
      x + " -> f32\n";
  body += "      %w = arith.mulf %v, %v : f32\n      tcc.yield %w : f32\n    } : " + ta + "\n";
  body += "    %q = tcc.loops " + List({"25", "33"}) + " reduce 0 [] {\n    ^bb0(%i: index, %j: index):\n";
  body += "      %v = tcc.load %a1[" + Identity(2) + "](%i, %j) : " + w +
          " -> i8\n      %f = arith.sitofp %v : i8 to f32\n";
  body += "      %s = tcc.load %a2[affine_map<(d0, d1) -> (d1)>](%i, %j) : " + scale +
          " -> f32\n      %r = arith.mulf %f, %s : f32\n";
  body += "      tcc.yield %r : f32\n    } : " + tb + "\n";
  body += Matmul("%p", "%q", ta, tb, ty);
  for (const char* cpu : {"", "x86-64-v3"}) Check({.text = Kernel({x, w, scale}, body, "%c", {ty}), .cpu = cpu});
}

}  // namespace
}  // namespace tcc::codegen::testing
