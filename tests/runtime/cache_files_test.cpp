// What the cache remembers about model files.
#include <sys/stat.h>
#include <unistd.h>

#include "tests/runtime/cache_test_util.h"

namespace tcc {
namespace {

// Makes a file look as if it had been written long ago. (ctime cannot be set: waits until it is old enough to be
// trusted.)
void Settle(const std::string& path) {
  const timespec times[2] = {{1000000000, 1}, {1000000000, 1}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

// Calls until the hash is remembered: it is not while the file is too fresh for its times to tell.
std::string HashSettled(ArtifactCache& cache, const std::string& path, const std::vector<std::string>& external = {}) {
  while (true) {
    const std::string hash = *cache.HashModel(path, external);
    if (cache.RememberedModelHash(path).has_value()) return hash;
  }
}

TEST(CacheFiles, RemembersUntilSomethingChanges) {
  CacheFixture fixture;
  const auto cache = fixture.Open();
  const std::string model = fixture.temporary / "m.onnx", data = fixture.temporary / "m.data";
  WriteFile(model, "model");
  WriteFile(data, "weights");
  Settle(model);
  Settle(data);
  EXPECT_FALSE(cache->RememberedModelHash(model).has_value());
  const std::string hash = HashSettled(*cache, model, {data});
  EXPECT_EQ(cache->RememberedModelHash(model), hash);
  EXPECT_EQ(fixture.Open()->RememberedModelHash(model), hash);

  // The same size and modification time: the change time tells.
  WriteFile(data, "WEIGHTS");
  Settle(data);
  EXPECT_FALSE(cache->RememberedModelHash(model).has_value());
  const std::string changed = HashSettled(*cache, model, {data});
  EXPECT_NE(changed, hash);

  // Replaced by another file.
  WriteFile(fixture.temporary / "other", "weights");
  std::filesystem::rename(fixture.temporary / "other", data);
  EXPECT_FALSE(cache->RememberedModelHash(model).has_value());
  EXPECT_EQ(*cache->HashModel(model, {data}), hash);

  std::filesystem::remove(data);
  EXPECT_FALSE(cache->RememberedModelHash(model).has_value());
  EXPECT_EQ(cache->HashModel(model, {data}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(cache->HashModel(fixture.temporary.path()).ok());
}

// The clock of the file system is coarse: a file just written may be written again within the same tick.
TEST(CacheFiles, FreshFilesAreNotTrusted) {
  CacheFixture fixture;
  const auto cache = fixture.Open();
  const std::string model = fixture.temporary / "m.onnx";
  WriteFile(model, "model");
  const timespec future[2] = {{4000000000, 1}, {4000000000, 1}};
  ASSERT_EQ(utimensat(AT_FDCWD, model.c_str(), future, 0), 0);
  ASSERT_TRUE(cache->HashModel(model).ok());
  EXPECT_FALSE(cache->RememberedModelHash(model).has_value());
}

TEST(CacheFiles, DamagedMemosAreForgotten) {
  CacheFixture fixture;
  const auto cache = fixture.Open();
  const std::string model = fixture.temporary / "m.onnx";
  WriteFile(model, "model");
  Settle(model);
  const std::string hash = HashSettled(*cache, model);
  for (const auto& item : std::filesystem::directory_iterator(fixture.folder + "/v1/files")) {
    for (const char* text :
         {"", "{", "[]", "{\"hash\": 3}", "{\"hash\": \"x\", \"files\": []}", "{\"hash\": \"x\", \"files\": [{}]}"}) {
      WriteFile(item.path().string(), text);
      EXPECT_FALSE(cache->RememberedModelHash(model).has_value()) << text;
    }
  }
  EXPECT_EQ(HashSettled(*cache, model), hash);
}

TEST(CacheFiles, HashDependsOnTheOrderOfFiles) {
  CacheFixture fixture;
  const auto cache = fixture.Open();
  const std::string a = fixture.temporary / "a", b = fixture.temporary / "b";
  WriteFile(a, "1");
  WriteFile(b, "2");
  EXPECT_NE(*cache->HashModel(a, {b}), *cache->HashModel(b, {a}));
  EXPECT_NE(*cache->HashModel(a, {}), *cache->HashModel(a, {b}));
}

}  // namespace
}  // namespace tcc
