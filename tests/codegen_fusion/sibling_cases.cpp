// Kernels that read the same: shapes are such that the tensor is large enough to be worth it, and odd.
#include "tests/codegen_fusion/fusion_test.h"

namespace tcc::codegen {
namespace {

std::vector<Case> siblingCases() {
  std::vector<Case> cases;
  for (const char* element : {"f32", "f16", "i32"}) {
    // 131 * 129 elements of two bytes are more than 32 KiB.
    std::string t = "tensor<131x129x" + std::string(element) + ">", row = "tensor<131x" + std::string(element) + ">";
    std::string f = "func.func @f(%x: " + t + ", %y: " + t + ") -> ";
    auto reduce = [&](const std::string& name, const std::string& kind, const std::string& of) {
      return "  " + name + " = tcc.reduce " + of + " {kind = #tcc.reduce_kind<" + kind +
             ">, axes = array<i64: 1>, keep_dims = false} : (" + t + ") -> " + row + "\n";
    };
    cases.push_back({std::string("pointwise_") + element,
                     f + "(" + t + ", " + t + ", " + t + ") {\n" + "  %a = tcc.max %x, %y : " + t +
                         "\n  %b = tcc.sub %x, %y : " + t + "\n  %c = tcc.abs %x : " + t +
                         "\n  return %a, %b, %c : " + t + ", " + t + ", " + t + "\n}",
                     {},
                     1});
    cases.push_back({std::string("reductions_") + element,
                     f + "(" + row + ", " + row + ", " + row + ", " + row + ") {\n" + reduce("%a", "max", "%x") +
                         reduce("%b", "sum", "%x") + reduce("%c", "min", "%x") + "  %q = tcc.mul %x, %y : " + t + "\n" +
                         reduce("%d", "sum", "%q") + "  return %a, %b, %c, %d : " + row + ", " + row + ", " + row +
                         ", " + row + "\n}",
                     {},
                     1});
  }
  cases.push_back({"equal_reductions",
                   R"(func.func @f(%x: tensor<131x129xf32>) -> (tensor<131xf32>, tensor<131x1xf32>, tensor<131xf32>) {
        %a = tcc.reduce %x {kind = #tcc.reduce_kind<mean>, axes = array<i64: 1>, keep_dims = false} : (tensor<131x129xf32>) -> tensor<131xf32>
        %b = tcc.softmax %x {axis = 1 : i64} : (tensor<131x129xf32>) -> tensor<131x129xf32>
        %c = tcc.reduce %b {kind = #tcc.reduce_kind<max>, axes = array<i64: 1>, keep_dims = true} : (tensor<131x129xf32>) -> tensor<131x1xf32>
        %d = tcc.reduce %x {kind = #tcc.reduce_kind<max>, axes = array<i64: 1>, keep_dims = false} : (tensor<131x129xf32>) -> tensor<131xf32>
        return %a, %c, %d : tensor<131xf32>, tensor<131x1xf32>, tensor<131xf32> })"});
  // The second reads the first's mean, row by row.
  cases.push_back({"moments",
                   R"(func.func @f(%x: tensor<131x129xf32>) -> (tensor<131xf32>, tensor<131xf32>) {
        %a = tcc.reduce %x {kind = #tcc.reduce_kind<mean>, axes = array<i64: 1>, keep_dims = false} : (tensor<131x129xf32>) -> tensor<131xf32>
        %q = tcc.mul %x, %x : tensor<131x129xf32>
        %m = tcc.reduce %q {kind = #tcc.reduce_kind<mean>, axes = array<i64: 1>, keep_dims = false} : (tensor<131x129xf32>) -> tensor<131xf32>
        %s = tcc.exp %a : tensor<131xf32>
        %v = tcc.sub %m, %s : tensor<131xf32>
        return %s, %v : tensor<131xf32>, tensor<131xf32> })",
                   {},
                   1});
  // ... and here in the reduction itself: two passes.
  cases.push_back({"two_passes",
                   R"(func.func @f(%x: tensor<131x129xf32>) -> (tensor<131x1xf32>, tensor<131x1xf32>) {
        %a = tcc.reduce %x {kind = #tcc.reduce_kind<mean>, axes = array<i64: 1>, keep_dims = true} : (tensor<131x129xf32>) -> tensor<131x1xf32>
        %w = tcc.broadcast %a : (tensor<131x1xf32>) -> tensor<131x129xf32>
        %c = tcc.sub %x, %w : tensor<131x129xf32>
        %q = tcc.mul %c, %c : tensor<131x129xf32>
        %m = tcc.reduce %q {kind = #tcc.reduce_kind<mean>, axes = array<i64: 1>, keep_dims = true} : (tensor<131x129xf32>) -> tensor<131x1xf32>
        return %a, %m : tensor<131x1xf32>, tensor<131x1xf32> })"});
  // Four kernels of six can be one; results change places.
  std::string many = "func.func @f(%x: tensor<131x129xf32>) -> (", returned = "  return ", types;
  std::string body;
  int i = 0;
  for (const char* op : {"exp", "tanh", "sigmoid", "sin", "cos", "abs"}) {
    std::string name = "%v" + std::to_string(i);
    body += "  " + name + " = tcc." + op + " %x : tensor<131x129xf32>\n";
    returned += (i ? ", " : "") + name;
    types += std::string(i++ ? ", " : "") + "tensor<131x129xf32>";
  }
  cases.push_back({"many", many + types + ") {\n" + body + returned + " : " + types + "\n}", {}, 2});
  // A library call in between, of what is made and for what is to come.
  cases.push_back(
      {"between",
       R"(func.func @f(%x: tensor<131x129xf32>, %y: tensor<131x129xf32>) -> (tensor<131x129xf32>, tensor<131x129xf32>) {
        %t = tcc.sigmoid %x : tensor<131x129xf32>
        %s = tcc.scan %y {kind = #tcc.reduce_kind<sum>, axis = 0 : i64, exclusive = false, reverse = false} : (tensor<131x129xf32>) -> tensor<131x129xf32>
        %u = tcc.scan %t {kind = #tcc.reduce_kind<sum>, axis = 1 : i64, exclusive = false, reverse = false} : (tensor<131x129xf32>) -> tensor<131x129xf32>
        %v = tcc.mul %x, %s : tensor<131x129xf32>
        return %u, %v : tensor<131x129xf32>, tensor<131x129xf32> })",
       {},
       1});
  cases.push_back(
      {"dynamic",
       R"(func.func @f(%x: tensor<?x?x3xf32, #tcc.extents<s0, s1, 3>>) -> (tensor<?xf32, #tcc.extents<s0>>, tensor<?xf32, #tcc.extents<s0>>)
          attributes {tcc.symbols = [#tcc.symbol<"a", 0, 640, 1>, #tcc.symbol<"b", 0, 640, 1>]} {
        %a = tcc.reduce %x {kind = #tcc.reduce_kind<sum>, axes = array<i64: 1, 2>, keep_dims = false} : (tensor<?x?x3xf32, #tcc.extents<s0, s1, 3>>) -> tensor<?xf32, #tcc.extents<s0>>
        %b = tcc.reduce %x {kind = #tcc.reduce_kind<mean>, axes = array<i64: 1, 2>, keep_dims = false} : (tensor<?x?x3xf32, #tcc.extents<s0, s1, 3>>) -> tensor<?xf32, #tcc.extents<s0>>
        return %a, %b : tensor<?xf32, #tcc.extents<s0>>, tensor<?xf32, #tcc.extents<s0>> })",
       {5, 7},
       1});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Sibling, FusionTest, ::testing::ValuesIn(siblingCases()), nameOfCase);

}  // namespace
}  // namespace tcc::codegen
