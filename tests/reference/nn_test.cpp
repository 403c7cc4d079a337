#include "runtime/reference/convert.h"
#include "test_util.h"

namespace tcc::reference {
namespace {

using ::testing::HasSubstr;
using L = std::vector<int64_t>;

// Small integers, so that sums are exact whatever their order.
Tensor Mixed(std::vector<int64_t> dims, int seed) {
  Tensor t = Ramp(dims);
  for (int64_t i = 0; i < t.num_elements(); ++i) t.data_as<float>()[i] = static_cast<float>((i * 7 + seed) % 11 - 5);
  return t;
}

TEST(Matmul, OddSizesAgainstTheDefinition) {
  for (int64_t m : {1, 3, 5}) {
    for (int64_t k : {0, 1, 7}) {
      for (int64_t n : {1, 8, 17}) {
        const Tensor a = Mixed({2, m, k}, 1), b = Mixed({2, k, n}, 3);
        std::vector<double> want;
        for (int64_t s = 0; s < 2; ++s) {
          for (int64_t i = 0; i < m; ++i) {
            for (int64_t j = 0; j < n; ++j) {
              double sum = 0;
              for (int64_t l = 0; l < k; ++l)
                sum += a.data_as<float>()[(s * m + i) * k + l] * b.data_as<float>()[(s * k + l) * n + j];
              want.push_back(sum);
            }
          }
        }
        EXPECT_EQ(Values(Eval("matmul", {a, b})), want) << m << " " << k << " " << n;
        EXPECT_EQ(Values(Eval("matmul", {Reordered(a), Reordered(b)})), want);
      }
    }
  }
}

TEST(Matmul, TypesAndErrors) {
  EXPECT_EQ(Values(Eval("matmul", {Typed(DType::kI8, {1, 2}, {100, 100}), Typed(DType::kI8, {2, 1}, {1, 1})})),
            Numbers({-56}));
  EXPECT_EQ(Values(Eval("matmul", {Typed(DType::kF16, {1, 2}, {1, 2}), Typed(DType::kF16, {2, 1}, {3, 4})})),
            Numbers({11}));
  EXPECT_THAT(ErrorOf("matmul", {Ramp({2, 3}), Ramp({2, 3})}), HasSubstr("do not multiply"));
  EXPECT_EQ(DimsOf(Eval("matmul", {Ramp({0, 3}), Ramp({3, 2})})), L({0, 2}));
}

Attributes ConvAttributes(L strides, L low, L high, L dilations, int64_t groups, bool last = false) {
  return {{"strides", strides},     {"padding_low", low}, {"padding_high", high},
          {"dilations", dilations}, {"groups", groups},   {"channels_last", int64_t{last}}};
}

// Cross-correlation by its definition, NCHW.
std::vector<double> NaiveConv(const Tensor& x, const Tensor& w, L s, L lo, L hi, L d, int64_t groups, L* dims) {
  const int64_t oh = (x.dim(2) + lo[0] + hi[0] - (w.dim(2) - 1) * d[0] - 1) / s[0] + 1;
  const int64_t ow = (x.dim(3) + lo[1] + hi[1] - (w.dim(3) - 1) * d[1] - 1) / s[1] + 1;
  *dims = {x.dim(0), w.dim(0), oh, ow};
  std::vector<double> y;
  const int64_t per = w.dim(0) / groups;
  for (int64_t n = 0; n < x.dim(0); ++n)
    for (int64_t o = 0; o < w.dim(0); ++o)
      for (int64_t i = 0; i < oh; ++i)
        for (int64_t j = 0; j < ow; ++j) {
          double sum = 0;
          for (int64_t c = 0; c < w.dim(1); ++c)
            for (int64_t p = 0; p < w.dim(2); ++p)
              for (int64_t q = 0; q < w.dim(3); ++q) {
                const int64_t r = i * s[0] - lo[0] + p * d[0], t = j * s[1] - lo[1] + q * d[1];
                if (r < 0 || r >= x.dim(2) || t < 0 || t >= x.dim(3)) continue;
                const int64_t channel = o / per * w.dim(1) + c;
                sum += x.data_as<float>()[((n * x.dim(1) + channel) * x.dim(2) + r) * x.dim(3) + t] *
                       w.data_as<float>()[((o * w.dim(1) + c) * w.dim(2) + p) * w.dim(3) + q];
              }
          y.push_back(sum);
        }
  return y;
}

TEST(Conv, AgainstTheDefinition) {
  const struct {
    L x, w, s, lo, hi, d;
    int64_t groups;
  } kCases[] = {
      {{1, 1, 5, 5}, {1, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1},
      {{2, 4, 7, 5}, {6, 2, 3, 2}, {2, 1}, {1, 0}, {0, 1}, {1, 2}, 2},
      {{1, 3, 6, 6}, {3, 1, 3, 3}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, 3},
      {{1, 2, 5, 5}, {1, 2, 1, 1}, {3, 3}, {0, 0}, {0, 0}, {1, 1}, 1},
      {{1, 2, 6, 6}, {5, 2, 2, 2}, {1, 1}, {-1, 2}, {0, -1}, {1, 1}, 1},
      {{1, 1, 22, 27}, {1, 1, 3, 3}, {1, 1}, {2, 2}, {2, 2}, {2, 2}, 1},  // SAME_UPPER with dilations 2: output 22 x 27
  };
  for (const auto& c : kCases) {
    const Tensor x = Mixed(c.x, 2), w = Mixed(c.w, 5);
    L dims;
    const auto want = NaiveConv(x, w, c.s, c.lo, c.hi, c.d, c.groups, &dims);
    const Attributes a = ConvAttributes(c.s, c.lo, c.hi, c.d, c.groups);
    const Tensor y = Eval("conv", {x, w}, a);
    EXPECT_EQ(DimsOf(y), dims);
    EXPECT_EQ(Values(y), want);
    EXPECT_EQ(Values(Eval("conv", {Reordered(x), Reordered(w)}, a)), want);
    // channels_last: the same numbers through transposes.
    const Tensor xl = Eval("transpose", {x}, {{"permutation", L{0, 2, 3, 1}}});
    const Tensor yl = Eval("conv", {*xl.Clone(), w}, ConvAttributes(c.s, c.lo, c.hi, c.d, c.groups, true));
    EXPECT_EQ(DimsOf(yl), L({dims[0], dims[2], dims[3], dims[1]}));
    EXPECT_EQ(Values(Eval("transpose", {yl}, {{"permutation", L{0, 3, 1, 2}}})), want);
  }
}

TEST(Conv, OneAndThreeAxes) {
  EXPECT_EQ(Values(Eval("conv", {Floats({1, 1, 4}, {1, 2, 3, 4}), Floats({1, 1, 2}, {1, 10})},
                        ConvAttributes({1}, {0}, {0}, {1}, 1))),
            Numbers({21, 32, 43}));
  EXPECT_EQ(Values(Eval("conv", {Ramp({1, 1, 2, 2, 2}), Floats({1, 1, 2, 2, 2}, std::vector<float>(8, 1))},
                        ConvAttributes({1, 1, 1}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}, 1))),
            Numbers({28}));
  EXPECT_THAT(ErrorOf("conv", {Ramp({1, 3, 4}), Ramp({1, 2, 1})}, ConvAttributes({1}, {0}, {0}, {1}, 1)),
              HasSubstr("does not fit"));
  EXPECT_THAT(ErrorOf("conv", {Ramp({1, 1, 4}), Ramp({1, 1, 1})}, ConvAttributes({0}, {0}, {0}, {1}, 1)),
              HasSubstr("positive"));
}

TEST(ConvTranspose, ExtentsAndValues) {
  Attributes a = ConvAttributes({2, 2}, {0, 0}, {0, 0}, {1, 1}, 1);
  a.Set("output_padding", L{1, 1});
  // The definition: y[i * s + p] += x[i] * w[p].
  const Tensor x = Mixed({1, 2, 3, 3}, 1), w = Mixed({2, 1, 3, 3}, 4);
  std::vector<double> want(64, 0);
  for (int c = 0; c < 2; ++c)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j)
        for (int p = 0; p < 3; ++p)
          for (int q = 0; q < 3; ++q)
            want[(2 * i + p) * 8 + 2 * j + q] +=
                x.data_as<float>()[c * 9 + i * 3 + j] * w.data_as<float>()[c * 9 + p * 3 + q];
  const Tensor y = Eval("conv_transpose", {x, w}, a);
  EXPECT_EQ(DimsOf(y), L({1, 1, 8, 8}));
  EXPECT_EQ(Values(y), want);
  // SAME_UPPER: total padding 2 * (3 - 1) + 1 + 3 - 6 = 2, output 6 x 6.
  a.Set("padding_low", L{1, 1});
  a.Set("padding_high", L{1, 1});
  const Tensor same = Eval("conv_transpose", {Reordered(x), w}, a);
  EXPECT_EQ(DimsOf(same), L({1, 1, 6, 6}));
  EXPECT_EQ(Values(same)[0], want[9]);
  Attributes grouped = ConvAttributes({1}, {0}, {0}, {2}, 2);
  grouped.Set("output_padding", L{0});
  EXPECT_EQ(Values(Eval("conv_transpose", {Floats({1, 2, 1}, {2, 3}), Floats({2, 1, 2}, {1, 2, 3, 4})}, grouped)),
            Numbers({2, 0, 4, 9, 0, 12}));
}

Attributes PoolAttributes(L kernel, L strides, L low, L high, L dilations, bool ceil_mode, bool include = false) {
  return {{"kernel", kernel},
          {"strides", strides},
          {"padding_low", low},
          {"padding_high", high},
          {"dilations", dilations},
          {"ceil_mode", int64_t{ceil_mode}},
          {"count_include_pad", int64_t{include}},
          {"column_major", int64_t{0}}};
}

TEST(Pool, MaxWithPaddingAndDilation) {
  const Tensor x = Ramp({1, 1, 4, 4});
  EXPECT_EQ(Values(Eval("max_pool", {x}, PoolAttributes({2, 2}, {2, 2}, {0, 0}, {0, 0}, {1, 1}, false))),
            Numbers({5, 7, 13, 15}));
  EXPECT_EQ(Values(Eval("max_pool", {x}, PoolAttributes({2, 2}, {1, 1}, {0, 0}, {0, 0}, {2, 2}, false))),
            Numbers({10, 11, 14, 15}));
  EXPECT_EQ(Values(Eval("max_pool", {Floats({1, 1, 1}, {-3})}, PoolAttributes({2}, {1}, {1}, {1}, {1}, false))),
            Numbers({-3, -3}));
  ExpectNear(Eval("max_pool", {Floats({1, 1, 3}, {1, kNan, 2})}, PoolAttributes({2}, {1}, {0}, {0}, {1}, false)),
             {kNan, kNan});
  EXPECT_EQ(Values(Eval("max_pool", {Typed(DType::kU8, {1, 1, 3}, {1, 5, 2})},
                        PoolAttributes({2}, {1}, {0}, {0}, {1}, false))),
            Numbers({5, 5}));
}

TEST(Pool, CeilModeStartsNoWindowBeyondTheInput) {
  const Tensor x = Floats({1, 1, 17, 17}, std::vector<float>(289, 2));
  const Tensor y = Eval("avg_pool", {x}, PoolAttributes({2, 2}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, true));
  EXPECT_EQ(DimsOf(y), L({1, 1, 9, 9}));
  EXPECT_EQ(Values(y), Numbers(81, 2.0));
  EXPECT_EQ(DimsOf(Eval("max_pool", {Ramp({1, 1, 1})}, PoolAttributes({2}, {2}, {0}, {0}, {1}, true))), L({1, 1, 1}));
  EXPECT_EQ(DimsOf(Eval("max_pool", {Ramp({1, 1, 1})}, PoolAttributes({2}, {2}, {0}, {0}, {1}, false))), L({1, 1, 0}));
}

TEST(Pool, AverageCounts) {
  const Tensor x = Floats({1, 1, 3}, {3, 6, 9});
  EXPECT_EQ(Values(Eval("avg_pool", {x}, PoolAttributes({2}, {1}, {1}, {1}, {1}, false))), Numbers({3, 4.5, 7.5, 9}));
  EXPECT_EQ(Values(Eval("avg_pool", {x}, PoolAttributes({2}, {1}, {1}, {1}, {1}, false, true))),
            Numbers({1.5, 4.5, 7.5, 4.5}));
}

TEST(Pool, Indices) {
  Attributes a = PoolAttributes({2, 2}, {2, 2}, {0, 0}, {0, 0}, {1, 1}, false);
  auto r = EvalAll("max_pool_indices", {Ramp({1, 2, 2, 4})}, a);
  EXPECT_EQ(Values(r[0]), Numbers({5, 7, 13, 15}));
  EXPECT_EQ(Values(r[1]), Numbers({5, 7, 13, 15}));
  a.Set("column_major", int64_t{1});
  EXPECT_EQ(Values(EvalAll("max_pool_indices", {Ramp({1, 2, 2, 4})}, a)[1]), Numbers({3, 7, 11, 15}));
}

TEST(Attention, MasksAndGroups) {
  const Attributes plain{{"scale", 1.0}, {"causal", int64_t{0}}}, causal{{"scale", 1.0}, {"causal", int64_t{1}}};
  const Tensor q = Floats({1, 2, 2, 1}, {0, 0, 0, 0}), k = Floats({1, 1, 2, 1}, {1, 2}),
               v = Floats({1, 1, 2, 1}, {10, 20});
  ExpectNear(Eval("attention", {q, k, v}, plain), {15, 15, 15, 15}, 1e-5);
  ExpectNear(Eval("attention", {q, k, v}, causal), {10, 15, 10, 15}, 1e-5);
  ExpectNear(Eval("attention", {q, k, v, Make<bool>({2, 2}, {0, 1, 0, 0})}, plain), {20, 0, 20, 0}, 1e-5);
  ExpectNear(Eval("attention", {q, k, v, Floats({1, 2}, {0, -kInf})}, plain), {10, 10, 10, 10}, 1e-5);
  // A float32 mask of narrow operands: -1e9 is no number of theirs.
  for (DType narrow : {DType::kF16, DType::kBF16}) {
    auto cast = [&](const Tensor& x) { return *ConvertDType(x, narrow); };
    ExpectNear(
        *ConvertDType(Eval("attention", {cast(q), cast(k), cast(v), Floats({1, 2}, {0, -1e9})}, plain), DType::kF32),
        {10, 10, 10, 10}, 1e-5);
  }
  // The second query sees no key; in the last call no probability is a number.
  const Tensor first = Make<bool>({2, 2}, {0, 1, 0, 0});
  const Tensor no_numbers = Floats({1, 2, 2, 1}, {0, kInf, 0, kInf});
  for (const char* rows : {"nan", "zero", "guarded"}) {
    Attributes a = plain;
    a.Set("masked_rows", std::string(rows));
    const double none = rows == std::string("nan") ? kNan : 0, invalid = rows == std::string("guarded") ? 0 : kNan;
    ExpectNear(Eval("attention", {q, k, v, first}, a), {20, none, 20, none}, 1e-5);
    ExpectNear(Eval("attention", {no_numbers, k, v}, a), {15, invalid, 15, invalid}, 1e-5);
    ExpectNear(Eval("attention", {q, Floats({1, 1, 0, 1}, {}), Floats({1, 1, 0, 1}, {})}, a), {0, 0, 0, 0}, 0);
  }
  Attributes unknown = plain;
  unknown.Set("masked_rows", std::string("one"));
  EXPECT_THAT(ErrorOf("attention", {q, k, v}, unknown), HasSubstr("none of nan, zero, guarded"));
  const double p = 1 / (1 + std::exp(-1.0));
  ExpectNear(Eval("attention", {Floats({1, 1, 1, 1}, {1}), k, v}, plain), {10 * (1 - p) + 20 * p}, 1e-5);
  EXPECT_THAT(
      ErrorOf("attention",
              {Floats({1, 3, 1, 1}, {0, 0, 0}), Floats({1, 2, 1, 1}, {0, 0}), Floats({1, 2, 1, 1}, {0, 0})}, plain),
      HasSubstr("do not fit"));
}

Attributes ResizeAttributes(std::vector<double> scales, const char* mode, const char* coordinate,
                            const char* nearest = "round_prefer_floor") {
  return {{"scales", scales},
          {"roi", std::vector<double>()},
          {"mode", std::string(mode)},
          {"coordinate", std::string(coordinate)},
          {"nearest_mode", std::string(nearest)},
          {"cubic_coeff_a", -0.75},
          {"exclude_outside", int64_t{0}},
          {"antialias", int64_t{0}},
          {"extrapolation_value", 0.0}};
}

TEST(Resize, ExtrapolationSaturates) {
  auto outside = [](DType dtype, double value) {
    const Attributes attributes{
        {"scales", std::vector<double>{2}},     {"roi", std::vector<double>{0, 3}},
        {"mode", std::string("nearest")},       {"coordinate", std::string("tf_crop_and_resize")},
        {"nearest_mode", std::string("floor")}, {"cubic_coeff_a", -0.75},
        {"exclude_outside", int64_t{0}},        {"antialias", int64_t{0}},
        {"extrapolation_value", value}};
    return Values(Eval("resize", {Typed(dtype, {2}, {3, 4})}, attributes, {{dtype, {4}}}))[3];
  };
  EXPECT_EQ(outside(DType::kI64, 1e30), 9223372036854775807.0);
  EXPECT_EQ(outside(DType::kI64, -1e30), -9223372036854775808.0);
  EXPECT_EQ(outside(DType::kU64, -1), 0);
  EXPECT_EQ(outside(DType::kI64, std::nan("")), 0);
  EXPECT_EQ(outside(DType::kI8, 1000), 127);
  EXPECT_EQ(outside(DType::kU8, std::nan("")), 0);
}

TEST(Resize, Modes) {
  const std::vector<TensorType> to4{{DType::kF32, {1, 1, 4}}};
  EXPECT_EQ(Values(Eval("resize", {Floats({1, 1, 2}, {1, 2})},
                        ResizeAttributes({1, 1, 2}, "nearest", "asymmetric", "floor"), to4)),
            Numbers({1, 1, 2, 2}));
  ExpectNear(Eval("resize", {Floats({1, 1, 2}, {1, 2})}, ResizeAttributes({1, 1, 2}, "linear", "half_pixel"), to4),
             {1, 1.25, 1.75, 2});
  ExpectNear(Eval("resize", {Floats({1, 1, 2}, {1, 2})}, ResizeAttributes({1, 1, 2}, "linear", "align_corners"), to4),
             {1, 4. / 3, 5. / 3, 2});
  // Ties of round_prefer_ceil go up, also where scale = 6 / 20 has no exact binary form.
  EXPECT_EQ(Values(Eval("resize", {Ramp({1, 1, 1, 20})},
                        ResizeAttributes({1, 1, 1, 0.3}, "nearest", "half_pixel", "round_prefer_ceil"),
                        {{DType::kF32, {1, 1, 1, 6}}})),
            Numbers({1, 5, 8, 11, 15, 18}));
  ExpectNear(Eval("resize", {Floats({1, 4}, {1, 2, 3, 4})}, ResizeAttributes({1, 0.5}, "cubic", "half_pixel"),
                  {{DType::kF32, {1, 2}}}),
             {1.40625, 3.59375}, 1e-5);
  EXPECT_EQ(Values(Eval("resize", {Typed(DType::kU8, {2}, {10, 200})},
                        ResizeAttributes({2}, "nearest", "asymmetric", "floor"), {{DType::kU8, {4}}})),
            Numbers({10, 10, 200, 200}));
  EXPECT_NE(ErrorOf("resize", {Ramp({2})}, ResizeAttributes({0}, "linear", "half_pixel"), {{DType::kF32, {4}}}), "");
}

TEST(GridSample, PaddingAndModes) {
  const Tensor x = Ramp({1, 1, 2, 2});
  const auto run = [&](std::vector<float> grid, const char* mode, const char* padding, bool align) {
    const int64_t n = static_cast<int64_t>(grid.size()) / 2;
    return Eval("grid_sample", {x, Floats({1, 1, n, 2}, grid)},
                {{"mode", std::string(mode)}, {"padding", std::string(padding)}, {"align_corners", int64_t{align}}});
  };
  ExpectNear(run({-1, -1, 1, 1, 0, 0, 1, -1}, "linear", "zeros", true), {0, 3, 1.5, 1});
  ExpectNear(run({-1, -1}, "linear", "zeros", false), {0});
  ExpectNear(run({1, 1, 9, 9}, "linear", "zeros", false), {0.75, 0});
  ExpectNear(run({9, 9, -9, -9}, "linear", "border", false), {3, 0});
  ExpectNear(run({2, 0}, "nearest", "reflection", true), {0});
  ExpectNear(run({0, 0}, "cubic", "border", false), {1.5});
  ExpectNear(run({kNan, kNan, kInf, -kInf}, "linear", "zeros", false), {0, 0});
  for (const char* padding : {"border", "reflection"})
    run({kNan, kInf, -kInf, 1e30f}, "cubic", padding, false);  // stays inside
}

}  // namespace
}  // namespace tcc::reference
