#include "runtime/logs.h"

#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <iterator>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace tcc {
namespace {

constexpr absl::string_view kTopics[] = {"guards",      "recompiles", "graph_breaks", "fusion",    "schedule",
                                         "output_code", "autotuning", "cache",        "perf_hints"};

std::atomic<bool> is_helper = false;

const std::set<std::string>& EnabledTopics() {
  static const std::set<std::string>* const topics = [] {
    auto* result = new std::set<std::string>;
    const char* value = ::getenv("TCC_LOGS");
    for (absl::string_view topic :
         absl::StrSplit(value == nullptr ? "" : value, absl::ByAnyChar(", "), absl::SkipEmpty())) {
      if (topic == "all") {
        result->insert(std::begin(kTopics), std::end(kTopics));
      } else if (std::find(std::begin(kTopics), std::end(kTopics), topic) != std::end(kTopics)) {
        result->insert(std::string(topic));
      } else if (!is_helper) {
        Warn(absl::StrCat("TCC_LOGS: unknown topic '", topic, "'; there are all, ", absl::StrJoin(kTopics, ", ")));
      }
    }
    return result;
  }();
  return *topics;
}

}  // namespace

bool LogEnabled(std::string_view topic) { return EnabledTopics().count(std::string(topic)) != 0; }

void Log(std::string_view topic, const std::string& text) {
  if (!LogEnabled(topic)) return;
  std::string lines;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    absl::StrAppend(&lines, "[tcc ", absl::string_view(topic.data(), topic.size()), "] ", line, "\n");
  }
  std::fputs(lines.c_str(), stderr);
}

void Warn(const std::string& text) { std::fputs(absl::StrCat("tcc: warning: ", text, "\n").c_str(), stderr); }

void LogAsHelper() { is_helper = true; }

}  // namespace tcc
