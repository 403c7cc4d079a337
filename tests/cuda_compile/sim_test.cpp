// The same texts for the simulated device.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>

#include <filesystem>
#include <numeric>
#include <set>

#include "runtime/devices/sim/sim_api.h"
#include "runtime/file_util.h"
#include "tests/cuda_compile/compile_test_util.h"

namespace tcc::codegen {
namespace {

using testing::AllOf;
using testing::HasSubstr;

#define REQUIRE_CLANG()                                                                                        \
  if (llvm::Expected<std::string> version = KernelCompiler(CompileOptions()).compilerVersion("sim"); !version) \
  GTEST_SKIP() << llvm::toString(version.takeError())

TEST(SimCompile, TheBinaryRuns) {
  REQUIRE_CLANG();
  KernelCompiler compiler(CompileOptions{});
  llvm::Expected<std::vector<KernelBinary>> binaries = compiler.compile(scaleKernels(2), "sim");
  ASSERT_TRUE(!!binaries) << llvm::toString(binaries.takeError());
  TempFolder folder;
  WriteFile(folder / "kernel.so", (*binaries)[1].bytes);
  void* library = dlopen((folder / "kernel.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  absl::StatusOr<sim::Kernel> kernel = sim::FindKernel(library, "scale_1");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  std::vector<float> x(300), y(300);
  std::iota(x.begin(), x.end(), 0.0f);
  float *yData = y.data(), *xData = x.data();
  long long n = 300;
  void* params[] = {&yData, &xData, &n};
  ASSERT_TRUE(sim::Launch(*kernel, {2, 1, 1}, {256, 1, 1}, 0, params).ok());
  for (int i = 0; i < 300; ++i) EXPECT_EQ(y[i], x[i] * 1.5f);
}

TEST(SimCompile, ErrorsNameKernelOpAndLine) {
  REQUIRE_CLANG();
  EXPECT_THAT(errorOf(KernelCompiler(CompileOptions{}).compile(scaleKernel("scale", "missing"), "sim")),
              AllOf(HasSubstr("kernel 'scale' does not compile for cuda-sim"), HasSubstr("clang version"),
                    HasSubstr("made from: Mul 'scale'"), HasSubstr("line 5: error: use of undeclared identifier"),
                    HasSubstr(">    5 |   if (i < n) y[i] = x[i] * missing;")));
}

TEST(SimCompile, WithoutClang) {
  CompileOptions options;
  options.simCompiler = "/nonexistent/clang++";
  EXPECT_THAT(errorOf(KernelCompiler(options).compile(scaleKernel("scale"), "sim")),
              HasSubstr("'/nonexistent/clang++' (TCC_SIM_CXX), is no program"));
  options.simCompiler = "/bin/true";
  EXPECT_THAT(errorOf(KernelCompiler(options).compile(scaleKernel("scale"), "sim")), HasSubstr("is not clang"));
}

TEST(SimCompile, TemporaryFoldersOfProcessesThatWereKilledGo) {
  REQUIRE_CLANG();
  TempFolder folder;
  const char* before = getenv("TMPDIR");
  const std::string old = before == nullptr ? "/tmp" : before;
  setenv("TMPDIR", folder.path().c_str(), 1);
  WriteFile(folder / "tcc-sim-killed/.lock", "");
  WriteFile(folder / "tcc-sim-killed/tcc/device.cuh", "x");
  WriteFile(folder / "tcc-sim-alive/.lock", "");
  WriteFile(folder / "tcc-sim-foreign/file", "x");  // not one of ours: it has no lock
  const FileDescriptor alive(open((folder / "tcc-sim-alive/.lock").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(flock(alive.get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(errorOf(KernelCompiler(CompileOptions{}).compile(scaleKernel("scale"), "sim")), "no error");
  std::set<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    left.insert(entry.path().filename().string());
  EXPECT_THAT(left, testing::ElementsAre("tcc-sim-alive", "tcc-sim-foreign"));
  setenv("TMPDIR", old.c_str(), 1);
}

TEST(SimCompile, FoundInTheCache) {
  REQUIRE_CLANG();
  TempFolder folder;
  ArtifactCache::Options cacheOptions;
  cacheOptions.folder = folder / "cache";
  CompileOptions options;
  options.cache = ArtifactCache::Open(cacheOptions);
  for (bool cached : {false, true}) {
    llvm::Expected<std::vector<KernelBinary>> binaries = KernelCompiler(options).compile(scaleKernel("scale"), "sim");
    ASSERT_TRUE(!!binaries) << llvm::toString(binaries.takeError());
    EXPECT_EQ(binaries->front().cached, cached);
    EXPECT_FALSE(binaries->front().resources.has_value());
  }
  options.simChecked = true;
  llvm::Expected<std::vector<KernelBinary>> binaries = KernelCompiler(options).compile(scaleKernel("scale"), "sim");
  ASSERT_TRUE(!!binaries) << llvm::toString(binaries.takeError());
  EXPECT_FALSE(binaries->front().cached);
}

}  // namespace
}  // namespace tcc::codegen
