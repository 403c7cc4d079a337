// Compiling for devices by way of sessions: kernels that do not compile, and packages without code for the device.
#include <sys/stat.h>

#include "compiler/session.h"
#include "tests/devices/session_test_util.h"
#include "tests/onnx_program/models.h"

namespace tcc::devices {
namespace {

using onnx::testing::AddNode;
using onnx::testing::AddValue;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class CompileSession : public DeviceSession {
 protected:
  // A compiler of the simulated device that finds an error in each kernel while the file "broken" is there.
  std::string BreakableCompiler() const {
    const std::string script = folder_ / "clang++";
    WriteFile(script,
              std::string("#!/bin/sh\nfor a in \"$@\"; do case \"$a\" in *.cu) source=$a;; esac; done\n"
                          "if [ -e '") +
                  (folder_ / "broken") +
                  "' ] && [ -n \"$source\" ]; then echo \"$source:5:3: error: an injected fault\" >&2; exit 1; fi\n"
                  "exec " TCC_TEST_CXX " \"$@\"\n");
    ::chmod(script.c_str(), 0755);
    return script;
  }
  Session::Config Config() {
    Session::Config config;
    config.cache = cache_.get();
    config.workers = &workers_;
    return config;
  }
  static std::shared_ptr<ArtifactCache> MakeCache(const std::string& folder) {
    ArtifactCache::Options options;
    options.folder = folder;
    return ArtifactCache::Open(options);
  }

  std::shared_ptr<ArtifactCache> cache_ = MakeCache(folder_ / "cache");
  WorkerPool workers_{WorkerPool::Options{TCC_TEST_WORKER, folder_.path()}};
};

absl::StatusOr<std::vector<Tensor>> RunOn(Session& session, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> outputs;
  const absl::Status status = session.Run(inputs, RunOptions(), &outputs);
  if (!status.ok()) return status;
  return outputs;
}

// A kernel that does not compile: the error shows the kernel, its ops, and the line.
TEST_F(CompileSession, KernelsThatDoNotCompile) {
  ::setenv("TCC_SIM_CXX", BreakableCompiler().c_str(), 1);
  WriteFile(folder_ / "broken", "");
  ::onnx::ModelProto model = onnx::testing::Model();
  AddValue(model.mutable_graph()->add_input(), "x", {4});
  AddNode(*model.mutable_graph(), "Add", {"x", "x"}, {"t"}, "layer1/twice");
  AddNode(*model.mutable_graph(), "Relu", {"t"}, {"y"}, "layer1/relu");
  AddValue(model.mutable_graph()->add_output(), "y", {4});
  WriteFile(folder_ / "m.onnx", model.SerializeAsString());
  const std::shared_ptr<ComputeDevice> device = *DeviceFor("cuda-sim");
  const std::vector<int64_t> before = Alive(*device);
  {
    Session::Config config = Config();
    config.options.target = "cuda-sim";
    config.allow_fallback = false;
    const auto session = *Session::Open(folder_ / "m.onnx", std::move(config));
    for (int i = 0; i < 2; ++i) {
      const absl::Status status = RunOn(*session, {Vector({1, -2, 3, 4})}).status();
      EXPECT_THAT(std::string(status.message()),
                  AllOf(HasSubstr("kernel '"), HasSubstr("does not compile for cuda-sim ("), HasSubstr("made from: "),
                        HasSubstr("layer1/twice"), HasSubstr("layer1/relu"),
                        HasSubstr("line 5: error: an injected fault"), HasSubstr("  >    5 | ")));
    }
    ::unlink((folder_ / "broken").c_str());
    const auto outputs = RunOn(*session, {Vector({1, -2, 3, 4})});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_THAT(Floats((*outputs)[0]), ElementsAre(2, 0, 6, 8));
    // Faults of the device in a session of a model.
    for (const Fault fault : {Fault::kLaunch, Fault::kCopy, Fault::kSynchronize}) {
      device->Inject(fault);
      EXPECT_THAT(std::string(RunOn(*session, {Vector({1, -2, 3, 4})}).status().message()),
                  HasSubstr("injected fault"));
      EXPECT_TRUE(RunOn(*session, {Vector({1, -2, 3, 4})}).ok());
    }
  }
  EXPECT_EQ(Alive(*device), before);
  ::unsetenv("TCC_SIM_CXX");
}

// The kernels of kernels.cu, with their source.
Specialisation WithSource(const std::string& kind, const std::string& arch, const std::string& broken = "") {
  Specialisation one = ExampleOf(kind, arch, AddScale());
  one.images.clear();
  for (const char* symbol : {"add", "scale"}) {
    one.images.push_back({symbol, ReadFile(TCC_TEST_KERNELS_SOURCE), {{"sm_120a", "\177ELF"}}});
    if (broken == symbol) one.images.back().source += "\n#error not for this device\n";
  }
  return one;
}

// What a package has no code for is compiled from the source in it, once for all processes.
TEST_F(CompileSession, PackagesWithoutCodeForTheDevice) {
  const std::string path = Write({WithSource("cuda-sim", "sm_120a")});
  const std::vector<Tensor> inputs = {Vector({1, 2}), Vector({3, 4})};
  {
    const auto session = *Session::Open(path, Config());
    const auto outputs = RunOn(*session, inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_THAT(Floats((*outputs)[0]), ElementsAre(12, 18));
  }
  // Another session finds it: no worker is started.
  WorkerPool none{WorkerPool::Options{"/nonexistent/worker", folder_.path()}};
  cache_ = MakeCache(folder_ / "cache");
  Session::Config config = Config();
  config.workers = &none;
  const auto outputs = RunOn(**Session::Open(path, std::move(config)), inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(Floats((*outputs)[0]), ElementsAre(12, 18));
  // Without it the worker is missed, clearly.
  const auto other = MakeCache(folder_ / "other");
  config = Config();
  config.workers = &none;
  config.cache = other.get();
  EXPECT_THAT(std::string(RunOn(**Session::Open(path, std::move(config)), inputs).status().message()),
              AllOf(HasSubstr("kernel 'add': no code for cuda-sim (a simulated CUDA device, sim), there is some for "
                              "sm_120a: compile for --target=cuda-sim; compiling its source failed: "),
                    HasSubstr("/nonexistent/worker")));
}

TEST_F(CompileSession, SourcesInPackagesThatDoNotCompile) {
  Specialisation small = WithSource("cuda-sim", "sm_120a", "scale"), large = WithSource("cuda-sim", "sm_120a");
  small.signature.symbols[0].max = 4;
  large.signature.symbols[0].min = 5;
  const auto session = *Session::Open(Write({small, large}), Config());
  const auto vector = [](size_t n) { return Vector(std::vector<float>(n, 1)); };
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(std::string(RunOn(*session, {vector(2), vector(2)}).status().message()),
                AllOf(HasSubstr("compile for --target=cuda-sim; compiling its source failed: kernel 'scale' does not "
                                "compile for cuda-sim"),
                      HasSubstr("made from: node 'm' (Mul)"), HasSubstr("not for this device"),
                      HasSubstr("#error not for this device")));
    const auto outputs = RunOn(*session, {vector(6), vector(6)});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ(Floats((*outputs)[0]), std::vector<float>(6, 6));
  }
}

// By NVRTC, for a GPU of another kind than the package was made for.
TEST_F(CompileSession, PackagesWithoutCodeForTheGpu) {
  const std::string path = Write({WithSource("cuda", "sm_120a")});
  const std::vector<Tensor> inputs = {Vector({1, 2}), Vector({3, 4})};
  Session::Config config = Config();
  config.options.device = "cuda:0";
  const absl::Status status = RunOn(**Session::Open(path, std::move(config)), inputs).status();
  if (!status.ok() && std::string(status.message()).find("TCC_NVRTC") != std::string::npos) {
    EXPECT_THAT(std::string(status.message()), HasSubstr("there is some for sm_120a: compile for --target=cuda:sm_86"));
    GTEST_SKIP() << "there is no NVRTC";
  }
  ASSERT_TRUE(status.ok()) << status;
  // Another session loads no NVRTC: it has no worker that would.
  WorkerPool none{WorkerPool::Options{"/nonexistent/worker", folder_.path()}};
  config = Config();
  config.options.device = "cuda:0";
  config.workers = &none;
  const absl::Status again = RunOn(**Session::Open(path, std::move(config)), inputs).status();
  EXPECT_TRUE(again.ok()) << again;
}

// A device is for targets that run on one.
TEST_F(CompileSession, DevicesAndTargets) {
  ::onnx::ModelProto model = onnx::testing::Model();
  AddValue(model.mutable_graph()->add_input(), "x", {4});
  AddNode(*model.mutable_graph(), "Neg", {"x"}, {"y"});
  AddValue(model.mutable_graph()->add_output(), "y", {4});
  WriteFile(folder_ / "m.onnx", model.SerializeAsString());
  Session::Config config = Config();
  config.options.device = "cuda:0";
  EXPECT_THAT(std::string(Session::Open(folder_ / "m.onnx", std::move(config)).status().message()),
              HasSubstr("device 'cuda:0' was chosen, but target 'cpu' is for the CPU"));
  config = Config();
  config.options.target = "cuda";
  config.options.device = "cuda:5";
  EXPECT_THAT(std::string(Session::Open(folder_ / "m.onnx", std::move(config)).status().message()),
              HasSubstr("no device cuda:5: there are 2"));
  // For a GPU elsewhere any GPU will do, but no name that is none.
  for (const char* target : {"cuda:sm_90a", "cuda-sim"}) {
    config = Config();
    config.options.target = target;
    config.options.device = "gpu";
    EXPECT_THAT(std::string(Session::Open(folder_ / "m.onnx", std::move(config)).status().message()),
                HasSubstr("no device 'gpu': there are cuda:N"));
  }
}

}  // namespace
}  // namespace tcc::devices
