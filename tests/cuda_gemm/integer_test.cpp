// Products of int32 on the simulated CUDA device: as they are, and of 8-bit integers on tensor cores.
#include "codegen/cuda/CudaTarget.h"
#include "codegen/fusion/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "tests/codegen_gemm/kernel_text.h"
#include "tests/cuda_gemm/harness.h"

namespace tcc::codegen::testing {
namespace {

// An operand that is 8-bit integers in memory: `extension` is "extsi" or "extui"; `zero`: the input that is subtracted,
// read at `zero_map`, or a number, or nothing.
struct Narrow {
  std::string extension, zero, zero_map, zero_type;
  bool transposed = false;
};

std::string Widened(const std::string& name, const std::string& from, const Extents& extents, const Narrow& narrow) {
  Extents memory = narrow.transposed ? Extents{extents[1], extents[0]} : extents;
  std::string text =
      "    " + name + " = tcc.loops " + List(extents) + " reduce 0 [] {\n    " + BlockArguments(2) +
      "\n      %v = tcc.load " + from + "[" + (narrow.transposed ? "affine_map<(d0, d1) -> (d1, d0)>" : Identity(2)) +
      "](%i0, %i1) : " + Type(memory, "i8") + " -> i8\n      %w = arith." + narrow.extension + " %v : i8 to i32\n";
  std::string result = "%w";
  if (!narrow.zero.empty()) {
    if (narrow.zero[0] == '%')
      text += "      %z8 = tcc.load " + narrow.zero + "[" + narrow.zero_map + "](%i0, %i1) : " + narrow.zero_type +
              " -> i8\n      %z = arith." + narrow.extension + " %z8 : i8 to i32\n";
    else
      text += "      %z = arith.constant " + narrow.zero + " : i32\n";
    text += "      %s = arith.subi %w, %z : i32\n";
    result = "%s";
  }
  return text + "      tcc.yield " + result + " : i32\n    } : " + Type(extents, "i32") + "\n";
}

std::string Multiply(const Extents& a, const Extents& b, const Extents& y) {
  return "    %c = tcc.matmul %ta, %tb : (" + Type(a, "i32") + ", " + Type(b, "i32") + ") -> " + Type(y, "i32") + "\n";
}

bool OnTensorCores(const Case& test) {
  auto texts = CudaTexts(test, "sm_80");
  return !texts.empty() && texts[0].text.find("Mma<") != std::string::npos;
}

TEST(CudaIntegers, BytesOnTensorCores) {
  Extents a{"35", "70"}, b{"70", "44"}, y{"35", "44"};
  int at = 0;
  for (std::string left : {"extsi", "extui"})
    for (std::string right : {"extsi", "extui"}) {
      SCOPED_TRACE(left + " " + right);
      bool ta = at % 2 == 1, tb = at++ / 2 == 1;
      Case test{.text = Kernel({Type(ta ? Extents{a[1], a[0]} : a, "i8"), Type(tb ? Extents{b[1], b[0]} : b, "i8")},
                               Widened("%ta", "%a0", a, {left, "", "", "", ta}) +
                                   Widened("%tb", "%a1", b, {right, "", "", "", tb}) + Multiply(a, b, y),
                               "%c", {Type(y, "i32")})};
      EXPECT_TRUE(OnTensorCores(test));
      CheckCuda(test);
    }
}
// Zero points: a number, one in memory for all, one a row, one a column; with rows that are not known.
TEST(CudaIntegers, ZeroPoints) {
  Extents a{"s0", "48"}, b{"48", "44"}, y{"s0", "44"};
  for (bool each : {false, true}) {
    std::string za = each ? Type({"s0"}, "i8") : Type({}, "i8"), zb = each ? Type({"44"}, "i8") : Type({}, "i8");
    Narrow left{"extui", "%a2", each ? "affine_map<(d0, d1) -> (d0)>" : "affine_map<(d0, d1) -> ()>", za};
    Narrow right{"extsi", each ? "%a3" : "-5", "affine_map<(d0, d1) -> (d1)>", zb, each};
    Case test{.text = Kernel({Type(a, "i8"), Type(each ? Extents{b[1], b[0]} : b, "i8"), za, zb},
                             Widened("%ta", "%a0", a, left) + Widened("%tb", "%a1", b, right) + Multiply(a, b, y), "%c",
                             {Type(y, "i32")}, 1),
              .symbols = {37}};
    EXPECT_TRUE(OnTensorCores(test));
    CheckCuda(test);
  }
}
// Parts of k have their share of the correction.
TEST(CudaIntegers, SplitSums) {
  Extents a{"3", "4100"}, b{"4100", "20"}, y{"3", "20"};
  Case test{.text = Kernel({Type(a, "i8"), Type(b, "i8")},
                           Widened("%ta", "%a0", a, {"extui", "130", "", ""}) +
                               Widened("%tb", "%a1", b, {"extui", "7", "", ""}) + Multiply(a, b, y),
                           "%c", {Type(y, "i32")})};
  std::vector<KernelSource> texts = CudaTexts(test, "sm_80");
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_NE(texts[0].text.find("Parts<int>"), std::string::npos);
  CheckCuda(test);
}
// Constants of int32 that fit into bytes are packed; those of the test are small, and none is below -16.
TEST(CudaIntegers, ConstantWeights) {
  Extents a{"9", "50"}, b{"50", "20"}, y{"9", "20"};
  std::string multiply =
      "    %c = tcc.matmul %ta, %a1 : (" + Type(a, "i32") + ", " + Type(b, "i32") + ") -> " + Type(y, "i32") + "\n";
  Case test{.text = Kernel({Type(a, "i8"), Type(b, "i32")},
                           Widened("%ta", "%a0", a, {"extui", "128", "", ""}) + multiply, "%c", {Type(y, "i32")}),
            .constants = {1}};
  EXPECT_TRUE(OnTensorCores(test));
  CheckCuda(test);
  test.constants = {};
  EXPECT_FALSE(OnTensorCores(test));
  CheckCuda(test);
}
TEST(CudaIntegers, AsTheyAre) {
  Extents a{"33", "20"}, b{"20", "36"}, y{"33", "36"};
  CheckCuda({.text = Kernel({Type(a, "i32"), Type(b, "i32")},
                            "    %c = tcc.matmul %a0, %a1 : (" + Type(a, "i32") + ", " + Type(b, "i32") + ") -> " +
                                Type(y, "i32") + "\n",
                            "%c", {Type(y, "i32")})});
}
// What the importer makes of MatMulInteger becomes one kernel: widening and zero points go into the product.
TEST(CudaIntegers, ZeroPointsAreFused) {
  mlir::MLIRContext context;
  context.disableMultithreading();
  CudaBackend::loadDialects(&context);
  context.loadDialect<ir::TCCDialect, mlir::func::FuncDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
    func.func @f(%a: tensor<33x64xui8>, %b: tensor<64x48xi8>, %z: tensor<ui8>) -> tensor<33x48xi32> {
      %wa = tcc.cast %a : (tensor<33x64xui8>) -> tensor<33x64xi32>
      %wz = tcc.cast %z : (tensor<ui8>) -> tensor<i32>
      %bz = tcc.broadcast %wz : (tensor<i32>) -> tensor<33x64xi32>
      %sa = tcc.sub %wa, %bz : tensor<33x64xi32>
      %wb = tcc.cast %b : (tensor<64x48xi8>) -> tensor<64x48xi32>
      %y = tcc.matmul %sa, %wb : (tensor<33x64xi32>, tensor<64x48xi32>) -> tensor<33x48xi32>
      return %y : tensor<33x48xi32>
    })",
                                                        &context);
  ASSERT_TRUE(module);
  CudaTargetOptions options;
  options.device = llvm::cantFail(describeCuda("sm_80"));
  options.backend.sourcesOnly = true;
  options.templates.push_back(cuda::templateSchedule());
  CudaTarget target(&context, options);
  mlir::PassManager passes(&context);
  passes.addNestedPass<mlir::func::FuncOp>(createLowerToKernelsPass(&target));
  passes.addNestedPass<mlir::func::FuncOp>(createFuseKernelsPass(&target));
  ASSERT_TRUE(mlir::succeeded(passes.run(*module)));
  int kernels = 0;
  module->walk([&](ir::KernelOp kernel) {
    ++kernels;
    EXPECT_TRUE(mlir::succeeded(target.addKernel(kernel, {})));
  });
  EXPECT_EQ(kernels, 1);
  auto bundle = target.finish();
  ASSERT_TRUE(static_cast<bool>(bundle)) << llvm::toString(bundle.takeError());
  ASSERT_EQ(bundle->images.size(), 1u);
  EXPECT_NE(bundle->images[0].source.find("Mma<"), std::string::npos) << bundle->images[0].source;
}
// Dequantised: int32 sums become floats in the epilogue.
TEST(CudaIntegers, Epilogue) {
  Extents a{"20", "32"}, b{"32", "40"}, y{"20", "40"};
  std::string dequantise = "    %e = tcc.loops " + List(y) + " reduce 0 [] {\n    " + BlockArguments(2) +
                           "\n      %v = tcc.load %c[" + Identity(2) + "](%i0, %i1) : " + Type(y, "i32") +
                           " -> i32\n      %f = arith.sitofp %v : i32 to f32\n      %s = tcc.load "
                           "%a2[affine_map<(d0, d1) -> (d1)>](%i0, %i1) : " +
                           Type({y[1]}, "f32") +
                           " -> f32\n      %r = arith.mulf %f, %s : f32\n      tcc.yield %r : f32\n" +
                           "    } : " + Type(y, "f32") + "\n";
  CheckCuda({.text = Kernel({Type(a, "i8"), Type(b, "i8"), Type({y[1]}, "f32")},
                            Widened("%ta", "%a0", a, {"extui", "100", "", ""}) +
                                Widened("%tb", "%a1", b, {"extsi", "", "", ""}) + Multiply(a, b, y) + dequantise,
                            "%e", {Type(y, "f32")})});
}

}  // namespace
}  // namespace tcc::codegen::testing
