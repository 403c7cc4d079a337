// max-autotune end to end: through the worker, with measurements of real kernels. Nothing here depends on the times.
#include "compiler/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "compiler/compile.h"
#include "compiler/include/tcc/tcc.h"
#include "tests/autotune/fixture.h"

namespace tcc {
namespace {

TEST_F(AutotuneTest, GemmsAreMeasuredOnce) {
  const std::vector<Tensor> inputs = {RandomTensor({48, 64}, 9)};
  const Result plain = CompileAndRun(GemmModel(48), Options(), inputs);
  ASSERT_TRUE(plain.event.reply.has_value());
  EXPECT_EQ(plain.event.reply->tuning.kernels, 0);
  EXPECT_EQ(TuningFiles(), 0);

  const Result first = CompileAndRun(GemmModel(48), Tuned(), inputs);
  ASSERT_TRUE(first.event.reply.has_value());
  EXPECT_FALSE(first.event.hit);  // the mode is part of the key
  EXPECT_EQ(first.event.reply->tuning.kernels, 2);
  EXPECT_EQ(first.event.reply->tuning.reused, 0);
  EXPECT_GE(first.event.reply->tuning.measured, 4);
  ExpectNear(first.outputs, plain.outputs);
  EXPECT_EQ(TuningFiles(), 2);
  ASSERT_FALSE(progress_.empty());
  EXPECT_EQ(progress_.back().first, progress_.back().second);

  ForgetPackages();
  const Result second = CompileAndRun(GemmModel(48), Tuned(), inputs);
  ASSERT_TRUE(second.event.reply.has_value());
  EXPECT_EQ(second.event.reply->tuning.kernels, 2);
  EXPECT_EQ(second.event.reply->tuning.reused, 2);
  EXPECT_EQ(second.event.reply->tuning.measured, 0);
  EXPECT_EQ(second.event.reply->tuning.changed, first.event.reply->tuning.changed);
  ExpectNear(second.outputs, plain.outputs);
}

TEST_F(AutotuneTest, EqualKernelsAreMeasuredOnce) {
  ::onnx::ModelProto model = onnx::testing::Model();
  ::onnx::GraphProto& graph = *model.mutable_graph();
  AddValue(graph.add_input(), "x", {33, 70});
  std::string last = "x";
  for (int i = 0; i < 3; ++i) {
    const std::string name = std::to_string(i);
    AddWeights(graph, "w" + name, {70, 70}, static_cast<unsigned>(i));
    AddNode(graph, "MatMul", {last, "w" + name}, {"y" + name}, "layer" + name);
    last = "y" + name;
  }
  AddValue(graph.add_output(), last, {33, 70});
  const std::vector<Tensor> inputs = {RandomTensor({33, 70}, 5)};
  const Result plain = CompileAndRun(model, Options(), inputs);
  const Result tuned = CompileAndRun(model, Tuned(), inputs);
  ASSERT_TRUE(tuned.event.reply.has_value());
  EXPECT_EQ(tuned.event.reply->tuning.kernels, 1);
  ASSERT_EQ(tuned.outputs.size(), 1u);
  // Sums of 70 products of sums of 70 products: some tens.
  for (int64_t k = 0; k < tuned.outputs[0].num_elements(); ++k) {
    ASSERT_NEAR(tuned.outputs[0].data_as<float>()[k], plain.outputs[0].data_as<float>()[k], 1e-2);
  }
}

TEST_F(AutotuneTest, ConvolutionsAreMeasured) {
  const std::vector<Tensor> inputs = {RandomTensor({1, 8, 13, 13}, 9)};
  const Result plain = CompileAndRun(ConvModel(), Options(), inputs);
  const Result tuned = CompileAndRun(ConvModel(), Tuned(), inputs);
  ASSERT_TRUE(tuned.event.reply.has_value());
  EXPECT_EQ(tuned.event.reply->tuning.kernels, 2);
  EXPECT_EQ(tuned.event.reply->tuning.skipped, 0);
  EXPECT_GE(tuned.event.reply->tuning.measured, 4);
  ExpectNear(tuned.outputs, plain.outputs);
}

TEST_F(AutotuneTest, OpenExtentsAreMeasuredAtTheCallsValue) {
  Options options = Tuned(), plain_options;
  DimSpec rows, columns;
  rows.kind = DimSpec::Kind::kDynamic;
  rows.name = "rows";
  options.dynamic = plain_options.dynamic = {{"x", {rows, columns}}};
  const std::vector<Tensor> inputs = {RandomTensor({37, 64}, 9)};
  const Result plain = CompileAndRun(GemmModel(-1), plain_options, inputs);
  const Result tuned = CompileAndRun(GemmModel(-1), options, inputs);
  ASSERT_TRUE(tuned.event.reply.has_value());
  EXPECT_EQ(tuned.event.signature.symbols.size(), 1u);
  EXPECT_EQ(tuned.event.reply->tuning.kernels, 2);
  EXPECT_EQ(tuned.event.reply->tuning.skipped, 0);
  EXPECT_GE(tuned.event.reply->tuning.measured, 4);
  ExpectNear(tuned.outputs, plain.outputs);
}

CompileRequest GemmRequest(const TempFolder& folder) {
  WriteFile(folder / "model.onnx", GemmModel(48).SerializeAsString());
  CompileRequest request;
  request.model = folder / "model.onnx";
  request.options = Tuned();
  request.package = folder / "out.tcc";
  InputSpec& x = request.signature.inputs.emplace_back();
  x.name = "x";
  x.dtype = DType::kF32;
  x.dims = {Extent::Constant(48), Extent::Constant(64)};
  return request;
}

// The worker knows the time that a compile may take: what does not fit stays as it is.
TEST_F(AutotuneTest, ATimeLimitLeavesKernelsAlone) {
  CompileRequest request = GemmRequest(folder_);
  // Through the door as the worker gets it, but without who would end it.
  request.options.compile_timeout_seconds = 1e-9;
  const auto received = RequestFromJson(RequestToJson(request));
  ASSERT_TRUE(received.ok()) << received.status();
  EXPECT_EQ(received->options.compile_timeout_seconds, 1e-9);
  const auto reply = CompileModel(*received, nullptr);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_GT(reply->tuning.kernels, 0);
  EXPECT_EQ(reply->tuning.skipped, reply->tuning.kernels);
  EXPECT_EQ(reply->tuning.measured, 0);
}

// What failed for want of something is tried again the next time.
TEST_F(AutotuneTest, WhatMayDoBetterIsNotKept) {
  CompileRequest request = GemmRequest(folder_);
  request.tuning_store = cache_->tuning_store();
  rlimit usual;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  const auto reply = CompileModel(request, [&](Phase phase, int, int total) {
    rlimit limit = usual;
    if (phase == Phase::kAutotune && total > 0) {
      // One descriptor is enough to write a file, but not to load code.
      const int lowest = ::dup(0);
      ::close(lowest);
      limit.rlim_cur = static_cast<rlim_t>(lowest) + 1;
    }
    ::setrlimit(RLIMIT_NOFILE, &limit);
  });
  ::setrlimit(RLIMIT_NOFILE, &usual);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->tuning.skipped, reply->tuning.kernels);
  EXPECT_EQ(TuningFiles(), 0);
  const auto again = CompileModel(request, nullptr);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_GT(again->tuning.measured, 0);
  EXPECT_EQ(TuningFiles(), again->tuning.kernels);
}

TEST_F(AutotuneTest, WithoutCacheNothingIsKept) {
  Options options = Tuned();
  options.use_cache = false;
  const Result tuned = CompileAndRun(GemmModel(48), options, {RandomTensor({48, 64}, 9)});
  ASSERT_TRUE(tuned.event.reply.has_value());
  EXPECT_GE(tuned.event.reply->tuning.measured, 4);
  EXPECT_EQ(TuningFiles(), 0);
}

}  // namespace
}  // namespace tcc
