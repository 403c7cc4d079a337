// Products that cuBLASLt can do (a fake one here, which computes on the host): which they are, and that the call says
// what the kernel says.
#include "codegen/cuda/extern/CublasLt.h"
#include "tests/codegen_gemm/kernel_text.h"
#include "tests/cuda_gemm/harness.h"

namespace tcc::codegen::testing {
namespace {

const char* const kSwap = "affine_map<(d0, d1) -> (d1, d0)>";
const std::vector<int64_t> kLibrary = {static_cast<int64_t>(ChoiceKind::Library), cuda::kLibraryCublasLt};

bool HasCall(const Case& test) {
  const auto texts = CudaTexts(test, "sm_90a");
  return !texts.empty() && !texts.front().libraries.empty();
}
void ExpectCall(Case test) {
  EXPECT_FALSE(HasCall(test)) << "nothing chose it";
  test.choice = kLibrary;
  ASSERT_EQ(CudaTexts(test, "sm_90a").size(), 1u);
  ASSERT_TRUE(HasCall(test)) << test.text;
  CheckCuda(test);
}
void ExpectNoCall(Case test) {
  test.choice = kLibrary;
  EXPECT_FALSE(HasCall(test)) << test.text;
}

std::string Matmul(const std::string& a, const std::string& b, const std::string& ta, const std::string& tb,
                   const std::string& ty) {
  return "    %c = tcc.matmul " + a + ", " + b + " : (" + ta + ", " + tb + ") -> " + ty + "\n";
}

std::string Product(const Extents& a, const Extents& b, const Extents& y, const std::string& element, bool ta = false,
                    bool tb = false, int symbols = 0) {
  const std::string type_a = Type(a, element), type_b = Type(b, element), type_y = Type(y, element);
  const std::string in_a = ta ? Type({a[1], a[0]}, element) : type_a, in_b = tb ? Type({b[1], b[0]}, element) : type_b;
  std::string body;
  if (ta) body += Read("%ta", a, "%a0", kSwap, in_a, element);
  if (tb) body += Read("%tb", b, "%a1", kSwap, in_b, element);
  body += Matmul(ta ? "%ta" : "%a0", tb ? "%tb" : "%a1", type_a, type_b, type_y);
  return Kernel({in_a, in_b}, body, "%c", {type_y}, symbols);
}

// y = epilogue(a b, bias): lines of a body with %v, the product's element, and %b, the bias; they yield %e.
std::string WithEpilogue(const std::string& lines, const std::string& bias_map = "affine_map<(d0, d1) -> (d1)>",
                         const std::string& bias_extent = "45", const std::string& element = "f32") {
  const std::string ta = Type({"31", "40"}, element), tb = Type({"40", "45"}, element),
                    ty = Type({"31", "45"}, element), bias = Type({bias_extent}, element);
  std::string body = Matmul("%a0", "%a1", ta, tb, ty);
  body += "    %y = tcc.loops " + List({"31", "45"}) + " reduce 0 [] {\n    ^bb0(%i: index, %j: index):\n";
  body += "      %v = tcc.load %c[" + Identity(2) + "](%i, %j) : " + ty + " -> " + element + "\n";
  body += "      %b = tcc.load %a2[" + bias_map + "](%i, %j) : " + bias + " -> " + element + "\n";
  body += "      %zero = arith.constant 0.0 : " + element + "\n" + lines;
  body += "      tcc.yield %e : " + element + "\n    } : " + ty + "\n";
  return Kernel({ta, tb, bias}, body, "%y", {ty});
}

TEST(CudaLibrary, Products) {
  for (std::string element : {"f32", "f16", "bf16", "f64"})
    for (bool ta : {false, true})
      for (bool tb : {false, true}) {
        SCOPED_TRACE(element + (ta ? " a transposed" : "") + (tb ? " b transposed" : ""));
        ExpectCall({.text = Product({"35", "23"}, {"23", "37"}, {"35", "37"}, element, ta, tb)});
      }
  ExpectCall({.text = Product({"1", "23"}, {"23", "37"}, {"1", "37"}, "f32")});
  ExpectCall({.text = Product({"35", "23"}, {"23", "1"}, {"35", "1"}, "f32")});
}

TEST(CudaLibrary, Batches) {
  ExpectCall({.text = Product({"3", "2", "15", "19"}, {"3", "2", "19", "17"}, {"3", "2", "15", "17"}, "f32")});
  // A long sum, which a kernel by itself would divide among blocks.
  ExpectCall({.text = Product({"9", "2050"}, {"2050", "33"}, {"9", "33"}, "f16"), .tolerance = 2e-3});
}

TEST(CudaLibrary, Epilogues) {
  const std::string sum = "      %s = arith.addf %v, %b : f32\n";
  ExpectCall({.text = WithEpilogue("      %e = arith.addf %v, %b : f32\n")});
  ExpectCall({.text = WithEpilogue("      %e = arith.addf %b, %v : f32\n")});
  ExpectCall({.text = WithEpilogue("      %e = arith.maximumf %v, %zero : f32\n")});
  ExpectCall({.text = WithEpilogue(sum + "      %e = arith.maximumf %s, %zero : f32\n")});
  ExpectCall({.text = WithEpilogue(sum + "      %e = arith.maximumf %zero, %s : f32\n")});
}

TEST(CudaLibrary, WhatItCannotDo) {
  // Other functions, another order, a bias along rows, a bound that is not zero.
  ExpectNoCall({.text = WithEpilogue("      %e = arith.mulf %v, %b : f32\n")});
  ExpectNoCall({.text = WithEpilogue("      %e = math.absf %v : f32\n")});
  ExpectNoCall(
      {.text = WithEpilogue("      %m = arith.maximumf %v, %zero : f32\n      %e = arith.addf %m, %b : f32\n")});
  ExpectNoCall({.text = WithEpilogue("      %e = arith.maximumf %v, %b : f32\n")});
  ExpectNoCall({.text = WithEpilogue("      %e = arith.addf %v, %v : f32\n")});
  ExpectNoCall({.text = WithEpilogue("      %e = arith.addf %v, %b : f32\n", "affine_map<(d0, d1) -> (d0)>", "31")});
  // Open extents, tiny products without tiles.
  ExpectNoCall({.text = Product({"s0", "23"}, {"23", "37"}, {"s0", "37"}, "f32", false, false, 1), .symbols = {35}});
  ExpectNoCall({.text = Product({"3", "4"}, {"4", "5"}, {"3", "5"}, "f32")});
}

}  // namespace
}  // namespace tcc::codegen::testing
