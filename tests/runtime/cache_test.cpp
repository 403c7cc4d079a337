#include "runtime/cache.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/runtime/cache_test_util.h"

namespace tcc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Cache, FolderFromTheEnvironment) {
  const auto with = [](const char* dir, const char* xdg, const char* home) {
    const auto set = [](const char* name, const char* value) {
      value == nullptr ? unsetenv(name) : setenv(name, value, 1);
    };
    const std::string old_home = getenv("HOME") != nullptr ? getenv("HOME") : "";
    set("TCC_CACHE_DIR", dir);
    set("XDG_CACHE_HOME", xdg);
    set("HOME", home);
    const std::string folder = ArtifactCache::DefaultFolder();
    set("TCC_CACHE_DIR", nullptr);
    set("XDG_CACHE_HOME", nullptr);
    set("HOME", old_home.c_str());
    return folder;
  };
  EXPECT_EQ(with("/a", "/b", "/c"), "/a");
  EXPECT_EQ(with("", "/b", "/c"), "/b/tcc");
  EXPECT_EQ(with(nullptr, "relative", "/c"), "/c/.cache/tcc");
  EXPECT_EQ(with(nullptr, nullptr, "/c"), "/c/.cache/tcc");
  EXPECT_EQ(with(nullptr, nullptr, nullptr), "");
}

TEST(Cache, KeysOfDifferentPartsDiffer) {
  const std::set<std::string> keys = {ArtifactCache::Key({"ab", "c"}), ArtifactCache::Key({"a", "bc"}),
                                      ArtifactCache::Key({"abc"}), ArtifactCache::Key({"abc", ""}),
                                      ArtifactCache::Key({})};
  EXPECT_EQ(keys.size(), 5u);
  EXPECT_EQ(ArtifactCache::Key({"ab", "c"}), ArtifactCache::Key({"ab", "c"}));
}

