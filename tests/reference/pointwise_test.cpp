#include "test_util.h"

namespace tcc::reference {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr DType kIntegers[] = {DType::kI8, DType::kI16, DType::kI32, DType::kI64,
                               DType::kU8, DType::kU16, DType::kU32, DType::kU64};
constexpr DType kFloats[] = {DType::kF16, DType::kBF16, DType::kF32, DType::kF64};

Tensor Binary(const char* op, const Tensor& a, const Tensor& b) { return Eval(op, {a, b}); }

TEST(Registry, NamesAreSortedAndFound) {
  const auto names = Names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (std::string_view name : names) EXPECT_NE(Find(name), nullptr) << name;
  EXPECT_EQ(Find("no_such_op"), nullptr);
  EXPECT_EQ(Find(""), nullptr);
}

TEST(Registry, ChecksInputsAndResults) {
  const Tensor x = Floats({2}, {1, 2});
  EXPECT_THAT(ErrorOf("add", {x}), HasSubstr("add: takes 2 inputs, got 1"));
  EXPECT_THAT(ErrorOf("add", {x, Tensor()}), HasSubstr("add: input 1 is missing"));
  EXPECT_THAT(ErrorOf("add", {x, Floats({3}, {1, 2, 3})}), HasSubstr("equal extents"));
  EXPECT_THAT(ErrorOf("add", {x, x}, {}, {{DType::kF32, {3}}}), HasSubstr("is expected"));
  EXPECT_EQ(ErrorOf("add", {x, x}, {}, {{DType::kF32, {-1}}}), "");
  EXPECT_THAT(ErrorOf("sqrt", {Longs({1}, {4})}), HasSubstr("dtype i64 is not supported, only f32, f64"));
}

TEST(Pointwise, AddCoversEveryNumericType) {
  for (DType t : kIntegers)
    EXPECT_EQ(Values(Binary("add", Typed(t, {3}, {1, 2, 3}), Typed(t, {3}, {4, 5, 6}))), Numbers({5, 7, 9}));
  for (DType t : kFloats)
    EXPECT_EQ(Values(Binary("add", Typed(t, {2}, {1, 2}), Typed(t, {2}, {.5, -2}))), Numbers({1.5, 0}));
  const Tensor f8 = Binary("add", Typed(DType::kF8E4M3FN, {2}, {1, 2}), Typed(DType::kF8E4M3FN, {2}, {1, 0.5}));
  EXPECT_EQ(f8.dtype(), DType::kF8E4M3FN);
  EXPECT_EQ(Values(f8), Numbers({2, 2.5}));
  const Tensor i4 = Binary("add", Typed(DType::kI4, {3}, {1, 7, -8}), Typed(DType::kI4, {3}, {2, 1, -1}));
  EXPECT_EQ(i4.dtype(), DType::kI4);
  EXPECT_EQ(Values(i4), Numbers({3, -8, 7}));  // wraps in four bits
  const auto c = List<std::complex<float>>(
      Eval("mul", {Make<std::complex<float>>({1}, {{1, 2}}), Make<std::complex<float>>({1}, {{3, -1}})}));
  EXPECT_EQ(c[0], std::complex<float>(5, 5));
}

TEST(Pointwise, IntegersWrap) {
  EXPECT_EQ(Values(Binary("add", Typed(DType::kI8, {1}, {127}), Typed(DType::kI8, {1}, {1}))), Numbers({-128}));
  EXPECT_EQ(Values(Binary("mul", Typed(DType::kU16, {1}, {65535}), Typed(DType::kU16, {1}, {65535}))), Numbers({1}));
  EXPECT_EQ(List<int64_t>(Binary("add", Longs({1}, {INT64_MAX}), Longs({1}, {1})))[0], INT64_MIN);
  EXPECT_EQ(Values(Eval("neg", {Typed(DType::kI32, {1}, {INT32_MIN})})), Numbers({INT32_MIN}));
  EXPECT_EQ(Values(Eval("abs", {Typed(DType::kI8, {2}, {-128, -5})})), Numbers({-128, 5}));
}

TEST(Pointwise, IntegerDivisionTruncates) {
  const Tensor a = Longs({4}, {8, -8, 7, -7});
  EXPECT_THAT(List<int64_t>(Binary("div", a, Longs({4}, {-3, 3, -2, 2}))), ElementsAre(-2, -2, -3, -3));
  EXPECT_THAT(List<int64_t>(Binary("div", Longs({2}, {5, INT64_MIN}), Longs({2}, {0, -1}))), ElementsAre(0, INT64_MIN));
}

TEST(Pointwise, Remainders) {
  EXPECT_EQ(Values(Binary("mod", Longs({4}, {-5, 5, 18542495, 7}), Longs({4}, {3, -3, 32, 0}))),
            Numbers({1, -1, 31, 0}));
  EXPECT_EQ(Values(Binary("fmod", Longs({2}, {-5, INT64_MIN}), Longs({2}, {3, -1}))), Numbers({-2, 0}));
  EXPECT_EQ(Values(Binary("fmod", Floats({1}, {-5.5}), Floats({1}, {3}))), Numbers({-2.5}));
  EXPECT_EQ(Values(Binary("mod", Floats({1}, {-5.5}), Floats({1}, {3}))), Numbers({0.5}));
  EXPECT_EQ(Values(Binary("mod", Typed(DType::kU8, {1}, {200}), Typed(DType::kU8, {1}, {7}))), Numbers({4}));
}

TEST(Pointwise, IntegerPower) {
  EXPECT_EQ(Values(Binary("pow", Longs({6}, {2, 3, -2, 2, 1, -1}), Longs({6}, {10, 0, 3, -1, -4, -3}))),
            Numbers({1024, 1, -8, 0, 1, -1}));
  EXPECT_EQ(List<int64_t>(Binary("pow", Longs({1}, {2}), Longs({1}, {64})))[0], 0);
}

TEST(Pointwise, MaximumKeepsNan) {
  ExpectNear(Binary("max", Floats({3}, {1, kNan, 2}), Floats({3}, {kNan, 1, 3})), {kNan, kNan, 3});
  ExpectNear(Binary("min", Floats({3}, {1, kNan, 2}), Floats({3}, {kNan, 1, 3})), {kNan, kNan, 2});
}

TEST(Pointwise, Shifts) {
  EXPECT_EQ(Values(Binary("shift_left", Typed(DType::kU8, {3}, {16, 1, 255}), Typed(DType::kU8, {3}, {1, 8, 7}))),
            Numbers({32, 0, 128}));
  EXPECT_EQ(Values(Binary("shift_right", Typed(DType::kI8, {3}, {-16, -1, 64}), Typed(DType::kI8, {3}, {2, 100, 6}))),
            Numbers({-4, -1, 1}));
  EXPECT_EQ(Values(Binary("shift_right", Typed(DType::kU32, {1}, {7}), Typed(DType::kU32, {1}, {32}))), Numbers({0}));
}

TEST(Pointwise, LogicAndBits) {
  const Tensor a = Make<bool>({4}, {0, 0, 1, 1}), b = Make<bool>({4}, {0, 1, 0, 1});
  EXPECT_EQ(Values(Binary("and", a, b)), Numbers({0, 0, 0, 1}));
  EXPECT_EQ(Values(Binary("or", a, b)), Numbers({0, 1, 1, 1}));
  EXPECT_EQ(Values(Binary("xor", a, b)), Numbers({0, 1, 1, 0}));
  EXPECT_EQ(Values(Eval("not", {a})), Numbers({1, 1, 0, 0}));
  EXPECT_EQ(Values(Eval("not", {Typed(DType::kU8, {1}, {1})})), Numbers({254}));
  EXPECT_EQ(Values(Binary("xor", Typed(DType::kI16, {1}, {6}), Typed(DType::kI16, {1}, {3}))), Numbers({5}));
}

TEST(Pointwise, BoolBytesOtherThanOneAreTrue) {
  Tensor a = Make<bool>({2}, {0, 0}), b = Make<bool>({2}, {1, 1});
  a.data_as<uint8_t>()[1] = 2;
  EXPECT_EQ(Values(Binary("and", a, b)), Numbers({0, 1}));
  EXPECT_EQ(Values(Eval("not", {a})), Numbers({1, 0}));
}

TEST(Pointwise, RoundingTiesToEven) {
  EXPECT_EQ(Values(Eval("round", {Floats({7}, {0.5, 1.5, 2.5, -0.5, -1.5, 2.4, -2.6})})),
            Numbers({0, 2, 2, 0, -2, 2, -3}));
  EXPECT_EQ(Values(Eval("floor", {Floats({2}, {-1.5, 1.5})})), Numbers({-2, 1}));
  EXPECT_EQ(Values(Eval("ceil", {Floats({2}, {-1.5, 1.5})})), Numbers({-1, 2}));
  EXPECT_EQ(Values(Eval("trunc", {Floats({2}, {-1.5, 1.5})})), Numbers({-1, 1}));
  EXPECT_EQ(Values(Eval("floor", {Longs({1}, {5})})), Numbers({5}));
}

TEST(Pointwise, SignAndTests) {
  ExpectNear(Eval("sign", {Floats({4}, {-3, 0, kInf, kNan})}), {-1, 0, 1, kNan});
  EXPECT_EQ(Values(Eval("is_nan", {Floats({3}, {1, kNan, kInf})})), Numbers({0, 1, 0}));
  EXPECT_EQ(Values(Eval("is_inf", {Floats({3}, {kInf, -kInf, kNan})},
                        {{"detect_negative", int64_t{0}}, {"detect_positive", int64_t{1}}})),
            Numbers({1, 0, 0}));
  EXPECT_EQ(Values(Eval("is_nan", {Typed(DType::kBF16, {2}, {1, kNan})})), Numbers({0, 1}));
}

TEST(Pointwise, Functions) {
  const struct {
    const char* op;
    double x, y;
  } kCases[] = {{"sqrt", 2, 1.4142135623730951},
                {"rsqrt", 4, 0.5},
                {"reciprocal", 8, 0.125},
                {"exp", 1, 2.718281828459045},
                {"expm1", 1e-5, 1.0000050000166667e-05},
                {"log", 10, 2.302585092994046},
                {"log1p", 1e-5, 9.999950000333332e-06},
                {"sin", 1, 0.8414709848078965},
                {"cos", 1, 0.5403023058681398},
                {"tan", 1, 1.5574077246549023},
                {"asin", 0.5, 0.5235987755982989},
                {"acos", 0.5, 1.0471975511965979},
                {"atan", 1, 0.7853981633974483},
                {"sinh", 1, 1.1752011936438014},
                {"cosh", 1, 1.5430806348152437},
                {"tanh", 1, 0.7615941559557649},
                {"asinh", 1, 0.881373587019543},
                {"acosh", 2, 1.3169578969248166},
                {"atanh", 0.5, 0.5493061443340549},
                {"erf", 0.5, 0.5204998778130465},
                {"sigmoid", 1, 0.7310585786300049}};
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.op);
    ExpectNear(Eval(c.op, {Make<double>({1}, {c.x})}), {c.y}, 1e-14);
    ExpectNear(Eval(c.op, {Floats({1}, {static_cast<float>(c.x)})}), {c.y}, 3e-7);
    ExpectNear(Eval(c.op, {Typed(DType::kF16, {1}, {c.x})}), {c.y}, 2e-3);
  }
  ExpectNear(Eval("sigmoid", {Floats({2}, {-1000, 1000})}), {0, 1});
  ExpectNear(Binary("atan2", Floats({1}, {1}), Floats({1}, {-1})), {2.356194490192345});
}

