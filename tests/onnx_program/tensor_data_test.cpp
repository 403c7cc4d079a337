// TensorProto -> Tensor: every field, every lie about sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "frontend/onnx/program/Program.h"
#include "frontend/onnx/program/TensorData.h"
#include "frontend/onnx/program/ValueFile.h"
#include "tests/onnx_program/models.h"

namespace tcc::onnx {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Proto = ::onnx::TensorProto;

Proto Make(int32_t type, std::vector<int64_t> dims) {
  Proto proto;
  proto.set_data_type(type);
  for (int64_t dim : dims) proto.add_dims(dim);
  return proto;
}
absl::StatusOr<Tensor> Convert(const Proto& proto) { return toTensor(proto, std::nullopt, nullptr); }
std::string ErrorOf(const Proto& proto) { return std::string(Convert(proto).status().message()); }
template <typename T>
std::vector<T> Elements(const Tensor& tensor) {
  return {tensor.data_as<T>(), tensor.data_as<T>() + tensor.num_elements()};
}

TEST(TensorData, TypedFields) {
  Proto proto = Make(Proto::FLOAT, {2});
  proto.add_float_data(1.5);
  proto.add_float_data(-2);
  EXPECT_THAT(Elements<float>(*Convert(proto)), ElementsAre(1.5, -2));
  proto = Make(Proto::INT8, {3});
  for (int v : {-1, 127, -128}) proto.add_int32_data(v);
  EXPECT_THAT(Elements<int8_t>(*Convert(proto)), ElementsAre(-1, 127, -128));
  proto = Make(Proto::FLOAT16, {1});
  proto.add_int32_data(0x3c00);
  EXPECT_THAT(Elements<uint16_t>(*Convert(proto)), ElementsAre(0x3c00));
  proto = Make(Proto::BOOL, {2});
  proto.add_int32_data(7);
  proto.add_int32_data(0);
  EXPECT_THAT(Elements<uint8_t>(*Convert(proto)), ElementsAre(1, 0));
  proto = Make(Proto::UINT32, {1});
  proto.add_uint64_data(4000000000u);
  EXPECT_THAT(Elements<uint32_t>(*Convert(proto)), ElementsAre(4000000000u));
  proto = Make(Proto::INT4, {3});  // two entries of two nibbles each
  proto.add_int32_data(0x21);
  proto.add_int32_data(0x3);
  EXPECT_EQ(std::memcmp(Convert(proto)->data(), "\x21\x03", 2), 0);
  proto = Make(Proto::COMPLEX64, {1});
  proto.add_float_data(1);
  proto.add_float_data(2);
  EXPECT_THAT(Elements<std::complex<float>>(*Convert(proto)), ElementsAre(std::complex<float>(1, 2)));
  proto = Make(Proto::STRING, {2});
  proto.add_string_data("a");
  proto.add_string_data(std::string("b\0c", 3));
  EXPECT_THAT(Elements<std::string>(*Convert(proto)), ElementsAre("a", std::string("b\0c", 3)));
}

TEST(TensorData, RawDataIsSharedWhenAligned) {
  auto proto = std::make_shared<Proto>(Make(Proto::FLOAT, {8}));
  proto->set_raw_data(std::string(32, '\0'));
  Tensor shared = *toTensor(*proto, std::nullopt, proto);
  EXPECT_EQ(shared.data(), proto->raw_data().data());
  Tensor copied = *toTensor(*proto, std::nullopt, nullptr);
  EXPECT_NE(copied.data(), proto->raw_data().data());
  // Misaligned external bytes are copied.
  std::string bytes(33, 'x');
  proto->set_data_location(Proto::EXTERNAL);
  size_t odd = reinterpret_cast<uintptr_t>(bytes.data()) % 4 == 0 ? 1 : 0;
  Tensor external = *toTensor(*proto, std::string_view(bytes).substr(odd, 32), proto);
  EXPECT_NE(external.data(), bytes.data() + odd);
}

TEST(TensorData, RawBoolsBecomeZeroOrOne) {
  auto proto = std::make_shared<Proto>(Make(Proto::BOOL, {3}));
  proto->set_raw_data(std::string("\x00\x01\xff", 3));
  EXPECT_THAT(Elements<uint8_t>(*toTensor(*proto, std::nullopt, proto)), ElementsAre(0, 1, 1));
}

TEST(TensorData, ZeroElements) {
  EXPECT_EQ(Convert(Make(Proto::FLOAT, {0, 3}))->num_elements(), 0);
  Proto proto = Make(Proto::FLOAT, {3, 0});
  proto.set_raw_data("");
  EXPECT_TRUE(Convert(proto).ok());
}

TEST(TensorData, SizesThatDisagree) {
  Proto proto = Make(Proto::FLOAT, {3});
  proto.add_float_data(1);
  EXPECT_THAT(ErrorOf(proto), HasSubstr("f32[3] needs 3 values, but has 1"));
  proto = Make(Proto::FLOAT, {3});
  proto.set_raw_data(std::string(11, 'x'));
  EXPECT_THAT(ErrorOf(proto), HasSubstr("f32[3] needs 12 bytes, but has 11"));
  proto = Make(Proto::FLOAT, {3});
  EXPECT_THAT(ErrorOf(proto), HasSubstr("needs 3 values, but has 0"));
  // 108 PB in a few bytes.
  proto = Make(Proto::FLOAT, {1 << 30, 1 << 25});
  EXPECT_THAT(ErrorOf(proto), HasSubstr("but has 0"));
  proto = Make(Proto::FLOAT, {int64_t{1} << 40, int64_t{1} << 40});
  EXPECT_FALSE(Convert(proto).ok());
  proto = Make(Proto::FLOAT, {int64_t{1} << 62});
  EXPECT_THAT(ErrorOf(proto), HasSubstr("too large"));
  proto = Make(Proto::FLOAT, {-1});
  EXPECT_FALSE(Convert(proto).ok());
}

TEST(TensorData, OtherFaults) {
  EXPECT_THAT(ErrorOf(Make(0, {})), HasSubstr("element type 0"));
  EXPECT_THAT(ErrorOf(Make(12345, {})), HasSubstr("element type 12345"));
  Proto proto = Make(Proto::FLOAT, {1});
  proto.add_int64_data(1);
  EXPECT_THAT(ErrorOf(proto), HasSubstr("data of another element type"));
  proto = Make(Proto::FLOAT, {1});
  proto.add_float_data(1);
  proto.set_raw_data("abcd");
  EXPECT_THAT(ErrorOf(proto), HasSubstr("twice"));
  proto = Make(Proto::FLOAT, {1});
  proto.mutable_segment();
  EXPECT_THAT(ErrorOf(proto), HasSubstr("segments"));
  proto = Make(Proto::FLOAT, {1});
  proto.set_data_location(Proto::EXTERNAL);
  EXPECT_THAT(ErrorOf(proto), HasSubstr("another file"));
}

::onnx::SparseTensorProto Sparse(std::vector<int64_t> dims, std::vector<int64_t> index_dims,
                                 std::vector<int64_t> indices) {
  ::onnx::SparseTensorProto proto;
  for (int64_t dim : dims) proto.add_dims(dim);
  *proto.mutable_values() = Make(Proto::FLOAT, {2});
  proto.mutable_values()->add_float_data(5);
  proto.mutable_values()->add_float_data(7);
  *proto.mutable_indices() = Make(Proto::INT64, index_dims);
  for (int64_t index : indices) proto.mutable_indices()->add_int64_data(index);
  return proto;
}

TEST(TensorData, SparseBecomesDense) {
  EXPECT_THAT(Elements<float>(*toTensor(Sparse({2, 2}, {2}, {1, 2}), 1000)), ElementsAre(0, 5, 7, 0));
  EXPECT_THAT(Elements<float>(*toTensor(Sparse({2, 2}, {2, 2}, {0, 1, 1, 0}), 1000)), ElementsAre(0, 5, 7, 0));
  EXPECT_FALSE(toTensor(Sparse({2, 2}, {2}, {1, 4}), 1000).ok());
  EXPECT_FALSE(toTensor(Sparse({2, 2}, {2}, {-1, 2}), 1000).ok());
  EXPECT_FALSE(toTensor(Sparse({2, 2}, {2, 2}, {0, 2, 1, 0}), 1000).ok());
  EXPECT_FALSE(toTensor(Sparse({2, 2}, {4}, {0, 2, 1, 0}), 1000).ok());
  EXPECT_EQ(toTensor(Sparse({1 << 20, 1 << 20}, {2}, {0, 1}), 1000).status().code(),
            absl::StatusCode::kResourceExhausted);
  const int64_t huge = int64_t{1} << 62;
  EXPECT_THAT(
      std::string(toTensor(Sparse({huge, huge, 0}, {2, 3}, {huge - 1, huge - 1, 0, 0, 0, 0}), 1000).status().message()),
      HasSubstr("without elements"));
}

TEST(TensorData, SerializeRoundTrip) {
  Tensor tensor = Tensor::Vector<int64_t>({1, -2, 3});
  Proto proto;
  ASSERT_TRUE(proto.ParseFromString(*serializeTensor(tensor, "t")));
  EXPECT_EQ(proto.name(), "t");
  EXPECT_THAT(Elements<int64_t>(*Convert(proto)), ElementsAre(1, -2, 3));
}

}  // namespace
}  // namespace tcc::onnx
