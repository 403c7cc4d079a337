// Products that cuBLASLt can do, and convolutions that cuDNN can (fake ones here, which compute on the host): which
// they are, that the call says what the kernel says, and when the default mode takes one.
#include "codegen/cuda/extern/Rules.h"
#include "tests/codegen_gemm/conv_case.h"
#include "tests/codegen_gemm/kernel_text.h"
#include "tests/cuda_gemm/harness.h"

namespace tcc::codegen::testing {
namespace {

const char* const kSwap = "affine_map<(d0, d1) -> (d1, d0)>";
const std::vector<int64_t> kLibrary = {static_cast<int64_t>(ChoiceKind::Library), cuda::kLibraryCublasLt};

const std::vector<int64_t> kCudnn = {static_cast<int64_t>(ChoiceKind::Library), cuda::kLibraryCudnn};

bool HasCall(const Case& test, const cuda::ScheduleOptions& options = {}) {
  const auto texts = CudaTexts(test, "sm_90a", nullptr, options);
  return !texts.empty() && !texts.front().libraries.empty();
}
void ExpectCall(Case test, const std::vector<int64_t>& choice = kLibrary) {
  EXPECT_FALSE(HasCall(test)) << "nothing chose it";
  test.choice = choice;
  ASSERT_EQ(CudaTexts(test, "sm_90a").size(), 1u);
  ASSERT_TRUE(HasCall(test)) << test.text;
  CheckCuda(test);
}
void ExpectNoCall(Case test, const std::vector<int64_t>& choice = kLibrary) {
  test.choice = choice;
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

// As models have it: a result with an axis of its own, 16-bit floats that are computed as float32, a residual.
TEST(CudaLibrary, EpiloguesOfModels) {
  for (const std::string element : {"f16", "bf16"}) {
    const std::string a = Type({"16", "40"}, element), b = Type({"40", "24"}, element), c = Type({"16", "24"}, element),
                      y = Type({"1", "16", "24"}, element), bias = Type({"24"}, element);
    const auto extended = [&](const std::string& name, const std::string& from) {
      return "      %" + name + " = arith.extf %" + from + " : " + element + " to f32\n";
    };
    std::string body = Matmul("%a0", "%a1", a, b, c);
    body += "    %y = tcc.loops " + List({"1", "16", "24"}) +
            " reduce 0 [] {\n    ^bb0(%i: index, %j: index, %k: index):\n";
    body += "      %v = tcc.load %c[affine_map<(d0, d1) -> (d0, d1)>](%j, %k) : " + c + " -> " + element + "\n";
    body += "      %b = tcc.load %a2[affine_map<(d0) -> (d0)>](%k) : " + bias + " -> " + element + "\n";
    body += "      %r = tcc.load %a3[affine_map<(d0, d1) -> (0, d0, d1)>](%j, %k) : " + y + " -> " + element + "\n";
    body += "      %zero = arith.constant 0.0 : " + element + "\n";
    body += extended("v32", "v") + extended("b32", "b") + extended("r32", "r") + extended("zero32", "zero");
    body += "      %s = arith.addf %v32, %b32 : f32\n      %t = arith.addf %r32, %s : f32\n";
    body += "      %m = arith.maximumf %t, %zero32 : f32\n      %e = arith.truncf %m : f32 to " + element + "\n";
    body += "      tcc.yield %e : " + element + "\n    } : " + y + "\n";
    ExpectCall({.text = Kernel({a, b, bias, y}, body, "%y", {y}), .tolerance = 2e-2, .in_place = true});
  }
}

TEST(CudaLibrary, Convolutions) {
  const std::vector<ConvShape> shapes = {{1, 8, 12, 1, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
                                         {2, 16, 24, 1, {6, 7}, {1, 1}, {2, 2}, {0, 0}, {0, 0}, {1, 1}},
                                         {1, 5, 6, 1, {13, 12}, {3, 2}, {1, 3}, {2, 0}, {0, 1}, {2, 4}},
                                         {2, 24, 18, 3, {5, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
                                         {2, 6, 9, 1, {31}, {5}, {2}, {2}, {1}, {1}},
                                         {1, 6, 7, 1, {4, 5, 6}, {3, 2, 3}, {1, 2, 1}, {1, 0, 1}, {1, 1, 1}, {1, 1, 1}},
                                         {1, 3, 9, 1, {12, 11}, {7, 7}, {2, 2}, {3, 3}, {3, 3}, {1, 1}}};
  for (const ConvShape& shape : shapes) {
    for (bool last : {true, false}) {
      SCOPED_TRACE(std::to_string(shape.channels) + (last ? " channels last" : " channels first"));
      Case test = ConvCase(shape, last, false);
      test.in_place = true;
      ExpectCall(test, kCudnn);
      test.constants = {1};  // packed
      ExpectCall(test, kCudnn);
    }
  }
  Case half = ConvCase(shapes[0], true, false, "f16");
  half.tolerance = 2e-2;
  ExpectCall(half, kCudnn);
}

TEST(CudaLibrary, ConvolutionsThatCudnnCannotDo) {
  const ConvShape plain = {1, 8, 12, 1, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  ConvShape cropped = plain, transposed = plain, depthwise = plain;
  cropped.low = {-1, 1};
  transposed.output_padding = {0, 0};
  depthwise.groups = 4;  // of 2 and 3 channels: a thread for each result
  for (const ConvShape& shape : {cropped, transposed, depthwise}) {
    ExpectNoCall(ConvCase(shape, true, false), kCudnn);
  }
  ExpectNoCall(ConvCase(plain, true, /*dynamic=*/true), kCudnn);
  ExpectNoCall(ConvCase(plain, true, false, "f64"), kCudnn);
  ExpectNoCall(ConvCase(plain, true, false), kLibrary);  // not by cuBLASLt
  // Strict numerics take no calls.
  Case test = ConvCase(plain, true, false);
  test.choice = kCudnn;
  EXPECT_FALSE(HasCall(test, {.libraries = false}));
}

// The default mode takes a call where the rules say so, and the library is where the code is to run.
TEST(CudaLibrary, DefaultMode) {
  const Case large = {.text = Product({"4096", "1024"}, {"1024", "2048"}, {"4096", "2048"}, "f16")};
  std::string asked;
  cuda::ScheduleOptions options;
  options.findsLibrary = [&](std::string_view name) {
    asked = name;
    return true;
  };
  EXPECT_TRUE(HasCall(large, options));
  EXPECT_EQ(asked, "cublaslt");
  EXPECT_FALSE(HasCall(large));
  // What was measured comes first.
  Case tuned = large;
  tuned.choice = {static_cast<int64_t>(ChoiceKind::Product), 0};
  EXPECT_FALSE(HasCall(tuned, options));
  options.findsLibrary = [](std::string_view) { return false; };
  EXPECT_FALSE(HasCall(large, options));
}

std::string Decision(const cuda::LibraryCall& call, const std::string& arch, bool wgmma = false) {
  auto device = describeCuda(arch);
  EXPECT_TRUE(static_cast<bool>(device));
  return cuda::prefersLibrary(call, *device, wgmma) ? std::string(cuda::libraryTitle(call)) : "kernel";
}
devices::GemmDescriptor Gemm(DType element, int64_t m, int64_t n, int64_t k) {
  devices::GemmDescriptor d;
  d.element = element;
  d.m = m;
  d.n = n;
  d.k = k;
  return d;
}
devices::ConvDescriptor Conv(int64_t images, int64_t inputs, int64_t outputs, int64_t extent, int64_t kernel,
                             bool last = true, int64_t groups = 1) {
  devices::ConvDescriptor d;
  d.element = DType::kBF16;
  d.images = images;
  d.groups = groups;
  d.inputs = inputs;
  d.outputs = outputs;
  d.axes.assign(2, {.in = extent, .out = extent, .kernel = kernel, .before = kernel / 2, .after = kernel / 2});
  d.x.strides = d.y.strides = {1, last ? 1 : extent * extent, 1, 1};
  return d;
}

TEST(CudaLibrary, RulesOfTheDefaultMode) {
  using enum DType;
  // Large products of 16 bits, on GPUs whose tensor cores want other instructions than kernels use.
  EXPECT_EQ(Decision(Gemm(kF16, 4096, 4096, 4096), "sm_90a"), "cuBLASLt");
  EXPECT_EQ(Decision(Gemm(kBF16, 4096, 4096, 4096), "sm_100a"), "cuBLASLt");
  EXPECT_EQ(Decision(Gemm(kF16, 4096, 4096, 4096), "sm_80"), "kernel");
  EXPECT_EQ(Decision(Gemm(kF16, 4096, 4096, 4096), "sm_120a"), "kernel");
  EXPECT_EQ(Decision(Gemm(kF16, 4096, 4096, 4096), "sim"), "kernel");
  EXPECT_EQ(Decision(Gemm(kF16, 4096, 4096, 4096), "sm_90a", /*wgmma=*/true), "kernel");
  // float32 as tf32 only; float64 never.
  EXPECT_EQ(Decision(Gemm(kF32, 4096, 4096, 4096), "sm_90a"), "kernel");
  devices::GemmDescriptor rounded = Gemm(kF32, 4096, 4096, 4096);
  rounded.tf32 = true;
  EXPECT_EQ(Decision(rounded, "sm_90a"), "cuBLASLt");
  EXPECT_EQ(Decision(Gemm(kF64, 4096, 4096, 4096), "sm_90a"), "kernel");
  // A few tokens, a short sum, extents that TMA does not copy.
  EXPECT_EQ(Decision(Gemm(kF16, 16, 4096, 4096), "sm_90a"), "kernel");
  EXPECT_EQ(Decision(Gemm(kF16, 4096, 4096, 256), "sm_90a"), "kernel");
  EXPECT_EQ(Decision(Gemm(kF16, 4096, 4097, 4096), "sm_90a"), "kernel");
  EXPECT_EQ(Decision(Gemm(kF16, 4096, 4096, 4100), "sm_90a"), "kernel");
  // Layers of ResNet-50 with 64 images, and with one.
  EXPECT_EQ(Decision(Conv(64, 256, 256, 14, 3), "sm_90a"), "cuDNN");
  EXPECT_EQ(Decision(Conv(1, 256, 256, 14, 3), "sm_90a"), "kernel");
  EXPECT_EQ(Decision(Conv(64, 256, 64, 56, 1), "sm_90a"), "kernel");  // waits for memory
  EXPECT_EQ(Decision(Conv(64, 3, 64, 112, 7), "sm_90a"), "kernel");   // three channels
  EXPECT_EQ(Decision(Conv(64, 256, 256, 14, 3, /*last=*/false), "sm_90a"), "kernel");
  EXPECT_EQ(Decision(Conv(64, 256, 256, 14, 3, true, /*groups=*/2), "sm_90a"), "kernel");
  EXPECT_EQ(Decision({}, "sm_90a"), "kernel");
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
