// max-autotune for a device end to end, on the simulated one: what wins there means nothing, and nothing here depends
// on it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <set>

#include "compiler/autotune/TuningStore.h"
#include "compiler/compile.h"
#include "runtime/package.h"
#include "tests/autotune/fixture.h"

namespace tcc {
namespace {

Options ForSim(Mode mode) {
  Options options;
  options.target = "cuda-sim";
  options.mode = mode;
  return options;
}

// Compiled kernels stay from test to test, what was measured does not.
class DeviceAutotuneTest : public AutotuneTest {
 protected:
  DeviceAutotuneTest() {
    static auto* const kernels = new TempFolder;
    ArtifactCache::Options options;
    options.folder = *kernels / "cache";
    cache_ = ArtifactCache::Open(options);
    ForgetMeasurements();
    ForgetPackages();
  }
  ~DeviceAutotuneTest() override {
    ::unsetenv("TCC_MEASURE_FAULT");
    ::unsetenv("TCC_MEASURE_SECONDS");
    ::unsetenv("TCC_CUBLASLT_SIM");
    ::unsetenv("FAKE_CUBLASLT_FAIL");
    ::unsetenv("TCC_CUDNN_SIM");
  }
  void ForgetMeasurements() const {
    std::error_code ignored;
    std::filesystem::remove_all(cache_->tuning_store(), ignored);
  }
  std::vector<nlohmann::json> Records() const {
    std::vector<nlohmann::json> records;
    for (const auto& entry : std::filesystem::directory_iterator(cache_->tuning_store())) {
      records.push_back(nlohmann::json::parse(ReadFile(entry.path().string())));
    }
    return records;
  }
};

TEST_F(DeviceAutotuneTest, KernelsAreMeasuredOnce) {
  const std::vector<Tensor> inputs = {RandomTensor({48, 64}, 9)};
  const Result plain = CompileAndRun(GemmModel(48), Options(), inputs);
  const Result first = CompileAndRun(GemmModel(48), ForSim(Mode::kMaxAutotune), inputs);
  ASSERT_TRUE(first.event.reply.has_value());
  const TuningSummary tuning = first.event.reply->tuning;
  EXPECT_EQ(tuning.kernels, 2);
  EXPECT_EQ(tuning.reused, 0);
  EXPECT_EQ(tuning.skipped, 0);
  EXPECT_EQ(tuning.dropped, 0);
  EXPECT_GE(tuning.measured, 4);
  ExpectNear(first.outputs, plain.outputs);
  ASSERT_FALSE(progress_.empty());
  EXPECT_EQ(progress_.back().first, progress_.back().second);
  // One file for each kernel, and one for the whole plan if another than the default won.
  const std::vector<nlohmann::json> records = Records();
  EXPECT_EQ(records.size(), 2u + (tuning.changed + tuning.reverted > 0));
  for (const nlohmann::json& record : records) {
    const std::string key = record.at("key");
    EXPECT_THAT(key, ::testing::HasSubstr("cuda-sim"));
    EXPECT_THAT(key, ::testing::HasSubstr("clang"));
    EXPECT_GE(record.at("candidates").size(), 2u);
  }

  // Another process finds what wins, and measures nothing.
  ForgetPackages();
  progress_.clear();
  const Result second = CompileAndRun(GemmModel(48), ForSim(Mode::kMaxAutotune), inputs);
  ASSERT_TRUE(second.event.reply.has_value());
  EXPECT_FALSE(second.event.hit);
  EXPECT_EQ(second.event.reply->tuning.reused, 2);
  EXPECT_EQ(second.event.reply->tuning.measured, 0);
  EXPECT_EQ(second.event.reply->tuning.changed, tuning.changed);
  EXPECT_EQ(second.event.reply->tuning.reverted, tuning.reverted);
  EXPECT_TRUE(progress_.empty());
  EXPECT_EQ(Records().size(), records.size());
  ExpectNear(second.outputs, plain.outputs);
}

// The second candidate crashes, the third hangs, the fourth computes something else: only the default is left.
TEST_F(DeviceAutotuneTest, WhatGoesWrongIsLost) {
  ::setenv("TCC_MEASURE_FAULT", "crash:1,hang:2,wrong:3", 1);
  ::setenv("TCC_MEASURE_SECONDS", "3", 1);
  const std::vector<Tensor> inputs = {RandomTensor({48, 64}, 9)};
  const Result plain = CompileAndRun(GemmModel(48), Options(), inputs);
  const Result tuned = CompileAndRun(GemmModel(48), ForSim(Mode::kMaxAutotune), inputs);
  ASSERT_TRUE(tuned.event.reply.has_value());
  EXPECT_EQ(tuned.event.reply->tuning.kernels, 2);
  EXPECT_EQ(tuned.event.reply->tuning.dropped, 6);
  EXPECT_EQ(tuned.event.reply->tuning.skipped, 2);
  EXPECT_EQ(tuned.event.reply->tuning.changed, 0);
  ExpectNear(tuned.outputs, plain.outputs);
}

// A choice that the store has is what is compiled: the winner of a run that never was.
TEST_F(DeviceAutotuneTest, WinnersAreCompiled) {
  // (With slow defaults winners are kept.)
  ::setenv("TCC_MEASURE_FAULT", "slow:0,crash:2,crash:3", 1);
  const std::vector<Tensor> inputs = {RandomTensor({48, 64}, 9)};
  const Result plain = CompileAndRun(GemmModel(48), ForSim(Mode::kDefault), inputs);
  const Result first = CompileAndRun(GemmModel(48), ForSim(Mode::kMaxAutotune), inputs);
  ASSERT_TRUE(first.event.reply.has_value());
  EXPECT_EQ(first.event.reply->tuning.measured, 4);
  for (const auto& entry : std::filesystem::directory_iterator(cache_->tuning_store())) {
    nlohmann::json record = nlohmann::json::parse(ReadFile(entry.path().string()));
    record["winner"] = 1;
    WriteFile(entry.path().string(), record.dump());
  }
  ForgetPackages();
  const Result second = CompileAndRun(GemmModel(48), ForSim(Mode::kMaxAutotune), inputs);
  ASSERT_TRUE(second.event.reply.has_value());
  EXPECT_EQ(second.event.reply->tuning.reused, 2);
  EXPECT_EQ(second.event.reply->tuning.changed, 2);
  EXPECT_EQ(second.event.reply->tuning.reverted, 0);
  ExpectNear(second.outputs, plain.outputs);
  for (size_t i = 0; i < second.event.kernels.size(); ++i) {
    EXPECT_NE(second.event.kernels[i].device_launches[0].symbol, plain.event.kernels[i].device_launches[0].symbol);
  }
}

// y = Softmax(conv(x)): a convolution, and kernels of loops around it.
TEST_F(DeviceAutotuneTest, ConvolutionsAndLoops) {
  ::onnx::ModelProto model = onnx::testing::Model();
  ::onnx::GraphProto& graph = *model.mutable_graph();
  AddValue(graph.add_input(), "x", {1, 8, 9, 9});
  AddWeights(graph, "w", {24, 8, 3, 3}, 3);
  AddNode(graph, "Conv", {"x", "w"}, {"p"}, "conv");
  AddNode(graph, "Softmax", {"p"}, {"y"}, "softmax");
  AddValue(graph.add_output(), "y", {1, 24, 7, 7});
  const std::vector<Tensor> inputs = {RandomTensor({1, 8, 9, 9}, 9)};
  const Result plain = CompileAndRun(model, Options(), inputs);
  const Result tuned = CompileAndRun(model, ForSim(Mode::kMaxAutotune), inputs);
  ASSERT_TRUE(tuned.event.reply.has_value());
  EXPECT_EQ(tuned.event.reply->tuning.kernels, 3);
  EXPECT_EQ(tuned.event.reply->tuning.skipped, 0);
  EXPECT_EQ(tuned.event.reply->tuning.dropped, 0);
  EXPECT_GE(tuned.event.reply->tuning.measured, 6);
  ExpectNear(tuned.outputs, plain.outputs);
}

// With a cuBLASLt that computes on the host: measured like any other candidate. A package whose kernels have calls
// beside them runs where the library is not, too.
TEST_F(DeviceAutotuneTest, CallsOfCublasLt) {
  const std::vector<Tensor> inputs = {RandomTensor({48, 64}, 9)};
  ::setenv("TCC_CUBLASLT_SIM", TCC_FAKE_CUBLASLT, 1);
  ::setenv("TCC_MEASURE_FAULT", "slow:0", 1);
  const Result plain = CompileAndRun(GemmModel(48), Options(), inputs);
  const Result first = CompileAndRun(GemmModel(48), ForSim(Mode::kMaxAutotune), inputs);
  ASSERT_TRUE(first.event.reply.has_value());
  EXPECT_EQ(first.event.reply->tuning.dropped, 0);
  int calls = 0;
  for (const auto& entry : std::filesystem::directory_iterator(cache_->tuning_store())) {
    nlohmann::json record = nlohmann::json::parse(ReadFile(entry.path().string()));
    EXPECT_THAT(record.at("key").get<std::string>(), ::testing::HasSubstr("cuBLASLt 13.0"));
    for (size_t i = 0; i < record.at("candidates").size(); ++i) {
      if (record["candidates"][i].at("parameters") != std::vector<int64_t>{4, 1}) continue;
      EXPECT_GT(record["candidates"][i].at("seconds"), 0);
      record["winner"] = i;
      ++calls;
    }
    WriteFile(entry.path().string(), record.dump());
  }
  EXPECT_EQ(calls, 2);
  ExpectNear(first.outputs, plain.outputs);
  ForgetPackages();
  const Result with_calls = CompileAndRun(GemmModel(48), ForSim(Mode::kMaxAutotune), inputs);
  ASSERT_TRUE(with_calls.event.reply.has_value());
  EXPECT_EQ(with_calls.event.reply->tuning.reused, 2);
  EXPECT_EQ(with_calls.event.reply->tuning.reverted, 0);
  ExpectNear(with_calls.outputs, plain.outputs);
  // An error of the library is one of the call, with the kernel it stands for.
  const auto run = [&] {
    auto package = Package::Open(with_calls.event.package);
    EXPECT_TRUE(package.ok()) << package.status();
    std::vector<Tensor> outputs;
    auto plan = Package::Prepare(*package, 0);
    EXPECT_TRUE(plan.ok()) << plan.status();
    const absl::Status status = ExecutionContext(*plan).Run(inputs, {}, RunOptions(), &outputs);
    if (status.ok()) ExpectNear(outputs, plain.outputs);
    return std::string(status.message());
  };
  EXPECT_EQ(run(), "");
  ::setenv("FAKE_CUBLASLT_FAIL", "matmul:13", 1);
  EXPECT_THAT(run(), ::testing::AllOf(::testing::HasSubstr("first"), ::testing::HasSubstr("(13)")));
  ::unsetenv("TCC_CUBLASLT_SIM");
  EXPECT_EQ(run(), "");
}

// Likewise cuDNN, with a bias and a maximum after the convolution.
TEST_F(DeviceAutotuneTest, CallsOfCudnn) {
  ::onnx::ModelProto model = onnx::testing::Model();
  ::onnx::GraphProto& graph = *model.mutable_graph();
  AddValue(graph.add_input(), "x", {1, 8, 9, 9});
  AddWeights(graph, "w", {24, 8, 3, 3}, 3);
  AddWeights(graph, "b", {24}, 4);
  AddNode(graph, "Conv", {"x", "w", "b"}, {"p"}, "conv");
  AddNode(graph, "Relu", {"p"}, {"y"}, "relu");
  AddValue(graph.add_output(), "y", {1, 24, 7, 7});
  const std::vector<Tensor> inputs = {RandomTensor({1, 8, 9, 9}, 9)};
  ::setenv("TCC_CUDNN_SIM", TCC_FAKE_CUDNN, 1);
  ::setenv("TCC_MEASURE_FAULT", "slow:0", 1);
  const Result plain = CompileAndRun(model, Options(), inputs);
  const Result first = CompileAndRun(model, ForSim(Mode::kMaxAutotune), inputs);
  ASSERT_TRUE(first.event.reply.has_value());
  EXPECT_EQ(first.event.reply->tuning.dropped, 0);
  int calls = 0;
  for (const auto& entry : std::filesystem::directory_iterator(cache_->tuning_store())) {
    nlohmann::json record = nlohmann::json::parse(ReadFile(entry.path().string()));
    for (size_t i = 0; i < record.at("candidates").size(); ++i) {
      if (record["candidates"][i].at("parameters") != std::vector<int64_t>{4, 2}) continue;
      EXPECT_THAT(record.at("key").get<std::string>(), ::testing::HasSubstr("cudnn=cuDNN 9.26.0"));
      EXPECT_GT(record["candidates"][i].at("seconds"), 0);
      record["winner"] = i;
      ++calls;
    }
    WriteFile(entry.path().string(), record.dump());
  }
  EXPECT_EQ(calls, 1);
  ForgetPackages();
  const Result with_call = CompileAndRun(model, ForSim(Mode::kMaxAutotune), inputs);
  ASSERT_TRUE(with_call.event.reply.has_value());
  EXPECT_GE(with_call.event.reply->tuning.changed, 1);
  EXPECT_EQ(with_call.event.reply->tuning.reverted, 0);
  ExpectNear(with_call.outputs, plain.outputs);
  EXPECT_THAT(ReadFile(with_call.event.package), ::testing::HasSubstr(".cudnn.json"));
  ::unsetenv("TCC_CUDNN_SIM");
  auto package = Package::Open(with_call.event.package);
  ASSERT_TRUE(package.ok()) << package.status();
  auto plan = Package::Prepare(*package, 0);
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::vector<Tensor> outputs;
  ASSERT_TRUE(ExecutionContext(*plan).Run(inputs, {}, RunOptions(), &outputs).ok());
  ExpectNear(outputs, plain.outputs);
}

// Code for a GPU on a machine without one: the defaults, and no error.
TEST_F(DeviceAutotuneTest, WithoutAProgramNothingIsMeasured) {
  WriteFile(folder_ / "model.onnx", GemmModel(48).SerializeAsString());
  CompileRequest request;
  request.model = folder_ / "model.onnx";
  request.options = ForSim(Mode::kMaxAutotune);
  request.to_phase = Phase::kAutotune;
  InputSpec& x = request.signature.inputs.emplace_back();
  x.name = "x";
  x.dtype = DType::kF32;
  x.dims = {Extent::Constant(48), Extent::Constant(64)};
  ::testing::internal::CaptureStderr();
  const auto reply = CompileModel(request, nullptr);
  const std::string said = ::testing::internal::GetCapturedStderr();
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->tuning.measured, 0);
  EXPECT_THAT(said, ::testing::HasSubstr("cannot be measured on this machine"));
}

}  // namespace
}  // namespace tcc
