// Kernels in the artifact cache.
#include <array>
#include <cstdio>
#include <filesystem>
#include <set>
#include <thread>

#include "tests/cuda_compile/compile_test_util.h"
#include "tests/runtime/cache_test_util.h"

namespace tcc::codegen {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class CudaCompileCache : public testing::Test {
 protected:
  void SetUp() override { REQUIRE_NVRTC(); }

  CompileOptions options() {
    CompileOptions result = nvrtcOptions();
    result.cache = fixture.Open();
    return result;
  }
  std::vector<KernelBinary> compile(llvm::ArrayRef<KernelSource> kernels, const CompileOptions& options,
                                    llvm::StringRef arch = "sm_80") {
    llvm::Expected<std::vector<KernelBinary>> binaries = KernelCompiler(options).compile(kernels, arch);
    if (binaries) return *binaries;
    ADD_FAILURE() << llvm::toString(binaries.takeError());
    return {};
  }
  int cached(llvm::ArrayRef<KernelBinary> binaries) {
    int count = 0;
    for (const KernelBinary& binary : binaries) count += binary.cached ? 1 : 0;
    return count;
  }
  std::vector<std::string> files(const char* folder = "kernels") {
    std::vector<std::string> result;
    for (const auto& entry : std::filesystem::directory_iterator(fixture.folder + "/v1/" + folder))
      result.push_back(entry.path().string());
    return result;
  }
  /// Starts compile_kernels; what it prints is the result of `wait`.
  FILE* start(const std::string& nvrtc, const std::string& arch, int count) {
    return popen(("'" TCC_TEST_COMPILE_KERNELS "' '" + fixture.folder + "' '" + nvrtc + "' " + arch + " " +
                  std::to_string(count) + " 2>&1")
                     .c_str(),
                 "r");
  }
  std::string wait(FILE* process) {
    std::string text;
    std::array<char, 4096> buffer;
    while (size_t bytes = fread(buffer.data(), 1, buffer.size(), process)) text.append(buffer.data(), bytes);
    pclose(process);
    return text;
  }

