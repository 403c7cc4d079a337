// Models with matrix products and convolutions, compiled through a worker.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "compiler/session.h"
#include "tests/onnx_program/weights.h"
#include "tests/runtime/temp_folder.h"

namespace tcc {

using onnx::testing::AddNode;
using onnx::testing::AddValue;
using onnx::testing::AddWeights;

// y = Relu(x[n, 64] A[64, 100]) B[100, 40]; n is open where `rows` is negative.
inline ::onnx::ModelProto GemmModel(int64_t rows) {
  ::onnx::ModelProto model = onnx::testing::Model();
  ::onnx::GraphProto& graph = *model.mutable_graph();
  AddValue(graph.add_input(), "x", {rows, 64});
  AddWeights(graph, "a", {64, 100}, 1);
  AddWeights(graph, "b", {100, 40}, 2);
  AddNode(graph, "MatMul", {"x", "a"}, {"p"}, "first");
  AddNode(graph, "Relu", {"p"}, {"q"}, "relu");
  AddNode(graph, "MatMul", {"q", "b"}, {"y"}, "second");
  AddValue(graph.add_output(), "y", {rows, 40});
  return model;
}

// y = Relu(conv(x[1, 8, 13, 13], w[24, 8, 3, 3])), then a transposed convolution with stride 2.
inline ::onnx::ModelProto ConvModel() {
  ::onnx::ModelProto model = onnx::testing::Model();
  ::onnx::GraphProto& graph = *model.mutable_graph();
  AddValue(graph.add_input(), "x", {1, 8, 13, 13});
  AddWeights(graph, "w", {24, 8, 3, 3}, 3);
  AddWeights(graph, "v", {24, 6, 3, 3}, 4);
  AddNode(graph, "Conv", {"x", "w"}, {"p"}, "conv");
  AddNode(graph, "Relu", {"p"}, {"q"}, "relu");
  ::onnx::NodeProto& transposed = AddNode(graph, "ConvTranspose", {"q", "v"}, {"y"}, "transposed");
  ::onnx::AttributeProto& strides = *transposed.add_attribute();
  strides.set_name("strides");
  strides.set_type(::onnx::AttributeProto::INTS);
  strides.add_ints(2);
  strides.add_ints(2);
  AddValue(graph.add_output(), "y", {1, 6, 23, 23});
  return model;
}

class AutotuneTest : public ::testing::Test {
 protected:
  AutotuneTest() : workers_(WorkerPool::Options{TCC_TEST_WORKER, folder_.path()}) {
    ArtifactCache::Options options;
    options.folder = folder_ / "cache";
    cache_ = ArtifactCache::Open(options);
  }

  struct Result {
    std::vector<Tensor> outputs;
    CompileEvent event;
  };
  Result CompileAndRun(const ::onnx::ModelProto& model, Options options, const std::vector<Tensor>& inputs) {
    WriteFile(folder_ / "model.onnx", model.SerializeAsString());
    Session::Config config;
    config.options = std::move(options);
    config.cache = cache_.get();
    config.workers = &workers_;
    config.progress = [this](Phase phase, int done, int total) {
      if (phase == Phase::kAutotune && total > 0) progress_.emplace_back(done, total);
    };
    Result result;
    auto session = Session::Open(folder_ / "model.onnx", config);
    EXPECT_TRUE(session.ok()) << session.status();
    if (!session.ok()) return result;
    const absl::Status status = (*session)->Run(inputs, RunOptions(), &result.outputs);
    EXPECT_TRUE(status.ok()) << status;
    if (!(*session)->events().empty()) result.event = (*session)->events().back();
    return result;
  }
  static void ExpectNear(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) {
      ASSERT_EQ(actual[i].dims(), expected[i].dims());
      for (int64_t k = 0; k < actual[i].num_elements(); ++k) {
        ASSERT_NEAR(actual[i].data_as<float>()[k], expected[i].data_as<float>()[k], 1e-4) << "element " << k;
      }
    }
  }
  // Packages only: what was measured stays.
  void ForgetPackages() {
    for (const auto& entry : cache_->List()) std::filesystem::remove(cache_->PackagePath(entry.key));
  }
  int TuningFiles() const {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(cache_->tuning_store())) {
      count += entry.path().extension() == ".json";
    }
    return count;
  }

  TempFolder folder_;
  std::shared_ptr<ArtifactCache> cache_;
  WorkerPool workers_;
  std::vector<std::pair<int, int>> progress_;
};

inline Options Tuned() {
  Options options;
  options.mode = Mode::kMaxAutotune;
  return options;
}

}  // namespace tcc
