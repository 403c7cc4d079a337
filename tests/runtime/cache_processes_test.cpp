// Many processes, and other users.
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "tests/runtime/cache_test_util.h"

namespace tcc {
namespace {

// Runs f in a forked child; its result is the exit code.
pid_t Fork(const std::function<int()>& f) {
  const pid_t child = fork();
  if (child == 0) _exit(f());
  return child;
}
int Wait(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

ArtifactCache::Build CountedBuild(const std::string& log) {
  return [log](const std::string& path, const std::string& store) {
    const FileDescriptor file(open(log.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0600));
    EXPECT_TRUE(file.Write("x").ok());
    return MakePackage("one", 5000)(path, store);
  };
}

TEST(CacheProcesses, OneBuildsTheOthersWait) {
  CacheFixture fixture;
  const std::string log = fixture.temporary / "log";
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    children.push_back(Fork([&] {
      const auto package = fixture.Open()->GetOrBuild(kKey, CountedBuild(log));
      return Label(package) == "one" && (*package)->VerifyConstants().ok() && fixture.warnings.empty() ? 0 : 1;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(Wait(child), 0);
  EXPECT_EQ(ReadFile(log), "x");
}

TEST(CacheProcesses, OneThreadBuildsTheOthersWait) {
  CacheFixture fixture;
  const std::string log = fixture.temporary / "log";
  const auto cache = fixture.Open();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(Label(cache->GetOrBuild(kKey, CountedBuild(log))), "one"); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ReadFile(log), "x");
}

TEST(CacheProcesses, ABuilderThatDiesHoldsNobodyUp) {
  CacheFixture fixture;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = Fork([&] {
    (void)fixture.Open()->GetOrBuild(kKey, [&](const std::string& path, const std::string&) -> absl::Status {
      WriteFile(path, "half a pack");
      EXPECT_EQ(write(ready[1], "r", 1), 1);
      kill(getpid(), SIGKILL);
      return absl::OkStatus();
    });
    return 0;
  });
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);  // it holds the lock, or held it
  EXPECT_EQ(Label(fixture.Open()->GetOrBuild(kKey, MakePackage("mine"))), "mine");
  EXPECT_EQ(Wait(child), 1000 + SIGKILL);
  EXPECT_TRUE(fixture.warnings.empty());
  close(ready[0]);
  close(ready[1]);
}

// One that neither goes on nor dies, as when it is stopped: others wait as long as they want to, and say so.
TEST(CacheProcesses, ABuilderThatIsStoppedHoldsNobodyUpForGood) {
  CacheFixture fixture;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = Fork([&] {
    (void)fixture.Open()->GetOrBuild(kKey, [&](const std::string&, const std::string&) -> absl::Status {
      EXPECT_EQ(write(ready[1], "r", 1), 1);
      raise(SIGSTOP);
      return absl::OkStatus();
    });
    return 0;
  });
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  const auto cache = ArtifactCache::Open({.folder = fixture.folder,
                                          .warn = [&](const std::string& m) { fixture.warnings.push_back(m); },
                                          .patience_seconds = 0.02});
  EXPECT_EQ(Label(cache->GetOrBuild(kKey, MakePackage("mine"), nullptr, /*wait_seconds=*/0.1)), "mine");
  ASSERT_EQ(fixture.warnings.size(), 2u);
  const std::string process = "process " + std::to_string(child);
  EXPECT_THAT(fixture.warnings[0], testing::HasSubstr("waiting for " + process));
  EXPECT_THAT(fixture.warnings[0], testing::HasSubstr(kKey + ".lock"));
  EXPECT_THAT(fixture.warnings[1], testing::HasSubstr(process));
  // It is there for all others.
  EXPECT_EQ(Label(cache->GetOrBuild(kKey, MakePackage("theirs"))), "mine");
  kill(child, SIGKILL);
  EXPECT_EQ(Wait(child), 1000 + SIGKILL);
  close(ready[0]);
  close(ready[1]);
}

TEST(CacheProcesses, TemporariesOfTheDeadGo) {
  CacheFixture fixture;
  const auto cache = fixture.Open();
  const auto left = [&] {
    int count = 0;
    for (const auto& item : std::filesystem::directory_iterator(fixture.folder + "/v1/packages")) {
      count += item.path().filename().string().rfind(".tmp-", 0) == 0;
    }
    return count;
  };
  const auto leave = [&] {
    const pid_t child = Fork([&] {
      (void)fixture.Open()->GetOrBuild(kKey, [](const std::string&, const std::string&) -> absl::Status {
        kill(getpid(), SIGKILL);
        return absl::OkStatus();
      });
      return 0;
    });
    EXPECT_EQ(Wait(child), 1000 + SIGKILL);
    EXPECT_EQ(left(), 1);
  };
  leave();
  EXPECT_TRUE(cache->CollectGarbage().ok());
  EXPECT_EQ(left(), 0);
  leave();
  EXPECT_TRUE(cache->Verify().ok());
  EXPECT_EQ(left(), 0);
  leave();
  EXPECT_TRUE(cache->GetOrBuild(ArtifactCache::Key({"x"}), MakePackage("x")).ok());
  EXPECT_EQ(left(), 0);
  // Of the living, and of machines that nobody here knows, by age, or when everything goes.
  const absl::StatusOr<AtomicFile> living = AtomicFile::Create(fixture.PackageFile(kKey));
  ASSERT_TRUE(living.ok());
  WriteFile(fixture.folder + "/v1/packages/.tmp-99999999-0123abcd-1-36", "x");
  EXPECT_TRUE(cache->CollectGarbage().ok());
  EXPECT_EQ(left(), 2);
  EXPECT_TRUE(cache->Clear().ok());
  EXPECT_EQ(left(), 0);
}

// Root owns what is planted here, and the entries that are tried as somebody else; only root can make such.
TEST(CacheProcesses, EntriesOfAnotherUserAreMisses) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to make files of another user";
  for (const char* name : {"", "/packages", "/constants", "/locks", "/notes"}) {
    CacheFixture fixture;
    ASSERT_TRUE(fixture.Open()->GetOrBuild(kKey, MakePackage("planted", 100)).ok());
    ASSERT_EQ(chown((fixture.folder + "/v1" + name).c_str(), 12345, -1), 0);
    const auto cache = fixture.Open();
    EXPECT_FALSE(cache->readable()) << name;
    EXPECT_EQ(Label(cache->GetOrBuild(kKey, MakePackage("mine"))), "mine");
    ASSERT_EQ(fixture.warnings.size(), 1u) << name;
    EXPECT_THAT(fixture.warnings[0], testing::HasSubstr("belongs to another user"));
  }
  CacheFixture fixture;
  const auto cache = fixture.Open();
  const auto planted = *cache->GetOrBuild(kKey, MakePackage("planted", 100));
  for (const std::string& file : {fixture.PackageFile(kKey), planted->constants_file(0)}) {
    fixture.warnings.clear();
    const auto other = fixture.Open();
    ASSERT_EQ(chown(file.c_str(), 12345, -1), 0) << file;
    EXPECT_EQ(Label(other->GetOrBuild(kKey, MakePackage("planet", 100))), "planet");
    EXPECT_EQ(fixture.warnings.size(), 1u);
    EXPECT_EQ(Label(fixture.Open()->GetOrBuild(kKey, MakePackage("theirs", 100))), "planet");
    EXPECT_THAT(*cache->Verify(), testing::IsEmpty());
    ASSERT_TRUE(cache->Clear().ok());
    ASSERT_TRUE(cache->GetOrBuild(kKey, MakePackage("planted", 100)).ok());
  }
  cache->UpdateNotes("m", [](CallNotes& notes) { notes.dynamic["x"] = {0}; });
  for (const auto& item : std::filesystem::directory_iterator(fixture.folder + "/v1/notes")) {
    ASSERT_EQ(chown(item.path().c_str(), 12345, -1), 0);
  }
  fixture.warnings.clear();
  EXPECT_TRUE(cache->ReadNotes("m").dynamic.empty());
  EXPECT_EQ(fixture.warnings.size(), 1u);
}

// Readers and evictors at once: whatever is found is whole.
TEST(CacheProcesses, EvictionUnderReaders) {
  CacheFixture fixture;
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    children.push_back(Fork([&, i] {
      const auto cache = fixture.Open(/*max_bytes=*/20000);
      for (int round = 0; round < 40; ++round) {
        const std::string label(1, static_cast<char>('a' + (round * 7 + i) % 10));
        const auto package = cache->GetOrBuild(ArtifactCache::Key({label}), MakePackage(label, 3000));
        if (Label(package) != label) {
          std::fprintf(stderr, "%s: %s\n", label.c_str(), Label(package).c_str());
          return 1;
        }
        if (!(*package)->VerifyConstants().ok()) return 2;
      }
      return 0;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(Wait(child), 0);
}

// As another user: root may read and write everywhere.
int AsNobody(const std::function<int()>& f) {
  return Wait(Fork([&] {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) return 77;
    return f();
  }));
}

TEST(CacheProcesses, ReadOnlyFolder) {
  CacheFixture fixture;
  ASSERT_TRUE(fixture.Open()->GetOrBuild(kKey, MakePackage("one", 100)).ok());
  const auto owner = geteuid() == 0 ? 65534 : geteuid();
  std::filesystem::permissions(fixture.temporary.path(), std::filesystem::perms(0755));
  for (const auto& item : std::filesystem::recursive_directory_iterator(fixture.folder)) {
    ASSERT_EQ(chown(item.path().c_str(), owner, -1), 0);
    if (item.is_directory()) std::filesystem::permissions(item.path(), std::filesystem::perms(0500));
  }
  ASSERT_EQ(chown(fixture.folder.c_str(), owner, -1), 0);
  std::filesystem::permissions(fixture.folder, std::filesystem::perms(0500));
  EXPECT_EQ(AsNobody([&] {
              const auto cache = fixture.Open();
              if (!cache->readable() || cache->writable()) return 1;
              if (cache->Lookup(kKey) == nullptr) return 2;
              bool hit = true;
              if (Label(cache->GetOrBuild(ArtifactCache::Key({"x"}), MakePackage("two", 100), &hit)) != "two" || hit)
                return 3;
              return fixture.warnings.size() == 1 ? 0 : 4;
            }),
            0);
  for (const auto& item : std::filesystem::recursive_directory_iterator(fixture.folder)) {
    if (item.is_directory()) std::filesystem::permissions(item.path(), std::filesystem::perms(0700));
  }
  std::filesystem::permissions(fixture.folder, std::filesystem::perms(0700));
}

TEST(CacheProcesses, FolderOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to make a folder of another user";
  CacheFixture fixture;
  std::filesystem::create_directory(fixture.folder);
  ASSERT_EQ(chown(fixture.folder.c_str(), 12345, -1), 0);
  const auto cache = fixture.Open();
  EXPECT_FALSE(cache->readable());
  ASSERT_EQ(fixture.warnings.size(), 1u);
  EXPECT_THAT(fixture.warnings[0], testing::HasSubstr("belongs to another user"));
  EXPECT_EQ(Label(cache->GetOrBuild(kKey, MakePackage("one"))), "one");
}

}  // namespace
}  // namespace tcc
