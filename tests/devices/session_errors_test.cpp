// Errors of devices as users of packages meet them: clear, with nothing left behind, and the session works afterwards.
#include <tuple>

#include "tests/devices/session_test_util.h"

namespace tcc::devices {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// Device, by the compiler's API, recorded.
class SessionErrors : public DeviceSession, public testing::WithParamInterface<std::tuple<const char*, bool, bool>> {
 protected:
  void SetUp() override {
    device_ = *DeviceFor(Name());
    before_ = Alive(*device_);
  }
  void TearDown() override { EXPECT_EQ(Alive(*device_), before_); }

  static std::string Name() { return std::get<0>(GetParam()); }
  static Mode ModeOf() { return std::get<2>(GetParam()) ? Mode::kReduceOverhead : Mode::kDefault; }
  Call OpenIt(const Plan& plan) const {
    Specialisation one = Of(Name(), plan);
    return OpenIt(one);
  }
  Call OpenIt(const Specialisation& one) const {
    PackageBuilder builder;
    builder.specialisations = {one};
    if (ModeOf() == Mode::kReduceOverhead) builder.options["mode"] = "reduce-overhead";
    EXPECT_TRUE(builder.Write(folder_ / "m.tcc").ok());
    return Open(folder_ / "m.tcc", Name(), std::get<1>(GetParam()), ModeOf());
  }
  void ExpectWorks(const Call& call, size_t n = 2) const {
    const auto outputs = call({Vector(std::vector<float>(n, 1)), Vector(std::vector<float>(n, 3))}, {});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    if (Computes(*device_)) EXPECT_EQ(Floats((*outputs)[0]), std::vector<float>(n, 12));
  }

