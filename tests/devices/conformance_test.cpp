// What every device promises (runtime/devices/device.h).
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <thread>

#include "tests/cuda_compile/gpu_code.h"
#include "tests/devices/device_test.h"

namespace tcc::devices {
namespace {

using testing::HasSubstr;

class DeviceTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    device_ = Make(GetParam());
    if (device_ == nullptr) GTEST_SKIP() << MakeCudaDevice(0).status().message();
    stream_ = *device_->CreateStream();
  }
  void TearDown() override {
    if (device_ == nullptr) return;
    device_->DestroyStream(stream_);
    const Counters left = device_->counters();
    EXPECT_EQ(left.allocations, 0);
    EXPECT_EQ(left.bytes, 0);
    EXPECT_EQ(left.streams, 0);
    EXPECT_EQ(left.events, 0);
    EXPECT_EQ(left.modules, 0);
    EXPECT_EQ(left.graphs, 0);
  }
  // A kernel of kernels.cu.
  FunctionHandle* Kernel(const std::string& symbol) {
    for (const KernelImageView& image : Images()) {
      if (image.symbol != symbol) continue;
      absl::StatusOr<std::string> binary;
      if (std::string_view(GetParam()) == "cuda") {
        binary = GpuCode(*device_, "devices/kernels.cu", symbol);
        EXPECT_TRUE(binary.ok()) << binary.status();
      } else {
        const auto chosen = ChooseBinary(*device_, image);
        if (chosen.ok()) binary = std::string(*chosen);
      }
      if (!binary.ok()) return nullptr;
      const auto module = device_->LoadModule(*binary, symbol);
      EXPECT_TRUE(module.ok()) << module.status();
      modules_.push_back(*module);
      return *device_->Function(*module, symbol);
    }
    return nullptr;
  }
  bool Computes() const { return devices::Computes(*device_) || std::string_view(GetParam()) == "cuda"; }
  void UnloadAll() {
    for (ModuleHandle* module : modules_) device_->UnloadModule(module);
    modules_.clear();
  }
  absl::Status Add(FunctionHandle* add, void* out, void* a, void* b, int64_t n) {
    void* params[] = {&out, &a, &b, &n};
    return device_->Launch(add, {{(n + 31) / 32, 1, 1}, {32, 1, 1}, 0}, absl::MakeSpan(params), stream_);
  }

  std::shared_ptr<ComputeDevice> device_;
  StreamHandle* stream_ = nullptr;
  std::vector<ModuleHandle*> modules_;
};

TEST_P(DeviceTest, Properties) {
  const Properties& p = device_->properties();
  EXPECT_NE(p.name, "");
  EXPECT_GE(p.compute_capability, 50);
  EXPECT_GE(p.multiprocessors, 1);
  EXPECT_EQ(p.warp_size, 32);
  EXPECT_GE(p.shared_per_block_optin, p.shared_per_block);
  const auto memory = device_->Memory();
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_GT(memory->total, 0);
  EXPECT_LE(memory->free, memory->total);
  EXPECT_NE(device_->id(), Device{});
}

TEST_P(DeviceTest, Memory) {
  for (const int64_t bytes : {int64_t{0}, int64_t{1}, int64_t{255}, int64_t{4096}, int64_t{1} << 20}) {
    void* const memory = *device_->Allocate(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 256, 0u);
    EXPECT_EQ(device_->counters().bytes, bytes);
    device_->Free(memory, bytes);
  }
  EXPECT_EQ(device_->counters().peak_bytes, 1 << 20);
  EXPECT_FALSE(device_->Allocate(-1).ok());
  device_->Free(nullptr, 0);
}

TEST_P(DeviceTest, Copies) {
  std::vector<char> from(1000), to(1000);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i * 7);
  void* const a = *device_->Allocate(1000);
  void* const b = *device_->Allocate(1000);
  ASSERT_TRUE(device_->CopyToDevice(a, from.data(), 1000, stream_).ok());
  ASSERT_TRUE(device_->CopyOnDevice(b, a, 1000, stream_).ok());
  ASSERT_TRUE(device_->Clear(static_cast<char*>(b) + 10, 5, stream_).ok());
  ASSERT_TRUE(device_->CopyToHost(to.data(), b, 1000, stream_).ok());
  ASSERT_TRUE(device_->Synchronize(stream_).ok());
  std::fill_n(from.begin() + 10, 5, '\0');
  EXPECT_EQ(from, to);
  EXPECT_TRUE(device_->CopyToHost(to.data(), b, 0, stream_).ok());
  device_->Free(a, 1000);
  device_->Free(b, 1000);
}

