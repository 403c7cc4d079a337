// Scatters with what is made before and after them.
#include "tests/codegen_fusion/fusion_test.h"

namespace tcc::codegen {
namespace {

// y = x with updates added to rows, between other ops.
std::string rows(const std::string& before, const std::string& x, const std::string& u, const std::string& after = "",
                 const std::string& result = "%y") {
  return "func.func @f(%a: tensor<6x5xf32>, %i: tensor<4x1xi64>, %b: tensor<4x5xf32>) -> tensor<6x5xf32> {\n" + before +
         "%y = tcc.scatter_nd " + x + ", %i, " + u +
         " {kind = #tcc.scatter_kind<add>} : (tensor<6x5xf32>, tensor<4x1xi64>, tensor<4x5xf32>) -> tensor<6x5xf32>\n" +
         after + "return " + result + " : tensor<6x5xf32>\n}";
}

std::vector<Case> scatterCases() {
  const std::string zeros =
                        "%c = tcc.constant dense<0.0> : tensor<f32>\n"
                        "%x = tcc.broadcast %c : (tensor<f32>) -> tensor<6x5xf32>\n",
                    update = "%u = tcc.exp %b : tensor<4x5xf32>\n", data = "%x = tcc.neg %a : tensor<6x5xf32>\n",
                    maximum =
                        "%m = tcc.reduce %b {kind = #tcc.reduce_kind<max>, axes = array<i64: 1>, keep_dims = true} : "
                        "(tensor<4x5xf32>) -> tensor<4x1xf32>\n%u = tcc.broadcast %m : (tensor<4x1xf32>) -> "
                        "tensor<4x5xf32>\n";
  return {
      {"rows", rows("", "%a", "%b"), {}, 1, {0, 6}},
      {"rows_beyond", rows("", "%a", "%b"), {}, 1, {0, 6}, 6, true},
      // What makes the operand and the updates is done where they are read.
      {"into_zeros", rows(zeros, "%x", "%b"), {}, 1, {0, 6}},
      {"into_pointwise", rows(data, "%x", "%b"), {}, 1, {0, 6}},
      {"of_pointwise", rows(update, "%a", "%u"), {}, 1, {0, 6}},
      {"both", rows(data + update, "%x", "%u"), {}, 1, {0, 6}},
      {"both_beyond", rows(data + update, "%x", "%u"), {}, 1, {0, 6}, -7, true},
      // Not reductions before it, nor anything after it.
      {"of_reduction", rows(maximum, "%a", "%u"), {}, 2, {0, 6}},
      {"before_pointwise", rows("", "%a", "%b", "%z = tcc.exp %y : tensor<6x5xf32>\n", "%z"), {}, 2, {0, 6}},
      {"same_operands",
       "func.func @f(%a: tensor<5xi64>) -> tensor<5xi64> {\n%y = tcc.scatter_elements %a, %a, %a {axis = 0 : i64, kind "
       "= "
       "#tcc.scatter_kind<max>} : (tensor<5xi64>, tensor<5xi64>, tensor<5xi64>) -> tensor<5xi64>\nreturn %y : "
       "tensor<5xi64>\n}",
       {},
       1,
       {5}},
      // Sums of half floats round once.
      {"halves",
       "func.func @f(%a: tensor<3xf16>, %i: tensor<400xi64>, %b: tensor<400xf16>) -> tensor<3xf16> {\n%y = "
       "tcc.scatter_elements %a, %i, %b {axis = 0 : i64, kind = #tcc.scatter_kind<add>} : (tensor<3xf16>, "
       "tensor<400xi64>, tensor<400xf16>) -> tensor<3xf16>\nreturn %y : tensor<3xf16>\n}",
       {},
       1,
       {0, 3}},
      // No axis is indexed: a library call.
      {"empty_tuple",
       "func.func @f(%a: tensor<5xf32>, %i: tensor<2x0xi64>, %b: tensor<2x5xf32>) -> tensor<5xf32> {\n%y = "
       "tcc.scatter_nd %a, %i, %b {kind = #tcc.scatter_kind<add>} : (tensor<5xf32>, tensor<2x0xi64>, tensor<2x5xf32>) "
       "-> tensor<5xf32>\nreturn %y : tensor<5xf32>\n}",
       {},
       0},
  };
}

INSTANTIATE_TEST_SUITE_P(Scatter, FusionTest, ::testing::ValuesIn(scatterCases()), nameOfCase);

}  // namespace
}  // namespace tcc::codegen
