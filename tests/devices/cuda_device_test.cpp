// The CUDA device on a driver that is none: what it says when something is wrong.
#include <dlfcn.h>
#include <elf.h>
#include <stdlib.h>

#include <array>
#include <cstring>
#include <filesystem>

#include "absl/strings/match.h"
#include "runtime/devices/cuda_arch.h"
#include "runtime/devices/cuda_driver.h"
#include "tests/devices/device_test.h"

namespace tcc::devices {
namespace {

using testing::HasSubstr;

// The error of a driver in this state. (A driver is started once a process: each is a file of its own.)
absl::Status ErrorOf(const std::string& state) {
  const TempFolder folder;
  const std::string file = folder / (state + ".so");
  WriteFile(file, ReadFile(TCC_FAKE_CUDA_DRIVER));
  ::setenv("FAKE_CUDA", state.c_str(), 1);
  const absl::Status status = MakeCudaDevice(0, file).status();
  ::unsetenv("FAKE_CUDA");
  return status;
}

TEST(CudaDevice, NoDriver) {
  const absl::Status status = MakeCudaDevice(0, "/nonexistent/libcuda.so").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no CUDA driver: /nonexistent/libcuda.so"));
}

TEST(CudaDevice, NoDevice) {
  const absl::Status status = ErrorOf("none");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("finds no GPU"));
}

TEST(CudaDevice, DriverTooOld) {
  const absl::Status status = ErrorOf("old");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(std::string(status.message()),
            "the CUDA driver is too old: it is for CUDA 10.2, tcc needs 11.4 or later: update the GPU's driver");
}

TEST(CudaDevice, DriverDoesNotStart) {
  EXPECT_THAT(std::string(ErrorOf("broken").message()),
              HasSubstr("the CUDA driver cannot be started: some other error (CUDA_ERROR_OTHER, 999)"));
}

TEST(CudaDevice, NoDriverAtAll) {
  const TempFolder folder;
  WriteFile(folder / "text.so", "no library");
  EXPECT_THAT(std::string(MakeCudaDevice(0, folder / "text.so").status().message()), HasSubstr("no CUDA driver"));
  EXPECT_THAT(std::string(MakeCudaDevice(0, "libm.so.6").status().message()), HasSubstr("libm.so.6 is no CUDA driver"));
}

TEST(CudaDevice, NoSuchDevice) {
  EXPECT_EQ((*MakeCudaDevice(1, TCC_FAKE_CUDA_DRIVER))->name(), "cuda:1");
  EXPECT_THAT(std::string(MakeCudaDevice(2, TCC_FAKE_CUDA_DRIVER).status().message()),
              HasSubstr("no device cuda:2: there are 2"));
}

TEST(CudaDevice, OutOfMemory) {
  const auto device = Make("fake-cuda");
  const auto memory = device->Allocate(int64_t{2} << 30);
  EXPECT_EQ(memory.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(std::string(memory.status().message()),
            "cuda:0: out of memory: 2.0 GiB were asked for, 1.0 GiB of 1.0 GiB are free (of which other processes may "
            "take some)");
}

TEST(CudaDevice, CodeThatDoesNotLoad) {
  const auto device = Make("fake-cuda");
  const absl::Status status = device->LoadModule("nonsense", "kernel 'add'").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cannot load kernel 'add'"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("the driver is for CUDA 12.4"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("ptxas: line 1: syntax error"));
  ModuleHandle* const module = *device->LoadModule("fake", "kernel");
  EXPECT_EQ(device->Function(module, "missing").status().code(), absl::StatusCode::kNotFound);
  device->UnloadModule(module);
}

// The driver would read behind its end.
TEST(CudaDevice, DamagedCubins) {
  const auto device = Make("fake-cuda");
  std::string cubin(sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Shdr) + 100, '\0');
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_machine = 190;
  header.e_shoff = sizeof(header);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 2;
  std::memcpy(cubin.data(), &header, sizeof(header));
  Elf64_Shdr section = {};
  section.sh_type = SHT_PROGBITS;
  section.sh_offset = sizeof(header) + 2 * sizeof(section);
  section.sh_size = 100;
  std::memcpy(cubin.data() + sizeof(header) + sizeof(section), &section, sizeof(section));
  const auto whole = device->LoadModule(cubin, "kernel 'k'");
  ASSERT_TRUE(whole.ok()) << whole.status();
  device->UnloadModule(*whole);
  for (size_t size = 0; size < cubin.size(); size += 7) {
    const absl::Status status = device->LoadModule(std::string_view(cubin).substr(0, size), "kernel 'k'").status();
    EXPECT_FALSE(status.ok()) << size;
    if (size >= SELFMAG || size == 0) {
      EXPECT_THAT(std::string(status.message()), HasSubstr("kernel 'k': the binary is damaged")) << size;
    }
  }
  // Sizes that wrap around.
  for (const uint64_t size : {~uint64_t{0}, ~uint64_t{0} - 64}) {
    section.sh_size = size;
    std::memcpy(cubin.data() + sizeof(header) + sizeof(section), &section, sizeof(section));
    EXPECT_FALSE(device->LoadModule(cubin, "kernel 'k'").ok());
  }
  EXPECT_FALSE(device->LoadModule(std::string("fa\0ke", 5), "kernel 'k'").ok());
  EXPECT_EQ(device->counters().modules, 0);
}

TEST(CudaDevice, SharedMemoryIsAskedFor) {
  const auto device = Make("fake-cuda");
  ModuleHandle* const module = *device->LoadModule("fake", "kernel");
  FunctionHandle* const kernel = *device->Function(module, "kernel");
  StreamHandle* const stream = *device->CreateStream();
  void* params[] = {nullptr};
  const auto launch = [&](int64_t bytes, int64_t grid = 1) {
    return device->Launch(kernel, {{grid, 1, 1}, {32, 1, 1}, bytes}, absl::MakeSpan(params), stream);
  };
  EXPECT_TRUE(launch(0).ok());
  EXPECT_TRUE(launch(40000).ok());
  EXPECT_TRUE(launch(100000).ok());
  EXPECT_TRUE(launch(50000).ok());
  EXPECT_THAT(std::string(launch(200000).message()),
              HasSubstr("takes 200000 bytes of shared memory, this device has 101376 for a block: compile for"));
  device->DestroyStream(stream);
  device->UnloadModule(module);
}

// What reaches the driver is what was asked for.
TEST(CudaDevice, LaunchesAreHandedOn) {
  const auto device = Make("fake-cuda");
  void* const library = ::dlopen(TCC_FAKE_CUDA_DRIVER, RTLD_NOW);
  const auto last = reinterpret_cast<const char* (*)()>(::dlsym(library, "FakeCudaLastLaunch"));
  ASSERT_NE(last, nullptr);
  ModuleHandle* const module = *device->LoadModule("fake", "kernel");
  StreamHandle* const stream = *device->CreateStream();
  std::array<int64_t, 3> values = {11, -22, int64_t{1} << 40};
  std::array<void*, 3> params = {&values[0], &values[1], &values[2]};
  const LaunchShape shape = {{70000, 5, 3}, {32, 2, 4}, 60000};
  EXPECT_TRUE(device->Launch(*device->Function(module, "add_takes_3"), shape, absl::MakeSpan(params), stream).ok());
  EXPECT_STREQ(last(), "add_takes_3 <<<70000,5,3; 32,2,4; 60000>>> 11 -22 1099511627776");
  // Of those that it takes more of than there are, nothing is read.
  for (const char* const name : {"add_takes_4", "add_takes_2000"}) {
    const absl::Status status = device->Launch(*device->Function(module, name), shape, absl::MakeSpan(params), stream);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(std::string("the kernel '") + name + "' takes"),
                                                     HasSubstr("not the 3 that the plan has")));
  }
  EXPECT_STREQ(last(), "add_takes_3 <<<70000,5,3; 32,2,4; 60000>>> 11 -22 1099511627776");
  device->DestroyStream(stream);
  device->UnloadModule(module);
}

