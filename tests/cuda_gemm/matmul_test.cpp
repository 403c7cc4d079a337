// Matrix products on the simulated CUDA device: odd sizes, transposes, dtypes, batches, prologues, epilogues.
#include "tests/codegen_gemm/kernel_text.h"
#include "tests/cuda_gemm/harness.h"

namespace tcc::codegen::testing {
namespace {

const char* const kSwap = "affine_map<(d0, d1) -> (d1, d0)>";

std::string Matmul(const std::string& a, const std::string& b, const std::string& ta, const std::string& tb,
                   const std::string& ty) {
  return "    %c = tcc.matmul " + a + ", " + b + " : (" + ta + ", " + tb + ") -> " + ty + "\n";
}

// A plain product, of operands that are transposed in memory or not.
std::string Product(const Extents& a, const Extents& b, const Extents& y, const std::string& element, int symbols = 0,
                    bool ta = false, bool tb = false) {
  std::string type_a = Type(a, element), type_b = Type(b, element), type_y = Type(y, element);
  std::string in_a = ta ? Type({a[1], a[0]}, element) : type_a, in_b = tb ? Type({b[1], b[0]}, element) : type_b;
  std::string body;
  if (ta) body += Read("%ta", a, "%a0", kSwap, in_a, element);
  if (tb) body += Read("%tb", b, "%a1", kSwap, in_b, element);
  body += Matmul(ta ? "%ta" : "%a0", tb ? "%tb" : "%a1", type_a, type_b, type_y);
  return Kernel({in_a, in_b}, body, "%c", {type_y}, symbols);
}

struct Size {
  int m, n, k;
};

// One past a tile, primes, one, none, multiples of vectors and not.
TEST(CudaMatmul, OddSizes) {
  for (Size size : {Size{1, 1, 1}, {5, 7, 0}, {1, 129, 67}, {67, 36, 128}}) {
    std::string m = std::to_string(size.m), n = std::to_string(size.n), k = std::to_string(size.k);
    for (std::string element : {"f32", "f16"}) {
      SCOPED_TRACE(m + "x" + n + "x" + k + " " + element);
      CheckCuda({.text = Product({m, k}, {k, n}, {m, n}, element)});
    }
  }
}
TEST(CudaMatmul, Dynamic) {
  for (std::string element : {"f32", "bf16"}) {
    SCOPED_TRACE(element);
    for (Size size : {Size{1, 3, 2}, {17, 65, 33}, {129, 130, 40}, {0, 4, 4}, {0, 5, 3}})
      CheckCuda(
          {.text = Product({"s0", "s1"}, {"s1", "s2"}, {"s0", "s2"}, element, 3), .symbols = {size.m, size.k, size.n}});
    // Only the rows are not known: vectors as ever.
    for (int64_t rows : {0, 1, 70, 129})
      CheckCuda({.text = Product({"s0", "32"}, {"32", "64"}, {"s0", "64"}, element, 1), .symbols = {rows}});
  }
}
TEST(CudaMatmul, Transposes) {
  for (std::string element : {"f32", "f16", "bf16", "f64"})
    for (bool ta : {false, true})
      for (bool tb : {false, true}) {
        SCOPED_TRACE(element + (ta ? " a transposed" : "") + (tb ? " b transposed" : ""));
        if (ta == tb || element == "f32" || element == "f16")
          CheckCuda({.text = Product({"40", "40"}, {"40", "72"}, {"40", "72"}, element, 0, ta, tb)});
        if (ta != tb && (element == "f32" || element == "f16"))
          CheckCuda({.text = Product({"35", "23"}, {"23", "37"}, {"35", "37"}, element, 0, ta, tb)});
      }
}
// float32 on tensor cores, with operands rounded to tf32: those of the test are exact.
TEST(CudaMatmul, Tf32) {
  for (bool ta : {false, true})
    for (bool tb : {false, true}) {
      SCOPED_TRACE(std::string(ta ? " a transposed" : "") + (tb ? " b transposed" : ""));
      Case test{.text = Product({"35", "44"}, {"44", "52"}, {"35", "52"}, "f32", 0, ta, tb)};
      ASSERT_NE(CudaTexts(test, "sm_80", nullptr, {.tf32 = true})[0].text.find("Mma<"), std::string::npos);
      ASSERT_EQ(CudaTexts(test, "sm_80")[0].text.find("Mma<"), std::string::npos);
      CheckCuda(test, {.tf32 = true});
    }
}
// wgmma, where it is asked for and operands lie along k.
TEST(CudaMatmul, Wgmma) {
  for (std::string element : {"f16", "bf16"}) {
    SCOPED_TRACE(element);
    Case test{.text = Product({"70", "136"}, {"136", "72"}, {"70", "72"}, element, 0, false, true)};
    ASSERT_NE(CudaTexts(test, "sm_90a", nullptr, {.wgmma = true})[0].text.find("Warpgroups<"), std::string::npos);
    for (const char* arch : {"sm_80", "sm_90a"})  // by itself nothing chooses it
      ASSERT_EQ(CudaTexts(test, arch, nullptr, {.wgmma = arch == std::string("sm_80")})[0].text.find("Warpgroups<"),
                std::string::npos);
    CheckCuda(test, {.wgmma = true});
  }
  CheckCuda(
      {.text = Product({"s0", "s1"}, {"s1", "s2"}, {"s0", "s2"}, "f16", 3, false, true), .symbols = {130, 77, 33}},
      {.wgmma = true});
}
// Tiles that TMA loads, where it is asked for and rows start at multiples of 16 bytes: more tiles than blocks, odd
// extents, rows that vary.
TEST(CudaMatmul, Tma) {
  const cuda::ScheduleOptions options{.tma = true};
  const auto uses = [&](const Case& test, const char* arch, const cuda::ScheduleOptions& with) {
    return CudaTexts(test, arch, nullptr, with)[0].text.find("multiply_by_tma<") != std::string::npos;
  };
  for (std::string element : {"f16", "bf16"}) {
    SCOPED_TRACE(element);
    Case test{.text = Product({"70", "136"}, {"136", "72"}, {"70", "72"}, element, 0, false, true)};
    EXPECT_TRUE(uses(test, "sm_90a", options));
    EXPECT_FALSE(uses(test, "sm_90a", {}));
    EXPECT_FALSE(uses(test, "sm_100", options));
    CheckCuda(test, options);
  }
  // Rows that start anywhere, and operands of other types.
  EXPECT_FALSE(
      uses({.text = Product({"70", "77"}, {"77", "72"}, {"70", "72"}, "f16", 0, false, true)}, "sm_90a", options));
  // Operands that lie along their rows.
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      SCOPED_TRACE(::testing::Message() << ta << tb);
      const Case test{.text = Product({"136", "200"}, {"200", "264"}, {"136", "264"}, ta ? "f16" : "bf16", 0, ta, tb)};
      EXPECT_TRUE(uses(test, "sm_90a", options));
      CheckCuda(test, options);
    }
  {
    const Case test{.text = Product({"s0", "72"}, {"72", "s1"}, {"s0", "s1"}, "f16", 2), .symbols = {65, 24}};
    EXPECT_FALSE(uses(test, "sm_90a", options));
  }
  EXPECT_FALSE(
      uses({.text = Product({"70", "136"}, {"136", "72"}, {"70", "72"}, "f32", 0, false, true)}, "sm_90a", options));
  for (Size size : {Size{1, 1, 8}, {129, 257, 72}, {64, 36, 200}, {5, 7, 0}}) {
    std::string m = std::to_string(size.m), n = std::to_string(size.n), k = std::to_string(size.k);
    SCOPED_TRACE(m + "x" + n + "x" + k);
    CheckCuda({.text = Product({m, k}, {k, n}, {m, n}, "f16", 0, false, true)}, options);
  }
  for (int64_t rows : {0, 1, 70, 129}) {
    Case test{.text = Product({"s0", "72"}, {"72", "65"}, {"s0", "65"}, "bf16", 1, false, true), .symbols = {rows}};
    ASSERT_TRUE(uses(test, "sim", options));
    CheckCuda(test, options);
  }
}
TEST(CudaMatmul, TmaBatches) {
  const cuda::ScheduleOptions options{.tma = true};
  const std::string element = "f16";
  const auto check = [&](const Case& test) {
    ASSERT_NE(CudaTexts(test, "sim", nullptr, options)[0].text.find("multiply_by_tma<"), std::string::npos)
        << test.text;
    CheckCuda(test, options);
  };
  // [B, M, K] and [B, N, K].
  const std::string a = Type({"3", "70", "72"}, element), bt = Type({"3", "33", "72"}, element),
                    b = Type({"3", "72", "33"}, element), y = Type({"3", "70", "33"}, element);
  check({.text = Kernel({a, bt},
                        Read("%tb", {"3", "72", "33"}, "%a1", "affine_map<(d0, d1, d2) -> (d0, d2, d1)>", bt, element) +
                            Matmul("%a0", "%tb", a, b, y),
                        "%c", {y})});
  const std::string by = Type({"3", "72", "40"}, element), yy = Type({"3", "70", "40"}, element);
  check({.text = Kernel({a, by}, Matmul("%a0", "%a1", a, by, yy), "%c", {yy})});
  // [S, H, D] read as [H, S, D]: a row has the other heads between it and the next.
  const std::string x = Type({"70", "3", "72"}, element), w = Type({"33", "3", "72"}, element);
  check({.text =
             Kernel({x, w},
                    Read("%ta", {"3", "70", "72"}, "%a0", "affine_map<(d0, d1, d2) -> (d1, d0, d2)>", x, element) +
                        Read("%tb", {"3", "72", "33"}, "%a1", "affine_map<(d0, d1, d2) -> (d2, d0, d1)>", w, element) +
                        Matmul("%ta", "%tb", a, b, y),
                    "%c", {y})});
}
// Few tiles and a long sum: blocks share it, in one launch, with all that an epilogue may be.
TEST(CudaMatmul, SplitSums) {
  for (std::string element : {"f32", "f16", "bf16", "f64"}) {
    SCOPED_TRACE(element);
    Case test{.text = Product({"3", "2050"}, {"2050", "33"}, {"3", "33"}, element)};
    KernelCode code;
    ASSERT_EQ(CudaTexts(test, "sm_80", &code).size(), 1u);
    EXPECT_EQ(code.temporaryBytes.size(), 1u);
    EXPECT_TRUE(code.launches[0].device->counters);
    test.tolerance = element == "bf16" ? 1e-2 : 1e-4;
    CheckCuda(test);
  }
  // Several tiles, which have a counter each.
  CheckCuda({.text = Product({"2", "3", "1030"}, {"2", "1030", "130"}, {"2", "3", "130"}, "f16"), .tolerance = 1e-4});
}
// Also where rows vary, if there are never many of them: there are as many tiles, sums and counters as they take.
TEST(CudaMatmul, SplitSumsOfRowsThatVary) {
  std::string text = Product({"s0", "2050"}, {"2050", "36"}, {"s0", "36"}, "f32", 1);
  ASSERT_EQ(CudaTexts({.text = text, .symbols = {3}}, "sim")[0].text.find("Parts<"), std::string::npos);
  const std::string any = "\"s0\", 0, 100000, 1", few = "\"s0\", 0, 70, 1";
  ASSERT_NE(text.find(any), std::string::npos);
  text.replace(text.find(any), any.size(), few);
  ASSERT_NE(CudaTexts({.text = text, .symbols = {3}}, "sim")[0].text.find("Parts<"), std::string::npos);
  for (int64_t rows : {0, 3, 70}) CheckCuda({.text = text, .symbols = {rows}, .tolerance = 1e-4});
}
TEST(CudaMatmul, Batches) {
  CheckCuda({.text = Product({"3", "2", "5", "9"}, {"3", "2", "9", "17"}, {"3", "2", "5", "17"}, "f32")});
  CheckCuda({.text = Product({"s0", "2", "s1", "16"}, {"s0", "2", "16", "24"}, {"s0", "2", "s1", "24"}, "f16", 2),
             .symbols = {3, 41}});
  CheckCuda({.text = Product({"0", "5", "9"}, {"0", "9", "17"}, {"0", "5", "17"}, "f32")});
}
// Operands read through reshapes, broadcasts and masks.
TEST(CudaMatmul, IndexedOperands) {
  for (std::string element : {"f32", "f16"}) {
    SCOPED_TRACE(element);
    // [B, S, H * D] read as [B, H, S, D], and one matrix for all batches.
    std::string x = Type({"2", "11", "24"}, element), heads = Type({"2", "3", "11", "8"}, element),
                w = Type({"8", "20"}, element), wide = Type({"2", "3", "8", "20"}, element),
                y = Type({"2", "3", "11", "20"}, element);
    CheckCuda({.text = Kernel({x, w},
                              Read("%ta", {"2", "3", "11", "8"}, "%a0",
                                   "affine_map<(d0, d1, d2, d3) -> (d0, d2, d1 * 8 + d3)>", x, element) +
                                  Read("%tb", {"2", "3", "8", "20"}, "%a1", "affine_map<(d0, d1, d2, d3) -> (d2, d3)>",
                                       w, element) +
                                  Matmul("%ta", "%tb", heads, wide, y),
                              "%c", {y})});
    // Heads put together again: k runs through heads and their columns. Rolled rows.
    std::string parts = Type({"3", "10", "8"}, element), rows = Type({"10", "24"}, element),
                square = Type({"24", "24"}, element), out = Type({"10", "24"}, element);
    CheckCuda(
        {.text = Kernel({parts, square},
                        Read("%ta", {"10", "24"}, "%a0",
                             "affine_map<(d0, d1) -> (d1 floordiv 8, (d0 - 4) mod 10, d1 mod 8)>", parts, element) +
                            Matmul("%ta", "%a1", rows, square, out),
                        "%c", {out})});
    // Padded: zero where the mask does not hold.
    std::string inner = Type({"9", "13"}, element), padded = Type({"11", "16"}, element),
                b = Type({"16", "9"}, element), product = Type({"11", "9"}, element);
    std::string pad = "    %ta = tcc.loops " + List({"11", "16"}) +
                      " reduce 0 [] {\n    ^bb0(%i0: index, %i1: index):\n" +
                      "      %v = tcc.load %a0[affine_map<(d0, d1) -> (d0 - 1, d1 - 2)>](%i0, %i1) mask "
                      "affine_set<(d0, d1) : (d0 - 1 >= 0, 9 - d0 >= 0, d1 - 2 >= 0, 14 - d1 >= 0)> : " +
                      inner + " -> " + element + "\n      tcc.yield %v : " + element + "\n    } : " + padded + "\n";
    CheckCuda({.text = Kernel({inner, b}, pad + Matmul("%ta", "%a1", padded, b, product), "%c", {product})});
  }
}
// Bias, activation, residual (which the result may take the place of), a second result of another type.
TEST(CudaMatmul, Epilogue) {
  for (bool dynamic : {false, true})
    for (std::string element : {"f32", "f16"})
      for (bool transposed : {false, true}) {
        SCOPED_TRACE(element);
        // Rows of the results are whole vectors, or not.
        std::string M = dynamic ? "s0" : "31", N = dynamic == transposed ? "48" : "45", K = "40",
                    other = element == "f32" ? "f16" : "f32";
        std::string ta = Type({M, K}, element), tb = Type({K, N}, element), ty = Type({M, N}, element),
                    bias = Type({N}, element), th = transposed ? Type({N, M}, other) : Type({M, N}, other);
        std::string body = Matmul("%a0", "%a1", ta, tb, ty);
        body += "    %e = tcc.loops " + List({M, N}) + " reduce 0 [] {\n    ^bb0(%i: index, %j: index):\n";
        body += "      %v = tcc.load %c[" + Identity(2) + "](%i, %j) : " + ty + " -> " + element + "\n";
        body += "      %b = tcc.load %a2[affine_map<(d0, d1) -> (d1)>](%i, %j) : " + bias + " -> " + element + "\n";
        body += "      %r = tcc.load %a3[" + Identity(2) + "](%i, %j) : " + ty + " -> " + element + "\n";
        body += "      %zero = arith.constant 0.0 : " + element + "\n      %s = arith.addf %v, %b : " + element + "\n";
        body +=
            "      %m = arith.maximumf %s, %zero : " + element + "\n      %t = arith.addf %m, %r : " + element + "\n";
        body += "      tcc.yield %t : " + element + "\n    } : " + ty + "\n";
        Extents second = transposed ? Extents{N, M} : Extents{M, N};
        body += "    %h = tcc.loops " + List(second) + " reduce 0 [] {\n    ^bb0(%i: index, %j: index):\n";
        body += "      %v = tcc.load %c[" + std::string(transposed ? kSwap : Identity(2)) + "](%i, %j) : " + ty +
                " -> " + element + "\n";
        body +=
            element == "f32" ? "      %w = arith.truncf %v : f32 to f16\n" : "      %w = arith.extf %v : f16 to f32\n";
        body += "      tcc.yield %w : " + other + "\n    } : " + th + "\n";
        Case test{.text = Kernel({ta, tb, bias, ty}, body, "%e, %h", {ty, th}, dynamic)};
        if (dynamic) test.symbols = {31};
        test.tolerance = 1e-3;
        test.in_place = dynamic;
        CheckCuda(test);
      }
}

}  // namespace
}  // namespace tcc::codegen::testing
