// The public API: modes, memory of the caller, contexts, packages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>

#include "compiler/include/tcc/runtime.h"
#include "compiler/include/tcc/tcc.h"
#include "tests/onnx_program/weights.h"
#include "tests/runtime/temp_folder.h"

namespace tcc {
namespace {

using onnx::testing::AddInitializer;
using onnx::testing::AddNode;
using onnx::testing::AddValue;
using onnx::testing::AddWeights;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor Floats(std::vector<float> values) { return *Tensor::Vector<float>(values).Clone(); }
std::vector<float> Elements(const Tensor& tensor) {
  return {tensor.data_as<float>(), tensor.data_as<float>() + tensor.num_elements()};
}

// y = softmax(x A) A', and z = the rows' sums of it; x[n, 32].
::onnx::ModelProto Layers() {
  ::onnx::ModelProto model = onnx::testing::Model();
  ::onnx::GraphProto& graph = *model.mutable_graph();
  AddValue(graph.add_input(), "x", {-1, 32});
  for (const char* name : {"a", "b"}) AddWeights(graph, name, {32, 32}, static_cast<unsigned>(name[0]));
  AddNode(graph, "MatMul", {"x", "a"}, {"p"});
  AddNode(graph, "Softmax", {"p"}, {"q"});
  AddNode(graph, "MatMul", {"q", "b"}, {"y"});
  AddNode(graph, "ReduceMax", {"y"}, {"z"});
  AddValue(graph.add_output(), "y", {-1, 32});
  AddValue(graph.add_output(), "z", {});
  return model;
}

// next = state * 2 + x, by way of a product that needs memory of its own.
::onnx::ModelProto Counter() {
  ::onnx::ModelProto model = onnx::testing::Model();
  ::onnx::GraphProto& graph = *model.mutable_graph();
  AddValue(graph.add_input(), "state", {3});
  AddValue(graph.add_input(), "x", {3});
  AddNode(graph, "Add", {"state", "state"}, {"twice"});
  AddNode(graph, "Add", {"twice", "x"}, {"next"});
  AddValue(graph.add_output(), "next", {3});
  return model;
}

class ApiTest : public ::testing::Test {
 protected:
  // The process's cache is opened once, with the first compile.
  static const TempFolder& Folder() {
    static const TempFolder folder;
    return folder;
  }
  ApiTest() {
    ::setenv("TCC_CACHE_DIR", (Folder() / "cache").c_str(), 1);
    ::setenv("TCC_WORKER", TCC_TEST_WORKER, 1);
  }
  static Callable Make(const ::onnx::ModelProto& model, Mode mode) {
    static int count = 0;
    const std::string path = Folder() / ("model" + std::to_string(count++) + ".onnx");
    WriteFile(path, model.SerializeAsString());
    absl::StatusOr<Callable> callable = Compile(Load(path), {.mode = mode});
    EXPECT_TRUE(callable.ok()) << callable.status();
    return callable.ok() ? *callable : Callable();
  }
};

TEST_F(ApiTest, ReduceOverheadGivesTheSameBits) {
  const Callable plain = Make(Layers(), Mode::kDefault), recorded = Make(Layers(), Mode::kReduceOverhead);
  std::vector<std::pair<std::vector<Tensor>, std::vector<Tensor>>> kept;
  for (unsigned call = 0; call < 30; ++call) {
    const Tensor x = RandomTensor({call % 3 == 0 ? 40 : 2 + call % 5, 32}, call);
    const auto expected = plain({x}), actual = recorded({x});
    ASSERT_TRUE(expected.ok()) << expected.status();
    ASSERT_TRUE(actual.ok()) << actual.status();
    kept.emplace_back(*expected, *actual);
  }
  // All of them at the end: no later call has written to the outputs of an earlier one.
  for (const auto& [expected, actual] : kept) {
    for (size_t i = 0; i < 2; ++i) EXPECT_EQ(Elements(actual[i]), Elements(expected[i]));
  }
}

TEST_F(ApiTest, RecordedPlansInManyThreads) {
  const Callable plain = Make(Layers(), Mode::kDefault), recorded = Make(Layers(), Mode::kReduceOverhead);
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  constexpr unsigned kThreads = 4, kCalls = 25;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned call = 0; call < kCalls; ++call) {
        const Tensor x = RandomTensor({8 + (call + t) % 2, 32}, 100 * t + call);
        const auto expected = plain({x}), actual = recorded({x});
        good += expected.ok() && actual.ok() && Elements((*actual)[0]) == Elements((*expected)[0]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, kThreads * kCalls);
}

TEST_F(ApiTest, OutputsIntoMemoryOfTheCaller) {
  for (const Mode mode : {Mode::kDefault, Mode::kReduceOverhead}) {
    const Callable model = Make(Layers(), mode);
    const Tensor x = RandomTensor({4, 32}, 1);
    const std::vector<Tensor> expected = *model({x});
    for (int call = 0; call < 3; ++call) {
      const Tensor y = *Tensor::Allocate(DType::kF32, {4, 32}), z = *Tensor::Allocate(DType::kF32, expected[1].dims());
      ASSERT_TRUE(model.Run({x}, {y, z}).ok());
      EXPECT_EQ(Elements(y), Elements(expected[0]));
      EXPECT_EQ(Elements(z), Elements(expected[1]));
      // Only one of them, into every second row.
      const Tensor wide = RandomTensor({8, 32}, 2);
      const absl::Status status = model.Run({x}, {wide.View({4, 32}, {64, 1}, 0), Tensor()});
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(std::memcmp(wide.data_as<float>() + 64, expected[0].data_as<float>() + 32, 32 * sizeof(float)), 0);
    }
    EXPECT_THAT(std::string(model.Run({x}, {expected[0]}).message()), HasSubstr("there are 2 outputs"));
    EXPECT_FALSE(model.Run({x}, {expected[1], expected[0]}).ok());
  }
}

// As bindings pass them on.
TEST_F(ApiTest, TensorsThatAreNoneAreErrors) {
  const Callable model = Make(Layers(), Mode::kDefault);
  const Tensor x = RandomTensor({4, 32}, 1);
  const std::vector<Tensor> expected = *model({x});
  const absl::StatusOr<LoadedPackage> package = LoadPackage(model.Explain().graphs[0].package);
  ASSERT_TRUE(package.ok()) << package.status();
  const auto wrap = [](void* data, Dims dims, Dims strides = {}) {
    return Tensor::Wrap(data, DType::kF32, dims, strides);
  };
  const std::pair<Tensor, std::string> wrong[] = {
      {wrap(nullptr, {4, 32}), ": data is null"},
      {wrap(x.data(), {-4, 32}), " is no valid tensor (negative extent -4)"},
      {wrap(x.data(), {int64_t{1} << 62, 32}), " is no valid tensor (extents overflow: [4611686018427387904,32])"},
      {wrap(x.data(), {4, 32}, {1}), " is no valid tensor (2 extents and 1 strides)"},
      {x.View({4, 32}, {32}, 0), " is no valid tensor (2 extents and 1 strides)"}};
  for (const auto& [tensor, message] : wrong) {
    const RunOptions into = {.outputs = absl::MakeConstSpan(&tensor, 1)};
    const Tensor y[] = {tensor, Tensor()};
    for (const absl::Status& status : {model({tensor}).status(), (*package)({tensor}).status()}) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_EQ(std::string(status.message()), "input 'x'" + message);
    }
    for (const absl::Status& status : {model.Run({x}, y), package->Run({x}, y), model({x}, into).status()}) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_EQ(std::string(status.message()), "memory for output 0" + message);
    }
    EXPECT_FALSE(tensor.Clone().ok());
    EXPECT_THAT(DebugString(tensor), HasSubstr(message.substr(message.find(' ') + 1)));
  }
  EXPECT_THAT(std::string(model({Tensor()}).status().message()), HasSubstr("'x' is missing"));
  // Nothing is read of what has no elements.
  EXPECT_TRUE(model({wrap(nullptr, {0, 32})}).ok());
  EXPECT_TRUE((*package)({x}).ok());
}

