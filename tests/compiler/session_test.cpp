// Sessions end to end: through the worker, the cache and the executor.
#include "compiler/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "compiler/include/tcc/tcc.h"
#include "tests/onnx_program/models.h"
#include "tests/runtime/temp_folder.h"

namespace tcc {
namespace {

using onnx::testing::AddInitializer;
using onnx::testing::AddInput;
using onnx::testing::AddNode;
using onnx::testing::AddOutput;
using onnx::testing::AddValue;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// y = x + x, all extents open.
::onnx::ModelProto DoubleModel(int rank = 1) {
  ::onnx::ModelProto model = onnx::testing::Model();
  AddValue(model.mutable_graph()->add_input(), "x", std::vector<int64_t>(static_cast<size_t>(rank), -1));
  AddNode(*model.mutable_graph(), "Add", {"x", "x"}, {"y"});
  AddValue(model.mutable_graph()->add_output(), "y", std::vector<int64_t>(static_cast<size_t>(rank), -1));
  return model;
}

Tensor Floats(std::vector<float> values) { return *Tensor::Vector<float>(values).Clone(); }
std::vector<float> Elements(const Tensor& tensor) {
  return {tensor.data_as<float>(), tensor.data_as<float>() + tensor.num_elements()};
}

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() : cache_(MakeCache()), workers_(WorkerPool::Options{TCC_TEST_WORKER, folder_.path()}) {}

  std::shared_ptr<ArtifactCache> MakeCache() {
    ArtifactCache::Options options;
    options.folder = folder_ / "cache";
    return ArtifactCache::Open(options);
  }

  std::string Write(const ::onnx::ModelProto& model, const std::string& name = "model.onnx") {
    WriteFile(folder_ / name, model.SerializeAsString());
    return folder_ / name;
  }
  Session::Config Config(Options options = {}) {
    Session::Config config;
    config.options = std::move(options);
    config.cache = cache_.get();
    config.workers = &workers_;
    return config;
  }
  absl::StatusOr<std::vector<Tensor>> Run(Session& session, std::vector<Tensor> inputs) {
    std::vector<Tensor> outputs;
    const absl::Status status = session.Run(inputs, RunOptions(), &outputs);
    if (!status.ok()) return status;
    return outputs;
  }

