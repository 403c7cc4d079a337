// tcc cache: what is in the artifact cache, and cleaning it.
#include <cinttypes>
#include <cstdio>
#include <ctime>

#include "absl/strings/str_cat.h"
#include "compiler/cli/command.h"
#include "runtime/byte_count.h"
#include "runtime/cache.h"
#include "runtime/status.h"

namespace tcc::cli {
namespace {

using Json = nlohmann::json;

void Print(const Json& json) { std::printf("%s\n", json.dump(-1, ' ', false, Json::error_handler_t::replace).c_str()); }

double Megabytes(int64_t bytes) { return static_cast<double>(bytes) / 1e6; }

int Stats(bool json) {
  const ArtifactCache& cache = ArtifactCache::Global();
  const ArtifactCache::Stats stats = cache.GetStats();
  if (json) {
    Print({{"folder", cache.folder()},
           {"packages", stats.packages},
           {"package_bytes", stats.package_bytes},
           {"constants", stats.constants},
           {"constant_bytes", stats.constant_bytes},
           {"kernels", stats.kernels},
           {"kernel_bytes", stats.kernel_bytes},
           {"records", stats.records},
           {"record_bytes", stats.record_bytes},
           {"max_bytes", stats.max_bytes}});
    return kOk;
  }
  std::printf("folder:    %s\n", cache.folder().c_str());
  std::printf("packages:  %" PRId64 ", %.1f MB\n", stats.packages, Megabytes(stats.package_bytes));
  std::printf("constants: %" PRId64 ", %.1f MB\n", stats.constants, Megabytes(stats.constant_bytes));
  std::printf("kernels:   %" PRId64 ", %.1f MB\n", stats.kernels, Megabytes(stats.kernel_bytes));
  std::printf("records:   %" PRId64 ", %.1f MB\n", stats.records, Megabytes(stats.record_bytes));
  std::printf("limit:     %.0f MB\n", Megabytes(stats.max_bytes));
  return kOk;
}

int Ls(bool json) {
  Json list = Json::array();
  for (const ArtifactCache::EntryInfo& entry : ArtifactCache::Global().List()) {
    const auto option = [&](const char* name) {
      const auto it = entry.options.find(name);
      return it == entry.options.end() ? std::string() : it->second;
    };
    if (json) {
      list.push_back({{"key", entry.key},
                      {"bytes", entry.bytes},
                      {"constant_bytes", entry.constant_bytes},
                      {"last_used", entry.last_used},
                      {"specialisations", entry.specialisations},
                      {"options", entry.options},
                      {"error", entry.error}});
      continue;
    }
    char when[32] = "";
    const auto time = static_cast<std::time_t>(entry.last_used);
    std::tm local = {};
    if (::localtime_r(&time, &local) != nullptr) std::strftime(when, sizeof(when), "%F %T", &local);
    std::printf("%s  %s  %8.2f MB  %s %s%s%s\n", entry.key.c_str(), when, Megabytes(entry.bytes + entry.constant_bytes),
                option("model").c_str(), option("mode").c_str(),
                entry.error.empty() ? "" : "  damaged: ", entry.error.c_str());
  }
  if (json) Print(list);
  return kOk;
}

int Clear(bool json) {
  const absl::Status status = ArtifactCache::Global().Clear();
  if (!status.ok()) return Fail(status);
  if (json) Print({{"cleared", true}});
  return kOk;
}

int Collect(bool json, int64_t max_bytes) {
  const absl::StatusOr<int> removed = ArtifactCache::Global().CollectGarbage(max_bytes);
  if (!removed.ok()) return Fail(removed.status());
  if (json) {
    Print({{"removed", *removed}});
  } else {
    std::printf("%d packages and kernels removed\n", *removed);
  }
  return kOk;
}

int Verify(bool json) {
  const absl::StatusOr<std::vector<std::string>> found = ArtifactCache::Global().Verify();
  if (!found.ok()) return Fail(found.status());
  if (json) {
    Print({{"damaged", *found}});
  } else {
    for (const std::string& line : *found) std::printf("%s\n", line.c_str());
    std::printf("%zu damaged entries removed\n", found->size());
  }
  return found->empty() ? kOk : kFailed;
}

}  // namespace

void AddCacheCommand(CLI::App& app, int* exit_code) {
  CLI::App* sub = app.add_subcommand("cache", "Shows and cleans the artifact cache");
  sub->require_subcommand(1);
  sub->footer(
      "Example: tcc cache stats --json\nThe folder is $TCC_CACHE_DIR, else $XDG_CACHE_HOME/tcc, else ~/.cache/tcc.");
  auto add = [&](const char* name, const char* description, int (*work)(bool)) {
    CLI::App* command = sub->add_subcommand(name, description);
    auto json = std::make_shared<bool>(false);
    command->add_flag("--json", *json, "Output for machines, errors too");
    command->footer(absl::StrCat("Example: tcc cache ", name));
    command->callback([work, json, exit_code] { *exit_code = work(*json); });
  };
  add("stats", "How much is in it", Stats);
  add("ls", "The packages, most recently used first", Ls);
  add("clear", "Removes everything", Clear);
  add("verify", "Reads everything, and removes what is damaged", Verify);
  CLI::App* gc = sub->add_subcommand("gc", "Removes what was not used for longest");
  auto json = std::make_shared<bool>(false);
  auto max_bytes = std::make_shared<std::string>();
  gc->add_flag("--json", *json, "Output for machines, errors too");
  gc->add_option("--max-bytes", *max_bytes,
                 "How much may remain; default: the configured limit. Bytes, or like 500M, 20GiB");
  gc->footer("Example: tcc cache gc --max-bytes 10GiB");
  gc->callback([json, max_bytes, exit_code] {
    const absl::StatusOr<int64_t> bytes = max_bytes->empty() ? -1 : ParseByteCount(*max_bytes);
    *exit_code = bytes.ok() ? Collect(*json, *bytes) : Fail(WithContext("--max-bytes", bytes.status()));
  });
}

}  // namespace tcc::cli
