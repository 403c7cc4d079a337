#include "test_util.h"

namespace tcc::reference {
namespace {

using ::testing::HasSubstr;
using L = std::vector<int64_t>;

Attributes Reduction(const char* kind, L axes, bool keep = false) {
  return {{"kind", std::string(kind)}, {"axes", axes}, {"keep_dims", int64_t{keep}}};
}

TEST(Reduce, KindsAndAxes) {
  const Tensor x = Floats({2, 3}, {1, 5, 2, 4, 3, 6});
  EXPECT_EQ(Values(Eval("reduce", {x}, Reduction("sum", {1}))), Numbers({8, 13}));
  EXPECT_EQ(Values(Eval("reduce", {x}, Reduction("sum", {0}))), Numbers({5, 8, 8}));
  EXPECT_EQ(Values(Eval("reduce", {x}, Reduction("prod", {0, 1}))), Numbers({720}));
  EXPECT_EQ(Values(Eval("reduce", {x}, Reduction("max", {1}))), Numbers({5, 6}));
  EXPECT_EQ(Values(Eval("reduce", {x}, Reduction("min", {0}))), Numbers({1, 3, 2}));
  ExpectNear(Eval("reduce", {Reordered(x)}, Reduction("mean", {1})), {8. / 3, 13. / 3});
  EXPECT_EQ(DimsOf(Eval("reduce", {x}, Reduction("max", {0}, true))), L({1, 3}));
  EXPECT_EQ(DimsOf(Eval("reduce", {x}, Reduction("max", {0, 1}))), L({}));
  EXPECT_EQ(Values(Eval("reduce", {x}, Reduction("sum", {}))), Values(x));
  const Tensor y = Eval("reduce", {Ramp({2, 3, 4})}, Reduction("max", {0, 2}));
  EXPECT_EQ(DimsOf(y), L({3}));
  EXPECT_EQ(Values(y), Numbers({15, 19, 23}));
}

TEST(Reduce, Empty) {
  const Tensor x = Floats({2, 0}, {});
  EXPECT_EQ(Values(Eval("reduce", {x}, Reduction("sum", {1}))), Numbers({0, 0}));
  EXPECT_EQ(Values(Eval("reduce", {x}, Reduction("prod", {1}))), Numbers({1, 1}));
  ExpectNear(Eval("reduce", {x}, Reduction("max", {1})), {-kInf, -kInf});
  ExpectNear(Eval("reduce", {x}, Reduction("min", {1})), {kInf, kInf});
  ExpectNear(Eval("reduce", {x}, Reduction("mean", {1})), {kNan, kNan});
  EXPECT_EQ(Values(Eval("reduce", {Typed(DType::kI8, {0}, {})}, Reduction("max", {0}))), Numbers({-128}));
  EXPECT_EQ(DimsOf(Eval("reduce", {x}, Reduction("sum", {0}))), L({0}));
}

TEST(Reduce, TypesAndAccumulation) {
  EXPECT_EQ(Values(Eval("reduce", {Typed(DType::kI8, {2}, {100, 100})}, Reduction("sum", {0}))), Numbers({-56}));
  EXPECT_EQ(Values(Eval("reduce", {Typed(DType::kI8, {2}, {100, 100})}, Reduction("mean", {0}))), Numbers({100}));
  EXPECT_EQ(Values(Eval("reduce", {Make<bool>({2, 2}, {0, 1, 0, 0})}, Reduction("max", {1}))), Numbers({1, 0}));
  EXPECT_EQ(Values(Eval("reduce", {Make<bool>({2, 2}, {1, 1, 0, 1})}, Reduction("min", {1}))), Numbers({1, 0}));
  // 2048 ones in f16 would stop at 2048 without a wider accumulator.
  EXPECT_EQ(Values(Eval("reduce", {Typed(DType::kF16, {4096}, Numbers(4096, 1))}, Reduction("sum", {0}))),
            Numbers({4096}));
  EXPECT_EQ(Values(Eval("reduce", {Floats({3}, {1e8f, 1, -1e8f})}, Reduction("sum", {0}))), Numbers({1}));
  ExpectNear(Eval("reduce", {Floats({2}, {1, kNan})}, Reduction("max", {0})), {kNan});
  EXPECT_THAT(ErrorOf("reduce", {Ramp({2})}, Reduction("sum", {1})), HasSubstr("axis 1 is out of range"));
  EXPECT_THAT(ErrorOf("reduce", {Ramp({2})}, Reduction("median", {0})), HasSubstr("none of sum"));
}

Tensor Arg(const Tensor& x, const char* kind, int64_t axis, bool last = false, bool keep = false) {
  return Eval(
      "arg_reduce", {x},
      {{"kind", std::string(kind)}, {"axis", axis}, {"keep_dims", int64_t{keep}}, {"select_last", int64_t{last}}});
}

TEST(ArgReduce, TiesAndNan) {
  const Tensor x = Floats({2, 3}, {2, 5, 5, 1, 0, 0});
  EXPECT_EQ(Values(Arg(x, "max", 1)), Numbers({1, 0}));
  EXPECT_EQ(Values(Arg(x, "max", 1, true)), Numbers({2, 0}));
  EXPECT_EQ(Values(Arg(x, "min", 1, true)), Numbers({0, 2}));
  EXPECT_EQ(Values(Arg(Reordered(x), "max", 0)), Numbers({0, 0, 0}));
  EXPECT_EQ(Values(Arg(Floats({3}, {1, kNan, 2}), "max", 0)), Numbers({1}));
  EXPECT_EQ(Values(Arg(Floats({3}, {1, kNan, 2}), "min", 0)), Numbers({1}));
  EXPECT_EQ(DimsOf(Arg(x, "max", 1, false, true)), L({2, 1}));
  EXPECT_THAT(
      ErrorOf(
          "arg_reduce", {Floats({0}, {})},
          {{"kind", std::string("max")}, {"axis", int64_t{0}}, {"keep_dims", int64_t{0}}, {"select_last", int64_t{0}}}),
      HasSubstr("no elements"));
}

Tensor ScanOf(const Tensor& x, const char* kind, int64_t axis, bool exclusive = false, bool reverse = false) {
  return Eval(
      "scan", {x},
      {{"kind", std::string(kind)}, {"axis", axis}, {"exclusive", int64_t{exclusive}}, {"reverse", int64_t{reverse}}});
}

TEST(Scan, ExclusiveAndReverse) {
  const Tensor x = Floats({4}, {1, 2, 3, 4});
  EXPECT_EQ(Values(ScanOf(x, "sum", 0)), Numbers({1, 3, 6, 10}));
  EXPECT_EQ(Values(ScanOf(x, "sum", 0, true)), Numbers({0, 1, 3, 6}));
  EXPECT_EQ(Values(ScanOf(x, "sum", 0, false, true)), Numbers({10, 9, 7, 4}));
  EXPECT_EQ(Values(ScanOf(x, "sum", 0, true, true)), Numbers({9, 7, 4, 0}));
  EXPECT_EQ(Values(ScanOf(x, "prod", 0)), Numbers({1, 2, 6, 24}));
  EXPECT_EQ(Values(ScanOf(Longs({3}, {1, 3, 2}), "max", 0)), Numbers({1, 3, 3}));
  EXPECT_EQ(Values(ScanOf(Reordered(Ramp({2, 3})), "sum", 0)), Numbers({0, 1, 2, 3, 5, 7}));
  EXPECT_EQ(DimsOf(ScanOf(Ramp({0, 2}), "sum", 0, false, true)), L({0, 2}));
}

TEST(Softmax, Values) {
  const Tensor x = Floats({1, 3}, {-1, 0, 1});
  ExpectNear(Eval("softmax", {x}, {{"axis", int64_t{-1}}}), {0.09003057, 0.24472847, 0.66524096});
  ExpectNear(Eval("log_softmax", {x}, {{"axis", int64_t{1}}}), {-2.4076059, -1.407606, -0.407606});
  // Huge scores: one-hot, no NaN.
  ExpectNear(Eval("softmax", {Floats({3}, {1e14f, 2e14f, -1e14f})}, {{"axis", int64_t{0}}}), {0, 1, 0});
  ExpectNear(Eval("softmax", {Reordered(Floats({2, 2}, {0, 1, 0, 1}))}, {{"axis", int64_t{0}}}), {.5, .5, .5, .5});
  ExpectNear(Eval("softmax", {Typed(DType::kBF16, {2}, {3, 3})}, {{"axis", int64_t{0}}}), {.5, .5});
  ExpectNear(Eval("log_softmax", {Floats({2}, {0, 1000})}, {{"axis", int64_t{0}}}), {-1000, 0});
  EXPECT_EQ(DimsOf(Eval("softmax", {Ramp({2, 0})}, {{"axis", int64_t{1}}})), L({2, 0}));
}

TEST(Norm, LayerAndRms) {
  const Attributes a{{"axis", int64_t{1}}, {"epsilon", 0.0}};
  ExpectNear(Eval("layer_norm", {Floats({2, 2}, {1, 3, 10, 30})}, a), {-1, 1, -1, 1});
  ExpectNear(Eval("rms_norm", {Floats({1, 2}, {3, 4})}, a), {3 / std::sqrt(12.5), 4 / std::sqrt(12.5)});
  // float16 squares of 300 overflow; the statistics must not.
  ExpectNear(Eval("layer_norm", {Typed(DType::kF16, {1, 2}, {-300, 300})}, a), {-1, 1}, 1e-3);
  ExpectNear(Eval("layer_norm", {Reordered(Floats({2, 2}, {1, 3, 10, 30}))}, a), {-1, 1, -1, 1});
  // A large mean must not cancel the variance.
  ExpectNear(Eval("layer_norm", {Floats({1, 2}, {1e6f, 1e6f + 2})}, a), {-1, 1});
}

TEST(TopK, LargestSmallestTies) {
  const Tensor x = Floats({2, 4}, {0, 1, 2, 3, 4, 4, 6, 1});
  const std::vector<TensorType> types{{DType::kF32, {2, 3}}, {DType::kI64, {2, 3}}};
  auto r = EvalAll("top_k", {x}, {{"axis", int64_t{1}}, {"largest", int64_t{1}}}, types);
  EXPECT_EQ(Values(r[0]), Numbers({3, 2, 1, 6, 4, 4}));
  EXPECT_EQ(Values(r[1]), Numbers({3, 2, 1, 2, 0, 1}));
  r = EvalAll("top_k", {Reordered(x)}, {{"axis", int64_t{1}}, {"largest", int64_t{0}}}, types);
  EXPECT_EQ(Values(r[0]), Numbers({0, 1, 2, 1, 4, 4}));
  r = EvalAll("top_k", {Floats({3}, {1, kNan, 2})}, {{"axis", int64_t{0}}, {"largest", int64_t{1}}},
              {{DType::kF32, {2}}, {DType::kI64, {2}}});
  EXPECT_EQ(Values(r[1]), Numbers({1, 2}));
  EXPECT_THAT(ErrorOf("top_k", {x}, {{"axis", int64_t{1}}, {"largest", int64_t{1}}},
                      {{DType::kF32, {2, 5}}, {DType::kI64, {2, 5}}}),
              HasSubstr("k = 5"));
}

}  // namespace
}  // namespace tcc::reference
