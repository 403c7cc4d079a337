//===- Names.cpp ----------------------------------------------------------===//
#include "codegen/cuda/print/Names.h"

#include "llvm/ADT/StringRef.h"

namespace tcc::codegen::cuda_print {
namespace {

// What a name from outside must not be: words of C++ and CUDA, functions the text may call, names of the printer.
const llvm::StringSet<> &reserved() {
  static const llvm::StringSet<> words = {"alignas",       "alignof",
                                          "and",           "and_eq",
                                          "asm",           "atomic",
                                          "auto",          "bitand",
                                          "bitor",         "bool",
                                          "break",         "case",
                                          "catch",         "char",
                                          "class",         "compl",
                                          "concept",       "const",
                                          "consteval",     "constexpr",
                                          "constinit",     "const_cast",
                                          "continue",      "co_await",
                                          "co_return",     "co_yield",
                                          "decltype",      "default",
                                          "delete",        "do",
                                          "double",        "dynamic_cast",
                                          "else",          "enum",
                                          "explicit",      "export",
                                          "extern",        "false",
                                          "float",         "for",
                                          "friend",        "goto",
                                          "half",          "if",
                                          "inline",        "int",
                                          "long",          "mutable",
                                          "namespace",     "new",
                                          "noexcept",      "not",
                                          "not_eq",        "nullptr",
                                          "operator",      "or",
                                          "or_eq",         "private",
                                          "protected",     "public",
                                          "register",      "reinterpret_cast",
                                          "requires",      "return",
                                          "short",         "signed",
                                          "sizeof",        "static",
                                          "static_assert", "static_cast",
                                          "struct",        "switch",
                                          "template",      "this",
                                          "thread_local",  "throw",
                                          "true",          "try",
                                          "typedef",       "typeid",
                                          "typename",      "union",
                                          "unsigned",      "using",
                                          "virtual",       "void",
                                          "volatile",      "wchar_t",
                                          "while",         "xor",
                                          "xor_eq",        "e",
                                          "tcc",           "std",
                                          "main",          "warpSize",
                                          "threadIdx",     "blockIdx",
                                          "blockDim",      "gridDim",
                                          "asin",          "acos",
                                          "atan",          "atan2",
                                          "sin",           "cos",
                                          "tan",           "sinh",
                                          "cosh",          "tanh",
                                          "asinh",         "acosh",
                                          "atanh",         "exp",
                                          "exp2",          "expm1",
                                          "log",           "log2",
                                          "log10",         "log1p",
                                          "pow",           "sqrt",
                                          "rsqrt",         "cbrt",
                                          "erf",           "fabs",
                                          "floor",         "ceil",
                                          "round",         "rint",
                                          "trunc",         "fma",
                                          "fmod",          "fmin",
                                          "fmax",          "copysign",
                                          "dim3",          "unix",
                                          "linux",         "assert",
                                          "asinf",         "acosf",
                                          "atanf",         "atan2f",
                                          "sinf",          "cosf",
                                          "tanf",          "sinhf",
                                          "coshf",         "tanhf",
                                          "asinhf",        "acoshf",
                                          "atanhf",        "expf",
                                          "exp2f",         "expm1f",
                                          "logf",          "log2f",
                                          "log10f",        "log1pf",
                                          "powf",          "sqrtf",
                                          "rsqrtf",        "cbrtf",
                                          "erff",          "fabsf",
                                          "floorf",        "ceilf",
                                          "roundf",        "rintf",
                                          "truncf",        "fmaf",
                                          "fmodf",         "fminf",
                                          "fmaxf",         "copysignf"};
  return words;
}

} // namespace

void Names::closeScope() {
  for (const std::string &name : scopes.pop_back_val())
    used.erase(name);
}

bool Names::take(const std::string &name) {
  if (reserved().contains(name) || !used.insert(name).second)
    return false;
  scopes.back().push_back(name);
  return true;
}

std::string Names::role(llvm::StringRef base) {
  std::string name = base.str() + suffix;
  for (unsigned i = 1; !take(name); ++i)
    name = base.str() + "_" + std::to_string(i) + suffix;
  return name;
}

std::string Names::number(llvm::StringRef base) {
  std::string name;
  unsigned i = 0;
  do
    name = base.str() + std::to_string(i++) + suffix;
  while (!take(name));
  return name;
}

std::string Names::loopIndex() {
  for (const char *base : {"i", "j", "k", "l", "m", "p", "q"})
    if (std::string name = base + suffix; take(name))
      return name;
  return role("i");
}

} // namespace tcc::codegen::cuda_print
