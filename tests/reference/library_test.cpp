// The library kernels of the long tail. Values are those of the ONNX specification's examples, or derived by hand.
#include "test_util.h"

namespace tcc::reference {
namespace {

using ::testing::HasSubstr;
using L = std::vector<int64_t>;
using S = std::string;

Tensor Words(std::vector<int64_t> dims, Strings words) { return Make<std::string>(dims, words); }

TEST(DynamicShape, Reshape) {
  const Tensor x = Ramp({2, 2, 3, 2});
  EXPECT_EQ(DimsOf(Eval("dynamic_reshape", {x, Longs({3}, {-1, 0, 0})})), L({4, 2, 3}));
  EXPECT_EQ(DimsOf(Eval("dynamic_reshape", {Floats({0, 2}, {}), Longs({2}, {2, 0})}, {{"allowzero", int64_t{1}}})),
            L({2, 0}));
  EXPECT_THAT(ErrorOf("dynamic_reshape", {x, Longs({2}, {5, -1})}), HasSubstr("do not fit"));
  EXPECT_THAT(ErrorOf("dynamic_reshape", {x, Longs({2}, {-1, -1})}), HasSubstr("more than one -1"));
  EXPECT_THAT(ErrorOf("dynamic_reshape", {x, Longs({2}, {INT64_MAX, 4})}), HasSubstr("overflow"));
  EXPECT_THAT(ErrorOf("dynamic_reshape", {x, Longs({1}, {-7})}), HasSubstr("negative"));
}

Tensor Slice(const Tensor& x, L starts, L ends, L axes, L steps) {
  const int64_t n = static_cast<int64_t>(starts.size());
  return Eval("dynamic_slice", {x, Longs({n}, starts), Longs({n}, ends), Longs({n}, axes), Longs({n}, steps)});
}

TEST(DynamicShape, SliceClamps) {
  const Tensor x = Ramp({10});
  EXPECT_EQ(Values(Slice(x, {9}, {0}, {0}, {-1})), Numbers({9, 8, 7, 6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(DimsOf(Slice(x, {-1}, {INT64_MAX}, {0}, {-1})), L({0}));
  EXPECT_EQ(Values(Slice(x, {-1}, {INT64_MIN}, {0}, {-1})), Numbers({9, 8, 7, 6, 5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(Values(Slice(x, {INT64_MIN}, {INT64_MAX}, {0}, {INT64_MAX})), Numbers({0}));
  EXPECT_EQ(Values(Slice(x, {INT64_MAX}, {INT64_MIN}, {0}, {INT64_MIN})), Numbers({9}));
  EXPECT_EQ(DimsOf(Slice(Floats({0}, {}), {3}, {-3}, {0}, {-1})), L({0}));
  EXPECT_EQ(Values(Slice(Ramp({2, 4}), {1, 0}, {3, 4}, {-1, 0}, {2, 1})), Numbers({1, 5}));
  EXPECT_THAT(ErrorOf("dynamic_slice", {x, Longs({1}, {0}), Longs({1}, {1}), Longs({1}, {0}), Longs({1}, {0})}),
              HasSubstr("step 0"));
  EXPECT_THAT(ErrorOf("dynamic_slice", {x, Longs({1}, {0}), Longs({1}, {1}), Longs({1}, {1})}), HasSubstr("axis 1"));
}

TEST(DynamicShape, ExpandTilePadFill) {
  EXPECT_EQ(Values(Eval("dynamic_expand", {Floats({2, 1}, {1, 2}), Longs({2}, {1, 2})})), Numbers({1, 1, 2, 2}));
  EXPECT_EQ(Values(Eval("dynamic_tile", {Floats({1, 2}, {1, 2}), Longs({2}, {2, 2})})),
            Numbers({1, 2, 1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(DimsOf(Eval("dynamic_tile", {Ramp({2}), Longs({1}, {0})})), L({0}));
  EXPECT_THAT(ErrorOf("dynamic_tile", {Ramp({2}), Longs({1}, {INT64_MAX})}), HasSubstr("overflow"));
  EXPECT_EQ(Values(Eval("dynamic_pad", {Ramp({1, 2}), Longs({2}, {1, 1}), Tensor::Scalar(7.f), Longs({1}, {-1})})),
            Numbers({7, 0, 1, 7}));
  EXPECT_EQ(Values(Eval("dynamic_fill", {Longs({2}, {1, 3}), Longs({1}, {5})})), Numbers({5, 5, 5}));
  EXPECT_THAT(ErrorOf("dynamic_fill", {Longs({2}, {INT64_MAX, INT64_MAX}), Longs({1}, {5})}),
              HasSubstr("dynamic_fill"));
}

TEST(DynamicShape, SqueezeTopKScan) {
  EXPECT_EQ(DimsOf(Eval("dynamic_squeeze", {Ramp({1, 3, 1})})), L({3}));
  EXPECT_EQ(DimsOf(Eval("dynamic_squeeze", {Ramp({1, 3, 1}), Longs({1}, {-1})})), L({1, 3}));
  EXPECT_THAT(ErrorOf("dynamic_squeeze", {Ramp({1, 3}), Longs({1}, {1})}), HasSubstr("extent 3"));
  EXPECT_EQ(DimsOf(Eval("dynamic_unsqueeze", {Ramp({3}), Longs({2}, {0, -1})})), L({1, 3, 1}));
  EXPECT_EQ(Values(Eval("dynamic_top_k", {Floats({3}, {1, 3, 2}), Longs({1}, {2})})), Numbers({3, 2}));
  EXPECT_EQ(Values(Eval("dynamic_scan", {Floats({4}, {1, 2, 3, 4}), Longs({}, {0})}, {{"exclusive", int64_t{1}}})),
            Numbers({0, 1, 3, 6}));
}

TEST(DynamicShape, Resize) {
  const Attributes a{{"mode", S("nearest")}, {"coordinate", S("asymmetric")}, {"nearest_mode", S("floor")}};
  EXPECT_EQ(Values(Eval("dynamic_resize", {Floats({1, 2}, {1, 2}), {}, {}, Longs({2}, {1, 4})}, a)),
            Numbers({1, 1, 2, 2}));
  EXPECT_EQ(Values(Eval("dynamic_resize", {Floats({1, 2}, {1, 2}), {}, Floats({2}, {2, 1})}, a)),
            Numbers({1, 2, 1, 2}));
}

TEST(Nonzero, AndRange) {
  EXPECT_EQ(Values(Eval("nonzero", {Make<bool>({2, 2}, {1, 0, 1, 1})})), Numbers({0, 1, 1, 0, 0, 1}));
  EXPECT_EQ(DimsOf(Eval("nonzero", {Floats({3}, {0, 0, 0})})), L({1, 0}));
  EXPECT_EQ(Values(Eval("nonzero", {Reordered(Floats({2, 2}, {0, 1, 0, 0}))})), Numbers({0, 1}));
  EXPECT_EQ(Values(Eval("range", {Tensor::Scalar(1.f), Tensor::Scalar(5.f), Tensor::Scalar(2.f)})), Numbers({1, 3}));
  EXPECT_EQ(Values(Eval("range", {Tensor::Scalar(10), Tensor::Scalar(4), Tensor::Scalar(-3)})), Numbers({10, 7}));
  EXPECT_EQ(DimsOf(Eval("range", {Longs({}, {INT64_MIN}), Longs({}, {INT64_MAX}), Longs({}, {INT64_MAX})})), L({3}));
  EXPECT_EQ(DimsOf(Eval("range", {Longs({}, {5}), Longs({}, {1}), Longs({}, {1})})), L({0}));
  EXPECT_THAT(ErrorOf("range", {Longs({}, {5}), Longs({}, {1}), Longs({}, {0})}), HasSubstr("delta is 0"));
}

TEST(OneHot, WrapsAndDrops) {
  EXPECT_EQ(Values(Eval("one_hot", {Longs({3}, {0, -1, 7}), Longs({}, {5}), Floats({2}, {0, 1})})),
            Numbers({1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0}));
  const Tensor y = Eval("one_hot", {Longs({2}, {1, 0}), Longs({1}, {3}), Longs({2}, {2, 5})}, {{"axis", int64_t{0}}});
  EXPECT_EQ(DimsOf(y), L({3, 2}));
  EXPECT_EQ(Values(y), Numbers({2, 5, 5, 2, 2, 2}));
}

TEST(Compress, WithAndWithoutAxis) {
  const Tensor x = Floats({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(Values(Eval("compress", {x, Make<bool>({3}, {0, 1, 1})}, {{"axis", int64_t{0}}})), Numbers({3, 4, 5, 6}));
  EXPECT_EQ(Values(Eval("compress", {x, Make<bool>({5}, {0, 1, 0, 0, 1})})), Numbers({2, 5}));
  EXPECT_THAT(ErrorOf("compress", {x, Make<bool>({4}, {0, 0, 0, 1})}, {{"axis", int64_t{0}}}), HasSubstr("index 3"));
}

TEST(Unique, SortedUnsortedAxis) {
  const Tensor x = Floats({6}, {2, 1, 1, 3, 4, 3});
  auto r = EvalAll("unique", {x}, {{"sorted", int64_t{0}}});
  EXPECT_EQ(Values(r[0]), Numbers({2, 1, 3, 4}));
  EXPECT_EQ(Values(r[1]), Numbers({0, 1, 3, 4}));
  EXPECT_EQ(Values(r[2]), Numbers({0, 1, 1, 2, 3, 2}));
  EXPECT_EQ(Values(r[3]), Numbers({1, 2, 2, 1}));
  r = EvalAll("unique", {x});
  EXPECT_EQ(Values(r[0]), Numbers({1, 2, 3, 4}));
  r = EvalAll("unique", {Floats({3, 3}, {1, 0, 0, 1, 0, 0, 2, 3, 4})}, {{"axis", int64_t{0}}});
  EXPECT_EQ(DimsOf(r[0]), L({2, 3}));
  EXPECT_EQ(Values(r[2]), Numbers({0, 0, 1}));
  EXPECT_EQ(List<std::string>(Eval("unique", {Words({3}, {"b", "a", "b"})})), Strings({"a", "b"}));
  EXPECT_EQ(DimsOf(Eval("unique", {Floats({0}, {})})), L({0}));
}

TEST(NonMaxSuppression, ExactlyTheKeptBoxes) {
  const Tensor boxes = Floats(
      {1, 6, 4}, {0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 0, -0.1f, 1, 0.9f, 0, 10, 1, 11, 0, 10.1f, 1, 11.1f, 0, 100, 1, 101});
  const Tensor scores = Floats({1, 1, 6}, {0.9f, 0.75f, 0.6f, 0.95f, 0.5f, 0.3f});
  const Tensor y = Eval("non_max_suppression", {boxes, scores, Longs({1}, {3}), Floats({1}, {0.5f}), Floats({1}, {0})});
  EXPECT_EQ(DimsOf(y), L({3, 3}));
  EXPECT_EQ(Values(y), Numbers({0, 0, 3, 0, 0, 0, 0, 0, 5}));
  EXPECT_EQ(DimsOf(Eval("non_max_suppression", {boxes, scores})), L({0, 3}));  // max_output_boxes defaults to 0
  EXPECT_EQ(Values(Eval("nms", {Floats({3, 4}, {0, 0, 1, 1, 0, 0, 1, 1, 5, 5, 6, 6}), Floats({3}, {0.1f, 0.9f, 0.5f})},
                        {{"iou_threshold", 0.5}})),
            Numbers({1, 2}));
}

TEST(Recurrent, OneStepByHand) {
  const double s = 1 / (1 + std::exp(-1.0)), t = std::tanh(1.0);
  const auto ones = [](L dims) { return Floats(dims, std::vector<float>(dims[0] * dims[1] * dims[2], 1)); };
  const Tensor x = ones({1, 1, 1});
  // Zero state: every gate sees x * 1.
  auto r = EvalAll("lstm", {x, ones({1, 4, 1}), ones({1, 4, 1})}, {{"hidden_size", int64_t{1}}});
  ExpectNear(r[2], {s * t});
  ExpectNear(r[1], {s * std::tanh(s * t)});
  r = EvalAll("gru", {x, ones({1, 3, 1}), ones({1, 3, 1})});
  ExpectNear(r[1], {(1 - s) * t});
  r = EvalAll("rnn", {x, ones({1, 1, 1}), ones({1, 1, 1})}, {{"activations", std::vector<S>{"Relu"}}});
  ExpectNear(r[1], {1});
  // clip bounds what the activations see; input_forget couples the gates.
  r = EvalAll("lstm", {x, ones({1, 4, 1}), ones({1, 4, 1}), {}, {}, {}, Floats({1, 1, 1}, {2})},
              {{"clip", 0.5}, {"input_forget", int64_t{1}}});
  const double c = 1 / (1 + std::exp(-0.5));
  ExpectNear(r[2], {(1 - c) * 2 + c * std::tanh(0.5)});
}

TEST(Recurrent, DirectionsLengthsLayout) {
  // An RNN with Affine (identity) activation and W = R = 1 is a running sum.
  const Attributes identity{{"activations", std::vector<S>{"Affine"}}, {"direction", S("forward")}};
  const Tensor x = Floats({3, 2, 1}, {1, 10, 2, 20, 3, 30}), one = Floats({1, 1, 1}, {1});
  EXPECT_EQ(Values(Eval("rnn", {x, one, one}, identity)), Numbers({1, 10, 3, 30, 6, 60}));
  Attributes reverse = identity;
  reverse.Set("direction", S("reverse"));
  auto r = EvalAll("rnn", {x, one, one, {}, Typed(DType::kI32, {2}, {3, 2})}, reverse);
  EXPECT_EQ(Values(r[0]), Numbers({6, 30, 5, 20, 3, 0}));  // beyond a sequence's length: zeros
  EXPECT_EQ(Values(r[1]), Numbers({6, 30}));
  Attributes both{{"activations", std::vector<S>{"Affine", "Affine"}}, {"direction", S("bidirectional")}};
  const Tensor two = Floats({2, 1, 1}, {1, 1});
  EXPECT_EQ(Values(EvalAll("rnn", {x, two, two}, both)[1]), Numbers({6, 60, 6, 60}));
  both.Set("layout", int64_t{1});
  r = EvalAll("rnn", {Floats({2, 3, 1}, {1, 2, 3, 10, 20, 30}), two, two}, both);
  EXPECT_EQ(DimsOf(r[0]), L({2, 3, 2, 1}));
  EXPECT_EQ(Values(r[0]), Numbers({1, 6, 3, 5, 6, 3, 10, 60, 30, 50, 60, 30}));
  EXPECT_EQ(DimsOf(r[1]), L({2, 2, 1}));
  EXPECT_THAT(ErrorOf("rnn", {x, one, one, {}, Typed(DType::kI32, {2}, {4, 0})}, identity),
              HasSubstr("sequence length 4"));
  EXPECT_THAT(ErrorOf("rnn", {x, one, one}, {{"activations", std::vector<S>{"Sine"}}}), HasSubstr("'Sine'"));
}

TEST(Quantize, SaturatesTiesToEven) {
  const Tensor x = Floats({6}, {0, 2, 3, 1000, -254, -1000});
  EXPECT_EQ(Values(Eval("quantize_linear", {x, Tensor::Scalar(2.f), Tensor::Scalar(uint8_t{128})})),
            Numbers({128, 129, 130, 255, 1, 0}));
  EXPECT_EQ(Values(Eval("quantize_linear",
                        {Floats({4}, {0.5, 1.5, 300, -300}), Tensor::Scalar(1.f), Tensor::Scalar(int8_t{0})})),
            Numbers({0, 2, 127, -128}));
  EXPECT_EQ(
      Values(Eval("quantize_linear", {Floats({2, 2}, {1, 2, 3, 4}), Floats({2}, {1, 2}), Make<uint8_t>({2}, {0, 1})},
                  {{"axis", int64_t{0}}})),
      Numbers({1, 2, 3, 3}));
  EXPECT_EQ(Values(Eval("quantize_linear", {Floats({4}, {1, 2, 3, 4}), Floats({2}, {1, 2})},
                        {{"axis", int64_t{0}}, {"block_size", int64_t{2}}})),
            Numbers({1, 2, 2, 2}));
  EXPECT_EQ(Values(Eval("dequantize_linear",
                        {Make<uint8_t>({3}, {0, 3, 128}), Tensor::Scalar(2.f), Tensor::Scalar(uint8_t{128})})),
            Numbers({-256, -250, 0}));
  const auto r = EvalAll("dynamic_quantize_linear", {Floats({6}, {0, 2, -3, -2.5f, 1.34f, 0.5f})});
  EXPECT_EQ(Values(r[0]), Numbers({153, 255, 0, 26, 221, 179}));
  ExpectNear(r[1], {0.0196078438});
  EXPECT_EQ(Values(r[2]), Numbers({153}));
}

TEST(Quantize, IntegerProducts) {
  const Tensor a = Make<uint8_t>({4, 3}, {11, 7, 3, 10, 6, 2, 9, 5, 1, 8, 4, 0});
  const Tensor b = Make<uint8_t>({3, 2}, {1, 4, 2, 5, 3, 6});
  EXPECT_EQ(Values(Eval("matmul_integer", {a, b, Make<uint8_t>({1}, {12}), Make<uint8_t>({1}, {0})})),
            Numbers({-38, -83, -44, -98, -50, -113, -56, -128}));
  const Attributes conv{{"strides", L{1, 1}},
                        {"padding_low", L{0, 0}},
                        {"padding_high", L{0, 0}},
                        {"dilations", L{1, 1}},
                        {"groups", int64_t{1}}};
  const Tensor x = Make<uint8_t>({1, 1, 3, 3}, {2, 3, 4, 5, 6, 7, 8, 9, 10}),
               w = Make<uint8_t>({1, 1, 2, 2}, {1, 1, 1, 1});
  EXPECT_EQ(Values(Eval("conv_integer", {x, w, Tensor::Scalar(uint8_t{1})}, conv)), Numbers({12, 16, 24, 28}));
  const Tensor one = Tensor::Scalar(1.f), zero = Tensor::Scalar(uint8_t{0});
  EXPECT_EQ(Values(Eval("qlinear_conv",
                        {x, one, Tensor::Scalar(uint8_t{1}), w, one, zero, Tensor::Scalar(2.f),
                         Tensor::Scalar(uint8_t{3}), Typed(DType::kI32, {1}, {2})},
                        conv)),
            Numbers({10, 12, 16, 18}));
  EXPECT_EQ(Values(Eval("qlinear_matmul", {a, one, zero, b, one, zero, one, zero})),
            Numbers({34, 97, 28, 82, 22, 67, 16, 52}));
}

TEST(Einsum, Equations) {
  const Tensor a = Ramp({2, 3}), b = Ramp({3, 2});
  EXPECT_EQ(Values(Eval("einsum", {a, b}, {{"equation", S("ij, jk -> ik")}})), Values(Eval("matmul", {a, b})));
  EXPECT_EQ(Values(Eval("einsum", {a}, {{"equation", S("ij->ji")}})), Numbers({0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(Values(Eval("einsum", {a}, {{"equation", S("ij->i")}})), Numbers({3, 12}));
  EXPECT_EQ(Values(Eval("einsum", {Ramp({3, 3})}, {{"equation", S("ii")}})), Numbers({12}));
  EXPECT_EQ(Values(Eval("einsum", {Ramp({2, 2, 2})}, {{"equation", S("...ii->...i")}})), Numbers({0, 3, 4, 7}));
  EXPECT_EQ(Values(Eval("einsum", {Ramp({2}), Ramp({2}), Ramp({2})}, {{"equation", S("i,i,i->")}})), Numbers({1}));
  EXPECT_THAT(ErrorOf("einsum", {a, a}, {{"equation", S("ij,jk->ik")}}), HasSubstr("share a label"));
  EXPECT_THAT(ErrorOf("einsum", {a}, {{"equation", S("ij->k")}}), HasSubstr("bad result labels"));
  EXPECT_THAT(ErrorOf("einsum", {a}, {{"equation", S("i->i")}}), HasSubstr("rank 2"));
}

TEST(Roi, AlignAndPool) {
  const Attributes a{{"output_height", int64_t{1}},
                     {"output_width", int64_t{1}},
                     {"sampling_ratio", int64_t{1}},
                     {"coordinate_transformation_mode", S("output_half_pixel")}};
  // One sample in the middle of [0, 2] x [0, 2]: x[1][1].
  EXPECT_EQ(Values(Eval("roi_align", {Ramp({1, 1, 3, 3}), Floats({1, 4}, {0, 0, 2, 2}), Longs({1}, {0})}, a)),
            Numbers({4}));
  EXPECT_THAT(ErrorOf("roi_align", {Ramp({1, 1, 3, 3}), Floats({1, 4}, {0, 0, 2, 2}), Longs({1}, {1})}, a),
              HasSubstr("index 1"));
  EXPECT_EQ(
      Values(Eval("max_roi_pool", {Ramp({1, 1, 4, 4}), Floats({1, 5}, {0, 0, 0, 3, 3})}, {{"pooled_shape", L{2, 2}}})),
      Numbers({5, 7, 13, 15}));
  EXPECT_NE(ErrorOf("max_roi_pool", {Ramp({1, 1, 4, 4}), Floats({1, 5}, {9, 0, 0, 3, 3})}, {{"pooled_shape", L{2, 2}}}),
            "");
}

TEST(Signal, FourierOfAnyLength) {
  // A pure cosine of frequency 1 has n / 2 in bins 1 and n - 1.
  for (int64_t n : {1, 2, 5, 7, 8, 12, 17}) {
    std::vector<float> wave;
    for (int64_t i = 0; i < n; ++i) wave.push_back(static_cast<float>(std::cos(2 * M_PI * i / n)));
    const Tensor y = Eval("dft", {Floats({1, n, 1}, wave)});
    Numbers want(2 * n, 0);
    want[2 * (1 % n)] += n / 2.0;
    want[2 * (n - 1)] += n / 2.0;
    ExpectNear(y, want, 1e-5);
    ExpectNear(Eval("transpose", {Eval("dft", {y}, {{"inverse", int64_t{1}}})}, {{"permutation", L{2, 0, 1}}})
                   .View({n}, {2}, 0),
               Numbers(wave.begin(), wave.end()), 1e-5);
    const Tensor half = Eval("dft", {Floats({1, n, 1}, wave)}, {{"onesided", int64_t{1}}});
    EXPECT_EQ(half.dim(1), n / 2 + 1);
  }
  const Tensor frames =
      Eval("stft", {Floats({1, 6, 1}, {1, 1, 1, 1, 1, 1}), Longs({}, {2}), Floats({4}, {1, 1, 1, 1})});
  EXPECT_EQ(DimsOf(frames), L({1, 2, 3, 2}));
  ExpectNear(frames, {4, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0}, 1e-6);
}

TEST(Signal, Windows) {
  ExpectNear(Eval("hann_window", {Longs({}, {4})}), {0, 0.5, 1, 0.5});
  ExpectNear(Eval("hann_window", {Longs({}, {3})}, {{"periodic", int64_t{0}}}), {0, 1, 0});
  ExpectNear(Eval("hamming_window", {Longs({}, {2})}), {4. / 46, 1});
  ExpectNear(Eval("blackman_window", {Longs({}, {2})}), {0, 1});
  EXPECT_EQ(DimsOf(Eval("mel_weight_matrix", {Longs({}, {8}), Longs({}, {16}), Longs({}, {8192}), Tensor::Scalar(0.f),
                                              Tensor::Scalar(4096.f)})),
            L({9, 8}));
  EXPECT_THAT(ErrorOf("mel_weight_matrix",
                      {Longs({}, {8}), Longs({}, {16}), Longs({}, {8192}), Tensor::Scalar(0.f), Tensor::Scalar(1e9f)}),
              HasSubstr("outside"));
  EXPECT_NE(ErrorOf("hann_window", {Longs({}, {-1})}), "");
}

TEST(LinearAlgebra, Determinant) {
  ExpectNear(Eval("det", {Floats({2, 2}, {0, 1, 2, 3})}), {-2});
  ExpectNear(Eval("det", {Floats({2, 2, 2}, {1, 2, 2, 4, 3, 1, 1, 2})}), {0, 5});
  ExpectNear(Eval("det", {Floats({0, 0}, {})}), {1});
}

TEST(Random, SeededAndInRange) {
  const std::vector<TensorType> type{{DType::kF32, {1000}}};
  const Attributes a{{"seed", int64_t{7}}, {"low", -1.0}, {"high", 3.0}};
  const auto x = Values(Eval("random_uniform", {}, a, type));
  EXPECT_EQ(x, Values(Eval("random_uniform", {}, a, type)));
  EXPECT_NE(x, Values(Eval("random_uniform", {}, {{"seed", int64_t{8}}, {"low", -1.0}, {"high", 3.0}}, type)));
  double sum = 0;
  for (double v : x) {
    EXPECT_GE(v, -1);
    EXPECT_LE(v, 3);
    sum += v;
  }
  EXPECT_NEAR(sum / 1000, 1, 0.15);
  const auto normal = Values(Eval("random_normal", {}, {{"seed", int64_t{1}}}, type));
  double mean = 0, square = 0;
  for (double v : normal) {
    mean += v / 1000;
    square += v * v / 1000;
  }
  EXPECT_NEAR(mean, 0, 0.15);
  EXPECT_NEAR(square, 1, 0.2);
  EXPECT_EQ(Values(Eval("bernoulli", {Floats({3}, {0, 1, 1})})), Numbers({0, 1, 1}));
  EXPECT_EQ(Values(Eval("multinomial", {Floats({1, 3}, {-kInf, 0, -kInf})}, {{"sample_size", int64_t{4}}})),
            Numbers({1, 1, 1, 1}));
}

TEST(Images, LrnCol2imUnpoolDeform) {
  ExpectNear(
      Eval("lrn", {Floats({1, 3, 1}, {1, 2, 3})}, {{"size", int64_t{3}}, {"alpha", 3.0}, {"beta", 1.0}, {"bias", 1.0}}),
      {1. / 6, 2. / 15, 3. / 14});
  EXPECT_EQ(Values(Eval("col2im", {Floats({1, 2, 2}, {1, 2, 10, 20}), Longs({1}, {3}), Longs({1}, {2})})),
            Numbers({1, 12, 20}));
  EXPECT_EQ(Values(Eval("max_unpool", {Floats({1, 1, 2, 2}, {1, 2, 3, 4}), Longs({1, 1, 2, 2}, {5, 7, 13, 15})},
                        {{"kernel_shape", L{2, 2}}, {"strides", L{2, 2}}})),
            Numbers({0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 3, 0, 4}));
  EXPECT_THAT(ErrorOf("max_unpool", {Floats({1, 1, 1}, {1}), Longs({1, 1, 1}, {2})}, {{"kernel_shape", L{2}}}),
              HasSubstr("index 2"));
  // No shift: a plain convolution.
  const Tensor x = Ramp({1, 1, 3, 3}), w = Floats({1, 1, 2, 2}, {1, 1, 1, 1});
  EXPECT_EQ(Values(Eval("deform_conv", {x, w, Floats({1, 8, 2, 2}, std::vector<float>(32, 0))})),
            Numbers({8, 12, 20, 24}));
}

TEST(Sequences, ReverseGridCrop) {
  const Tensor x = Ramp({4, 2});
  EXPECT_EQ(Values(Eval("reverse_sequence", {x, Longs({2}, {4, 2})})), Numbers({6, 3, 4, 1, 2, 5, 0, 7}));
  EXPECT_THAT(ErrorOf("reverse_sequence", {x, Longs({2}, {5, 2})}), HasSubstr("sequence length 5"));
  ExpectNear(Eval("affine_grid", {Floats({1, 2, 3}, {1, 0, 0, 0, 1, 0}), Longs({4}, {1, 1, 1, 2})}), {-.5, 0, .5, 0});
  EXPECT_EQ(Values(Eval("center_crop_pad", {Ramp({5}), Longs({1}, {2})})), Numbers({1, 2}));
  EXPECT_EQ(Values(Eval("center_crop_pad", {Ramp({2}), Longs({1}, {5})})), Numbers({0, 0, 1, 0, 0}));
}

TEST(Losses, Reductions) {
  const Tensor logs = Floats({2, 2}, {-1, -2, -3, -4});
  ExpectNear(Eval("nll_loss", {logs, Longs({2}, {0, 1})}, {{"reduction", S("none")}}), {1, 4});
  ExpectNear(Eval("nll_loss", {logs, Longs({2}, {0, 1}), Floats({2}, {1, 3})}), {(1 + 12) / 4.});
  ExpectNear(Eval("nll_loss", {logs, Longs({2}, {0, -5})}, {{"ignore_index", int64_t{-5}}}), {1});
  EXPECT_THAT(ErrorOf("nll_loss", {logs, Longs({2}, {0, 2})}), HasSubstr("index 2"));
  const auto r = EvalAll("softmax_cross_entropy_loss", {Floats({1, 2}, {0, 0}), Longs({1}, {1})});
  ExpectNear(r[0], {std::log(2.0)});
  ExpectNear(r[1], {-std::log(2.0), -std::log(2.0)});
}

TEST(Text, ConcatSplitNormalize) {
  EXPECT_EQ(List<S>(Eval("string_concat", {Words({2}, {"abc", "def"}), Words({1}, {".com"})})),
            Strings({"abc.com", "def.com"}));
  auto r = EvalAll("string_split", {Words({2}, {"a.b.c", "x"})}, {{"delimiter", S(".")}, {"maxsplit", int64_t{1}}});
  EXPECT_EQ(List<S>(r[0]), Strings({"a", "b.c", "x", ""}));
  EXPECT_EQ(Values(r[1]), Numbers({2, 1}));
  EXPECT_EQ(List<S>(Eval("string_split", {Words({1}, {"  hello   world "})})), Strings({"hello", "world"}));
  EXPECT_EQ(List<S>(Eval("string_normalizer", {Words({3}, {"Monday", "tue", "WED"})},
                         {{"case_change_action", S("UPPER")}, {"stopwords", std::vector<S>{"TUE"}}})),
            Strings({"MONDAY", "WED"}));
  EXPECT_EQ(List<S>(Eval("string_normalizer", {Words({1}, {"a"})}, {{"stopwords", std::vector<S>{"a"}}})),
            Strings({""}));
}

TEST(Text, RegularExpressions) {
  const auto match = [](const S& pattern, const S& text) {
    return Values(Eval("regex_full_match", {Words({1}, {text})}, {{"pattern", pattern}}))[0] == 1;
  };
  EXPECT_TRUE(match(R"(www\.[\w.-]+\.\bcom\b)", "www.google.com"));
  EXPECT_FALSE(match(R"(www\.[\w.-]+\.\bcom\b)", "www.google.org"));
  EXPECT_TRUE(match("(a|bc)*d?", "abcbca"));
  EXPECT_FALSE(match("a{2,3}", "aaaa"));
  EXPECT_TRUE(match("[^0-9]+", "h\xc3\xa9llo"));
  EXPECT_TRUE(match("h.llo", "h\xc3\xa9llo"));  // one code point
  EXPECT_TRUE(match("(?i)Ab", "aB"));
  EXPECT_TRUE(match("", ""));
  EXPECT_FALSE(match("(a*)*b", S(2000, 'a')));  // no exponential time
  const auto error = [](const S& pattern) {
    return ErrorOf("regex_full_match", {Words({1}, {""})}, {{"pattern", pattern}});
  };
  for (const char* bad : {"(", ")", "[a", "*", "\\", "[z-a]"}) EXPECT_NE(error(bad), "") << bad;
  EXPECT_NE(error("((a{1000}){1000}){1000}"), "");  // no exponential memory
  EXPECT_NE(error(S(5000, '(')), "");
}

TEST(Text, Tfidf) {
  const Attributes a{{"mode", S("TF")},
                     {"min_gram_length", int64_t{2}},
                     {"max_gram_length", int64_t{2}},
                     {"max_skip_count", int64_t{0}},
                     {"ngram_counts", L{0, 4}},
                     {"ngram_indexes", L{0, 1, 2, 3, 4, 5, 6}},
                     {"pool_int64s", L{2, 3, 5, 4, 5, 6, 7, 8, 6, 7}}};
  EXPECT_EQ(Values(Eval("tfidf_vectorizer", {Typed(DType::kI32, {12}, {1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8})}, a)),
            Numbers({0, 0, 0, 0, 1, 1, 1}));
}

}  // namespace
}  // namespace tcc::reference