// What is put on a stream happens in that order, whatever comes in between.
TEST_P(DeviceTest, StreamOrder) {
  int64_t value = 0;
  void* const memory = *device_->Allocate(8);
  std::vector<int64_t> seen(50);
  for (int64_t i = 0; i < 50; ++i) {
    value = i;
    ASSERT_TRUE(device_->CopyToDevice(memory, &value, 8, stream_).ok());
    ASSERT_TRUE(device_->CopyToHost(&seen[static_cast<size_t>(i)], memory, 8, stream_).ok());
  }
  ASSERT_TRUE(device_->Synchronize(stream_).ok());
  for (int64_t i = 0; i < 50; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)], i);
  device_->Free(memory, 8);
}

TEST_P(DeviceTest, EventsOrderStreams) {
  StreamHandle* const other = *device_->CreateStream();
  EventHandle* const first = *device_->CreateEvent();
  EventHandle* const second = *device_->CreateEvent();
  void* const memory = *device_->Allocate(8);
  const int64_t value = 42;
  int64_t seen = 0;
  ASSERT_TRUE(device_->Record(first, stream_).ok());
  ASSERT_TRUE(device_->CopyToDevice(memory, &value, 8, stream_).ok());
  ASSERT_TRUE(device_->Record(second, stream_).ok());
  ASSERT_TRUE(device_->Wait(other, second).ok());
  ASSERT_TRUE(device_->CopyToHost(&seen, memory, 8, other).ok());
  ASSERT_TRUE(device_->Synchronize(other).ok());
  EXPECT_EQ(seen, 42);
  EXPECT_TRUE(*device_->IsDone(second));
  const auto time = device_->Milliseconds(first, second);
  ASSERT_TRUE(time.ok()) << time.status();
  EXPECT_GE(*time, 0);
  device_->Free(memory, 8);
  device_->DestroyEvent(first);
  device_->DestroyEvent(second);
  device_->DestroyStream(other);
}

TEST_P(DeviceTest, Launches) {
  FunctionHandle* const add = Kernel("add");
  if (add == nullptr) GTEST_SKIP() << "no code for this device";
  constexpr int64_t kCount = 100, kBytes = 4 * kCount;
  std::vector<float> a(kCount, 1.5f), b(kCount, 2.0f), sum(kCount);
  void* memory[3];
  for (void*& one : memory) one = *device_->Allocate(kBytes);
  ASSERT_TRUE(device_->CopyToDevice(memory[1], a.data(), kBytes, stream_).ok());
  ASSERT_TRUE(device_->CopyToDevice(memory[2], b.data(), kBytes, stream_).ok());
  const absl::Status launched = Add(add, memory[0], memory[1], memory[2], kCount);
  ASSERT_TRUE(launched.ok()) << launched;
  ASSERT_TRUE(device_->CopyToHost(sum.data(), memory[0], kBytes, stream_).ok());
  const absl::Status waited = device_->Synchronize(stream_);
  ASSERT_TRUE(waited.ok()) << waited;
  if (Computes()) EXPECT_EQ(sum, std::vector<float>(kCount, 3.5f));
  EXPECT_EQ(device_->counters().launches, 1);
  for (void* one : memory) device_->Free(one, kBytes);
  UnloadAll();
}

// A graph takes the parameters that launches had when it was captured, and runs nothing then.
TEST_P(DeviceTest, Graphs) {
  FunctionHandle* const scale = Kernel("scale");
  if (scale == nullptr) GTEST_SKIP() << "no code for this device";
  constexpr int64_t kCount = 40, kBytes = 4 * kCount;
  std::vector<float> values(kCount, 1.0f);
  void* memory = *device_->Allocate(kBytes);
  ASSERT_TRUE(device_->CopyToDevice(memory, values.data(), kBytes, stream_).ok());
  int64_t n = kCount, factor = 3;
  void* params[] = {&memory, &memory, &n, &factor};
  ASSERT_TRUE(device_->BeginCapture(stream_).ok());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(device_->Launch(scale, {{2, 1, 1}, {32, 1, 1}, 0}, absl::MakeSpan(params), stream_).ok());
  }
  const auto graph = device_->EndCapture(stream_);
  ASSERT_TRUE(graph.ok()) << graph.status();
  factor = 100;
  EXPECT_EQ(device_->counters().graphs, 1);
  ASSERT_TRUE(device_->LaunchGraph(*graph, stream_).ok());
  ASSERT_TRUE(device_->LaunchGraph(*graph, stream_).ok());
  ASSERT_TRUE(device_->CopyToHost(values.data(), memory, kBytes, stream_).ok());
  ASSERT_TRUE(device_->Synchronize(stream_).ok());
  if (Computes()) EXPECT_EQ(values, std::vector<float>(kCount, 81.0f));
  // Without a beginning, and within another.
  EXPECT_FALSE(device_->EndCapture(stream_).ok());
  ASSERT_TRUE(device_->BeginCapture(stream_).ok());
  EXPECT_FALSE(device_->BeginCapture(stream_).ok());
  device_->DestroyGraph(*device_->EndCapture(stream_));
  // Waiting spoils what is captured, the device does not mind. (A GPU captures copies and the like; here nobody means
  // it.)
  const auto spoils = [&](const std::function<absl::Status()>& does) {
    EXPECT_TRUE(device_->BeginCapture(stream_).ok());
    EXPECT_FALSE(does().ok());
    EXPECT_FALSE(device_->EndCapture(stream_).ok());
    EXPECT_TRUE(device_->Synchronize(stream_).ok());
  };
  spoils([&] { return device_->Synchronize(stream_); });
  if (std::string(GetParam()) != "cuda") {
    EventHandle* const event = *device_->CreateEvent();
    spoils([&] { return device_->CopyToDevice(memory, values.data(), kBytes, stream_); });
    spoils([&] { return device_->Clear(memory, kBytes, stream_); });
    spoils([&] { return device_->Record(event, stream_); });
    spoils([&] { return device_->Wait(stream_, event); });
    device_->DestroyEvent(event);
  }
  device_->DestroyGraph(*graph);
  device_->Free(memory, kBytes);
  UnloadAll();
}

