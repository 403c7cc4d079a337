#include "runtime/tensor.h"

#include <gtest/gtest.h>

#include <numeric>

#include "runtime/attributes.h"

namespace tcc {
namespace {

Tensor Iota(const Dims& dims) {
  Tensor tensor = *Tensor::Allocate(DType::kI32, dims);
  std::iota(tensor.data_as<int32_t>(), tensor.data_as<int32_t>() + tensor.num_elements(), 0);
  return tensor;
}

std::vector<int32_t> Values(const Tensor& tensor) {
  const Tensor flat = *tensor.Contiguous();
  return {flat.data_as<int32_t>(), flat.data_as<int32_t>() + flat.num_elements()};
}

TEST(Tensor, AllocateIsAlignedAndChecked) {
  const Tensor tensor = *Tensor::Allocate(DType::kF32, {3, 5, 7});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data()) % 64, 0u);
  EXPECT_EQ(tensor.bytes(), 3u * 5 * 7 * 4);
  EXPECT_EQ(tensor.strides(), (Dims{35, 7, 1}));
  EXPECT_EQ(tensor.type().ToString(), "f32[3,5,7]");
  EXPECT_EQ(Tensor::Allocate(DType::kF32, {2, -1}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Tensor::Allocate(DType::kF32, {1LL << 40, 1LL << 40}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Tensor::Allocate(DType::kF64, {1LL << 58}).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Tensor::Allocate(DType::kF64, {1LL << 62}).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Tensor::Allocate(DType::kF64, {1LL << 62, 1LL << 62, 0})->num_elements(), 0);
}

TEST(Tensor, Strings) {
  Tensor tensor = *Tensor::Allocate(DType::kString, {2, 2});
  for (int i = 0; i < 4; ++i) tensor.data_as<std::string>()[i] = std::string(40, static_cast<char>('a' + i));
  const Tensor transposed = *tensor.View({2, 2}, {1, 2}, 0).Clone();
  EXPECT_EQ(transposed.data_as<std::string>()[1], std::string(40, 'c'));
  EXPECT_EQ(DebugString(Tensor::Scalar<std::string>("x")), "string[] {\"x\"}");
}

TEST(Tensor, StridedCopies) {
  const Tensor tensor = Iota({2, 3, 4});
  EXPECT_EQ(Values(tensor.View({4, 3}, {1, 4}, 12)),
            (std::vector<int32_t>{12, 16, 20, 13, 17, 21, 14, 18, 22, 15, 19, 23}));
  EXPECT_EQ(Values(tensor.View({3}, {-1}, 2)), (std::vector<int32_t>{2, 1, 0}));
  EXPECT_EQ(Values(tensor.View({2, 2}, {0, 1}, 5)), (std::vector<int32_t>{5, 6, 5, 6}));
  EXPECT_EQ(Values(tensor.View({0, 3}, {7, 9}, 0)), (std::vector<int32_t>{}));
  EXPECT_EQ(Values(tensor.View({}, {}, 7)), (std::vector<int32_t>{7}));
  // Axes 1 and 2 merge on both sides, axis 0 does not.
  EXPECT_EQ(Values(tensor.View({2, 3, 2}, {12, 4, 2}, 1)),
            (std::vector<int32_t>{1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23}));
}

TEST(Tensor, CopyIntoStrided) {
  const Tensor from = Iota({2, 3});
  const Tensor to = Iota({3, 2});
  ASSERT_TRUE(CopyElements(from, to.View({2, 3}, {1, 2}, 0)).ok());
  EXPECT_EQ(Values(to), (std::vector<int32_t>{0, 3, 1, 4, 2, 5}));
  EXPECT_FALSE(CopyElements(from, to).ok());
}

// Every stride pattern of a small rank-4 tensor against index arithmetic.
TEST(Tensor, AllPermutationsCopy) {
  const Dims dims = {2, 3, 1, 5};
  const Tensor tensor = Iota(dims);
  std::vector<int> order = {0, 1, 2, 3};
  do {
    Dims view_dims, view_strides;
    for (int axis : order) {
      view_dims.push_back(dims[axis]);
      view_strides.push_back(tensor.strides()[axis]);
    }
    std::vector<int32_t> expected;
    for (int64_t a = 0; a < view_dims[0]; ++a)
      for (int64_t b = 0; b < view_dims[1]; ++b)
        for (int64_t c = 0; c < view_dims[2]; ++c)
          for (int64_t d = 0; d < view_dims[3]; ++d)
            expected.push_back(static_cast<int32_t>(a * view_strides[0] + b * view_strides[1] + c * view_strides[2] +
                                                    d * view_strides[3]));
    EXPECT_EQ(Values(tensor.View(view_dims, view_strides, 0)), expected);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Tensor, Contiguity) {
  const Tensor tensor = Iota({4, 1, 3});
  EXPECT_TRUE(tensor.is_contiguous());
  EXPECT_TRUE(tensor.View({4, 1, 3}, {3, 99, 1}, 0).is_contiguous());  // the stride of an extent of 1 does not matter
  EXPECT_FALSE(tensor.View({3, 4}, {1, 3}, 0).is_contiguous());
  EXPECT_TRUE(tensor.View({0, 4}, {1, 3}, 0).is_contiguous());
  EXPECT_EQ(tensor.Contiguous()->data(), tensor.data());
  EXPECT_NE(tensor.Clone()->data(), tensor.data());
}

TEST(Tensor, WrapRunsTheDeleterOnce) {
  int deleted = 0;
  float data[6] = {};
  {
    const Tensor tensor = Tensor::Wrap(data, DType::kF32, {2, 3}, {}, [&] { ++deleted; });
    const Tensor view = tensor.View({3}, {1}, 3);
    EXPECT_EQ(view.data(), data + 3);
  }
  EXPECT_EQ(deleted, 1);
  EXPECT_FALSE(Tensor::Wrap(data, DType::kF32, {-1}, {}, [&] { ++deleted; }).valid());
  EXPECT_EQ(deleted, 2);
}

TEST(Tensor, ViewFits) {
  const int64_t big = std::numeric_limits<int64_t>::max();
  EXPECT_TRUE(ViewFits(6, {2, 3}, {3, 1}, 0));
  EXPECT_FALSE(ViewFits(6, {2, 3}, {3, 1}, 1));
  EXPECT_TRUE(ViewFits(6, {3}, {-2}, 4));
  EXPECT_FALSE(ViewFits(6, {3}, {-3}, 5));
  EXPECT_TRUE(ViewFits(0, {0, 5}, {5, 1}, 0));
  EXPECT_TRUE(ViewFits(0, {big, 0, 5}, {big, 1, 1}, 0));
  EXPECT_FALSE(ViewFits(6, {big}, {big}, 0));
  EXPECT_FALSE(ViewFits(6, {2}, {big}, big));
  EXPECT_FALSE(ViewFits(6, {-1}, {1}, 0));
}

TEST(Tensor, ToInt64s) {
  EXPECT_EQ(*ToInt64s(Tensor::Vector<int32_t>({1, -2})), (std::vector<int64_t>{1, -2}));
  EXPECT_EQ(*ToInt64s(Tensor::Scalar<bool>(true)), (std::vector<int64_t>{1}));
  EXPECT_FALSE(ToInt64s(Tensor::Scalar<float>(1)).ok());
  EXPECT_FALSE(ToInt64s(Tensor()).ok());
}

TEST(Tensor, DebugString) {
  EXPECT_EQ(DebugString(Iota({2, 3}), 4), "i32[2,3] {0, 1, 2, 3, ...}");
  EXPECT_EQ(DebugString(Tensor::Scalar<float>(1.5f)), "f32[] {1.5}");
}

TEST(Attributes, ErrorsNameTheAttribute) {
  const Attributes attributes{{"axis", int64_t{2}}, {"mode", std::string("linear")}};
  EXPECT_EQ(*attributes.Int("axis"), 2);
  EXPECT_EQ(attributes.IntOr("other", 7), 7);
  EXPECT_NE(attributes.Ints("axis").status().message().find("'axis'"), absl::string_view::npos);
  EXPECT_NE(attributes.Float("eps").status().message().find("'eps' is missing"), absl::string_view::npos);
}

}  // namespace
}  // namespace tcc