  TempFolder folder_;
  std::shared_ptr<ArtifactCache> cache_;
  WorkerPool workers_;
};

TEST_F(SessionTest, CompilesOnceThenHits) {
  const std::string path = Write(DoubleModel());
  {
    const auto session = *Session::Open(path, Config());
    const auto outputs = Run(*session, {Floats({1, 2, 3})});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_THAT(Elements((*outputs)[0]), ElementsAre(2, 4, 6));
    ASSERT_TRUE(Run(*session, {Floats({4, 5, 6})}).ok());
    ASSERT_EQ(session->events().size(), 1u);
    EXPECT_FALSE(session->events()[0].hit);
  }
  const auto session = *Session::Open(path, Config());
  ASSERT_TRUE(Run(*session, {Floats({1, 2, 3})}).ok());
  ASSERT_EQ(session->events().size(), 1u);
  EXPECT_TRUE(session->events()[0].hit);
}

TEST_F(SessionTest, SecondExtentCompilesASymbolAndIsRemembered) {
  const std::string path = Write(DoubleModel());
  {
    const auto session = *Session::Open(path, Config());
    for (size_t size : {3, 4, 5, 6, 7}) {
      const auto outputs = Run(*session, {Floats(std::vector<float>(size, 1))});
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      EXPECT_EQ((*outputs)[0].num_elements(), static_cast<int64_t>(size));
    }
    ASSERT_EQ(session->events().size(), 2u);
    EXPECT_THAT(session->events()[1].reason, HasSubstr("'x'"));
    ASSERT_EQ(session->events()[1].signature.symbols.size(), 1u);
  }
  // The next process knows at once, and compiles nothing.
  const auto session = *Session::Open(path, Config());
  ASSERT_TRUE(Run(*session, {Floats({1, 2, 3, 4, 5, 6, 7, 8, 9})}).ok());
  ASSERT_EQ(session->events().size(), 1u);
  EXPECT_TRUE(session->events()[0].hit);
  EXPECT_EQ(session->events()[0].signature.symbols.size(), 1u);
}

// Each session is what a process of its own would be: nothing is shared but the folder of the cache.
TEST_F(SessionTest, ProcessesLearnFromEachOther) {
  const std::string path = Write(DoubleModel());
  int compilations = 0;
  const auto call = [&](size_t size, Options options = {}) {
    cache_ = MakeCache();
    const auto session = *Session::Open(path, Config(std::move(options)));
    const auto outputs = Run(*session, {Floats(std::vector<float>(size, 1.5f))});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ(Elements((*outputs)[0]), std::vector<float>(size, 3));
    ASSERT_EQ(session->events().size(), 1u);
    compilations += !session->events()[0].hit;
  };
  for (const size_t size : {320, 480, 500, 333}) call(size);
  EXPECT_EQ(compilations, 2);
  for (const size_t size : {7, 320}) call(size);
  EXPECT_EQ(compilations, 2);
  // What the user asks for is not less than he gets.
  Options options;
  options.dynamic = {{"x", {{DimSpec::Kind::kDynamic, 0, "n", 1, 400, 1}}}};
  call(320, options);
  EXPECT_EQ(compilations, 3);
  call(1);  // within the range just compiled
  EXPECT_EQ(compilations, 3);
  options.dynamic[0].dims[0] = {DimSpec::Kind::kStatic, 33, "", 0, kMaxExtent, 1};
  call(33, options);
  EXPECT_EQ(compilations, 4);
  // Without its notes the cache knows packages by their keys alone.
  for (const auto& item : std::filesystem::directory_iterator(folder_ / "cache/v1/notes")) WriteFile(item.path(), "{");
  call(320);
  EXPECT_EQ(compilations, 4);
  call(321);
  EXPECT_EQ(compilations, 4);
  // A package that is gone is compiled again.
  for (const auto& item : std::filesystem::directory_iterator(folder_ / "cache/v1/packages")) {
    std::filesystem::remove(item.path());
  }
  call(321);
  EXPECT_EQ(compilations, 5);
  call(322);
  EXPECT_EQ(compilations, 5);
}

// With different extents at once: the first compiles for its own, the others one symbol together.
TEST_F(SessionTest, ProcessesThatStartTogetherCompileTwice) {
  const std::string path = Write(DoubleModel());
  std::vector<pid_t> children;
  for (size_t size = 4; size < 10; ++size) {
    const pid_t child = ::fork();
    if (child == 0) {
      const auto session = Session::Open(path, Config());
      const bool good = session.ok() && Run(**session, {Floats(std::vector<float>(size, 1))}).ok();
      ::_exit(!good ? 100 : !(*session)->events()[0].hit);
    }
    children.push_back(child);
  }
  int compilations = 0;
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    compilations += WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
  }
  EXPECT_EQ(compilations, 2);
}

TEST_F(SessionTest, PrepareFindsWhatIsKept) {
  const std::string path = Write(DoubleModel());
  for (const int64_t size : {320, 480})
    ASSERT_FALSE((*Session::Open(path, Config()))->Prepare({{DType::kF32, {size}}})->hit);
  const auto event = (*Session::Open(path, Config()))->Prepare({{DType::kF32, {11}}});
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_TRUE(event->hit);
  EXPECT_TRUE(std::filesystem::exists(event->package));
  EXPECT_EQ(event->signature.symbols.size(), 1u);
}