// tcc devices tells of GPUs that it does not start: that takes seconds and memory of each.
TEST(CudaDevice, IsDescribedWithoutAContext) {
  ::setenv("FAKE_CUDA", "contextless", 1);
  const auto properties = DescribeCudaDevice(1, TCC_FAKE_CUDA_DRIVER);
  EXPECT_THAT(std::string(MakeCudaDevice(1, TCC_FAKE_CUDA_DRIVER).status().message()),
              HasSubstr("cannot start the device"));
  ::unsetenv("FAKE_CUDA");
  ASSERT_TRUE(properties.ok()) << properties.status();
  EXPECT_EQ(properties->name, "Fake GPU");
  EXPECT_EQ(properties->compute_capability, 86);
}

TEST(CudaDevice, WhichErrorsLoseTheDevice) {
  const auto* const driver = *cuda::Driver::Load(TCC_FAKE_CUDA_DRIVER);
  const auto loses = [&](int error) {
    return absl::StrContains(driver->Error(error, "").message(), "the device is lost to this process");
  };
  // An uncorrectable error of memory, an illegal address, a launch that ran too long or failed, a misaligned address.
  for (const int error : {214, 700, 702, 716, 719}) EXPECT_TRUE(loses(error)) << error;
  // A value, memory, resources for a launch, peers, a capture that was spoilt.
  for (const int error : {1, 2, 701, 704, 711, 901, 999}) EXPECT_FALSE(loses(error)) << error;
}

