// Where NVRTC keeps precompiled headers.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "codegen/cuda/compile/Nvrtc.h"
#include "tests/cuda_compile/compile_test_util.h"

namespace tcc::codegen {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

std::set<std::string> entries(const std::string& folder, const std::string& prefix = "") {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().filename().string().rfind(prefix, 0) == 0) names.insert(entry.path().string());
  return names;
}

class CudaHeaderFolder : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_NVRTC();
    const char* before = getenv("TMPDIR");
    old = before == nullptr ? "/tmp" : before;
    setenv("TMPDIR", folder.path().c_str(), 1);
  }
  void TearDown() override {
    if (!old.empty()) setenv("TMPDIR", old.c_str(), 1);
  }
  TempFolder folder;
  std::string old;
};

TEST_F(CudaHeaderFolder, GoesWithTheCompiler) {
  // NVRTC makes folders of its own in /tmp unless it is told where.
  const std::set<std::string> before = entries("/tmp", "__nvrtc");
  {
    KernelCompiler compiler(nvrtcOptions());
    llvm::Expected<std::vector<KernelBinary>> binaries = compiler.compile(scaleKernels(3), "sm_80");
    ASSERT_TRUE(!!binaries) << llvm::toString(binaries.takeError());
    const std::set<std::string> folders = entries(folder.path(), "tcc-nvrtc-");
    ASSERT_THAT(folders, SizeIs(1));
    const Nvrtc* nvrtc = llvm::cantFail(Nvrtc::load(nvrtcPlace()));
    // (Of 12.8 and newer; the lock is in it, too.)
    if (nvrtc->major() > 12 || nvrtc->minor() >= 8) EXPECT_GT(entries(*folders.begin()).size(), 1u);
  }
  EXPECT_THAT(entries(folder.path()), IsEmpty());
  EXPECT_EQ(entries("/tmp", "__nvrtc"), before);
}

TEST_F(CudaHeaderFolder, OfAProcessThatWasKilledGoesWithTheNext) {
  const pid_t process = fork();
  if (process == 0) {
    CompileOptions options = nvrtcOptions();
    options.threads = 1;
    options.progress = [](size_t done, size_t) {
      if (done == 2) raise(SIGKILL);
    };
    llvm::consumeError(KernelCompiler(options).compile(scaleKernels(3), "sm_80").takeError());
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(process, &status, 0), process);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_THAT(entries(folder.path(), "tcc-nvrtc-"), SizeIs(1));
  EXPECT_EQ(errorOf(KernelCompiler(nvrtcOptions()).compile(scaleKernels(2), "sm_80")), "no error");
  EXPECT_THAT(entries(folder.path()), IsEmpty());
}

}  // namespace
}  // namespace tcc::codegen