TEST(Pointwise, StridedOperands) {
  const Tensor a = Ramp({3, 5, 2}), b = Reordered(Ramp({3, 5, 2}));
  EXPECT_FALSE(b.is_contiguous());
  EXPECT_EQ(Values(Binary("add", a, b)), Values(Binary("add", a, a)));
  EXPECT_EQ(Values(Binary("sub", b, a)), Numbers(30, 0.0));
  const Tensor reversed = a.View({30}, {-1}, 29);
  EXPECT_EQ(Values(Binary("sub", reversed, Ramp({30})))[0], 29);
  const Tensor repeated = Floats({1}, {2}).View({3, 2}, {0, 0}, 0);
  EXPECT_EQ(Values(Eval("neg", {repeated})), Numbers(6, -2.0));
}

TEST(Pointwise, EmptyAndScalar) {
  EXPECT_EQ(DimsOf(Binary("add", Floats({0, 3}, {}), Floats({0, 3}, {}))), Ints({0, 3}));
  EXPECT_EQ(Values(Binary("add", Tensor::Scalar(1.f), Tensor::Scalar(2.f))), Numbers({3}));
}

TEST(Compare, EveryPredicate) {
  const Tensor a = Floats({4}, {1, 2, 3, kNan}), b = Floats({4}, {2, 2, 2, kNan});
  const auto run = [&](const char* p) { return Values(Eval("compare", {a, b}, {{"predicate", std::string(p)}})); };
  EXPECT_EQ(run("eq"), Numbers({0, 1, 0, 0}));
  EXPECT_EQ(run("ne"), Numbers({1, 0, 1, 1}));
  EXPECT_EQ(run("lt"), Numbers({1, 0, 0, 0}));
  EXPECT_EQ(run("le"), Numbers({1, 1, 0, 0}));
  EXPECT_EQ(run("gt"), Numbers({0, 0, 1, 0}));
  EXPECT_EQ(run("ge"), Numbers({0, 1, 1, 0}));
  EXPECT_THAT(ErrorOf("compare", {a, b}, {{"predicate", std::string("==")}}), HasSubstr("none of eq"));
  const Tensor big = Longs({1}, {(int64_t{1} << 53) + 1}), near = Longs({1}, {int64_t{1} << 53});
  EXPECT_EQ(Values(Eval("compare", {big, near}, {{"predicate", std::string("gt")}})), Numbers({1}));
  EXPECT_EQ(Values(Eval("compare", {Make<std::string>({2}, {"a", "b"}), Make<std::string>({2}, {"a", "c"})},
                        {{"predicate", std::string("eq")}})),
            Numbers({1, 0}));
}