// What no such device can run is refused before it gets there, and all of them say the same.
TEST_P(DeviceTest, ShapesThatAreNone) {
  FunctionHandle* const add = Kernel("add");
  if (add == nullptr) GTEST_SKIP() << "no code for this device";
  void* memory = *device_->Allocate(4);
  const auto error = [&](LaunchShape shape) {
    int64_t n = 0;
    void* params[] = {&memory, &memory, &memory, &n};
    const absl::Status status = device_->Launch(add, shape, absl::MakeSpan(params), stream_);
    EXPECT_FALSE(status.ok());
    return std::string(status.message());
  };
  const int64_t huge = int64_t{1} << 40;
  const std::array<int64_t, 3> grids[] = {{0, 1, 1},    {1, 0, 1},       {1, 1, 0},       {-1, 1, 1},
                                          {huge, 1, 1}, {1, 0x10000, 1}, {1, 1, 0x10000}, {1, 1, huge}};
  for (const auto& grid : grids) EXPECT_THAT(error({grid, {32, 1, 1}}), HasSubstr("a grid of "));
  const std::array<int32_t, 3> blocks[] = {{0, 1, 1},    {1, -1, 1}, {1025, 1, 1},
                                           {1, 1025, 1}, {1, 1, 65}, {0x7FFFFFFF, 0x7FFFFFFF, 2}};
  for (const auto& block : blocks) EXPECT_THAT(error({{1, 1, 1}, block}), HasSubstr("a block of "));
  EXPECT_THAT(error({{1, 1, 1}, {64, 32, 1}}), HasSubstr("a block of 64 x 32 x 1 threads"));
  for (const int64_t bytes : {int64_t{-1}, int64_t{1} << 20, huge}) {
    EXPECT_THAT(error({{1, 1, 1}, {32, 1, 1}, bytes}), HasSubstr("bytes of shared memory"));
  }
  EXPECT_EQ(device_->counters().launches, 0);
  EXPECT_TRUE(Add(add, memory, memory, memory, 1).ok());
  device_->Free(memory, 4);
  UnloadAll();
}

// Any number of threads, each with a stream.
TEST_P(DeviceTest, Threads) {
  FunctionHandle* const scale = Kernel("scale");
  if (scale == nullptr) GTEST_SKIP() << "no code for this device";
  constexpr int kThreads = 4, kRounds = 25;
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      StreamHandle* const stream = *device_->CreateStream();
      for (int round = 0; round < kRounds; ++round) {
        float value = static_cast<float>(t), result = 0;
        void* memory = *device_->Allocate(4);
        int64_t n = 1, factor = round;
        void* params[] = {&memory, &memory, &n, &factor};
        bool ok = device_->CopyToDevice(memory, &value, 4, stream).ok();
        ok &= device_->Launch(scale, {{1, 1, 1}, {32, 1, 1}, 0}, absl::MakeSpan(params), stream).ok();
        ok &= device_->CopyToHost(&result, memory, 4, stream).ok() && device_->Synchronize(stream).ok();
        good += ok && (!Computes() || result == value * static_cast<float>(round));
        device_->Free(memory, 4);
      }
      device_->DestroyStream(stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, kThreads * kRounds);
  EXPECT_EQ(device_->counters().launches, kThreads * kRounds);
  UnloadAll();
}

