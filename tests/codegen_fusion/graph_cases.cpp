// Reductions and small graphs.
#include "tests/codegen_fusion/fusion_test.h"

namespace tcc::codegen {
namespace {

std::vector<Case> reductionCases() {
  std::vector<Case> cases;
  for (const char* kind : {"sum", "prod", "max", "min", "mean"})
    for (const char* type : {"f32", "i32", "ui8", "f16"}) {
      if (std::string(kind) == "mean" && type[0] != 'f') continue;
      std::string from = "tensor<2x3x5x" + std::string(type) + ">", to = "tensor<2x1x1x" + std::string(type) + ">";
      cases.push_back(
          {std::string("reduce_") + kind + "_" + type,
           single("reduce",
                  std::string("{kind = #tcc.reduce_kind<") + kind + ">, axes = array<i64: 1, 2>, keep_dims = true}",
                  from, to)});
    }
  cases.push_back(
      {"reduce_any", single("reduce", "{kind = #tcc.reduce_kind<max>, axes = array<i64: 0>, keep_dims = false}",
                            "tensor<3x5xi1>", "tensor<5xi1>")});
  for (const char* kind : {"max", "min"})
    for (const char* last : {"true", "false"})
      cases.push_back({std::string("arg_") + kind + "_" + last, single("arg_reduce",
                                                                       std::string("{kind = #tcc.reduce_kind<") + kind +
                                                                           ">, axis = 1 : i64, keep_dims = false, "
                                                                           "select_last = " +
                                                                           last + "}",
                                                                       "tensor<3x7x2xi32>", "tensor<3x2xi64>")});
  for (const char* op : {"softmax", "log_softmax"})
    for (int axis : {0, 1, 2})
      cases.push_back(
          {std::string(op) + std::to_string(axis),
           single(op, "{axis = " + std::to_string(axis) + " : i64}", "tensor<2x3x7xf32>", "tensor<2x3x7xf32>"),
           {},
           1});
  cases.push_back({"layer_norm",
                   single("layer_norm", "{axis = 1 : i64, epsilon = 1.0e-5}", "tensor<4x3x5xf32>", "tensor<4x3x5xf32>"),
                   {},
                   1});
  cases.push_back({"layer_norm_f16",
                   single("layer_norm", "{axis = 1 : i64, epsilon = 1.0e-5}", "tensor<4x15xf16>", "tensor<4x15xf16>"),
                   {},
                   1});
  cases.push_back({"rms_norm",
                   single("rms_norm", "{axis = 2 : i64, epsilon = 1.0e-5}", "tensor<4x3x5xf32>", "tensor<4x3x5xf32>"),
                   {},
                   1});
  for (const char* ceil : {"true", "false"}) {
    std::string out = ceil[0] == 't' ? "tensor<1x2x4x3xf32>" : "tensor<1x2x3x3xf32>";
    std::string window =
        "{kernel = array<i64: 3, 2>, strides = array<i64: 2, 2>, padding_low = array<i64: 1, 0>, padding_high = "
        "array<i64: 0, 1>, dilations = array<i64: 1, 1>, ceil_mode = " +
        std::string(ceil);
    cases.push_back(
        {std::string("max_pool_") + ceil, single("max_pool", window + "}", "tensor<1x2x7x6xf32>", out), {}, 1});
    for (const char* include : {"true", "false"})
      cases.push_back(
          {std::string("avg_pool_") + ceil + include,
           single("avg_pool", window + ", count_include_pad = " + include + "}", "tensor<1x2x7x6xf32>", out),
           {},
           1});
  }
  return cases;
}

std::vector<Case> graphCases() {
  return {
      {"chain",
       R"(func.func @f(%x: tensor<3x5xf32>, %b: tensor<5xf32>) -> tensor<3x5xf32> {
        %c = tcc.constant dense<0.5> : tensor<f32>
        %s = tcc.broadcast %c : (tensor<f32>) -> tensor<3x5xf32>
        %m = tcc.mul %x, %s : tensor<3x5xf32>
        %bb = tcc.broadcast %b : (tensor<5xf32>) -> tensor<3x5xf32>
        %a = tcc.add %m, %bb : tensor<3x5xf32>
        %t = tcc.tanh %a : tensor<3x5xf32>
        return %t : tensor<3x5xf32> })",
       {},
       1},
      {"diamond",
       R"(func.func @f(%x: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
        %a = tcc.exp %x : tensor<3x5xf32>
        %b = tcc.neg %a : tensor<3x5xf32>
        %c = tcc.mul %a, %b : tensor<3x5xf32>
        return %a, %c : tensor<3x5xf32>, tensor<3x5xf32> })",
       {},
       1},
      {"gemm_epilogue",
       R"(func.func @f(%x: tensor<6x4xf32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>, %r: tensor<6x8xf32>) -> tensor<6x8xf32> {
        %m = tcc.matmul %x, %w : (tensor<6x4xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
        %bb = tcc.broadcast %b : (tensor<8xf32>) -> tensor<6x8xf32>
        %a = tcc.add %m, %bb : tensor<6x8xf32>
        %g = tcc.sigmoid %a : tensor<6x8xf32>
        %y = tcc.add %g, %r : tensor<6x8xf32>
        return %y : tensor<6x8xf32> })",
       {},
       1},
      // What the epilogue absorbed must not count as readers of the matmul.
      {"gelu_epilogue",
       R"(func.func @f(%x: tensor<6x4xf32>, %w: tensor<4x8xf32>) -> tensor<6x8xf32> {
        %h = tcc.constant dense<0.5> : tensor<6x8xf32>
        %r = tcc.constant dense<0.70710678> : tensor<6x8xf32>
        %m = tcc.matmul %x, %w : (tensor<6x4xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
        %a = tcc.mul %m, %h : tensor<6x8xf32>
        %s = tcc.mul %m, %r : tensor<6x8xf32>
        %e = tcc.erf %s : tensor<6x8xf32>
        %f = tcc.add %e, %h : tensor<6x8xf32>
        %y = tcc.mul %a, %f : tensor<6x8xf32>
        return %y : tensor<6x8xf32> })",
       {},
       1},
      // Heads of attention: matmul, bias, reshape, transpose.
      {"split_heads",
       R"(func.func @f(%x: tensor<6x4xf32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<2x2x3x4xf32> {
        %m = tcc.matmul %x, %w : (tensor<6x4xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
        %bb = tcc.broadcast %b : (tensor<8xf32>) -> tensor<6x8xf32>
        %a = tcc.add %m, %bb : tensor<6x8xf32>
        %h = tcc.reshape %a : (tensor<6x8xf32>) -> tensor<2x3x2x4xf32>
        %t = tcc.transpose %h {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x3x2x4xf32>) -> tensor<2x2x3x4xf32>
        return %t : tensor<2x2x3x4xf32> })",
       {},
       1},
      {"transposed_operand",
       R"(func.func @f(%x: tensor<6x4xf32>, %w: tensor<8x4xf32>) -> tensor<6x8xf32> {
        %t = tcc.transpose %w {permutation = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
        %m = tcc.matmul %x, %t : (tensor<6x4xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
        return %m : tensor<6x8xf32> })",
       {},
       1},
      {"residual_norm",
       R"(func.func @f(%x: tensor<6x8xf32>, %r: tensor<6x8xf32>, %g: tensor<8xf32>) -> (tensor<6x8xf32>, tensor<6x8xf32>) {
        %a = tcc.add %x, %r : tensor<6x8xf32>
        %n = tcc.layer_norm %a {axis = 1 : i64, epsilon = 1.0e-5} : (tensor<6x8xf32>) -> tensor<6x8xf32>
        %gg = tcc.broadcast %g : (tensor<8xf32>) -> tensor<6x8xf32>
        %y = tcc.mul %n, %gg : tensor<6x8xf32>
        %z = tcc.add %y, %a : tensor<6x8xf32>
        return %y, %z : tensor<6x8xf32>, tensor<6x8xf32> })"},
      {"norm_scale",
       R"(func.func @f(%x: tensor<6x8xf32>, %g: tensor<8xf32>) -> tensor<6x8xf32> {
        %n = tcc.layer_norm %x {axis = 1 : i64, epsilon = 1.0e-5} : (tensor<6x8xf32>) -> tensor<6x8xf32>
        %gg = tcc.broadcast %g : (tensor<8xf32>) -> tensor<6x8xf32>
        %y = tcc.mul %n, %gg : tensor<6x8xf32>
        return %y : tensor<6x8xf32> })",
       {},
       1},
      {"softmax_prologue",
       R"(func.func @f(%x: tensor<2x6x8xf32>, %m: tensor<2x1x8xf32>) -> tensor<2x6x8xf32> {
        %c = tcc.constant dense<0.125> : tensor<2x6x8xf32>
        %s = tcc.mul %x, %c : tensor<2x6x8xf32>
        %mm = tcc.broadcast %m : (tensor<2x1x8xf32>) -> tensor<2x6x8xf32>
        %a = tcc.add %s, %mm : tensor<2x6x8xf32>
        %y = tcc.softmax %a {axis = 2 : i64} : (tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
        return %y : tensor<2x6x8xf32> })",
       {},
       1},
      {"reshape_between",
       R"(func.func @f(%x: tensor<4x6xf32>) -> tensor<3x8xf32> {
        %a = tcc.exp %x : tensor<4x6xf32>
        %r = tcc.reshape %a : (tensor<4x6xf32>) -> tensor<3x8xf32>
        %b = tcc.neg %r : tensor<3x8xf32>
        return %b : tensor<3x8xf32> })",
       {},
       1},
      // exp stays apart: it would run for padding and the other operand too.
      {"pad_then_concat",
       R"(func.func @f(%x: tensor<3x5xf32>, %y: tensor<3x4xf32>) -> tensor<5x9xf32> {
        %a = tcc.exp %x : tensor<3x5xf32>
        %c = tcc.concat %a, %y {axis = 1 : i64} : (tensor<3x5xf32>, tensor<3x4xf32>) -> tensor<3x9xf32>
        %p = tcc.pad %c {low = #tcc.extents<1, 0>, high = #tcc.extents<1, 0>, mode = #tcc.pad_mode<constant>} : (tensor<3x9xf32>) -> tensor<5x9xf32>
        %n = tcc.neg %p : tensor<5x9xf32>
        return %n : tensor<5x9xf32> })",
       {},
       2},
      {"dynamic",
       R"(func.func @f(%x: tensor<?x4xf32, #tcc.extents<s0, 4>>, %b: tensor<4xf32>) -> tensor<?xf32, #tcc.extents<s0 * 4>>
          attributes {tcc.symbols = [#tcc.symbol<"n", 2, 64, 1>]} {
        %bb = tcc.broadcast %b : (tensor<4xf32>) -> tensor<?x4xf32, #tcc.extents<s0, 4>>
        %a = tcc.add %x, %bb : tensor<?x4xf32, #tcc.extents<s0, 4>>
        %t = tcc.transpose %a {permutation = array<i64: 1, 0>} : (tensor<?x4xf32, #tcc.extents<s0, 4>>) -> tensor<4x?xf32, #tcc.extents<4, s0>>
        %r = tcc.reshape %t : (tensor<4x?xf32, #tcc.extents<4, s0>>) -> tensor<?xf32, #tcc.extents<s0 * 4>>
        %y = tcc.tanh %r : tensor<?xf32, #tcc.extents<s0 * 4>>
        return %y : tensor<?xf32, #tcc.extents<s0 * 4>> })",
       {5}},
      {"dynamic_heads",
       R"(func.func @f(%x: tensor<?x?x6xf32, #tcc.extents<s0, s1, 6>>) -> tensor<?x2x?x3xf32, #tcc.extents<s0, 2, s1, 3>>
          attributes {tcc.symbols = [#tcc.symbol<"b", 1, 64, 1>, #tcc.symbol<"t", 1, 64, 1>]} {
        %e = tcc.exp %x : tensor<?x?x6xf32, #tcc.extents<s0, s1, 6>>
        %m = tcc.reshape %e : (tensor<?x?x6xf32, #tcc.extents<s0, s1, 6>>) -> tensor<?x6xf32, #tcc.extents<s0 * s1, 6>>
        %n = tcc.neg %m : tensor<?x6xf32, #tcc.extents<s0 * s1, 6>>
        %h = tcc.reshape %n : (tensor<?x6xf32, #tcc.extents<s0 * s1, 6>>) -> tensor<?x?x2x3xf32, #tcc.extents<s0, s1, 2, 3>>
        %t = tcc.transpose %h {permutation = array<i64: 0, 2, 1, 3>} : (tensor<?x?x2x3xf32, #tcc.extents<s0, s1, 2, 3>>) -> tensor<?x2x?x3xf32, #tcc.extents<s0, 2, s1, 3>>
        return %t : tensor<?x2x?x3xf32, #tcc.extents<s0, 2, s1, 3>> })",
       {3, 5},
       1},
      {"branch",
       R"(func.func @f(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
        %r = tcc.if %c : (tensor<i1>) -> tensor<4xf32> {
          %a = tcc.exp %x : tensor<4xf32>
          %b = tcc.neg %a : tensor<4xf32>
          tcc.yield %b : tensor<4xf32>
        } else {
          tcc.yield %x : tensor<4xf32>
        }
        return %r : tensor<4xf32> })",
       {},
       1},
      {"embedding",
       R"(func.func @f(%ids: tensor<1x7xi64>, %table: tensor<11x4xf32>, %pos: tensor<7x4xf32>) -> tensor<1x7x4xf32> {
        %e = tcc.gather %table, %ids {axis = 0 : i64} : (tensor<11x4xf32>, tensor<1x7xi64>) -> tensor<1x7x4xf32>
        %p = tcc.broadcast %pos : (tensor<7x4xf32>) -> tensor<1x7x4xf32>
        %a = tcc.add %e, %p : tensor<1x7x4xf32>
        %n = tcc.layer_norm %a {axis = 2 : i64, epsilon = 1.0e-5} : (tensor<1x7x4xf32>) -> tensor<1x7x4xf32>
        return %n : tensor<1x7x4xf32> })",
       {},
       2,
       {11}},
      {"pool_of_relu",
       R"(func.func @f(%x: tensor<1x2x6x6xf32>) -> tensor<1x2x3x3xf32> {
        %z = tcc.constant dense<0.0> : tensor<1x2x6x6xf32>
        %r = tcc.max %x, %z : tensor<1x2x6x6xf32>
        %p = tcc.max_pool %r {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding_low = array<i64: 0, 0>, padding_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, ceil_mode = false} : (tensor<1x2x6x6xf32>) -> tensor<1x2x3x3xf32>
        return %p : tensor<1x2x3x3xf32> })",
       {},
       1},
  };
}

INSTANTIATE_TEST_SUITE_P(Reduction, FusionTest, ::testing::ValuesIn(reductionCases()), nameOfCase);
INSTANTIATE_TEST_SUITE_P(Graph, FusionTest, ::testing::ValuesIn(graphCases()), nameOfCase);

}  // namespace
}  // namespace tcc::codegen