TEST_F(ApiTest, StateIsUpdatedInItsPlace) {
  for (const Mode mode : {Mode::kDefault, Mode::kReduceOverhead}) {
    const Callable model = Make(Counter(), mode);
    const Tensor state = Floats({1, 2, 3}), x = Floats({1, 1, 1});
    const int donated[] = {0};
    for (int step = 0; step < 3; ++step) {
      ASSERT_TRUE(model.Run({state, x}, {state}, {.donated = donated}).ok());
    }
    EXPECT_THAT(Elements(state), ElementsAre(15, 23, 31));
    const int wrong[] = {2};
    EXPECT_THAT(std::string(model.Run({state, x}, {state}, {.donated = wrong}).message()), HasSubstr("input 2"));
  }
}

TEST_F(ApiTest, AContextOfTheCallers) {
  const Callable model = Make(Layers(), Mode::kReduceOverhead), other = Make(Counter(), Mode::kDefault);
  RunContext context;
  EXPECT_EQ(context.arena_bytes(), 0);
  const Tensor x = RandomTensor({4, 32}, 1);
  const std::vector<Tensor> expected = *model({x});
  for (int call = 0; call < 3; ++call) {
    const auto outputs = model({x}, {.context = &context});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ(Elements((*outputs)[0]), Elements(expected[0]));
    ASSERT_TRUE(other({Floats({1, 2, 3}), Floats({1, 2, 3})}, {.context = &context}).ok());
  }
  EXPECT_GT(context.arena_bytes(), 0);
  // One call at a time: a hook that calls again, with the same context.
  absl::Status inner;
  int64_t held = 0;
  const ProfileHook hook = [&](const ProfileEvent&) {
    held = context.arena_bytes();
    inner = model({x}, {.context = &context}).status();
  };
  EXPECT_TRUE(model({x}, {.profile = &hook, .context = &context}).ok());
  EXPECT_EQ(inner.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_GT(held, 0);
  EXPECT_TRUE(model({x}, {.context = &context}).ok());
  int stream = 0;
  EXPECT_THAT(std::string(model({x}, {.stream = &stream}).status().message()), HasSubstr("stream"));
}

TEST_F(ApiTest, PackagesDescribeTheirInputsAndOutputs) {
  const std::string path = Folder() / "described.onnx";
  // A content of its own: what other tests compiled of the same model would be found.
  ::onnx::ModelProto layers = Layers();
  layers.set_doc_string("described");
  WriteFile(path, layers.SerializeAsString());
  Options options;
  DynamicSpec& spec = options.dynamic.emplace_back();
  spec.input = "x";
  spec.dims.resize(2);
  spec.dims[0] = {.kind = DimSpec::Kind::kDynamic, .name = "rows", .min = 2, .max = 64};
  const absl::StatusOr<Callable> model = Compile(Load(path), options);
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_TRUE((*model)({RandomTensor({4, 32}, 1)}).ok());
  const absl::StatusOr<LoadedPackage> package = LoadPackage(model->Explain().graphs[0].package);
  ASSERT_TRUE(package.ok()) << package.status();
  ASSERT_EQ(package->inputs().size(), 1);
  const TensorInfo& x = package->inputs()[0];
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.type, (TensorType{DType::kF32, {-1, 32}}));
  EXPECT_THAT(x.dim_names, ElementsAre("rows", ""));
  EXPECT_THAT(x.ranges, ElementsAre(ExtentRange{2, 64, 1}, ExtentRange{32, 32, 1}));
  EXPECT_TRUE(x.has_rank);
  EXPECT_FALSE(x.optional);
  ASSERT_EQ(package->outputs().size(), 2);
  EXPECT_EQ(package->outputs()[0].name, "y");
  EXPECT_EQ(package->outputs()[0].type, x.type);
  EXPECT_THAT(package->outputs()[0].dim_names, ElementsAre("rows", ""));
  EXPECT_EQ(package->outputs()[1].type, (TensorType{DType::kF32, {1, 1}}));
  EXPECT_TRUE(package->outputs()[1].has_rank);
  EXPECT_THAT(package->output_names(), ElementsAre("y", "z"));
}

