//===- TuningStore.cpp - measured choices on disk -------------------------===//
#include "compiler/autotune/TuningStore.h"

#include <sys/stat.h>

#include "nlohmann/json.hpp"
#include "runtime/file_util.h"
#include "runtime/hash.h"

namespace tcc::compiler {
namespace {

using Json = nlohmann::json;

std::optional<TuningRecord> read(const Json &json, const std::string &key) {
  // The key is stored as well: a file of another kernel, of another version or damaged is none.
  if (!json.is_object() || json.value("key", "") != key)
    return std::nullopt;
  TuningRecord record;
  record.winner = json.at("winner").get<size_t>();
  for (const Json &item : json.at("candidates"))
    record.candidates.push_back({item.at("parameters").get<std::vector<int64_t>>(), item.at("seconds").get<double>()});
  if (record.winner >= record.candidates.size())
    return std::nullopt;
  return record;
}

} // namespace

std::string TuningStore::pathOf(const std::string &key) const { return folder + "/" + Hash128(key) + ".json"; }

std::optional<TuningRecord> TuningStore::find(const std::string &key) const {
  if (folder.empty())
    return std::nullopt;
  auto file = MappedFile::OpenOurs(pathOf(key));
  if (!file.ok())
    return std::nullopt;
  try {
    std::optional<TuningRecord> record = read(Json::parse((*file)->bytes()), key);
    if (record)
      MarkUsed(pathOf(key));
    return record;
  } catch (const Json::exception &) {
    return std::nullopt;
  }
}

void TuningStore::add(const std::string &key, const TuningRecord &record) const {
  if (folder.empty())
    return;
  Json candidates = Json::array();
  for (const TuningRecord::Candidate &candidate : record.candidates)
    candidates.push_back({{"parameters", candidate.parameters}, {"seconds", candidate.seconds}});
  const Json json = {{"key", key}, {"candidates", candidates}, {"winner", record.winner}};
  ::mkdir(folder.c_str(), 0700);
  WriteFileAtomically(pathOf(key), json.dump(1, ' ', false, Json::error_handler_t::replace)).IgnoreError();
}

} // namespace tcc::compiler