// What the session has is not asked for again.
TEST_F(SessionTest, PreparingAgainAddsNothing) {
  const auto session = *Session::Open(Write(DoubleModel()), Config());
  for (int i = 0; i < 3; ++i) {
    const auto event = session->Prepare({{DType::kF32, {3}}});
    ASSERT_TRUE(event.ok()) << event.status();
    EXPECT_EQ(event->key, session->events()[0].key);
  }
  EXPECT_EQ(session->events().size(), 1u);
  const auto packaged = *Session::Open(session->events()[0].package, Config());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(packaged->PrepareAll().ok());
    // By types alone.
    const auto event = packaged->Prepare({{DType::kF32, {3}}});
    ASSERT_TRUE(event.ok()) << event.status();
    EXPECT_EQ(event->signature.inputs.size(), 1u);
  }
  EXPECT_EQ(packaged->events().size(), 1u);
  EXPECT_THAT(std::string(packaged->Prepare({{DType::kF32, {4}}}).status().message()), HasSubstr("'x'"));
}

TEST_F(SessionTest, PastTheLimitTheGeneralFormRuns) {
  Options options;
  options.recompile_limit = 2;
  const auto session = *Session::Open(Write(DoubleModel(2)), Config(options));
  // Zeros and ones would each need a specialisation.
  const std::vector<Dims> shapes = {{2, 3}, {1, 3}, {0, 1}, {1, 1}, {5, 0}, {7, 9}};
  for (const Dims& dims : shapes) {
    const auto outputs = Run(*session, {*Tensor::Allocate(DType::kF32, dims)});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ((*outputs)[0].dims(), dims);
  }
  EXPECT_EQ(session->events().size(), 3u);
}

TEST_F(SessionTest, UserDynamicExtentsNeedOneCompile) {
  DimSpec dim;
  dim.kind = DimSpec::Kind::kDynamic;
  dim.name = "n";
  Options options;
  options.dynamic = {{"x", {dim}}};
  const auto session = *Session::Open(Write(DoubleModel()), Config(options));
  for (size_t size : {0, 1, 2, 17}) ASSERT_TRUE(Run(*session, {Floats(std::vector<float>(size, 1))}).ok()) << size;
  EXPECT_EQ(session->events().size(), 1u);
}

TEST_F(SessionTest, WrongInputsNameTheInput) {
  const auto session = *Session::Open(Write(DoubleModel()), Config());
  EXPECT_THAT(std::string(Run(*session, {Tensor::Vector<double>({1})}).status().message()),
              HasSubstr("input 'x' is f64[1], but the model takes f32"));
  EXPECT_THAT(std::string(Run(*session, {}).status().message()), HasSubstr("input 'x' is missing"));
}

TEST_F(SessionTest, OverridableInitializers) {
  ::onnx::ModelProto model = onnx::testing::Model();
  AddInput(*model.mutable_graph(), "x");
  AddInput(*model.mutable_graph(), "w");
  AddInitializer(*model.mutable_graph(), "w", {10, 20});
  AddNode(*model.mutable_graph(), "Add", {"x", "w"}, {"y"});
  AddOutput(*model.mutable_graph(), "y");
  const auto session = *Session::Open(Write(model), Config());
  EXPECT_THAT(Elements((*Run(*session, {Floats({1, 2})}))[0]), ElementsAre(11, 22));
  EXPECT_THAT(Elements((*Run(*session, {Floats({1, 2}), Floats({3, 4})}))[0]), ElementsAre(4, 6));
  EXPECT_THAT(Elements((*Run(*session, {Floats({1, 2})}))[0]), ElementsAre(11, 22));
}

TEST_F(SessionTest, ChangedModelsAreCompiledAgain) {
  ::onnx::ModelProto model = DoubleModel();
  const std::string path = Write(model);
  ASSERT_TRUE(Run(**Session::Open(path, Config()), {Floats({1})}).ok());
  model.mutable_graph()->mutable_node(0)->set_op_type("Mul");
  Write(model);
  const auto outputs = Run(**Session::Open(path, Config()), {Floats({3})});
  EXPECT_THAT(Elements((*outputs)[0]), ElementsAre(9));
}