TEST_F(ApiTest, OptionsThatCannotBeMetAreErrorsOfCompile) {
  const Callable model = Make(Layers(), Mode::kDefault);
  ASSERT_TRUE(model({RandomTensor({4, 32}, 1)}).ok());
  const absl::StatusOr<Model> package = Load(model.Explain().graphs[0].package);
  EXPECT_TRUE(Compile(package, {}).ok());
  for (const Options& options : {Options{.mode = Mode::kMaxAutotune}, Options{.fullgraph = true},
                                 Options{.precision = Precision::kBF16}, Options{.dynamic = {{"x", {}}}}}) {
    EXPECT_EQ(Compile(package, options).status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(Compile(package, {.target = "cuda-sim"}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ApiTest, PackagesRunInTheModeTheyWereCompiledIn) {
  const Callable model = Make(Layers(), Mode::kReduceOverhead);
  const Tensor x = RandomTensor({4, 32}, 1);
  const std::vector<Tensor> expected = *model({x});
  EXPECT_EQ(model.Explain().graphs[0].mode, "reduce-overhead");
  EXPECT_EQ(model.Explain().graphs[0].precision, "model");
  const absl::StatusOr<LoadedPackage> package = LoadPackage(model.Explain().graphs[0].package);
  ASSERT_TRUE(package.ok()) << package.status();
  RunContext context;
  for (int call = 0; call < 3; ++call) {
    const Tensor y = *Tensor::Allocate(DType::kF32, {4, 32});
    ASSERT_TRUE(package->Run({x}, {y, Tensor()}, {.context = &context}).ok());
    EXPECT_EQ(Elements(y), Elements(expected[0]));
  }
  EXPECT_FALSE(package->Run({x}, {}).ok());
}

}  // namespace
}  // namespace tcc
