#include "runtime/cache_notes.h"

#include <unistd.h>

#include <algorithm>

#include "nlohmann/json.hpp"
#include "runtime/cache.h"
#include "runtime/hash.h"
#include "runtime/json_reader.h"
#include "runtime/signature_json.h"

namespace tcc {
namespace {

using Json = nlohmann::json;

constexpr int kMaxRank = 64;
constexpr double kNotesWait = 10;  // seconds: its holder needs milliseconds

Json ToJson(const CallNotes& notes) {
  Json seen = Json::object(), specialisations = Json::array();
  for (const auto& [input, shapes] : notes.seen) {
    Json list = Json::array();
    for (const Dims& dims : shapes) list.push_back(std::vector<int64_t>(dims.begin(), dims.end()));
    seen[input] = std::move(list);
  }
  for (const CallNotes::Specialisation& one : notes.specialisations) {
    specialisations.push_back({{"key", one.key}, {"signature", SignatureToJson(one.signature)}});
  }
  return {{"dynamic", notes.dynamic}, {"seen", std::move(seen)}, {"specialisations", std::move(specialisations)}};
}

CallNotes FromJson(JsonReader& reader, const Json& json) {
  CallNotes notes;
  const auto each = [&](const char* name, auto f) {
    const JsonReader::Scope scope(reader, name);
    const Json& object = reader.Field(json, name);
    if (!object.is_object()) return reader.Fail("expected an object");
    for (const auto& [key, value] : object.items()) f(key, value);
  };
  each("dynamic", [&](const std::string& input, const Json& axes) {
    for (const int64_t axis : reader.AsList(axes, [&](const Json& axis) { return reader.AsInt(axis, 0, kMaxRank); })) {
      notes.dynamic[input].insert(static_cast<int>(axis));
    }
  });
  each("seen", [&](const std::string& input, const Json& shapes) {
    notes.seen[input] = reader.AsList(shapes, [&](const Json& shape) {
      const std::vector<int64_t> dims = reader.AsList(shape, [&](const Json& dim) { return reader.AsInt(dim, 0); });
      return Dims(dims.begin(), dims.end());
    });
  });
  notes.specialisations = reader.List(json, "specialisations", [&](const Json& value) {
    CallNotes::Specialisation one = {reader.String(value, "key"),
                                     SignatureFromJson(reader, reader.Field(value, "signature"))};
    if (!IsHash128(one.key)) reader.Fail("not a key");
    return one;
  });
  return notes;
}

}  // namespace

bool CallNotes::Has(const std::string& key) const {
  return std::any_of(specialisations.begin(), specialisations.end(),
                     [&](const Specialisation& one) { return one.key == key; });
}

std::string ArtifactCache::NotesPath(const std::string& model_key) const {
  return absl::StrCat(root_, "/notes/", Hash128(model_key), ".json");
}

CallNotes ArtifactCache::ReadNotes(const std::string& model_key) {
  if (!readable_) return {};
  // (They are replaced by rename: what is mapped does not change.)
  const std::shared_ptr<const MappedFile> file = ReadRecord(NotesPath(model_key));
  if (file == nullptr) return {};
  const std::string_view text = file->bytes();
  const Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  JsonReader reader;
  CallNotes notes = FromJson(reader, json);
  if (!reader.ok()) return {};
  if (writable_) MarkUsed(NotesPath(model_key));
  return notes;
}

CallNotes ArtifactCache::UpdateNotes(const std::string& model_key, const std::function<void(CallNotes&)>& change) {
  const FileDescriptor lock =
      writable_ ? LockKey(absl::StrCat("note-", Hash128(model_key)), kNotesWait) : FileDescriptor();
  CallNotes notes = ReadNotes(model_key);
  const Json before = ToJson(notes);
  std::vector<CallNotes::Specialisation>& list = notes.specialisations;
  std::erase_if(list, [&](const auto& one) { return access(PackagePath(one.key).c_str(), F_OK) != 0; });
  change(notes);
  if (list.size() > CallNotes::kMaxSpecialisations)
    list.erase(list.begin(), list.end() - CallNotes::kMaxSpecialisations);
  const Json after = ToJson(notes);
  if (!writable_ || after == before) return notes;
  const std::string text = after.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (const auto status = WriteRecord(NotesPath(model_key), text); !status.ok()) {
    WarnOnce("write", std::string(status.message()));
  }
  return notes;
}

}  // namespace tcc
