#include "runtime/signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tcc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tensor F32(const Dims& dims) { return *Tensor::Allocate(DType::kF32, dims); }

Signature Example() {
  Signature signature;
  signature.symbols = {{"batch", 2, 64, 2}};
  signature.inputs = {{"x", DType::kF32, {Extent::Of(0), Extent::Constant(3)}}, {"y", DType::kF32, {Extent::Of(0)}}};
  return signature;
}

std::string Message(const Signature& signature, std::vector<Tensor> inputs) {
  std::vector<int64_t> symbols;
  const absl::Status status = CheckGuards(signature, inputs, &symbols);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(Guards, BindSymbols) {
  std::vector<int64_t> symbols;
  ASSERT_TRUE(CheckGuards(Example(), {F32({8, 3}), F32({8})}, &symbols).ok());
  EXPECT_THAT(symbols, ElementsAre(8));
}

TEST(Guards, SayWhatFailed) {
  EXPECT_THAT(Message(Example(), {F32({8, 3})}), HasSubstr("expected 2 inputs, got 1"));
  EXPECT_THAT(Message(Example(), {F32({8, 4}), F32({8})}),
              HasSubstr("input 'x': axis 1 expected 3, got 4 (f32[batch,3] against f32[8,4])"));
  EXPECT_THAT(Message(Example(), {F32({7, 3}), F32({7})}),
              HasSubstr("axis 0 expected batch from 2 to 64 and a multiple of 2, got 7"));
  EXPECT_THAT(Message(Example(), {F32({66, 3}), F32({66})}), HasSubstr("got 66"));
  EXPECT_THAT(Message(Example(), {F32({8, 3}), F32({6})}),
              HasSubstr("input 'y': axis 0 expected 8 (batch, as axis 0 of 'x'), got 6"));
  EXPECT_THAT(Message(Example(), {F32({8, 3, 1}), F32({8})}), HasSubstr("expected f32[batch,3], got f32[8,3,1]"));
  EXPECT_THAT(Message(Example(), {*Tensor::Allocate(DType::kF16, {8, 3}), F32({8})}), HasSubstr("got f16[8,3]"));
  EXPECT_THAT(Message(Example(), {F32({8, 3}), Tensor()}),
              HasSubstr("input 'y': expected f32[batch], but it was left out"));
}

TEST(Guards, ValuesAndAbsence) {
  Signature signature;
  signature.inputs = {{"shape", DType::kI64, {Extent::Constant(2)}}, {"bias", DType::kF32, {}}};
  signature.inputs[0].values = {4, -1};
  signature.inputs[1].absent = true;
  std::vector<int64_t> symbols;
  EXPECT_TRUE(CheckGuards(signature, {Tensor::Vector<int64_t>({4, -1}), Tensor()}, &symbols).ok());
  EXPECT_THAT(Message(signature, {Tensor::Vector<int64_t>({4, 2}), Tensor()}), HasSubstr("element 1 expected -1"));
  EXPECT_THAT(Message(signature, {Tensor::Vector<int64_t>({4, -1}), F32({})}), HasSubstr("expects it left out"));
}

TEST(Guards, ASymbolThatNothingBindsIsOurBug) {
  Signature signature;
  signature.symbols = {{"s0"}};
  std::vector<int64_t> symbols;
  EXPECT_EQ(CheckGuards(signature, {}, &symbols).code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace tcc