TEST(CudaDevice, WhichCodeSuits) {
  const auto best = [](int capability, const std::vector<std::string>& archs) {
    std::string found = "none";
    int rank = 0;
    for (const std::string& arch : archs) {
      if (CudaSuits(arch, capability) <= rank) continue;
      rank = CudaSuits(arch, capability);
      found = arch;
    }
    return found;
  };
  EXPECT_EQ(best(90, {"sm_80", "sm_90", "sm_90a", "compute_90"}), "sm_90a");
  EXPECT_EQ(best(90, {"sm_80", "sm_90", "compute_90"}), "sm_90");
  EXPECT_EQ(best(86, {"sm_80", "sm_86", "sm_89", "compute_80"}), "sm_86");
  EXPECT_EQ(best(89, {"sm_80", "sm_86", "sm_90a"}), "sm_86");
  EXPECT_EQ(best(90, {"sm_80", "compute_80"}), "compute_80");
  EXPECT_EQ(best(120, {"sm_90a", "sm_100a", "compute_80", "compute_90"}), "compute_90");
  EXPECT_EQ(best(120, {"sm_90a", "sm_100a", "compute_90a"}), "none");
  EXPECT_EQ(best(103, {"sm_100", "sm_100f", "sm_100a"}), "sm_100f");
  // Integrated GPUs.
  EXPECT_EQ(best(87, {"sm_80", "sm_86", "compute_80"}), "compute_80");
  EXPECT_EQ(best(87, {"sm_80", "sm_87"}), "sm_87");
  EXPECT_EQ(best(89, {"sm_80", "sm_87"}), "sm_80");
  EXPECT_EQ(best(110, {"sm_100", "sm_103", "compute_100"}), "compute_100");
  EXPECT_EQ(best(75, {"sm_80", "compute_80", "sim", "sm_", "sm_x", ""}), "none");
}

TEST(CudaDevice, NoCodeForIt) {
  KernelImageView image;
  image.symbol = "gemm";
  image.binaries = {{"sm_90a", ""}, {"compute_90", ""}};
  const auto device = Make("fake-cuda");
  EXPECT_EQ(std::string(ChooseBinary(*device, image).status().message()),
            "kernel 'gemm': no code for cuda:0 (Fake GPU, sm_86), there is some for compute_90, sm_90a: compile for "
            "--target=cuda:sm_86");
  // Whoever can compile it may do so.
  image.source = "// ...";
  using Images = absl::Span<const KernelImageView* const>;
  using Compiled = absl::StatusOr<std::vector<std::string>>;
  const auto load = [&](const CompileImages& compile) {
    return LoadedImages::Load(device, {image}, {"gemm"}, compile).status();
  };
  EXPECT_TRUE(load([](Images images, const std::string& arch) -> Compiled {
                EXPECT_EQ(arch, "sm_86");
                return std::vector<std::string>(images.size(), "fake");
              }).ok());
  EXPECT_THAT(std::string(load([](Images, const std::string&) -> Compiled {
                            return absl::NotFoundError("no NVRTC");
                          }).message()),
              HasSubstr("compile for --target=cuda:sm_86; compiling its source failed: no NVRTC"));
  EXPECT_EQ(load([](Images, const std::string&) -> Compiled { return std::vector<std::string>(); }).code(),
            absl::StatusCode::kFailedPrecondition);
  // PTX for what is older than the device is for its driver to compile: nobody else is asked.
  image.binaries["compute_80"] = "fake";
  EXPECT_TRUE(load([](Images, const std::string&) -> Compiled { return absl::InternalError("asked"); }).ok());
  EXPECT_THAT(std::string(LoadedImages::Load(device, {image}, {"conv"}, nullptr).status().message()),
              HasSubstr("kernel 'conv': the package has no image of it"));
  EXPECT_EQ(device->counters().modules, 0);
}

// A program that uses the GPU by itself keeps its context.
TEST(CudaDevice, ContextsAreRestored) {
  const auto* const driver = *cuda::Driver::Load(TCC_FAKE_CUDA_DRIVER);
  int other = 0;
  auto* const mine = reinterpret_cast<cuda::Context*>(&other);
  driver->CtxSetCurrent(mine);
  const auto device = Make("fake-cuda");
  device->Free(*device->Allocate(100), 100);
  cuda::Context* now = nullptr;
  driver->CtxGetCurrent(&now);
  EXPECT_EQ(now, mine);
  driver->CtxSetCurrent(nullptr);
}

}  // namespace
}  // namespace tcc::devices