// Nothing of the new content under the key of the old, and no answers of a mixture.
TEST_F(SessionTest, AModelThatChangesUnderASessionIsAnError) {
  ::onnx::ModelProto model = DoubleModel();
  ::onnx::ModelProto other = model;
  other.mutable_graph()->mutable_node(0)->set_op_type("Mul");
  Options no_cache;
  no_cache.use_cache = false;
  for (const Options& options : {Options(), no_cache}) {
    const std::string path = Write(model);
    const auto before = *Session::Open(path, Config(options)), opened = *Session::Open(path, Config(options));
    ASSERT_TRUE(Run(*before, {Floats({3})}).ok());
    Write(other, "other.onnx");
    std::filesystem::rename(folder_ / "other.onnx", path);
    for (const auto& session : {before, opened}) {
      const absl::Status status = Run(*session, {Floats({3, 4})}).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("has changed since it was opened"));
    }
    // What it has it still runs.
    EXPECT_THAT(Elements((*Run(*before, {Floats({3})}))[0]), ElementsAre(6));
    EXPECT_THAT(Elements((*Run(**Session::Open(path, Config(options)), {Floats({3, 4})}))[0]), ElementsAre(9, 16));
    // The same content in another file is the same model.
    Write(model, "other.onnx");
    std::filesystem::rename(folder_ / "other.onnx", path);
    EXPECT_THAT(Elements((*Run(*before, {Floats({3, 4})}))[0]), ElementsAre(6, 8));
  }
}

// Not even where it changes while the worker compiles.
TEST_F(SessionTest, AModelThatChangesWhileItIsCompiledIsAnError) {
  const ::onnx::ModelProto model = DoubleModel();
  ::onnx::ModelProto other = model;
  other.mutable_graph()->mutable_node(0)->set_op_type("Mul");
  const std::string path = Write(model);
  Session::Config config = Config();
  config.progress = [&](Phase phase, int, int) {
    if (phase != Phase::kCodegen) return;
    Write(other, "other.onnx");
    std::filesystem::rename(folder_ / "other.onnx", path);
  };
  const absl::Status status = Run(**Session::Open(path, config), {Floats({3})}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_EQ(cache_->List().size(), 0u);
}

TEST_F(SessionTest, ManyThreads) {
  const auto session = *Session::Open(Write(DoubleModel()), Config());
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 20; ++k) {
        const auto outputs = Run(*session, {Floats(std::vector<float>(static_cast<size_t>(2 + (i + k) % 3), 1.5f))});
        right += outputs.ok() && Elements((*outputs)[0])[0] == 3 && (*outputs)[0].num_elements() == 2 + (i + k) % 3;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 160);
}

