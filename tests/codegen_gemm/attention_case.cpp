#include "tests/codegen_gemm/attention_case.h"

namespace tcc::codegen::testing {

Case AttentionCase(const AttentionShape& shape, bool dynamic) {
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

}  // namespace tcc::codegen::testing
