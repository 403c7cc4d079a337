// Signatures <-> JSON, for the manifest. Internal to runtime/.
#pragma once

#include "nlohmann/json.hpp"
#include "runtime/json_reader.h"
#include "runtime/signature.h"

namespace tcc {

nlohmann::json SignatureToJson(const Signature& signature);
// Symbols are in range; inputs have no unknown extents.
Signature SignatureFromJson(JsonReader& reader, const nlohmann::json& json);

}  // namespace tcc