TEST_F(SessionTest, UnsupportedOpsAreNamed) {
  ::onnx::ModelProto model = DoubleModel();
  AddNode(*model.mutable_graph(), "Frobnicate", {"y"}, {"z"}, "frob", "my.domain");
  auto* import = model.add_opset_import();
  import->set_domain("my.domain");
  import->set_version(1);
  AddNode(*model.mutable_graph(), "Defrobnicate", {"z"}, {"w"}, "defrob", "my.domain");
  AddValue(model.mutable_graph()->add_output(), "w", {-1});
  const auto session = *Session::Open(Write(model), Config());
  const absl::Status status = Run(*session, {Floats({1})}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("frob"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("defrob"));
}

TEST_F(SessionTest, WithoutCacheNothingIsKept) {
  Options options;
  options.use_cache = false;
  const auto session = *Session::Open(Write(DoubleModel()), Config(options));
  ASSERT_TRUE(Run(*session, {Floats({1})}).ok());
  EXPECT_EQ(cache_->GetStats().packages, 0);
}

TEST_F(SessionTest, PackagesRunWithoutTheModel) {
  const auto session = *Session::Open(Write(DoubleModel()), Config());
  const auto event = session->Prepare({{DType::kF32, {3}}});
  ASSERT_TRUE(event.ok()) << event.status();
  std::filesystem::copy(event->package, folder_ / "copy.tcc");
  std::filesystem::remove(folder_ / "model.onnx");
  const auto packaged = *Session::Open(folder_ / "copy.tcc", Config());
  EXPECT_THAT(Elements((*Run(*packaged, {Floats({1, 2, 3})}))[0]), ElementsAre(2, 4, 6));
  EXPECT_FALSE(Run(*packaged, {Floats({1, 2})}).ok());
}

TEST_F(SessionTest, ToPhaseStopsThere) {
  Session::Config config = Config();
  config.to_phase = Phase::kImport;
  const auto session = *Session::Open(Write(DoubleModel()), config);
  const auto event = session->Prepare({{DType::kF32, {3}}});
  ASSERT_TRUE(event.ok()) << event.status();
  ASSERT_TRUE(event->reply.has_value());
  EXPECT_EQ(event->reply->phase_ms.back().first, "import");
}

TEST_F(SessionTest, OpenRefusesWhatIsNoModel) {
  WriteFile(folder_ / "picture.onnx", std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16));
  EXPECT_THAT(std::string(Session::Open(folder_ / "picture.onnx", Config()).status().message()),
              HasSubstr("picture.onnx: is not an ONNX file: it starts with a PNG signature"));
  EXPECT_EQ(Session::Open(folder_ / "none.onnx", Config()).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace

class WorkerPoolPeer {
 public:
  static void SetFault(WorkerPool& pool, const std::string& fault) { pool.fault_ = fault; }
  static int IdleProcess(WorkerPool& pool) { return pool.IdleProcess(); }
};

namespace {

class WorkerTest : public SessionTest {
 protected:
  CompileRequest Request() {
    CompileRequest request;
    request.model = Write(DoubleModel());
    request.package = folder_ / "out.tcc";
    return request;
  }
  int Reproducers() const {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      count += entry.path().filename().string().rfind("tcc-reproducer-", 0) == 0;
    }
    return count;
  }
};

// Whatever becomes of a worker, and wherever: an error that says how and in which phase, with a reproducer; nothing
// harmful stays in the cache, and the session's next call, by a new worker, is right.
TEST_F(WorkerTest, FaultsAreErrorsWithAReproducer) {
  const std::shared_ptr<Session> session = *Session::Open(Write(DoubleModel()), Config());
  int faults = 0;
  for (const auto& [what, text] : std::map<std::string, std::string>{
           {"crash", "signal 11"}, {"kill", "signal 9"}, {"exit", "exited with code 3"}, {"garbage", "not JSON"}}) {
    for (const std::string where : {"", "load", "import", "simplify", "fuse", "codegen", "package", "reply"}) {
      WorkerPoolPeer::SetFault(workers_, where.empty() ? what : what + ":" + where);
      const absl::Status status = Run(*session, {Floats({1, 2})}).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
      const std::string message(status.message());
      EXPECT_THAT(message, HasSubstr(text));
      EXPECT_THAT(message, HasSubstr("in phase '" + (where.empty() ? "start" : where == "reply" ? "package" : where)));
      const std::string command = "tcc-worker --request ";
      ASSERT_THAT(message, HasSubstr(command));
      const size_t at = message.find(command) + command.size();
      const std::string reproducer = message.substr(at, message.find(' ', at) - at);
      EXPECT_THAT(ReadFile(reproducer), HasSubstr("model.onnx"));
      EXPECT_EQ(Reproducers(), std::min(++faults, 20));  // the newest
    }
  }
  EXPECT_EQ(cache_->List().size(), 0u);
  WorkerPoolPeer::SetFault(workers_, "");
  EXPECT_THAT(Elements((*Run(*session, {Floats({1, 2})}))[0]), ElementsAre(2, 4));
}

TEST_F(WorkerTest, ATimeLimitEndsACompile) {
  const std::shared_ptr<Session> session = *Session::Open(Write(DoubleModel()), Config());
  for (const std::string fault : {"hang", "hang:codegen"}) {
    WorkerPoolPeer::SetFault(workers_, fault);
    CompileRequest request = Request();
    request.options.compile_timeout_seconds = 0.05;
    const absl::Status status = workers_.Compile(request).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("tcc-worker --request"));
  }
  EXPECT_EQ(Reproducers(), 2);
  WorkerPoolPeer::SetFault(workers_, "");
  EXPECT_TRUE(workers_.Compile(Request()).ok());
}

// Whatever ends it, the request that would have been its next one goes to another.
TEST_F(WorkerTest, AWorkerThatDiesWhileItIsIdleIsNoError) {
  for (const int signal : {SIGKILL, SIGTERM, SIGSEGV}) {
    ASSERT_TRUE(workers_.Compile(Request()).ok());
    const pid_t worker = WorkerPoolPeer::IdleProcess(workers_);
    ASSERT_GT(worker, 0);
    ASSERT_EQ(kill(worker, signal), 0);
    const auto reply = workers_.Compile(Request());
    EXPECT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(Reproducers(), 0);
  }
}

// As under hosts that let the system wait for their children.
TEST_F(WorkerTest, HowAWorkerEndedNeedNotBeKnown) {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  WorkerPoolPeer::SetFault(workers_, "crash:codegen");
  const std::string message(workers_.Compile(Request()).status().message());
  ::signal(SIGCHLD, before);
  EXPECT_THAT(message, HasSubstr("SIGCHLD"));
  EXPECT_THAT(message, ::testing::Not(HasSubstr("code 0")));
}

TEST_F(WorkerTest, EndedFromOutsideIsNoFaultOfTheCompiler) {
  for (const auto& [fault, fault_of_tcc] : {std::pair("kill:codegen", false), std::pair("crash:codegen", true)}) {
    WorkerPoolPeer::SetFault(workers_, fault);
    const std::string message(workers_.Compile(Request()).status().message());
    EXPECT_EQ(message.find("fault of tcc") != std::string::npos, fault_of_tcc) << message;
  }
}

TEST_F(WorkerTest, AWorkerThatCannotStartSaysWhy) {
  WriteFile(folder_ / "worker", "#!/bin/sh\necho 'loading libsomething.so: no memory' >&2\nexit 127\n");
  ASSERT_EQ(::chmod((folder_ / "worker").c_str(), 0700), 0);
  WorkerPool pool(WorkerPool::Options{folder_ / "worker", folder_.path()});
  const absl::Status status = pool.Compile(Request()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("could not be started"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("loading libsomething.so: no memory"));
  EXPECT_EQ(Reproducers(), 0);
}

TEST_F(WorkerTest, NoWorkerIsAnError) {
  WorkerPool none(WorkerPool::Options{"/nonexistent/tcc-worker", folder_.path()});
  EXPECT_EQ(none.Compile(Request()).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(WorkerTest, ProgressNamesThePhases) {
  std::vector<std::string> phases;
  const auto reply = workers_.Compile(Request(), [&](Phase phase, int, int) {
    if (phases.empty() || phases.back() != PhaseName(phase)) phases.emplace_back(PhaseName(phase));
  });
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_THAT(phases, ElementsAre("load", "import", "simplify", "fuse", "codegen", "package"));
}

TEST_F(WorkerTest, SeveralThreadsCompileAtOnce) {
  const std::string model = Write(DoubleModel());
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      CompileRequest request;
      request.model = model;
      request.package = folder_ / ("out" + std::to_string(i) + ".tcc");
      good += workers_.Compile(request).ok() && Package::Open(request.package).ok();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 4);
}

// One session, every call of another rank: a compile each, some of which die.
TEST_F(WorkerTest, ThreadsGoOnWhileWorkersDie) {
  // (Of a content of its own: what is compiled for an equal model would do.)
  ::onnx::ModelProto bad_model = DoubleModel();
  bad_model.mutable_graph()->set_name("bad");
  const std::shared_ptr<Session> bad = *Session::Open(Write(bad_model, "bad.onnx"), Config());
  WorkerPool dying(WorkerPool::Options{TCC_TEST_WORKER, folder_.path()});
  WorkerPoolPeer::SetFault(dying, "crash:fuse");
  Session::Config config = Config();
  config.workers = &dying;
  const std::shared_ptr<Session> crashing = *Session::Open(folder_ / "bad.onnx", std::move(config));
  std::vector<std::thread> threads;
  std::atomic<int> good = 0, failed = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const std::string path = Write(DoubleModel(i + 1), "model" + std::to_string(i) + ".onnx");
      const std::shared_ptr<Session> session = *Session::Open(path, Config());
      const Tensor input = *Tensor::Allocate(DType::kF32, Dims(static_cast<size_t>(i + 1), 2));
      failed += Run(*crashing, {Floats({1, 2, 3})}).status().code() == absl::StatusCode::kInternal;
      good += Run(*session, {input}).ok();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 4);
  EXPECT_EQ(failed, 4);
  // What one session's worker could not compile another's can: the lock of the key is free.
  EXPECT_TRUE(Run(*bad, {Floats({1, 2, 3})}).ok());
}

// The public interface, with the process's own cache and workers.
TEST(Api, LoadCompileCallExplain) {
  TempFolder folder;
  ::setenv("TCC_CACHE_DIR", (folder / "cache").c_str(), 1);
  ::setenv("TCC_WORKER", TCC_TEST_WORKER, 1);
  WriteFile(folder / "model.onnx", DoubleModel().SerializeAsString());
  const absl::StatusOr<Callable> model =
      Compile(Load(folder / "model.onnx"), {.mode = Mode::kReduceOverhead, .fullgraph = true});
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<std::vector<Tensor>> out = (*model)({Floats({1, 2})});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_THAT(Elements((*out)[0]), ElementsAre(2, 4));
  EXPECT_EQ(model->inputs()[0].name, "x");
  EXPECT_EQ(model->inputs()[0].type.dims, Dims({-1}));
  EXPECT_THAT(model->output_names(), ElementsAre("y"));
  const Explanation explanation = model->Explain();
  ASSERT_EQ(explanation.graphs.size(), 1u);
  EXPECT_THAT(explanation.graphs[0].inputs, ElementsAre("x: f32[2]"));
  EXPECT_FALSE(explanation.graphs[0].kernels.empty());
  // Of a package: by types alone too.
  std::filesystem::copy(explanation.graphs[0].package, folder / "copy.tcc");
  const absl::StatusOr<Callable> packaged = Compile(Load(folder / "copy.tcc"));
  ASSERT_TRUE(packaged.ok()) << packaged.status();
  const TensorType type{DType::kF32, {2}};
  for (const Callable* callable : {&*model, &*packaged}) {
    for (int i = 0; i < 3; ++i) {
      const absl::StatusOr<Explanation> explained = Explain(*callable, {type});
      ASSERT_TRUE(explained.ok()) << explained.status();
      ASSERT_EQ(explained->graphs.size(), 1u);
      EXPECT_THAT(explained->graphs[0].inputs, ElementsAre("x: f32[2]"));
    }
  }
  // Memory of the caller.
  float memory[2] = {};
  const Tensor target = Tensor::Wrap(memory, DType::kF32, {2});
  ASSERT_TRUE(model->Run({Floats({5, 6})}, {target}).ok());
  EXPECT_EQ(memory[1], 12);

  EXPECT_EQ(Compile(Load(folder / "none.onnx")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Callable()({}).status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace tcc
