#include "tests/codegen_gemm/kernel_text.h"

namespace tcc::codegen::testing {

std::string Type(const std::vector<std::string>& extents, const std::string& element) {
  std::string type = "tensor<", list;
  bool dynamic = false;
  for (const std::string& extent : extents) {
    bool symbolic = extent.find_first_not_of("0123456789") != std::string::npos;
    dynamic |= symbolic;
    type += (symbolic ? "?" : extent) + "x";
    list += (list.empty() ? "" : ", ") + extent;
  }
  type += element;
  if (dynamic) type += ", #tcc.extents<" + list + ">";
  return type + ">";
}

std::string List(const Extents& extents) {
  std::string list;
  for (const std::string& extent : extents) list += (list.empty() ? "" : ", ") + extent;
  return "#tcc.extents<" + list + ">";
}
std::string Identity(size_t rank) {
  std::string dims;
  for (size_t i = 0; i < rank; ++i) dims += (i ? ", d" : "d") + std::to_string(i);
  return "affine_map<(" + dims + ") -> (" + dims + ")>";
}
std::string Arguments(size_t rank) {
  std::string text;
  for (size_t i = 0; i < rank; ++i) text += (i ? ", %i" : "%i") + std::to_string(i);
  return text;
}
std::string BlockArguments(size_t rank) {
  std::string text = "^bb0(";
  for (size_t i = 0; i < rank; ++i) text += (i ? ", %i" : "%i") + std::to_string(i) + ": index";
  return text + "):";
}

// The function around a kernel: inputs %0.., body text that yields what `yields` says.
std::string Kernel(const std::vector<std::string>& inputs, const std::string& body, const std::string& yields,
                   const std::vector<std::string>& results, int symbols) {
  std::string text = "func.func @f(", names, types, inner, resultTypes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string n = std::to_string(i), comma = i ? ", " : "";
    text += comma + "%x" + n + ": " + inputs[i];
    names += comma + "%x" + n;
    types += comma + inputs[i];
    inner += comma + "%a" + n + ": " + inputs[i];
  }
  for (size_t i = 0; i < results.size(); ++i) resultTypes += (i ? ", " : "") + results[i];
  text += ") -> (" + resultTypes + ")";
  std::string symbolList;
  for (int i = 0; i < symbols; ++i)
    symbolList += (i ? ", " : "") + ("#tcc.symbol<\"s" + std::to_string(i) + "\", 0, 100000, 1>");
  text += " attributes {tcc.symbols = [" + symbolList + "]} {\n";
  text += "  %y:" + std::to_string(results.size()) + " = tcc.kernel(" + names + ") [\"test\"] : (" + types + ") -> (" +
          resultTypes + ") {\n";
  text += "  ^bb0(" + inner + "):\n" + body + "    tcc.yield " + yields + " : " + resultTypes + "\n  }\n  return ";
  for (size_t i = 0; i < results.size(); ++i) text += (i ? ", %y#" : "%y#") + std::to_string(i);
  return text + " : " + resultTypes + "\n}\n";
}

// A tcc.loops that reads `from` at `map`.
std::string Read(const std::string& name, const Extents& extents, const std::string& from, const std::string& map,
                 const std::string& fromType, const std::string& element) {
  return "    " + name + " = tcc.loops " + List(extents) + " reduce 0 [] {\n    " + BlockArguments(extents.size()) +
         "\n      %v = tcc.load " + from + "[" + map + "](" + Arguments(extents.size()) + ") : " + fromType + " -> " +
         element + "\n      tcc.yield %v : " + element + "\n    } : " + Type(extents, element) + "\n";
}

}  // namespace tcc::codegen::testing
