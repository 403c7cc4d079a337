// Caches in folders of their own, and packages to put into them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/cache.h"
#include "runtime/cpu_features.h"
#include "tests/runtime/temp_folder.h"

namespace tcc {

struct CacheFixture {
  TempFolder temporary;
  std::string folder = temporary / "cache";
  std::vector<std::string> warnings;

  std::shared_ptr<ArtifactCache> Open(int64_t max_bytes = 0, int64_t grace_seconds = 3600) {
    return ArtifactCache::Open(
        {folder, max_bytes, grace_seconds, [this](const std::string& m) { warnings.push_back(m); }});
  }
  std::string PackageFile(const std::string& key) const { return folder + "/v1/packages/" + key + ".tcc"; }
};

// A package that carries `label`, with a constant of `constant_bytes` bytes (of the label's first letter).
inline ArtifactCache::Build MakePackage(const std::string& label, int64_t constant_bytes = 0, int* built = nullptr) {
  return [=](const std::string& path, const std::string& store) {
    if (built != nullptr) ++*built;
    PackageBuilder builder;
    builder.options["label"] = label;
    Specialisation one;
    one.target.arch = HostArch();
    const std::string bytes(static_cast<size_t>(constant_bytes), label[0]);
    one.constants = {{0, bytes}};
    one.constants_bytes = constant_bytes;
    builder.specialisations = {one};
    return builder.Write(path, {store, 1});
  };
}

inline std::string Label(const absl::StatusOr<std::shared_ptr<const Package>>& package) {
  return package.ok() ? (*package)->options().at("label") : std::string(package.status().message());
}

inline const std::string kKey = "0123456789abcdef0123456789abcdef";

}  // namespace tcc
