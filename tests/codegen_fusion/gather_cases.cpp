// Indices that are data: wrong ones are reported whatever becomes of the element that they name, and only where one is
// read.
#include "tests/codegen_fusion/fusion_test.h"

namespace tcc::codegen {
namespace {

// A gather of 2 elements along an axis of one element.
std::string ofOne(const std::string& before, const std::string& x) {
  return "func.func @f(%a: tensor<3x1xf32>, %i: tensor<2xi64>) -> tensor<3x2xf32> {\n" + before + "%r = tcc.gather " +
         x +
         ", %i {axis = 1 : i64} : (tensor<3x1xf32>, tensor<2xi64>) -> tensor<3x2xf32>\n"
         "%y = tcc.exp %r : tensor<3x2xf32>\nreturn %y : tensor<3x2xf32>\n}";
}

// A gather along an axis over which its operand is constant.
std::string ofBroadcast() {
  return R"(func.func @f(%a: tensor<1x3xf32>, %i: tensor<2xi64>) -> tensor<2x3xf32> {
    %x = tcc.broadcast %a : (tensor<1x3xf32>) -> tensor<4x3xf32>
    %r = tcc.gather %x, %i {axis = 0 : i64} : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
    return %r : tensor<2x3xf32> })";
}

// As many rows as the run has, gathered, and others after them.
std::string beforeConcat(const std::string& gather) {
  const std::string x = "tensor<?x4xf32, #tcc.extents<s0, 4>>", i = "tensor<?x4xi64, #tcc.extents<s1, 4>>",
                    g = "tensor<?x4xf32, #tcc.extents<s1, 4>>", y = "tensor<?x4xf32, #tcc.extents<s2, 4>>",
                    c = "tensor<?x4xf32, #tcc.extents<s1 + s2, 4>>";
  return "func.func @f(%x: " + x + ", %i: " + i + ", %y: " + y + ") -> " + c +
         " attributes {tcc.symbols = [#tcc.symbol<\"n\", 0, 64, 1>, #tcc.symbol<\"m\", 0, 64, 1>, #tcc.symbol<\"k\", "
         "0, 64, "
         "1>]} {\n%g = " +
         gather + " : (" + x + ", " + i + ") -> " + g + "\n%c = tcc.concat %g, %y {axis = 0 : i64} : (" + g + ", " + y +
         ") -> " + c + "\nreturn %c : " + c + "\n}";
}

std::vector<Case> gatherCases() {
  std::string splat = "%x = tcc.constant dense<2.0> : tensor<3x1xf32>\n";
  std::string along0 = "tcc.gather_elements %x, %i {axis = 0 : i64}",
              along1 = "tcc.gather_elements %x, %i {axis = 1 : i64}";
  return {
      {"one", ofOne("", "%a"), {}, 1, {}, 0},
      {"one_from_its_end", ofOne("", "%a"), {}, 1, {}, -1},
      {"one_beyond", ofOne("", "%a"), {}, 1, {}, 1, true},
      {"one_before", ofOne("", "%a"), {}, 1, {}, -2, true},
      {"splat", ofOne(splat, "%x"), {}, 1, {}, 0},
      {"splat_beyond", ofOne(splat, "%x"), {}, 1, {}, 7, true},
      {"broadcast", ofBroadcast(), {}, 1, {}, -4},
      {"broadcast_beyond", ofBroadcast(), {}, 1, {}, 4, true},
      // Rows of `y` are no rows of `x`.
      {"concat_rows", beforeConcat(along1), {2, 2, 3}, 1, {}, 3},
      {"concat_no_rows", beforeConcat(along1), {0, 0, 3}, 1, {}, 3},
      {"concat_too_many_rows", beforeConcat(along1), {2, 3, 3}, 1, {}, 3, true},
      {"concat_beyond", beforeConcat(along1), {2, 2, 3}, 1, {}, 4, true},
      {"concat_elements", beforeConcat(along0), {2, 5, 3}, 1, {}, -2},
      {"concat_no_elements", beforeConcat(along0), {0, 0, 3}, 1, {}, 0},
      {"concat_elements_of_none", beforeConcat(along0), {0, 1, 3}, 1, {}, 0, true},
  };
}

INSTANTIATE_TEST_SUITE_P(Gather, FusionTest, ::testing::ValuesIn(gatherCases()), nameOfCase);

}  // namespace
}  // namespace tcc::codegen
