// What the cache remembers about how models are called.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/hash.h"
#include "tests/runtime/cache_test_util.h"

namespace tcc {
namespace {

Signature OneInput(int64_t extent) {
  Signature signature;
  signature.symbols = {{"n", 2, 64, 2}};
  InputSpec& input = signature.inputs.emplace_back();
  input.name = "x";
  input.dtype = DType::kF32;
  input.dims = {Extent::Of(0), Extent::Constant(extent)};
  input.values = std::vector<int64_t>{1, -2};
  return signature;
}

TEST(CacheNotes, Accumulate) {
  CacheFixture fixture;
  ASSERT_TRUE(fixture.Open()->GetOrBuild(kKey, MakePackage("one")).ok());
  fixture.Open()->UpdateNotes("model", [](CallNotes& notes) {
    notes.dynamic["x"].insert(0);
    notes.seen["x"] = {Dims{2, 3}, Dims{}};
  });
  const CallNotes updated = fixture.Open()->UpdateNotes("model", [](CallNotes& notes) {
    notes.dynamic["x"].insert(2);
    notes.dynamic["mask"].insert(1);
    notes.specialisations.push_back({kKey, OneInput(7)});
  });
  const CallNotes read = fixture.Open()->ReadNotes("model");
  for (const CallNotes& notes : {updated, read}) {
    EXPECT_EQ(notes.dynamic, (CallNotes::Axes{{"x", {0, 2}}, {"mask", {1}}}));
    EXPECT_EQ(notes.seen, (std::map<std::string, std::vector<Dims>>{{"x", {Dims{2, 3}, Dims{}}}}));
    ASSERT_EQ(notes.specialisations.size(), 1u);
    EXPECT_TRUE(notes.Has(kKey));
    EXPECT_EQ(notes.specialisations[0].signature.symbols, OneInput(7).symbols);
    EXPECT_EQ(notes.specialisations[0].signature.inputs[0].dims, OneInput(7).inputs[0].dims);
    EXPECT_EQ(notes.specialisations[0].signature.inputs[0].values, OneInput(7).inputs[0].values);
  }
  EXPECT_TRUE(fixture.Open()->ReadNotes("other").dynamic.empty());
}

TEST(CacheNotes, WhatWasEvictedIsForgotten) {
  CacheFixture fixture;
  const auto cache = fixture.Open();
  const auto add = [](CallNotes& notes) { notes.specialisations.push_back({kKey, OneInput(7)}); };
  const auto nothing = [](CallNotes&) {};
  ASSERT_TRUE(cache->GetOrBuild(kKey, MakePackage("one")).ok());
  cache->UpdateNotes("model", add);
  EXPECT_EQ(cache->UpdateNotes("model", nothing).specialisations.size(), 1u);
  std::filesystem::remove(fixture.PackageFile(kKey));
  EXPECT_EQ(cache->UpdateNotes("model", nothing).specialisations.size(), 0u);
  EXPECT_EQ(cache->ReadNotes("model").specialisations.size(), 0u);
}

TEST(CacheNotes, TheOldestGoFirst) {
  CacheFixture fixture;
  const auto cache = fixture.Open();
  const CallNotes notes = cache->UpdateNotes("model", [](CallNotes& notes) {
    for (size_t i = 0; i < CallNotes::kMaxSpecialisations + 3; ++i) {
      notes.specialisations.push_back({ArtifactCache::Key({std::to_string(i)}), OneInput(1)});
    }
  });
  ASSERT_EQ(notes.specialisations.size(), CallNotes::kMaxSpecialisations);
  EXPECT_EQ(notes.specialisations[0].key, ArtifactCache::Key({"3"}));
}

TEST(CacheNotes, DamagedNotesAreNone) {
  CacheFixture fixture;
  const auto cache = fixture.Open();
  const auto mark = [](CallNotes& notes) { notes.dynamic["x"].insert(1); };
  cache->UpdateNotes("model", mark);
  std::string file;
  for (const auto& item : std::filesystem::directory_iterator(fixture.folder + "/v1/notes")) file = item.path();
  const std::string good = ReadFile(file);
  for (const std::string& text :
       {std::string(), std::string("null"), std::string("[]"), std::string("{\"x\": [0]}"),
        good.substr(0, good.size() / 2), std::string(R"({"dynamic": {"x": [99]}, "seen": {}, "specialisations": []})"),
        std::string(R"({"dynamic": {"x": 1}, "seen": {}, "specialisations": []})"),
        std::string(R"({"dynamic": {}, "seen": {"x": [[-4]]}, "specialisations": []})"),
        std::string(R"({"dynamic": {"y": [1]}, "seen": {}, "specialisations": [{"key": "../../evil"}]})"),
        std::string(R"({"dynamic": {"y": [1]}, "seen": {}, "specialisations": [{"key": 3, "signature": {}}]})")}) {
    WriteFile(file, text);
    const CallNotes notes = cache->ReadNotes("model");
    EXPECT_TRUE(notes.dynamic.empty() && notes.seen.empty() && notes.specialisations.empty()) << text;
    EXPECT_EQ(cache->UpdateNotes("model", mark).dynamic, (CallNotes::Axes{{"x", {1}}})) << text;
    EXPECT_EQ(ReadFile(file), good) << text;
  }
}

// Records of models that nobody asks for go like packages do, and count like them.
TEST(CacheNotes, AreBounded) {
  CacheFixture fixture;
  const auto cache = fixture.Open();
  const auto file_of = [&](const std::string& model) {
    return fixture.folder + "/v1/notes/" + Hash128(model) + ".json";
  };
  for (int i = 0; i < 6; ++i) {
    const std::string model = "model" + std::to_string(i);
    cache->UpdateNotes(model, [](CallNotes& notes) { notes.dynamic["x"].insert(1); });
    const timespec old[2] = {{1000 + i, 0}, {1000 + i, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, file_of(model).c_str(), old, 0), 0);
  }
  const ArtifactCache::Stats stats = cache->GetStats();
  EXPECT_EQ(stats.records, 6);
  EXPECT_FALSE(cache->ReadNotes("model0").dynamic.empty());  // used now
  EXPECT_EQ(*cache->CollectGarbage(stats.record_bytes / 2), 0);
  EXPECT_EQ(cache->GetStats().records, 3);
  for (const int kept : {0, 4, 5})
    EXPECT_FALSE(cache->ReadNotes("model" + std::to_string(kept)).dynamic.empty()) << kept;
  // A package that needs the room takes it from them.
  ASSERT_TRUE(fixture.Open(1)->GetOrBuild(kKey, MakePackage("one")).ok());
  EXPECT_EQ(cache->GetStats().records, 0);
  EXPECT_EQ(cache->GetStats().packages, 1);
}

// Each process adds one axis and loses none of the others'.
TEST(CacheNotes, ManyProcesses) {
  CacheFixture fixture;
  fixture.Open();
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const auto cache = fixture.Open();
      for (int k = 0; k < 8; ++k) {
        cache->UpdateNotes("model", [&](CallNotes& notes) { notes.dynamic[std::to_string(i)].insert(k); });
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  const CallNotes notes = fixture.Open()->ReadNotes("model");
  ASSERT_EQ(notes.dynamic.size(), 8u);
  for (const auto& [name, axes] : notes.dynamic) EXPECT_EQ(axes.size(), 8u) << name;
}

}  // namespace
}  // namespace tcc