  CacheFixture fixture;
};

TEST_F(CudaCompileCache, OnlyWhatIsNewIsCompiled) {
  std::vector<KernelBinary> first = compile(scaleKernels(2), options());
  EXPECT_EQ(cached(first), 0);
  EXPECT_THAT(files(), SizeIs(2));
  std::vector<KernelBinary> second = compile(scaleKernels(3), options());
  EXPECT_EQ(cached(second), 2);
  EXPECT_TRUE(second[0].cached);
  EXPECT_EQ(second[0].bytes, first[0].bytes);
  EXPECT_EQ(second[0].resources->registers, first[0].resources->registers);
  EXPECT_EQ(second[0].resources->maxThreads, 256);
  EXPECT_FALSE(second[2].cached);
  EXPECT_THAT(fixture.warnings, IsEmpty());
  EXPECT_THAT(files("locks"), IsEmpty());
}

TEST_F(CudaCompileCache, WhatTheBinaryDependsOnIsInTheKey) {
  compile(scaleKernel("scale"), options());
  EXPECT_EQ(cached(compile(scaleKernel("scale"), options())), 1);
  EXPECT_EQ(cached(compile(scaleKernel("scale"), options(), "sm_90a")), 0);
  EXPECT_EQ(cached(compile(scaleKernel("scale"), options(), "compute_80")), 0);
  EXPECT_EQ(cached(compile(scaleKernel("scale", "3.0f"), options())), 0);
  CompileOptions changed = options();
  changed.fastMath = true;
  EXPECT_EQ(cached(compile(scaleKernel("scale"), changed)), 0);
  changed = options();
  changed.lineInfo = true;
  EXPECT_EQ(cached(compile(scaleKernel("scale"), changed)), 0);
  const DeviceHeader headers[] = {{"tcc/device.cuh", "// another\n"}};
  changed = options();
  changed.deviceLibrary = headers;
  EXPECT_EQ(cached(compile(scaleKernel("scale"), changed)), 0);
  // Where it is threads that differ, and names for people, the binary is the same.
  changed = options();
  changed.threads = 3;
  KernelSource renamed = scaleKernel("scale");
  renamed.sources = {"Mul 'of another model'"};
  EXPECT_EQ(cached(compile(renamed, changed)), 1);
}

TEST_F(CudaCompileCache, PtxHasNoResourcesWhenFoundEither) {
  EXPECT_FALSE(compile(scaleKernel("scale"), options(), "compute_80")[0].resources.has_value());
  std::vector<KernelBinary> again = compile(scaleKernel("scale"), options(), "compute_80");
  EXPECT_TRUE(again[0].cached);
  EXPECT_FALSE(again[0].resources.has_value());
}

TEST_F(CudaCompileCache, DamagedEntriesAreCompiledAgain) {
  const std::string bytes = compile(scaleKernel("scale"), options())[0].bytes;
  ASSERT_THAT(files(), SizeIs(1));
  const std::string file = files()[0], good = ReadFile(file);
  std::string flipped = good;
  flipped[good.size() / 2] ^= 1;
  for (const std::string& bad : {flipped, good.substr(0, good.size() - 10), std::string(), std::string("x")}) {
    WriteFile(file, bad);
    fixture.warnings.clear();
    std::vector<KernelBinary> binaries = compile(scaleKernel("scale"), options());
    EXPECT_EQ(cached(binaries), 0);
    EXPECT_EQ(binaries[0].bytes, bytes);
    ASSERT_THAT(fixture.warnings, SizeIs(1));
    EXPECT_THAT(fixture.warnings[0], HasSubstr("compiled again"));
    EXPECT_EQ(ReadFile(file), good);
  }
}

TEST_F(CudaCompileCache, ErrorsAreNotKept) {
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(errorOf(KernelCompiler(options()).compile(scaleKernel("scale", "nothing"), "sm_80")),
                HasSubstr("\"nothing\" is undefined"));
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(CudaCompileCache, ASecondProcessDoesNotLoadNvrtc) {
  EXPECT_EQ(wait(start(nvrtcPlace(), "sm_80", 3)), "compiled 3, NVRTC loaded\n");
  EXPECT_EQ(wait(start(nvrtcPlace(), "sm_80", 3)), "compiled 0, NVRTC not loaded\n");
  EXPECT_EQ(wait(start(nvrtcPlace(), "sm_80", 4)), "compiled 1, NVRTC loaded\n");
}

TEST_F(CudaCompileCache, ProcessesShareTheWork) {
  std::vector<FILE*> processes;
  for (int i = 0; i < 3; ++i) processes.push_back(start(nvrtcPlace(), "sm_80", 8));
  int compiled = 0;
  for (FILE* process : processes) {
    int count = -1;
    const std::string text = wait(process);
    ASSERT_EQ(sscanf(text.c_str(), "compiled %d,", &count), 1) << text;
    compiled += count;
  }
  EXPECT_EQ(compiled, 8);
}

TEST_F(CudaCompileCache, ThreadsShareTheWork) {
  const std::vector<KernelSource> kernels = scaleKernels(6);
  CompileOptions shared = options();
  KernelCompiler compiler(shared);
  std::atomic<int> compiled{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      llvm::Expected<std::vector<KernelBinary>> binaries = compiler.compile(kernels, "sm_90a");
      ASSERT_TRUE(!!binaries) << llvm::toString(binaries.takeError());
      compiled += static_cast<int>(binaries->size()) - cached(*binaries);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(compiled, 6);
}

TEST_F(CudaCompileCache, AReadOnlyFolderIsReadAndNoMore) {
  compile(scaleKernel("scale_0", "0.5f"), options());
  if (geteuid() == 0) GTEST_SKIP() << "root writes to all folders";
  std::filesystem::permissions(fixture.folder + "/v1/kernels",
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  EXPECT_EQ(cached(compile(scaleKernels(2), options())), 1);
  std::filesystem::permissions(fixture.folder + "/v1/kernels", std::filesystem::perms::owner_all);
}

TEST_F(CudaCompileCache, TheSizeIsBounded) {
  compile(scaleKernels(6), options());
  CompileOptions bounded = nvrtcOptions();
  bounded.cache = fixture.Open(/*max_bytes=*/20000);
  compile(scaleKernel("another"), bounded);
  int64_t bytes = 0;
  for (const std::string& file : files()) bytes += static_cast<int64_t>(std::filesystem::file_size(file));
  EXPECT_LE(bytes, 20000);
  EXPECT_GT(bytes, 0);
}

}  // namespace
}  // namespace tcc::codegen
