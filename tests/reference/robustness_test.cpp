// Whatever operands and attributes arrive, a kernel answers with results or an error. (Run it with
// -DTCC_SANITIZE=address,undefined as well: there "never reads outside its inputs" is checked too, because each tensor
// is an allocation of its own.)
#include <cstdint>
#include <random>

#include "test_util.h"

namespace tcc::reference {
namespace {

class Garbage {
 public:
  explicit Garbage(uint32_t seed) : random_(seed) {}

  int Below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  // Mostly small; sometimes a value at which arithmetic overflows. Nothing between: it would only ask for gigabytes.
  int64_t Number() {
    const int64_t kExtreme[] = {INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_MIN + 1};
    return Below(12) == 0 ? kExtreme[Below(4)] : Below(9) - 3;
  }
  double Real() {
    const double kExtreme[] = {kInf, -kInf, kNan, 1e300, -1e300, 1e30, 0.5, -0.0};
    return Below(6) == 0 ? kExtreme[Below(8)] : Below(17) / 4.0 - 2;
  }
  Dims Extents() {
    Dims dims(Below(5), 0);
    for (int64_t& d : dims) d = Below(8) == 0 ? 0 : 1 + Below(4);
    return dims;
  }
  DType Type() {
    const DType kTypes[] = {DType::kF32,  DType::kF32,    DType::kF32, DType::kI64, DType::kI64,
                            DType::kI32,  DType::kBool,   DType::kU8,  DType::kI8,  DType::kF16,
                            DType::kF64,  DType::kBF16,   DType::kI4,  DType::kU2,  DType::kC64,
                            DType::kC128, DType::kString, DType::kU64, DType::kI16, DType::kF8E4M3FN};
    return kTypes[Below(20)];
  }
  Tensor Operand() {
    const Dims dims = Extents();
    const DType type = Type();
    Tensor t = *Tensor::Allocate(type, dims);
    for (int64_t i = 0; i < t.num_elements(); ++i) {
      if (type == DType::kString) {
        const char* kTexts[] = {"", "a", "1.5", "nan", "(", "x y", "\xff\xfe", "12"};
        t.data_as<std::string>()[i] = kTexts[Below(8)];
      } else if (IsComplex(type)) {
        if (type == DType::kC64) t.data_as<std::complex<float>>()[i] = {static_cast<float>(Below(3)), 1};
        if (type == DType::kC128) t.data_as<std::complex<double>>()[i] = {1, static_cast<double>(Below(3))};
      } else if (IsFloat(type)) {
        StoreDouble(t.data(), type, i, Real());
      } else {
        StoreInt(t.data(), type, i, Number());
      }
    }
    // Some arrive as views: a dropped first element, a reversed or repeated axis.
    if (t.rank() > 0 && !IsPacked(type) && t.num_elements() > 0 && Below(3) == 0) {
      Dims view = t.dims(), strides = t.strides();
      const int axis = Below(t.rank());
      int64_t offset = 0;
      if (Below(2) == 0) {
        offset = (view[axis] - 1) * strides[axis];
        strides[axis] = -strides[axis];
      } else {
        strides[axis] = 0;
      }
      return t.View(view, strides, offset);
    }
    return t;
  }
  std::vector<int64_t> List() {
    std::vector<int64_t> list(Below(5));
    for (int64_t& v : list) v = Number();
    return list;
  }
  Attributes Config() {
    Attributes a;
    for (const char* name : {"axis",
                             "keep_dims",
                             "exclusive",
                             "reverse",
                             "select_last",
                             "largest",
                             "ceil_mode",
                             "count_include_pad",
                             "column_major",
                             "causal",
                             "groups",
                             "group",
                             "offset_group",
                             "align_corners",
                             "batch_dims",
                             "detect_negative",
                             "detect_positive",
                             "layout",
                             "hidden_size",
                             "sorted",
                             "block_size",
                             "inverse",
                             "onesided",
                             "size",
                             "sampling_ratio",
                             "output_height",
                             "output_width",
                             "batch_axis",
                             "time_axis",
                             "ignore_index",
                             "maxsplit",
                             "min_gram_length",
                             "max_gram_length",
                             "max_skip_count",
                             "periodic",
                             "allowzero",
                             "channels_last",
                             "antialias",
                             "exclude_outside",
                             "linear_before_reset",
                             "center_point_box"}) {
      if (Below(4) != 0) a.Set(name, Below(2) == 0 ? int64_t{Below(2)} : Number());
    }
    if (Below(2) == 0) a.Set("sample_size", int64_t{Below(3)});
    for (const char* name : {"axes", "permutation", "starts", "steps", "low", "high", "kernel", "kernel_shape",
                             "pooled_shape", "padding_low", "padding_high", "strides", "dilations", "output_padding",
                             "pads", "ngram_counts", "ngram_indexes", "pool_int64s"}) {
      if (Below(8) != 0) a.Set(name, Below(2) == 0 ? std::vector<int64_t>(Below(4), 1) : List());
    }
    for (const char* name : {"epsilon", "scale", "extrapolation_value", "clip", "spatial_scale", "iou_threshold",
                             "alpha", "beta", "bias", "cubic_coeff_a", "low_", "mean"}) {
      if (Below(3) != 0) a.Set(name, Real());
    }
    for (const char* name : {"scales", "roi", "weights", "activation_alpha"}) {
      std::vector<double> list(Below(7));
      for (double& v : list) v = Real();
      if (Below(3) != 0) a.Set(name, list);
    }
    const auto pick = [&](const char* name, std::vector<const char*> values) {
      if (Below(8) != 0) a.Set(name, std::string(values[Below(static_cast<int>(values.size()))]));
    };
    pick("kind", {"sum", "prod", "max", "min", "mean", "assign", "add", "mul", "?"});
    pick("predicate", {"eq", "ne", "lt", "le", "gt", "ge"});
    pick("mode", {"constant", "reflect", "edge", "wrap", "nearest", "linear", "cubic", "avg", "max", "TF", "IDF"});
    pick("coordinate", {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                        "tf_crop_and_resize", "tf_half_pixel_for_nn"});
    pick("nearest_mode", {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"});
    pick("padding", {"zeros", "border", "reflection"});
    pick("direction", {"forward", "reverse", "bidirectional"});
    pick("reduction", {"none", "sum", "mean"});
    pick("equation", {"ij,jk->ik", "...i->...", "ii", "i,i", "ij->ji", "->", ",", "..."});
    pick("pattern", {"a*", "(a|b)+", "[^x]", "((", "\\d{2,}"});
    return a;
  }

 private:
  std::mt19937 random_;
};

class Robustness : public ::testing::TestWithParam<std::string_view> {};

TEST_P(Robustness, GarbageGivesResultsOrErrors) {
  const std::string_view name = GetParam();
  uint32_t seed = 1;
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(std::string(name) + " with seed " + std::to_string(seed));
    Garbage garbage(seed++);
    std::vector<Tensor> inputs;
    const int count = garbage.Below(8) == 0 ? garbage.Below(10) : 1 + garbage.Below(4);
    for (int i = 0; i < count; ++i) inputs.push_back(i > 0 && garbage.Below(10) == 0 ? Tensor() : garbage.Operand());
    // Equal types now and then, so that more than the checks at the door is reached.
    if (count > 1 && garbage.Below(2) == 0) {
      for (int i = 1; i < count; ++i) {
        if (garbage.Below(2) == 0) inputs[i] = inputs[0];
      }
    }
    std::vector<TensorType> types(garbage.Below(3));
    for (TensorType& type : types) {
      type = {garbage.Type(), garbage.Extents()};
      if (garbage.Below(2) == 0 && count > 0) type.dtype = inputs[0].dtype();
      for (int64_t& d : type.dims) {
        if (garbage.Below(4) == 0) d = -1;
      }
    }
    const Attributes config = garbage.Config();
    const auto results = Find(name)(Call{inputs, config, types});
    if (!results.ok()) {
      EXPECT_EQ(results.status().message().substr(0, name.size()), absl::string_view(name.data(), name.size()));
      continue;
    }
    for (const Tensor& result : *results) {
      if (result.valid() && !IsPacked(result.dtype())) EXPECT_TRUE(result.Clone().ok());  // every element can be read
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Robustness, ::testing::ValuesIn(Names()),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tcc::reference
