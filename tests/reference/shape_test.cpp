#include "test_util.h"

namespace tcc::reference {
namespace {

using ::testing::HasSubstr;

using L = std::vector<int64_t>;
std::vector<TensorType> F32(Dims dims) { return {{DType::kF32, dims}}; }

TEST(Reshape, IsAViewOfContiguousData) {
  const Tensor x = Ramp({2, 3});
  const Tensor y = Eval("reshape", {x}, {}, F32({3, -1}));
  EXPECT_EQ(DimsOf(y), L({3, 2}));
  EXPECT_EQ(y.data(), x.data());
  EXPECT_EQ(Values(Eval("reshape", {Reordered(x)}, {}, F32({6}))), Values(x));
  EXPECT_THAT(ErrorOf("reshape", {x}, {}, F32({4})), HasSubstr("do not fit"));
  EXPECT_EQ(Values(Eval("reshape", {Typed(DType::kI4, {2, 3}, {1, 2, 3, -4, 5, 6})}, {}, {{DType::kI4, {6}}})),
            Numbers({1, 2, 3, -4, 5, 6}));
}

TEST(Transpose, PermutesAxes) {
  const Tensor x = Ramp({2, 3, 4});
  const Tensor y = Eval("transpose", {x}, {{"permutation", L{2, 0, 1}}});
  EXPECT_EQ(DimsOf(y), L({4, 2, 3}));
  EXPECT_EQ(Values(y)[7], 5);  // y[1, 0, 1] = x[0, 1, 1]
  EXPECT_EQ(y.data(), x.data());
  EXPECT_THAT(ErrorOf("transpose", {x}, {{"permutation", L{0, 0, 1}}}), HasSubstr("not a permutation"));
  EXPECT_EQ(List<std::string>(
                Eval("transpose", {Make<std::string>({2, 2}, {"a", "b", "c", "d"})}, {{"permutation", L{1, 0}}})),
            Strings({"a", "c", "b", "d"}));
  EXPECT_EQ(Values(Eval("transpose", {Typed(DType::kI4, {2, 3}, {0, 1, 2, 3, 4, -5})}, {{"permutation", L{1, 0}}})),
            Numbers({0, 3, 1, 4, 2, -5}));
}

TEST(Broadcast, AlignsAtTheEnd) {
  EXPECT_EQ(Values(Eval("broadcast", {Floats({2, 1}, {1, 2})}, {}, F32({2, 2, 3}))),
            Numbers({1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}));
  EXPECT_THAT(ErrorOf("broadcast", {Floats({2}, {1, 2})}, {}, F32({3})), HasSubstr("do not broadcast"));
  EXPECT_EQ(DimsOf(Eval("broadcast", {Floats({1}, {1})}, {}, F32({0, 1}))), L({0, 1}));
}

TEST(Slice, StepsAndReverses) {
  const Tensor x = Ramp({10});
  // [9:0:-1]
  EXPECT_EQ(Values(Eval("slice", {x}, {{"starts", L{9}}, {"steps", L{-1}}}, F32({9}))),
            Numbers({9, 8, 7, 6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(Values(Eval("slice", {Ramp({3, 4})}, {{"starts", L{1, 0}}, {"steps", L{1, 2}}}, F32({2, 2}))),
            Numbers({4, 6, 8, 10}));
  EXPECT_THAT(ErrorOf("slice", {x}, {{"starts", L{5}}, {"steps", L{1}}}, F32({6})), HasSubstr("outside its extent 10"));
  EXPECT_THAT(ErrorOf("slice", {x}, {{"starts", L{0}}, {"steps", L{-1}}}, F32({2})), HasSubstr("outside"));
  EXPECT_THAT(ErrorOf("slice", {x}, {{"starts", L{1}}, {"steps", L{INT64_MAX}}}, F32({3})), HasSubstr("overflow"));
  EXPECT_EQ(DimsOf(Eval("slice", {x}, {{"starts", L{10}}, {"steps", L{1}}}, F32({0}))), L({0}));
}

Tensor PadWith(const Tensor& x, L low, L high, const char* mode, Tensor fill = {}) {
  return Eval("pad", {x, fill}, {{"low", low}, {"high", high}, {"mode", std::string(mode)}});
}

TEST(Pad, EveryMode) {
  const Tensor x = Floats({3}, {1, 2, 3});
  EXPECT_EQ(Values(PadWith(x, {1}, {2}, "constant")), Numbers({0, 1, 2, 3, 0, 0}));
  EXPECT_EQ(Values(PadWith(x, {1}, {2}, "constant", Tensor::Scalar(9.f))), Numbers({9, 1, 2, 3, 9, 9}));
  EXPECT_EQ(Values(PadWith(x, {2}, {2}, "reflect")), Numbers({3, 2, 1, 2, 3, 2, 1}));
  EXPECT_EQ(Values(PadWith(x, {2}, {1}, "edge")), Numbers({1, 1, 1, 2, 3, 3}));
  EXPECT_EQ(Values(PadWith(x, {4}, {1}, "wrap")), Numbers({3, 1, 2, 3, 1, 2, 3, 1}));
  EXPECT_EQ(Values(PadWith(x, {-1}, {1}, "constant")), Numbers({2, 3, 0}));
  EXPECT_EQ(Values(PadWith(Reordered(Ramp({2, 2})), {1, 0}, {0, 1}, "constant")), Numbers({0, 0, 0, 0, 1, 0, 2, 3, 0}));
}

TEST(Pad, Limits) {
  const auto error = [](const Tensor& x, L low, L high, const char* mode) {
    return ErrorOf("pad", {x, {}}, {{"low", low}, {"high", high}, {"mode", std::string(mode)}});
  };
  EXPECT_THAT(error(Ramp({3}), {3}, {0}, "reflect"), HasSubstr("exceed extent - 1 = 2"));
  EXPECT_THAT(error(Ramp({3}), {-2}, {-2}, "constant"), HasSubstr("crop more"));
  EXPECT_THAT(error(Ramp({0}), {1}, {0}, "edge"), HasSubstr("no element"));
  EXPECT_THAT(error(Ramp({3}), {INT64_MAX}, {1}, "constant"), HasSubstr("overflow"));
  EXPECT_NE(error(Ramp({3}), {int64_t{1} << 60}, {1}, "constant"), "");
}

TEST(Concat, SkipsEmptyOperands) {
  EXPECT_EQ(Values(Eval("concat", {Floats({0}, {}), Floats({2}, {1, 2})}, {{"axis", int64_t{0}}})), Numbers({1, 2}));
  EXPECT_EQ(Values(Eval("concat", {Ramp({2, 2}), Reordered(Ramp({2, 1}))}, {{"axis", int64_t{-1}}})),
            Numbers({0, 1, 0, 2, 3, 1}));
  EXPECT_THAT(ErrorOf("concat", {Ramp({2, 2}), Ramp({3, 1})}, {{"axis", int64_t{1}}}), HasSubstr("differ off axis"));
  EXPECT_EQ(List<std::string>(
                Eval("concat", {Make<std::string>({1}, {"a"}), Make<std::string>({1}, {"b"})}, {{"axis", int64_t{0}}})),
            Strings({"a", "b"}));
}

TEST(Iota, CountsAlongAnAxis) {
  EXPECT_EQ(Values(Eval("iota", {}, {{"axis", int64_t{0}}}, {{DType::kI64, {3, 2}}})), Numbers({0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(Values(Eval("iota", {}, {{"axis", int64_t{1}}}, {{DType::kBF16, {1, 3}}})), Numbers({0, 1, 2}));
}

TEST(Gather, NegativeAndOutOfRange) {
  const Tensor x = Ramp({3, 4});
  const Tensor y = Eval("gather", {x, Longs({2, 1}, {-1, 0})}, {{"axis", int64_t{0}}});
  EXPECT_EQ(DimsOf(y), L({2, 1, 4}));
  EXPECT_EQ(Values(y), Numbers({8, 9, 10, 11, 0, 1, 2, 3}));
  EXPECT_EQ(Values(Eval("gather", {Reordered(x), Typed(DType::kI32, {2}, {1, 3})}, {{"axis", int64_t{1}}})),
            Numbers({1, 3, 5, 7, 9, 11}));
  EXPECT_THAT(ErrorOf("gather", {x, Longs({1}, {3})}, {{"axis", int64_t{0}}}),
              HasSubstr("gather: index 3 is out of range for axis 0 of extent 3"));
  EXPECT_THAT(ErrorOf("gather", {x, Longs({1}, {-4})}, {{"axis", int64_t{0}}}), HasSubstr("index -4"));
  EXPECT_THAT(ErrorOf("gather", {Floats({0}, {}), Longs({1}, {0})}, {{"axis", int64_t{0}}}), HasSubstr("index 0"));
  EXPECT_EQ(DimsOf(Eval("gather", {x, Longs({}, {1})}, {{"axis", int64_t{1}}})), L({3}));
  EXPECT_EQ(List<std::string>(
                Eval("gather", {Make<std::string>({2}, {"a", "b"}), Longs({3}, {1, 0, 1})}, {{"axis", int64_t{0}}})),
            Strings({"b", "a", "b"}));
  EXPECT_EQ(Values(Eval("gather", {Typed(DType::kU4, {3}, {5, 6, 15}), Longs({2}, {2, 0})}, {{"axis", int64_t{0}}})),
            Numbers({15, 5}));
}

TEST(GatherElements, FollowsTheSpecification) {
  const Tensor x = Floats({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(Values(Eval("gather_elements", {x, Longs({2, 3}, {1, 2, 0, 2, 0, 0})}, {{"axis", int64_t{0}}})),
            Numbers({4, 8, 3, 7, 2, 3}));
  EXPECT_EQ(Values(Eval("gather_elements", {Reordered(x), Longs({2, 1}, {-1, -2})}, {{"axis", int64_t{1}}})),
            Numbers({3, 5}));
  EXPECT_THAT(ErrorOf("gather_elements", {x, Longs({1, 1}, {3})}, {{"axis", int64_t{0}}}), HasSubstr("index 3"));
}

TEST(GatherNd, TuplesAndBatches) {
  EXPECT_EQ(Values(Eval("gather_nd", {Ramp({3, 4}), Longs({2, 2}, {-1, -1, 0, -2})}, {{"batch_dims", int64_t{0}}})),
            Numbers({11, 2}));
  EXPECT_EQ(Values(Eval("gather_nd", {Ramp({2, 2, 2}), Longs({2, 1}, {1, 0})}, {{"batch_dims", int64_t{1}}})),
            Numbers({2, 3, 4, 5}));
  EXPECT_THAT(ErrorOf("gather_nd", {Ramp({3, 4}), Longs({1, 2}, {0, 4})}, {{"batch_dims", int64_t{0}}}),
              HasSubstr("index 4 is out of range for axis 1 of extent 4"));
  EXPECT_THAT(ErrorOf("gather_nd", {Ramp({3, 4}), Longs({1, 3}, {0, 0, 0})}, {{"batch_dims", int64_t{0}}}),
              HasSubstr("too long"));
}

Tensor ScatterElements(const Tensor& x, const Tensor& i, const Tensor& u, int64_t axis, const char* kind) {
  return Eval("scatter_elements", {x, i, u}, {{"axis", axis}, {"kind", std::string(kind)}});
}

TEST(ScatterElements, Kinds) {
  EXPECT_EQ(
      Values(ScatterElements(Typed(DType::kI32, {1}, {2}), Longs({1}, {0}), Typed(DType::kI32, {1}, {3}), 0, "mul")),
      Numbers({6}));
  // More indices than rows is legal.
  EXPECT_EQ(Values(ScatterElements(Floats({1}, {2}), Longs({3}, {0, 0, 0}), Floats({3}, {1, 2, 3}), 0, "add")),
            Numbers({8}));
  EXPECT_EQ(Values(ScatterElements(Floats({1, 5}, {1, 2, 3, 4, 5}), Longs({1, 2}, {1, -1}), Floats({1, 2}, {1.1f, 2.f}),
                                   1, "assign"))[4],
            2);
  EXPECT_EQ(Values(ScatterElements(Floats({2}, {1, 5}), Longs({2}, {0, 1}), Floats({2}, {3, 3}), 0, "max")),
            Numbers({3, 5}));
  EXPECT_EQ(Values(ScatterElements(Typed(DType::kF16, {2}, {1, 5}), Longs({2}, {0, 1}), Typed(DType::kF16, {2}, {3, 3}),
                                   0, "min")),
            Numbers({1, 3}));
  EXPECT_THAT(ErrorOf("scatter_elements", {Ramp({2}), Longs({1}, {2}), Floats({1}, {0})},
                      {{"axis", int64_t{0}}, {"kind", std::string("assign")}}),
              HasSubstr("index 2"));
}

TEST(ScatterNd, RowsAndKinds) {
  const auto run = [](const Tensor& x, const Tensor& i, const Tensor& u, const char* kind) {
    return Eval("scatter_nd", {x, i, u}, {{"kind", std::string(kind)}});
  };
  EXPECT_EQ(Values(run(Ramp({8}), Longs({4, 1}, {4, 3, 1, 7}), Floats({4}, {9, 10, 11, 12}), "assign")),
            Numbers({0, 11, 2, 10, 9, 5, 6, 12}));
  EXPECT_EQ(Values(run(Ramp({2, 2}), Longs({2, 1}, {1, 1}), Floats({2, 2}, {1, 1, 1, 1}), "add")),
            Numbers({0, 1, 4, 5}));
  const Tensor x = Ramp({2});
  run(x, Longs({1, 1}, {0}), Floats({1}, {7}), "assign");
  EXPECT_EQ(Values(x), Numbers({0, 1}));  // the operand is untouched
  EXPECT_THAT(ErrorOf("scatter_nd", {x, Longs({1, 1}, {-3}), Floats({1}, {7})}, {{"kind", std::string("assign")}}),
              HasSubstr("index -3"));
  EXPECT_THAT(ErrorOf("scatter_nd", {x, Longs({1, 1}, {0}), Floats({2}, {7, 7})}, {{"kind", std::string("assign")}}),
              HasSubstr("updates must have extents [1]"));
}

}  // namespace
}  // namespace tcc::reference