TEST(Select, TakesEitherSide) {
  const Tensor c = Make<bool>({3}, {1, 0, 1});
  EXPECT_EQ(Values(Eval("select", {c, Floats({3}, {1, 2, 3}), Floats({3}, {4, 5, 6})})), Numbers({1, 5, 3}));
  EXPECT_EQ(List<std::string>(
                Eval("select", {c, Make<std::string>({3}, {"a", "b", "c"}), Make<std::string>({3}, {"x", "y", "z"})})),
            Strings({"a", "y", "c"}));
  EXPECT_EQ(Values(Eval("select", {c, Typed(DType::kU4, {3}, {1, 2, 15}), Typed(DType::kU4, {3}, {4, 5, 6})})),
            Numbers({1, 5, 15}));
}

Tensor Cast(const Tensor& x, DType to, bool saturate = true) {
  return Eval("cast", {x}, {{"saturate", int64_t{saturate}}}, {{to, x.dims()}});
}

TEST(Cast, FloatToIntegerTruncatesAndSaturates) {
  const Tensor x = Floats({6}, {1.9f, -1.9f, 300, -300, kNan, kInf});
  EXPECT_EQ(Values(Cast(x, DType::kI8)), Numbers({1, -1, 127, -128, 0, 127}));
  EXPECT_EQ(Values(Cast(x, DType::kU8)), Numbers({1, 0, 255, 0, 0, 255}));
  EXPECT_EQ(List<int64_t>(Cast(Floats({2}, {1e30f, -1e30f}), DType::kI64)), Ints({INT64_MAX, INT64_MIN}));
  EXPECT_EQ(Values(Cast(Floats({4}, {1.9f, -1.9f, 8, kNan}), DType::kI4)),
            Numbers({1, -1, -8, 0}));  // packed ones wrap
  EXPECT_EQ(Values(Cast(x, DType::kBool)), Numbers({1, 1, 1, 1, 1, 1}));
}

