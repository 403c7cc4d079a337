#include "ir/Extents.h"

#include <gtest/gtest.h>

#include <random>

#include "ir/OpAttributes.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/MLIRContext.h"

namespace tcc::ir {
namespace {

class ExtentsTest : public testing::Test {
 protected:
  ExtentsTest() { context.loadDialect<TCCDialect>(); }

  /// What a list prints as after it was parsed, which simplifies.
  std::string simplified(const std::string& list) {
    std::string text;
    llvm::raw_string_ostream(text) << mlir::parseAttribute("#tcc.extents<" + list + ">", &context);
    return text.substr(std::string("#tcc.extents<").size(), text.size() - std::string("#tcc.extents<>").size());
  }

  mlir::MLIRContext context;
};

TEST_F(ExtentsTest, EqualPolynomialsAreEqualExpressions) {
  EXPECT_EQ(simplified("s1 * s0"), simplified("s0 * s1"));
  EXPECT_EQ(simplified("(s0 + 1) * (s0 - 1) + 1"), simplified("s0 * s0"));
  EXPECT_EQ(simplified("s0 * (s1 * 12) * 64"), simplified("(s1 * 768) * s0"));
  EXPECT_EQ(simplified("s0 - s0"), "0");
  EXPECT_EQ(simplified("s1 + s0 * 2 + s1 + 3"), "s0 * 2 + s1 * 2 + 3");
}

TEST_F(ExtentsTest, ExactDivisions) {
  // A reshape with -1: what is left of the number of elements.
  EXPECT_EQ(simplified("(s0 * s1 * 768) floordiv (s0 * 12)"), "s1 * 64");
  EXPECT_EQ(simplified("(s0 * s1) floordiv (s1 * s0)"), "1");
  EXPECT_EQ(simplified("(s0 * 4 + s1 + 5) floordiv 4"), "s0 + (s1 + 1) floordiv 4 + 1");
  EXPECT_EQ(simplified("(s0 * 2 + 1) floordiv 4"), "s0 floordiv 2");
  EXPECT_EQ(simplified("(s0 * 4 + 6) mod 4"), "2");
  EXPECT_EQ(simplified("(s0 * s1) mod s1"), "0");
  // Not exact: it stays.
  EXPECT_EQ(simplified("s0 floordiv s1"), "s0 floordiv s1");
  EXPECT_EQ(simplified("(s0 * 3) floordiv 2"), simplified("s0 + s0 floordiv 2"));
}

TEST_F(ExtentsTest, StridedWindowsCompose) {
  EXPECT_EQ(simplified("((s0 - 1) floordiv 2 + 1 - 1) floordiv 2 + 1"), "(s0 + 3) floordiv 4");
  EXPECT_EQ(simplified("((s0 + 1) ceildiv 2)"), simplified("(s0 + 2) floordiv 2"));
}

TEST_F(ExtentsTest, DivisionByZeroIsNoCrash) {
  for (const char* text : {"s0 floordiv 0", "s0 mod 0", "s0 ceildiv 0", "5 floordiv 0", "s0 floordiv (s1 - s1)",
                           "s0 mod (s1 - s1)", "s0 floordiv (0 - 3)", "s0 mod (0 - 3)"})
    (void)simplified(text);
  EXPECT_EQ(simplified("9223372036854775807 * s0 * 2"), simplified("9223372036854775807 * s0 * 2"));
}

/// A random expression over s0, s1, s2 whose divisors are positive.
mlir::AffineExpr randomExpr(std::mt19937& random, mlir::MLIRContext* context, int depth) {
  auto pick = [&](int n) { return static_cast<int>(random() % n); };
  if (depth == 0 || pick(5) == 0)
    return pick(3) == 0 ? mlir::getAffineConstantExpr(pick(9) - 2, context)
                        : mlir::getAffineSymbolExpr(pick(3), context);
  auto divisor = [&]() {
    return pick(3) == 0 ? mlir::getAffineSymbolExpr(pick(3), context) * (pick(3) + 1)
                        : mlir::getAffineConstantExpr(pick(6) + 1, context);
  };
  mlir::AffineExpr l = randomExpr(random, context, depth - 1);
  switch (pick(6)) {
    case 0:
    case 1:
      return l + randomExpr(random, context, depth - 1);
    case 2:
      return l * randomExpr(random, context, depth - 1);
    case 3:
      return l.floorDiv(divisor());
    case 4:
      return l.ceilDiv(divisor());
    default:
      return l % divisor();
  }
}

TEST_F(ExtentsTest, SimplificationKeepsTheValueAndIsStable) {
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    mlir::AffineExpr expr = randomExpr(random, &context, 4);
    mlir::AffineExpr simple = simplifyExtent(expr);
    for (int sample = 0; sample < 4; ++sample) {
      int64_t values[] = {1 + static_cast<int64_t>(random() % 20), 1 + static_cast<int64_t>(random() % 20),
                          1 + static_cast<int64_t>(random() % 20)};
      auto at = [&](unsigned position) -> std::optional<int64_t> { return values[position]; };
      std::string text;
      llvm::raw_string_ostream(text) << expr << " -> " << simple << " at " << values[0] << ", " << values[1] << ", "
                                     << values[2];
      ASSERT_EQ(evaluate(expr, at), evaluate(simple, at)) << text;
    }
    std::string text;
    llvm::raw_string_ostream(text) << expr << " -> " << simple << " -> " << simplifyExtent(simple);
    ASSERT_EQ(simplifyExtent(simple), simple) << text;
  }
}

TEST_F(ExtentsTest, Ranges) {
  mlir::Builder builder(&context);
  auto symbols =
      builder.getArrayAttr({SymbolAttr::get(&context, "a", 2, 10, 1), SymbolAttr::get(&context, "b", 1, INT64_MAX, 1)});
  mlir::AffineExpr a = builder.getAffineSymbolExpr(0), b = builder.getAffineSymbolExpr(1);
  EXPECT_EQ(getValueRange(a * 3 - 7, symbols), std::make_pair(int64_t{-1}, int64_t{23}));
  EXPECT_EQ(getRange(a - 20, symbols), std::make_pair(int64_t{0}, int64_t{0}));
  EXPECT_EQ(getValueRange(a.floorDiv(4), symbols), std::make_pair(int64_t{0}, int64_t{2}));
  EXPECT_EQ(getValueRange(a % 4, symbols), std::make_pair(int64_t{0}, int64_t{3}));
  EXPECT_EQ(getValueRange(a * b, symbols), std::make_pair(int64_t{2}, int64_t{INT64_MAX}));
  EXPECT_EQ(getValueRange(-b, symbols).second, -1);
  EXPECT_EQ(getValueRange(builder.getAffineSymbolExpr(9), symbols), std::make_pair(int64_t{0}, int64_t{INT64_MAX}));
}

}  // namespace
}  // namespace tcc::ir
