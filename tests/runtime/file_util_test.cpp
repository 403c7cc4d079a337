#include "runtime/file_util.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/runtime/temp_folder.h"

namespace tcc {
namespace {

std::string Read(const std::string& path) { return std::string((*MappedFile::Open(path))->bytes()); }

TEST(AtomicFile, ReplacesTheFileThatALinkNames) {
  const TempFolder folder;
  const std::string file = folder / "file", link = folder / "link", chain = folder / "chain";
  ASSERT_TRUE(WriteFileAtomically(file, "old").ok());
  ASSERT_EQ(symlink("file", link.c_str()), 0);
  ASSERT_EQ(symlink(link.c_str(), chain.c_str()), 0);
  ASSERT_TRUE(WriteFileAtomically(chain, "new").ok());
  EXPECT_EQ(Read(file), "new");
  struct stat info;
  for (const std::string& path : {link, chain}) {
    ASSERT_EQ(lstat(path.c_str(), &info), 0);
    EXPECT_TRUE(S_ISLNK(info.st_mode)) << path;
  }
}

// As under `ulimit -f`, in a process that does nothing about signals.
TEST(FileDescriptor, FilesThatAreTooLargeAreErrors) {
  const TempFolder folder;
  const std::string path = folder / "file";
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit = {100, 100};
    signal(SIGXFSZ, SIG_DFL);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
    const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT, 0600));
    const absl::Status status = file.Write(std::string(1000, 'x'));
    _exit(status.code() != absl::StatusCode::kResourceExhausted           ? 2
          : std::string(status.message()).find(path) == std::string::npos ? 3
                                                                          : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(AtomicFile, LeavesWhatIsNoRegularFile) {
  const TempFolder folder;
  const std::string pipe = folder / "pipe", link = folder / "link";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  ASSERT_EQ(symlink(pipe.c_str(), link.c_str()), 0);
  for (const std::string& path : {pipe, link}) {
    const absl::Status status = WriteFileAtomically(path, "x");
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  }
  struct stat info;
  ASSERT_EQ(lstat(pipe.c_str(), &info), 0);
  EXPECT_TRUE(S_ISFIFO(info.st_mode));
}

}  // namespace
}  // namespace tcc