TEST(Cast, IntegersWrap) {
  EXPECT_EQ(Values(Cast(Longs({3}, {300, -1, 256}), DType::kU8)), Numbers({44, 255, 0}));
  EXPECT_EQ(Values(Cast(Longs({2}, {8, -9}), DType::kI4)), Numbers({-8, 7}));
  EXPECT_EQ(List<float>(Cast(Make<uint64_t>({1}, {UINT64_MAX}), DType::kF32))[0], 18446744073709551616.0f);
  // One rounding: through float64 this would be a tie and go the other way.
  EXPECT_EQ(List<float>(Cast(Longs({1}, {9007199791611905}), DType::kF32))[0], 9007200328482816.0f);
}

TEST(Cast, Float8) {
  const Tensor x = Floats({4}, {1e4f, kInf, -1e4f, 0.1f});
  ExpectNear(Cast(x, DType::kF8E4M3FN), {448, 448, -448, 0.1015625});
  ExpectNear(Cast(x, DType::kF8E4M3FN, false), {kNan, kNan, kNan, 0.1015625});
  ExpectNear(Cast(x, DType::kF8E5M2), {10240, 57344, -10240, 0.09375});
  ExpectNear(Cast(Floats({2}, {kInf, 1e4f}), DType::kF8E4M3FNUZ), {kNan, 240});
}

