//===- Text.cpp -----------------------------------------------------------===//
#include "codegen/cuda/print/Text.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using llvm::APFloat;
using llvm::APInt;
using llvm::StringRef;

namespace tcc::codegen::cuda_print {

std::string atLeast(const Expr &expr, Precedence least) {
  return expr.precedence < least ? "(" + expr.text + ")" : expr.text;
}

bool isKnownWidth(unsigned width) { return width == 1 || width == 8 || width == 16 || width == 32 || width == 64; }

StringRef signedType(unsigned width) {
  switch (width) {
  case 1:
    return "bool";
  case 8:
    return "signed char";
  case 16:
    return "short";
  case 32:
    return "int";
  default:
    return "long long";
  }
}

StringRef unsignedType(unsigned width) {
  switch (width) {
  case 1:
    return "bool";
  case 8:
    return "unsigned char";
  case 16:
    return "unsigned short";
  case 32:
    return "unsigned";
  default:
    return "unsigned long long";
  }
}

//===- Literals ------------------------------------------------------------===//

std::string signedLiteral(const APInt &value, bool typed) {
  unsigned width = value.getBitWidth();
  if (width == 1)
    return value.isZero() ? "false" : "true";
  // The smallest number of a type is no literal in C++: its magnitude does not fit.
  if (width >= 32 && value.isMinSignedValue())
    return width == 32 ? "(-2147483647 - 1)" : "(-9223372036854775807LL - 1)";
  std::string text = llvm::toString(value, 10, /*Signed=*/true);
  if (width == 64 && (typed || !value.isSignedIntN(32)))
    return text + "LL";
  if (width < 32 && typed)
    return "(" + signedType(width).str() + ")" + (value.isNegative() ? "(" + text + ")" : text);
  return text;
}

std::string unsignedLiteral(const APInt &value) {
  unsigned width = value.getBitWidth();
  if (width == 1)
    return value.isZero() ? "false" : "true";
  // Masks read better in hexadecimal.
  llvm::SmallString<32> text;
  if (value.ugt(0xffff) || (width < 64 && value.isAllOnes())) {
    text = "0x";
    value.toString(text, 16, /*Signed=*/false, /*formatAsCLiteral=*/false, /*UpperCase=*/false);
  } else {
    value.toString(text, 10, /*Signed=*/false);
  }
  if (width == 64)
    text += "ull";
  else if (width == 32)
    text += "u";
  return text.str().str();
}

// The shortest decimal text of at most nine digits that denotes the number exactly, if there is one.
static std::string exactDecimal(const APFloat &value) {
  double number = value.convertToDouble();
  APFloat wide = value;
  bool loses;
  wide.convert(APFloat::IEEEquad(), APFloat::rmNearestTiesToEven, &loses);
  for (int digits = 1; digits <= 9; ++digits) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%.*g", digits, number);
    APFloat read(APFloat::IEEEquad());
    auto status = read.convertFromString(text, APFloat::rmNearestTiesToEven);
    if (status && *status == APFloat::opOK && read == wide)
      return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
    if (!status)
      llvm::consumeError(status.takeError());
  }
  return {};
}

Expr floatLiteral(const APFloat &value) {
  bool isDouble = &value.getSemantics() == &APFloat::IEEEdouble();
  StringRef type = isDouble ? "double" : "float", suffix = isDouble ? "" : "f";
  bool isNegative = value.isNegative();
  Precedence precedence = isNegative ? Precedence::Unary : Precedence::Postfix;
  std::string sign = isNegative ? "-" : "";
  if (value.isInfinity())
    return {sign + "tcc::inf<" + type.str() + ">()", precedence};
  if (value.isNaN()) {
    APInt bits = value.bitcastToAPInt();
    if (bits == APFloat::getNaN(value.getSemantics()).bitcastToAPInt())
      return {"tcc::nan<" + type.str() + ">()"};
    return {"tcc::bit_cast<" + type.str() + ">(" + unsignedLiteral(bits) + ")"};
  }
  APFloat magnitude = value;
  if (isNegative)
    magnitude.changeSign();
  if (std::string decimal = exactDecimal(magnitude); !decimal.empty())
    return {sign + decimal + suffix.str(), precedence};
  char hex[64];
  unsigned length = magnitude.convertToHexString(hex, /*hexDigits=*/0, /*upperCase=*/false, APFloat::rmTowardZero);
  std::string about;
  llvm::raw_string_ostream(about) << llvm::format("%.4g", magnitude.convertToDouble());
  return {sign + std::string(hex, length) + suffix.str() + " /*" + about + "*/", precedence};
}

//===- Texts from outside --------------------------------------------------===//

std::string commentText(StringRef text, size_t limit) {
  std::string result;
  for (char c : text) {
    if (result.size() == limit) {
      result += "...";
      break;
    }
    bool isPlain = c >= ' ' && c <= '~' && c != '\\';
    result += isPlain ? c : '_';
  }
  // No trigraph is left to join lines, and no comment ends or begins.
  for (StringRef bad : {"??", "*/", "/*"})
    for (size_t at = result.find(bad); at != std::string::npos; at = result.find(bad))
      result[at] = '_';
  return result;
}

bool isIdentifier(StringRef text) {
  return !text.empty() && !llvm::isDigit(text.front()) &&
         llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

std::string identifier(StringRef text) {
  std::string result;
  for (char c : text.take_front(24))
    if (llvm::isAlnum(c))
      result += llvm::toLower(c);                     // macros are in capitals
    else if (!result.empty() && result.back() != '_') // two are reserved
      result += '_';
  while (!result.empty() && result.back() == '_')
    result.pop_back();
  if (!result.empty() && llvm::isDigit(result.front()))
    result = "v" + result;
  return result;
}

} // namespace tcc::codegen::cuda_print
