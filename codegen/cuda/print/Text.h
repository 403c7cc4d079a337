//===- Text.h - pieces of C++ text --------------------------------*- C++ -*-===//
#pragma once

#include <optional>
#include <string>

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APSInt.h"

namespace tcc::codegen::cuda_print {

/// How tightly an expression holds together, from loose to tight.
enum class Precedence {
  Conditional,
  LogicalOr,
  LogicalAnd,
  BitOr,
  BitXor,
  BitAnd,
  Equality,
  Relation,
  Shift,
  Sum,
  Product,
  Unary,
  Postfix,
};

/// The text of a value. Of an integer of width w it denotes the number modulo 2^w: as the signed type (what every
/// variable has), or as the unsigned type of the same width; of fewer than 32 bits, the C++ type may be a promoted int,
/// the number is in range all the same. Of a vector it denotes the element `e`.
struct Expr {
  std::string text;
  Precedence precedence = Precedence::Postfix;
  bool isUnsigned = false;
  /// An integer literal, whose type is int where that holds it, else that of its value.
  std::optional<llvm::APInt> literal = {};
};

/// The name of the element in texts of vectors.
inline constexpr llvm::StringLiteral kElement = "e";

/// With parentheses where something that binds as tightly as `least` is asked for.
std::string atLeast(const Expr &expr, Precedence least);

/// Widths that the printer knows: 1, 8, 16, 32, 64.
bool isKnownWidth(unsigned width);
llvm::StringRef signedType(unsigned width);
llvm::StringRef unsignedType(unsigned width);

/// Exact literals. `typed`: with the suffix or cast that gives them the type of their width.
std::string signedLiteral(const llvm::APInt &value, bool typed);
std::string unsignedLiteral(const llvm::APInt &value);
/// float or double.
Expr floatLiteral(const llvm::APFloat &value);

/// What a text from outside may look like in a comment of one line: printable ASCII that ends no line and no comment.
std::string commentText(llvm::StringRef text, size_t limit = 100);
/// An identifier made of a text from outside; empty where nothing of it can be used.
std::string identifier(llvm::StringRef text);
bool isIdentifier(llvm::StringRef text);

} // namespace tcc::codegen::cuda_print