TEST(Cast, RoundTripsOfNarrowTypes) {
  for (DType t : {DType::kF16, DType::kBF16, DType::kF8E4M3FN, DType::kF8E5M2, DType::kF4E2M1, DType::kI4, DType::kI2,
                  DType::kI16, DType::kF64, DType::kC64}) {
    EXPECT_EQ(Values(Cast(Cast(Floats({3}, {0, 1, -1}), t), DType::kF32)), Numbers({0, 1, -1})) << static_cast<int>(t);
  }
  EXPECT_EQ(Values(Cast(Reordered(Ramp({3, 4})), DType::kI32)), Values(Ramp({3, 4})));
}

TEST(Cast, Strings) {
  EXPECT_EQ(List<std::string>(Cast(Longs({2}, {-7, 12}), DType::kString)), Strings({"-7", "12"}));
  EXPECT_EQ(List<std::string>(Cast(Floats({4}, {0.5f, kNan, -kInf, 0.1f}), DType::kString)),
            Strings({"0.5", "NaN", "-INF", "0.1"}));
  ExpectNear(Cast(Make<std::string>({4}, {"1.5", "NaN", "-INF", "1e3"}), DType::kF32), {1.5, kNan, -kInf, 1000});
  EXPECT_EQ(Values(Cast(Make<std::string>({2}, {"42", "-3"}), DType::kI64)), Numbers({42, -3}));
  EXPECT_THAT(ErrorOf("cast", {Make<std::string>({1}, {"many"})}, {}, {{DType::kF32, {1}}}), HasSubstr("not a number"));
}

TEST(Bitcast, KeepsBits) {
  EXPECT_EQ(Values(Eval("bitcast", {Floats({1}, {1})}, {}, {{DType::kI32, {1}}})), Numbers({0x3f800000}));
  EXPECT_THAT(ErrorOf("bitcast", {Floats({1}, {1})}, {}, {{DType::kI64, {1}}}), HasSubstr("same width"));
}

}  // namespace
}  // namespace tcc::reference