  std::shared_ptr<ComputeDevice> device_;
  std::vector<int64_t> before_;
  const std::vector<Tensor> inputs_ = {Vector({1, 2}), Vector({3, 4})};
};

// Each operation of a session's first call, and of a later one, fails in turn.
TEST_P(SessionErrors, EveryFaultIsOneOfTheCall) {
  int events = 0;
  const ProfileHook hook = [&](const ProfileEvent&) { ++events; };
  for (const Fault fault : {Fault::kAllocate, Fault::kCopy, Fault::kLaunch, Fault::kLoadModule, Fault::kSynchronize,
                            Fault::kStream, Fault::kEvent}) {
    for (const bool warm : {false, true}) {
      int failed = 0;
      for (int64_t skip = 0; skip < 8; ++skip) {
        const Call call = OpenIt(AddScale());
        if (warm) ExpectWorks(call);
        RunOptions options;
        if (fault == Fault::kEvent) options.profile = &hook;
        device_->Inject(fault, skip);
        const auto outputs = call(inputs_, options);
        if (!outputs.ok()) {
          ++failed;
          EXPECT_THAT(std::string(outputs.status().message()), HasSubstr("injected fault: "));
          EXPECT_THAT(std::string(outputs.status().message()), HasSubstr(device_->name()));
          EXPECT_EQ(absl::IsResourceExhausted(outputs.status()), fault == Fault::kAllocate);
        }
        device_->Inject(fault, -1);
        ExpectWorks(call);
        ExpectWorks(call, 100);
      }
      const bool only_at_first = fault == Fault::kAllocate || fault == Fault::kStream || fault == Fault::kLoadModule;
      EXPECT_EQ(failed > 0, !warm || !only_at_first) << static_cast<int>(fault) << " " << warm;
      EXPECT_EQ(Alive(*device_), before_);
    }
  }
  EXPECT_GT(events, 0);
}

// No graph: not an error.
TEST_P(SessionErrors, WithoutGraphs) {
  const Call call = OpenIt(AddScale());
  device_->Inject(Fault::kGraph);
  for (int i = 0; i < 4; ++i) ExpectWorks(call);
  device_->Inject(Fault::kGraph, -1);
}

TEST_P(SessionErrors, LaunchesAreNamed) {
  const Call call = OpenIt(AddScale());
  const std::string fault = "injected fault: launch on " + device_->name();
  device_->Inject(Fault::kLaunch, 1);
  EXPECT_EQ(ErrorOf(call, inputs_), "node 'm' (Mul): " + fault);
  ExpectWorks(call);
  device_->Inject(Fault::kLaunch);
  EXPECT_EQ(ErrorOf(call, inputs_),
            (ModeOf() == Mode::kDefault ? "node 'a' (Add): "
                                        : "the graph of the 2 launches from node 'a' (Add) to node 'm' (Mul): ") +
                fault);
  ExpectWorks(call);
}

// y = (a + constant) * 3
Specialisation WithConstant(Specialisation one) {
  static const float kConstant[32] = {10, 20};
  one.plan.constants = {{1, DType::kF32, {32}, 0, 128}};
  one.plan.inputs[1] = kNoValue;
  one.constants = {{0, {reinterpret_cast<const char*>(kConstant), sizeof(kConstant)}}};
  one.constants_bytes = sizeof(kConstant);
  return one;
}

// What a model takes is in the error, with the largest of it by name: when it is loaded, and when it runs.
TEST_P(SessionErrors, OutOfMemorySaysWhatTakesIt) {
  const Call call = OpenIt(WithConstant(Of(Name(), AddScale())));
  device_->Inject(Fault::kAllocate);
  EXPECT_THAT(ErrorOf(call, inputs_),
              AllOf(HasSubstr("the plan's constants take 256 bytes on " + device_->name()),
                    HasSubstr("the plan takes 256 bytes on " + device_->name() + ": constants 256 bytes"),
                    HasSubstr("its largest values: 128 bytes f32[32], a constant of node 'a' (Add)")));
  device_->Inject(Fault::kAllocate, 1);
  const auto outputs = call(inputs_, {});
  EXPECT_EQ(outputs.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(outputs.status().message()),
              AllOf(HasSubstr("; the plan takes "), HasSubstr("constants 256 bytes, temporaries "),
                    HasSubstr("its largest values: 128 bytes f32[32], a constant of node 'a' (Add), 8 bytes f32[2] of "
                              "node 'a' (Add), 8 bytes f32[2] of node 'm' (Mul)"),
                    HasSubstr("8 bytes f32[2], input 0 of node 'a' (Add)"), HasSubstr("a smaller batch")));
  const auto works = call(inputs_, {});
  ASSERT_TRUE(works.ok()) << works.status();
  if (Computes(*device_)) EXPECT_THAT(Floats((*works)[0]), ElementsAre(33, 66));
}

// Memory that earlier calls left is given back before a call fails for want of it.
TEST_P(SessionErrors, OldMemoryGoesFirst) {
  const Call call = OpenIt(AddScale());
  ExpectWorks(call, 2);
  device_->Inject(Fault::kAllocate);
  ExpectWorks(call, 100);
  device_->Inject(Fault::kAllocate, -1);
}

INSTANTIATE_TEST_SUITE_P(Devices, SessionErrors,
                         testing::Combine(testing::Values("null", "cuda-sim", "cuda:0"), testing::Bool(),
                                          testing::Bool()),
                         [](const auto& info) {
                           std::string name = std::get<0>(info.param);
                           std::erase_if(name, [](char c) { return c == '-' || c == ':'; });
                           return name + (std::get<1>(info.param) ? "_compiler" : "_runtime") +
                                  (std::get<2>(info.param) ? "_recorded" : "");
                         });

using NoDeviceErrors = DeviceSession;

// Nothing is remembered of a driver that was not there: the same session works once it is.
TEST_F(NoDeviceErrors, DriversThatDoNotWork) {
  const std::string path = Write({Of("cuda", AddScale())});
  // (No other test uses this device: those that work are made once a process.)
  const Call calls[] = {Open(path, "cuda:1", false), Open(path, "cuda:1", true)};
  const std::vector<Tensor> inputs = {Vector({1}), Vector({2})};
  const std::pair<const char*, const char*> states[] = {
      {"missing", "made for cuda (sm_80): no CUDA driver: /nonexistent/libcuda.so.1"},
      {"none", "the CUDA driver finds no GPU (is one there"},
      {"old", "the CUDA driver is too old: it is for CUDA 10.2, tcc needs 11.4 or later"},
      {"broken", "the CUDA driver cannot be started: some other error"},
      {"contextless", "cuda:1: cannot start the device: some other error"}};
  const std::string driver = folder_ / "driver.so";
  WriteFile(driver, ReadFile(TCC_FAKE_CUDA_DRIVER));
  for (const auto& [state, message] : states) {
    const bool missing = std::string(state) == "missing";
    ::setenv("TCC_CUDA_DRIVER", missing ? "/nonexistent/libcuda.so.1" : driver.c_str(), 1);
    ::setenv("FAKE_CUDA", state, 1);
    for (const Call& call : calls) {
      const auto outputs = call(inputs, {});
      EXPECT_EQ(outputs.status().code(), absl::StatusCode::kFailedPrecondition) << state;
      EXPECT_THAT(std::string(outputs.status().message()), HasSubstr(message));
    }
    ::unsetenv("FAKE_CUDA");
  }
  // (By the same name.)
  for (const Call& call : calls) EXPECT_EQ(ErrorOf(call, inputs), "");
  ::setenv("TCC_CUDA_DRIVER", TCC_FAKE_CUDA_DRIVER, 1);
  EXPECT_THAT(ErrorOf(Open(path, "cuda:2", false), {Vector({1}), Vector({2})}),
              HasSubstr("no device cuda:2: there are 2"));
  EXPECT_THAT(ErrorOf(Open(path, "gpu", true), {Vector({1}), Vector({2})}),
              HasSubstr("no device 'gpu': there are cuda:N"));
}

// A package for another GPU, without a compiler; then with one.
TEST_F(NoDeviceErrors, AnArchitectureThatIsNotInThePackage) {
  const std::shared_ptr<ComputeDevice> device = *DeviceFor("cuda:0");
  const std::vector<int64_t> before = Alive(*device);
  const CompileImages registered = RegisteredImageCompiler();
  {
    Specialisation one = Of("cuda", AddScale());
    for (KernelImage& image : one.images) image.binaries = {{"sm_90a", "fake"}, {"compute_90", "fake"}};
    const Call call = Open(Write({one}), "cuda:0", false);
    const std::vector<Tensor> inputs = {Vector({1}), Vector({2})};
    RegisterImageCompiler(nullptr);
    EXPECT_THAT(ErrorOf(call, inputs), HasSubstr("no code for cuda:0 (Fake GPU, sm_86), there is some for compute_90, "
                                                 "sm_90a: compile for --target=cuda:sm_86"));
    RegisterImageCompiler([](absl::Span<const KernelImageView* const> images, const std::string&) {
      return absl::StatusOr<std::vector<std::string>>(std::vector<std::string>(images.size(), "fake"));
    });
    EXPECT_EQ(ErrorOf(call, inputs), "");
    RegisterImageCompiler(nullptr);
    EXPECT_EQ(ErrorOf(call, inputs), "");
    // PTX of an older architecture is for the driver to compile.
    for (KernelImage& image : one.images) image.binaries = {{"sm_90a", "fake"}, {"compute_80", "fake"}};
    EXPECT_EQ(ErrorOf(Open(Write({one}, "ptx.tcc"), "cuda:0", false), inputs), "");
  }
  RegisterImageCompiler(registered);
  EXPECT_EQ(Alive(*device), before);
}

// Code that the driver does not take.
TEST_F(NoDeviceErrors, CodeThatDoesNotLoad) {
  const std::shared_ptr<ComputeDevice> device = *DeviceFor("cuda:0");
  const std::vector<int64_t> before = Alive(*device);
  for (const bool by_compiler : {false, true}) {
    Specialisation small = Of("cuda", AddScale()), large = small;
    small.signature.symbols[0].max = 4;
    large.signature.symbols[0].min = 5;
    for (KernelImage& image : small.images) image.binaries = {{"sm_80", "nonsense"}};
    const Call call = Open(Write({small, large}), "cuda:0", by_compiler);
    const auto vector = [](size_t n) { return Vector(std::vector<float>(n)); };
    for (int i = 0; i < 2; ++i) {
      EXPECT_THAT(ErrorOf(call, {vector(2), vector(2)}),
                  AllOf(HasSubstr("cannot load kernel 'add'"), HasSubstr("ptxas: line 1: syntax error")));
      EXPECT_EQ(ErrorOf(call, {vector(9), vector(9)}), "");
    }
  }
  EXPECT_EQ(Alive(*device), before);
}

// A kernel that writes behind its memory is found by the simulator, with kernel, op, thread and line.
TEST_F(NoDeviceErrors, KernelsThatFault) {
  const std::shared_ptr<ComputeDevice> device = *DeviceFor("cuda-sim");
  const std::vector<int64_t> before = Alive(*device);
  for (const Mode mode : {Mode::kDefault, Mode::kReduceOverhead}) {
    Plan plan = AddScale();
    plan.functions = {"overrun"};
    // (64 elements, and one more than the extent is written.)
    plan.body.instructions = {
        plan::Allocate{5, DType::kF32, {Operand::Imm(64)}, plan::kFreshSlot, 0, kNoValue, Space::kDevice},
        LaunchOf(0, {5}, {Operand::Reg(0)}, "node 'o' (Pad)"), plan::Transfer{6, 5, Space::kHost}};
    plan.slot_bytes.clear();
    Specialisation one = Of("cuda-sim", plan);
    one.signature.outputs[0].dims = {Extent::Constant(64)};
    one.images.clear();
    for (const KernelImageView& image : Images(/*checked=*/true)) {
      one.images.push_back({image.symbol, std::string(image.source), {{"sim", std::string(image.binaries.at("sim"))}}});
    }
    const Call call = Open(Write({one}), "cuda-sim", true, mode);
    const auto run = [&](size_t n) {
      return ErrorOf(call, {Vector(std::vector<float>(n)), Vector(std::vector<float>(n))});
    };
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(run(63), "");
      EXPECT_THAT(run(64), AllOf(HasSubstr("node 'o' (Pad): "), HasSubstr("'overrun'"), HasSubstr("kernels.cu:"),
                                 HasSubstr("thread")));
    }
    EXPECT_EQ(run(10), "");
  }
  EXPECT_EQ(Alive(*device), before);
}

}  // namespace
}  // namespace tcc::devices
