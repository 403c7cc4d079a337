// Attributes <-> JSON: each value is an object with one key that says its kind. Internal to runtime/.
#pragma once

#include "nlohmann/json.hpp"
#include "runtime/attributes.h"
#include "runtime/json_reader.h"

namespace tcc {

nlohmann::json AttributesToJson(const Attributes& attributes);
Attributes AttributesFromJson(JsonReader& reader, const nlohmann::json& json);

}  // namespace tcc
