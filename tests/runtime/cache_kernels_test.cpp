#include <filesystem>

#include "tests/runtime/cache_test_util.h"

namespace tcc {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

ArtifactCache::BuildKernel Bytes(const std::string& bytes, int* built = nullptr) {
  return [=]() -> absl::StatusOr<std::string> {
    if (built != nullptr) ++*built;
    return bytes;
  };
}

std::string KeyOf(int number) { return ArtifactCache::Key({"kernel", std::to_string(number)}); }

TEST(CacheKernels, BuiltOnceThenFound) {
  CacheFixture fixture;
  int built = 0;
  bool hit = true;
  const std::string bytes("\0binary\n\xff", 9);
  EXPECT_EQ(fixture.Open()->GetOrBuildKernel(kKey, Bytes(bytes, &built), &hit).value(), bytes);
  EXPECT_FALSE(hit);
  EXPECT_EQ(fixture.Open()->GetOrBuildKernel(kKey, Bytes("other", &built), &hit).value(), bytes);
  EXPECT_TRUE(hit);
  EXPECT_EQ(built, 1);
  EXPECT_EQ(fixture.Open()->LookupKernel(kKey), bytes);
  EXPECT_EQ(fixture.Open()->LookupKernel(KeyOf(1)), std::nullopt);
  // Nothing is left of the lock.
  EXPECT_TRUE(std::filesystem::is_empty(fixture.folder + "/v1/locks"));
}

TEST(CacheKernels, ErrorsAreTheCallers) {
  CacheFixture fixture;
  const auto cache = fixture.Open();
  const auto result =
      cache->GetOrBuildKernel(kKey, []() -> absl::StatusOr<std::string> { return absl::InternalError("broken"); });
  EXPECT_EQ(result.status().message(), "broken");
  EXPECT_EQ(cache->GetOrBuildKernel(kKey, Bytes("whole")).value(), "whole");
}

TEST(CacheKernels, DamagedOnesAreReportedRemovedAndBuiltAgain) {
  CacheFixture fixture;
  const auto cache = fixture.Open();
  ASSERT_TRUE(cache->GetOrBuildKernel(kKey, Bytes("some bytes")).ok());
  std::string entry = ReadFile(cache->KernelPath(kKey));
  entry.back() ^= 1;
  WriteFile(cache->KernelPath(kKey), entry);
  EXPECT_EQ(cache->LookupKernel(kKey), std::nullopt);
  ASSERT_THAT(fixture.warnings, SizeIs(1));
  EXPECT_THAT(fixture.warnings[0], HasSubstr("not what was written: compiled again"));
  EXPECT_FALSE(std::filesystem::exists(cache->KernelPath(kKey)));
  EXPECT_EQ(cache->GetOrBuildKernel(kKey, Bytes("some bytes")).value(), "some bytes");
}

TEST(CacheKernels, ThoseOfOtherUsersAreNotUsed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make files of other users";
  CacheFixture fixture;
  const auto cache = fixture.Open();
  ASSERT_TRUE(cache->GetOrBuildKernel(kKey, Bytes("theirs")).ok());
  ASSERT_EQ(chown(cache->KernelPath(kKey).c_str(), 12345, 12345), 0);
  EXPECT_EQ(cache->GetOrBuildKernel(kKey, Bytes("ours")).value(), "ours");
  EXPECT_EQ(cache->LookupKernel(kKey), "ours");
}

TEST(CacheKernels, StatsVerifyAndClear) {
  CacheFixture fixture;
  const auto cache = fixture.Open();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(cache->GetOrBuildKernel(KeyOf(i), Bytes(std::string(1000, 'x'))).ok());
  EXPECT_EQ(cache->GetStats().kernels, 3);
  EXPECT_GT(cache->GetStats().kernel_bytes, 3000);
  EXPECT_THAT(cache->Verify().value(), IsEmpty());
  WriteFile(cache->KernelPath(KeyOf(1)), "damaged");
  const std::vector<std::string> problems = cache->Verify().value();
  ASSERT_THAT(problems, SizeIs(1));
  EXPECT_THAT(problems[0], HasSubstr(KeyOf(1)));
  EXPECT_EQ(cache->GetStats().kernels, 2);
  ASSERT_TRUE(cache->Clear().ok());
  EXPECT_EQ(cache->GetStats().kernels, 0);
}

TEST(CacheKernels, LeastRecentlyUsedOnesGoFirst) {
  CacheFixture fixture;
  const auto cache = fixture.Open(/*max_bytes=*/3500);
  const auto used = [&](int i, int64_t seconds) {
    const timespec times[2] = {{seconds, 0}, {seconds, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, cache->KernelPath(KeyOf(i)).c_str(), times, 0), 0);
  };
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(cache->GetOrBuildKernel(KeyOf(i), Bytes(std::string(1000, 'x'))).ok());
    used(i, 1000 + i);
  }
  EXPECT_EQ(cache->GetStats().kernels, 4);  // until whoever wrote them is done
  EXPECT_TRUE(cache->LookupKernel(KeyOf(0)).has_value());
  cache->Trim();
  EXPECT_TRUE(cache->LookupKernel(KeyOf(0)).has_value());
  EXPECT_FALSE(cache->LookupKernel(KeyOf(1)).has_value());
  EXPECT_EQ(cache->GetStats().kernels, 3);
  EXPECT_EQ(cache->CollectGarbage(0).value(), 3);
  EXPECT_EQ(cache->GetStats().kernels, 0);
}

TEST(CacheKernels, WithoutAFolderAllAreBuilt) {
  CacheFixture fixture;
  WriteFile(fixture.folder, "a file");
  const auto cache = fixture.Open();
  int built = 0;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(cache->GetOrBuildKernel(kKey, Bytes("b", &built)).value(), "b");
  EXPECT_EQ(built, 2);
  EXPECT_EQ(cache->LookupKernel(kKey), std::nullopt);
}

}  // namespace
}  // namespace tcc
