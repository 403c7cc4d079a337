// Attention: odd sizes around the blocks, masks of every form, causal, grouped heads, strided operands, dynamic
// lengths.
#include "gtest/gtest.h"
#include "tests/codegen_gemm/harness.h"
#include "tests/codegen_gemm/kernel_text.h"

namespace tcc::codegen::testing {
namespace {

struct Shape {
  int batch = 1, heads = 2, key_heads = 2, queries = 5, keys = 7, depth = 8, width = 8;
  bool causal = false;
  Extents mask = {};  // extents, with "S" and "T" for the lengths; empty: no mask
  std::string mask_element = "f32";
  std::string element = "f32";
  bool split = false;  // operands are read as [B, S, H * D]
  std::string masked_rows = "zero", scale = "0.25";
};

Case Make(const Shape& shape, bool dynamic) {
  auto number = [](int value) { return std::to_string(value); };
  std::string S = dynamic ? "s0" : number(shape.queries), T = dynamic ? "s1" : number(shape.keys);
  std::string B = number(shape.batch), H = number(shape.heads), G = number(shape.key_heads), D = number(shape.depth),
              W = number(shape.width);
  std::string tq = Type({B, H, S, D}, shape.element), tk = Type({B, G, T, D}, shape.element),
              tv = Type({B, G, T, W}, shape.element), ty = Type({B, H, S, W}, shape.element);
  std::vector<std::string> inputs{tq, tk, tv}, names{"%a0", "%a1", "%a2"};
  std::string body;
  if (shape.split) {
    inputs = {Type({B, S, number(shape.heads * shape.depth)}, shape.element),
              Type({B, T, number(shape.key_heads * shape.depth)}, shape.element),
              Type({B, T, number(shape.key_heads * shape.width)}, shape.element)};
    auto map = [](const std::string& d) { return "affine_map<(d0, d1, d2, d3) -> (d0, d2, d1 * " + d + " + d3)>"; };
    names = {"%q", "%k", "%v"};
    body += Read("%q", {B, H, S, D}, "%a0", map(D), inputs[0], shape.element) +
            Read("%k", {B, G, T, D}, "%a1", map(D), inputs[1], shape.element) +
            Read("%v", {B, G, T, W}, "%a2", map(W), inputs[2], shape.element);
  }
  std::string operands = names[0] + ", " + names[1] + ", " + names[2], types = tq + ", " + tk + ", " + tv;
  if (!shape.mask.empty()) {
    Extents extents;
    for (const std::string& extent : shape.mask) extents.push_back(extent == "S" ? S : extent == "T" ? T : extent);
    inputs.push_back(Type(extents, shape.mask_element));
    operands += ", %a3";
    types += ", " + inputs.back();
  }
  body += "    %y = tcc.attention " + operands + " {scale = " + shape.scale +
          " : f64, causal = " + (shape.causal ? "true" : "false") + ", masked_rows = #tcc.masked_rows<" +
          shape.masked_rows + ">} : (" + types + ") -> " + ty + "\n";
  Case test{.text = Kernel(inputs, body, "%y", {ty}, dynamic ? 2 : 0)};
  if (dynamic) test.symbols = {shape.queries, shape.keys};
  return test;
}

void CheckAll(const Shape& shape) {
  for (bool dynamic : {false, true})
    for (const char* cpu : {"", "x86-64-v3"}) {
      SCOPED_TRACE(dynamic ? "dynamic" : "static");
      Case test = Make(shape, dynamic);
      test.cpu = cpu;
      Check(test);
    }
}

// Softmax needs exponentials, which the backend expands: its own tests are the ones to fail where it cannot.
class Attention : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!CanCompileExp()) GTEST_SKIP() << "the backend does not expand math.exp";
  }
};

TEST_F(Attention, Sizes) {
  CheckAll({});
  CheckAll({.queries = 1, .keys = 1, .depth = 3, .width = 5});
  CheckAll({.batch = 2, .queries = 61, .keys = 67, .depth = 33, .width = 40});
  CheckAll({.queries = 1, .keys = 600, .depth = 16, .width = 16});
  CheckAll({.queries = 15, .keys = 1025, .depth = 64, .width = 64});
  CheckAll({.queries = 0, .keys = 4});
  CheckAll({.queries = 4, .keys = 0});
}
TEST_F(Attention, GroupedHeads) { CheckAll({.batch = 2, .heads = 6, .key_heads = 2, .queries = 9, .keys = 11}); }
TEST_F(Attention, Causal) {
  CheckAll({.queries = 70, .keys = 70, .causal = true});
  CheckAll({.queries = 3, .keys = 40, .causal = true});
  CheckAll({.queries = 40, .keys = 3, .causal = true});  // the first queries see no key: zero
}
TEST_F(Attention, Masks) {
  CheckAll({.batch = 2, .queries = 9, .keys = 37, .mask = {"2", "1", "1", "T"}, .mask_element = "i1"});
  CheckAll({.queries = 9, .keys = 37, .mask = {"S", "T"}});
  CheckAll({.batch = 2, .queries = 9, .keys = 37, .causal = true, .mask = {"2", "2", "S", "T"}});
  CheckAll({.queries = 9, .keys = 37, .mask = {"1", "2", "S", "1"}});
  CheckAll({.queries = 3, .keys = 2, .mask = {"S", "T"}, .mask_element = "i1"});
}
TEST_F(Attention, MaskedRows) {
  const std::string infinite = "0x7FF0000000000000";  // scores are infinite or NaN
  for (const char* masked_rows : {"nan", "zero", "guarded"}) {
    SCOPED_TRACE(masked_rows);
    CheckAll({.queries = 40, .keys = 3, .causal = true, .masked_rows = masked_rows});
    CheckAll({.queries = 9, .keys = 2, .mask = {"S", "T"}, .mask_element = "i1", .masked_rows = masked_rows});
    CheckAll({.queries = 4, .keys = 0, .masked_rows = masked_rows});
    if (masked_rows != std::string("zero"))
      CheckAll({.queries = 9, .keys = 37, .masked_rows = masked_rows, .scale = infinite});
  }
}
TEST_F(Attention, StridedOperands) {
  CheckAll({.batch = 2, .heads = 3, .key_heads = 3, .queries = 17, .keys = 19, .split = true});
}
TEST_F(Attention, HalfPrecision) {
  for (const char* element : {"f16", "bf16"}) {
    CheckAll({.queries = 17, .keys = 19, .depth = 16, .width = 16, .element = element});
    for (const char* mask : {element, "f32"})
      CheckAll({.queries = 9, .keys = 37, .mask = {"S", "T"}, .mask_element = mask, .element = element});
  }
}

}  // namespace
}  // namespace tcc::codegen::testing
