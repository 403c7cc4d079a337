// Pointwise ops and casts.
#include "tests/codegen_fusion/fusion_test.h"

namespace tcc::codegen {
namespace {

std::string unary(const std::string& op, const std::string& type) {
  return "func.func @f(%x: " + type + ") -> " + type + " {\n%y = tcc." + op + " %x : " + type +
         "\nreturn %y : " + type + "\n}";
}
std::string binary(const std::string& op, const std::string& type) {
  return "func.func @f(%x: " + type + ", %z: " + type + ") -> " + type + " {\n%y = tcc." + op + " %x, %z : " + type +
         "\nreturn %y : " + type + "\n}";
}

std::vector<Case> pointwiseCases() {
  std::vector<Case> cases;
  for (const char* op : {"abs", "neg", "sign", "ceil", "floor", "round", "trunc", "reciprocal", "exp", "sin", "cos",
                         "tanh", "erf", "sigmoid", "sqrt", "log", "atan"})
    cases.push_back({std::string(op) + "_f32", unary(op, "tensor<3x7xf32>"), {}, 1});
  for (const char* op : {"neg", "exp"}) cases.push_back({std::string(op) + "_f16", unary(op, "tensor<13xf16>"), {}, 1});
  for (const char* op : {"add", "sub", "mul", "div", "mod", "fmod", "max", "min", "atan2"})
    cases.push_back({std::string(op) + "_f32", binary(op, "tensor<5x3xf32>"), {}, 1});
  for (const char* type : {"i64", "i32", "i8", "ui8"})
    for (const char* op :
         {"add", "sub", "mul", "div", "mod", "fmod", "max", "min", "and", "or", "xor", "shift_left", "shift_right"}) {
      Case c{std::string(op) + "_" + type, binary(op, "tensor<31x" + std::string(type) + ">"), {}, 1};
      if (std::string(op).find("shift") == 0) c.indexLimits = {0, 3};
      if (std::string(op).find("shift") == 0 && type[0] != 'u') continue;  // negative amounts mean nothing
      cases.push_back(c);
    }
  for (const char* type : {"f32", "i32", "ui8"})
    for (const char* predicate : {"eq", "ne", "lt", "le", "gt", "ge"}) {
      std::string t = "tensor<17x" + std::string(type) + ">";
      cases.push_back({std::string("compare_") + predicate + "_" + type,
                       "func.func @f(%x: " + t + ", %z: " + t +
                           ") -> tensor<17xi1> {\n%y = tcc.compare %x, %z {predicate = "
                           "#tcc.predicate<" +
                           predicate + ">} : (" + t + ", " + t + ") -> tensor<17xi1>\nreturn %y : tensor<17xi1>\n}",
                       {},
                       1});
    }
  for (const char* from : {"f32", "f64", "i64", "i8", "ui8", "i1", "f16"})
    for (const char* to : {"f32", "f64", "i64", "i8", "ui8", "i1"})
      if (std::string(from) != to)
        cases.push_back(
            {std::string("cast_") + from + "_" + to,
             single("cast", "", "tensor<19x" + std::string(from) + ">", "tensor<19x" + std::string(to) + ">"),
             {},
             1});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Pointwise, FusionTest, ::testing::ValuesIn(pointwiseCases()), nameOfCase);

}  // namespace
}  // namespace tcc::codegen