// Of two events there is a time only once both have been put on a stream.
TEST_P(DeviceTest, EventsThatWereNotRecorded) {
  EventHandle* const first = *device_->CreateEvent();
  EventHandle* const second = *device_->CreateEvent();
  EXPECT_FALSE(device_->Milliseconds(first, second).ok());
  ASSERT_TRUE(device_->Record(first, stream_).ok());
  EXPECT_FALSE(device_->Milliseconds(first, second).ok());
  device_->DestroyEvent(first);
  device_->DestroyEvent(second);
  device_->DestroyEvent(nullptr);
  device_->DestroyStream(nullptr);
  device_->UnloadModule(nullptr);
  device_->DestroyGraph(nullptr);
}

TEST_P(DeviceTest, InjectedFaults) {
  const auto expect = [](const absl::Status& status, const char* what) {
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), HasSubstr(what));
  };
  device_->Inject(Fault::kAllocate, 1);
  void* const memory = *device_->Allocate(64);
  const auto failed = device_->Allocate(64);
  EXPECT_EQ(failed.status().code(), absl::StatusCode::kResourceExhausted);
  expect(failed.status(), "injected fault: allocation on ");
  device_->Inject(Fault::kCopy);
  int64_t value = 0;
  expect(device_->CopyToHost(&value, memory, 8, stream_), "copy");
  device_->Inject(Fault::kSynchronize);
  expect(device_->Synchronize(stream_), "synchronisation");
  device_->Inject(Fault::kStream);
  expect(device_->CreateStream().status(), "stream");
  device_->Inject(Fault::kEvent);
  expect(device_->CreateEvent().status(), "creation of an event on ");
  device_->Inject(Fault::kLoadModule);
  expect(device_->LoadModule("", "kernel 'add'").status(), "kernel 'add': injected fault: loading of a module");
  if (FunctionHandle* const add = Kernel("add")) {
    device_->Inject(Fault::kLaunch);
    expect(Add(add, memory, memory, memory, 4), "launch");
    ASSERT_TRUE(device_->BeginCapture(stream_).ok());
    device_->Inject(Fault::kGraph);
    expect(device_->EndCapture(stream_).status(), "graph");
    // Each happens once.
    EXPECT_TRUE(Add(add, memory, memory, memory, 4).ok());
  }
  EXPECT_TRUE(device_->CopyToHost(&value, memory, 8, stream_).ok());
  EXPECT_TRUE(device_->Synchronize(stream_).ok());
  device_->Free(memory, 64);
  UnloadAll();
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceTest, testing::Values("null", "cuda-sim", "fake-cuda", "cuda"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(HostDevices, MemoryHasAnEnd) {
  for (const char* kind : {"null", "cuda-sim"}) {
    const auto device = Make(kind, 1000);
    void* const memory = *device->Allocate(600);
    EXPECT_EQ(device->Memory()->free, 400);
    const auto more = device->Allocate(500);
    EXPECT_EQ(more.status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(std::string(more.status().message()),
              std::string(kind) + ": out of memory: 500 bytes were asked for, 400 bytes of 1000 bytes are free");
    device->Free(memory, 600);
    device->Free(*device->Allocate(1000), 1000);
  }
}

TEST(SimDevice, WritesOutsideAreFound) {
  const auto device = MakeSimDevice();
  StreamHandle* const stream = *device->CreateStream();
  char* const memory = static_cast<char*>(*device->Allocate(100));
  EXPECT_TRUE(device->Synchronize(stream).ok());
  memory[103] = 1;
  EXPECT_EQ(std::string(device->Synchronize(stream).message()),
            "cuda-sim: a kernel wrote outside its memory: 3 bytes past the end of an allocation of 100 bytes");
  EXPECT_TRUE(device->Synchronize(stream).ok());
  memory[-1] = 1;
  device->Free(memory, 100);
  EXPECT_THAT(std::string(device->Synchronize(stream).message()), HasSubstr("1 bytes before the start"));
  EXPECT_TRUE(device->Synchronize(stream).ok());
  device->DestroyStream(stream);
}

TEST(Registry, DevicesByName) {
  EXPECT_EQ((*DeviceFor("null"))->kind(), Kind::kNull);
  EXPECT_EQ(*DeviceFor("null"), *DeviceFor("null"));
  EXPECT_EQ((*DeviceFor("cuda-sim"))->name(), "cuda-sim");
  for (const char* name : {"gpu", "cuda:", "cuda:-1", "cuda:x", ""}) {
    EXPECT_EQ(DeviceFor(name).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
  EXPECT_THAT(std::string(DeviceFor("gpu").status().message()), HasSubstr("no device 'gpu'"));
  const std::vector<Listing> list = ListDevices();
  ASSERT_GE(list.size(), 2u);
  EXPECT_EQ(list.back().name, "cuda-sim");
  EXPECT_EQ(list.back().kind, Kind::kCudaSim);
  EXPECT_TRUE(list.back().properties.ok());
}

}  // namespace
}  // namespace tcc::devices