TEST(Cache, BuiltOnceThenFound) {
  CacheFixture fixture;
  int built = 0;
  bool hit = true;
  {
    const auto cache = fixture.Open();
    EXPECT_EQ(cache->Lookup(kKey), nullptr);
    EXPECT_EQ(Label(cache->GetOrBuild(kKey, MakePackage("one", 100, &built), &hit)), "one");
    EXPECT_FALSE(hit);
  }
  const auto cache = fixture.Open();  // as a later process
  EXPECT_EQ(Label(cache->GetOrBuild(kKey, MakePackage("two", 100, &built), &hit)), "one");
  EXPECT_TRUE(hit);
  EXPECT_EQ(built, 1);
  EXPECT_NE(cache->Lookup(kKey), nullptr);
  EXPECT_THAT(fixture.warnings, IsEmpty());
  struct stat info;
  ASSERT_EQ(stat(fixture.folder.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_EQ(cache->GetStats().packages, 1);
  EXPECT_EQ(cache->GetStats().constant_bytes, 164);
}

TEST(Cache, FailedBuildsLeaveNothing) {
  CacheFixture fixture;
  const auto cache = fixture.Open();
  const auto failed = cache->GetOrBuild(
      kKey, [](const std::string&, const std::string&) { return absl::UnimplementedError("no Foo"); });
  EXPECT_EQ(failed.status().message(), "no Foo");
  const auto nonsense = cache->GetOrBuild(
      kKey, [](const std::string& path, const std::string&) { return WriteFileAtomically(path, "junk"); });
  EXPECT_THAT(std::string(nonsense.status().message()), HasSubstr("the package just built"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(fixture.folder + "/v1/packages"), {}), 0);
  EXPECT_EQ(Label(cache->GetOrBuild(kKey, MakePackage("one"))), "one");
}

TEST(Cache, CorruptEntriesAreMissesReportedOnce) {
  for (const auto& damage : std::vector<std::function<void(const std::string&)>>{
           [](const std::string& path) { WriteFile(path, ""); },
           [](const std::string& path) { WriteFile(path, ReadFile(path).substr(0, 300)); },
           [](const std::string& path) { WriteFile(path, std::string(1000, 'x')); },
           [](const std::string& path) {
             std::string bytes = ReadFile(path);
             bytes[bytes.find("\"num_values\"") + 2] ^= 4;
             WriteFile(path, bytes);
           },
           [](const std::string& path) {
             std::filesystem::remove(path);
             std::filesystem::create_directory(path);
           }}) {
    CacheFixture fixture;
    const auto cache = fixture.Open();
    ASSERT_TRUE(cache->GetOrBuild(kKey, MakePackage("one")).ok());
    damage(fixture.PackageFile(kKey));
    EXPECT_EQ(cache->Lookup(kKey), nullptr);
    EXPECT_EQ(cache->Lookup(kKey), nullptr);
    EXPECT_EQ(fixture.warnings.size(), 1u);
    EXPECT_THAT(fixture.warnings[0], HasSubstr("compiled again"));
    EXPECT_EQ(Label(cache->GetOrBuild(kKey, MakePackage("two"))), "two");
  }
}

TEST(Cache, MissingConstantsAreAMiss) {
  CacheFixture fixture;
  const auto cache = fixture.Open();
  const auto package = *cache->GetOrBuild(kKey, MakePackage("one", 100));
  std::filesystem::remove(package->constants_file(0));
  EXPECT_EQ(cache->Lookup(kKey), nullptr);
  EXPECT_TRUE(cache->GetOrBuild(kKey, MakePackage("two", 100)).ok());
}

TEST(Cache, LeastRecentlyUsedGoesFirst) {
  CacheFixture fixture;
  const auto key = [](int i) { return ArtifactCache::Key({std::to_string(i)}); };
  const auto total = [&] {
    const ArtifactCache::Stats stats = fixture.Open()->GetStats();
    return stats.package_bytes + stats.constant_bytes;
  };
  for (int i = 0; i < 3; ++i) {
    const std::string label(1, static_cast<char>('a' + i));
    ASSERT_TRUE(fixture.Open()->GetOrBuild(key(i), MakePackage(label, 1000)).ok());
    // Used at a known time, so that the order does not depend on the clock.
    const timespec times[2] = {{1000 + i, 0}, {1000 + i, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, fixture.PackageFile(key(i)).c_str(), times, 0), 0);
  }
  // Room for these and one more of their size: for a larger one the oldest must go.
  const int64_t max_bytes = total() / 3 * 4 + 100;
  const auto cache = fixture.Open(max_bytes);
  EXPECT_NE(cache->Lookup(key(0)), nullptr);  // used now
  ASSERT_TRUE(cache->GetOrBuild(key(9), MakePackage("z", 1500)).ok());
  EXPECT_EQ(cache->Lookup(key(1)), nullptr);
  EXPECT_NE(cache->Lookup(key(2)), nullptr);
  EXPECT_NE(cache->Lookup(key(0)), nullptr);
  EXPECT_NE(cache->Lookup(key(9)), nullptr);
  EXPECT_LE(total(), max_bytes);
  EXPECT_EQ(cache->GetStats().constants, 3);
  // One that alone is too large is kept: it is about to be used.
  ASSERT_TRUE(cache->GetOrBuild(key(10), MakePackage("y", max_bytes)).ok());
  EXPECT_NE(cache->Lookup(key(10)), nullptr);
  EXPECT_EQ(cache->GetStats().packages, 1);
  EXPECT_EQ(cache->GetStats().constants, 1);
}

TEST(Cache, ListAndClear) {
  CacheFixture fixture;
  const auto cache = fixture.Open();
  ASSERT_TRUE(cache->GetOrBuild(kKey, MakePackage("one", 100)).ok());
  ASSERT_TRUE(cache->GetOrBuild(ArtifactCache::Key({"x"}), MakePackage("two")).ok());
  WriteFile(fixture.PackageFile("broken"), "junk");
  WriteFile(fixture.folder + "/v1/packages/.tmp-1-1-x.tcc", "a temporary");
  const auto entries = cache->List();
  ASSERT_EQ(entries.size(), 3u);
  int broken = 0;
  for (const auto& entry : entries) {
    broken += entry.error.empty() ? 0 : 1;
    if (entry.key == kKey) {
      EXPECT_EQ(entry.constant_bytes, 100);
      EXPECT_EQ(entry.options.at("label"), "one");
      EXPECT_EQ(entry.specialisations, 1);
      EXPECT_GT(entry.last_used, 0);
    }
  }
  EXPECT_EQ(broken, 1);
  ASSERT_TRUE(cache->Clear().ok());
  EXPECT_THAT(cache->List(), IsEmpty());
  EXPECT_EQ(cache->GetStats().constants, 0);
  EXPECT_EQ(cache->Lookup(kKey), nullptr);
}

TEST(Cache, GarbageGoesAfterItsGrace) {
  CacheFixture fixture;
  const auto cache = fixture.Open(0, /*grace_seconds=*/0);
  ASSERT_TRUE(cache->GetOrBuild(kKey, MakePackage("one", 100)).ok());
  const std::string orphan = fixture.folder + "/v1/constants/" + kKey + ".bin";
  const std::string left = fixture.folder + "/v1/packages/.tmp-1-1-36";
  WriteFile(orphan, "x");
  WriteFile(left, "x");
  EXPECT_EQ(*fixture.Open()->CollectGarbage(), 0);
  EXPECT_TRUE(std::filesystem::exists(orphan));
  EXPECT_EQ(*cache->CollectGarbage(), 0);
  EXPECT_FALSE(std::filesystem::exists(orphan));
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_NE(cache->Lookup(kKey), nullptr);
  EXPECT_EQ(*cache->CollectGarbage(0), 1);
  EXPECT_EQ(cache->GetStats().constants, 0);
}

TEST(Cache, VerifyFindsDamagedConstants) {
  CacheFixture fixture;
  const auto cache = fixture.Open();
  const auto package = *cache->GetOrBuild(kKey, MakePackage("one", 100));
  EXPECT_THAT(*cache->Verify(), IsEmpty());
  std::string bytes = ReadFile(package->constants_file(0));
  bytes[50] ^= 1;
  WriteFile(package->constants_file(0), bytes);
  EXPECT_NE(cache->Lookup(kKey), nullptr);  // not looked at on loading
  const auto problems = *cache->Verify();
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_THAT(problems[0], HasSubstr("constants/"));
  EXPECT_THAT(problems[1], HasSubstr("packages/"));
  EXPECT_THAT(*cache->Verify(), IsEmpty());
  EXPECT_EQ(cache->Lookup(kKey), nullptr);
  EXPECT_TRUE((*cache->GetOrBuild(kKey, MakePackage("one", 100)))->VerifyConstants().ok());
}

// Whoever removes the folder in the middle of a build, it is made again; where it cannot be, one warning.
TEST(Cache, FoldersThatGoMeanwhileAreMadeAgain) {
  CacheFixture fixture;
  const auto cache = fixture.Open();
  int built = 0;
  const auto build = [&](bool for_good) {
    return [&, for_good](const std::string& path, const std::string& store) -> absl::Status {
      if (++built == 1) std::filesystem::remove_all(fixture.folder);
      if (built == 1 && for_good) WriteFile(fixture.folder, "a file");
      return MakePackage("one", 100)(path, store);
    };
  };
  EXPECT_EQ(Label(cache->GetOrBuild(kKey, build(false))), "one");
  EXPECT_EQ(built, 2);
  EXPECT_NE(cache->Lookup(kKey), nullptr);
  // Before a build, and for the notes.
  std::filesystem::remove_all(fixture.folder);
  cache->UpdateNotes("m", [](CallNotes& notes) { notes.dynamic["x"] = {0}; });
  EXPECT_EQ(cache->ReadNotes("m").dynamic.size(), 1u);
  std::filesystem::remove_all(fixture.folder);
  EXPECT_EQ(Label(cache->GetOrBuild(kKey, MakePackage("two", 100))), "two");
  EXPECT_NE(cache->Lookup(kKey), nullptr);
  EXPECT_THAT(fixture.warnings, IsEmpty());
  built = 0;
  EXPECT_EQ(Label(cache->GetOrBuild(ArtifactCache::Key({"other"}), build(true))), "one");
  EXPECT_EQ(fixture.warnings.size(), 1u);
  EXPECT_EQ(Label(cache->GetOrBuild(ArtifactCache::Key({"more"}), MakePackage("more"))), "more");
}

// Errors of what is built are none of the folder: nothing is built twice.
TEST(Cache, ErrorsOfTheBuildAreFinal) {
  CacheFixture fixture;
  int built = 0;
  const auto wrong = [&](const std::string&, const std::string&) -> absl::Status {
    ++built;
    return absl::NotFoundError("weights.bin");
  };
  EXPECT_EQ(fixture.Open()->GetOrBuild(kKey, wrong).status().message(), "weights.bin");
  EXPECT_EQ(built, 1);
}

TEST(Cache, UnusableFolders) {
  CacheFixture fixture;
  WriteFile(fixture.folder, "a file");
  for (const std::string& folder : {fixture.folder, fixture.folder + "/below"}) {
    fixture.warnings.clear();
    const auto cache =
        ArtifactCache::Open({folder, 0, 0, [&](const std::string& m) { fixture.warnings.push_back(m); }});
    EXPECT_FALSE(cache->readable());
    EXPECT_EQ(cache->Lookup(kKey), nullptr);
    bool hit = true;
    EXPECT_EQ(Label(cache->GetOrBuild(kKey, MakePackage("one", 100), &hit)), "one");
    EXPECT_FALSE(hit);
    EXPECT_EQ(Label(cache->GetOrBuild(kKey, MakePackage("two", 100), &hit)), "two");
    EXPECT_EQ(cache->GetStats().packages, 0);
    EXPECT_TRUE(cache->Verify()->empty() && cache->Clear().ok() && cache->List().empty());
    EXPECT_FALSE(cache->CollectGarbage().ok());
    EXPECT_TRUE(cache->HashModel(fixture.folder).ok());
    EXPECT_FALSE(cache->RememberedModelHash(fixture.folder).has_value());
    EXPECT_EQ(cache->UpdateNotes("m", [](CallNotes& notes) { notes.dynamic["x"] = {0}; }).dynamic.size(), 1u);
    EXPECT_TRUE(cache->ReadNotes("m").dynamic.empty());
    ASSERT_EQ(fixture.warnings.size(), 1u);
    EXPECT_THAT(fixture.warnings[0], HasSubstr("the cache is off"));
  }
}

TEST(Cache, OpenFoldersAreMadePrivate) {
  CacheFixture fixture;
  std::filesystem::create_directory(fixture.folder);
  ASSERT_EQ(chmod(fixture.folder.c_str(), 0777), 0);
  EXPECT_TRUE(fixture.Open()->writable());
  struct stat info;
  ASSERT_EQ(stat(fixture.folder.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

}  // namespace
}  // namespace tcc
