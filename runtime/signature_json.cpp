#include "runtime/signature_json.h"

namespace tcc {
namespace {

using Json = nlohmann::json;

// An extent is a number, "s2" for a symbol, or "?".
Json FromDims(const std::vector<Extent>& dims) {
  Json list = Json::array();
  for (const Extent& extent : dims) {
    if (extent.symbol >= 0) {
      list.push_back(absl::StrCat("s", extent.symbol));
    } else if (extent.value >= 0) {
      list.push_back(extent.value);
    } else {
      list.push_back("?");
    }
  }
  return list;
}

std::vector<Extent> ToDims(JsonReader& reader, const Json& json, size_t symbols, bool unknown_allowed) {
  return reader.List(json, "dims", [&](const Json& value) {
    if (!value.is_string()) return Extent::Constant(reader.AsInt(value, 0));
    const std::string text = value.get<std::string>();
    if (text == "?" && unknown_allowed) return Extent();
    int32_t symbol = -1;
    if (text.size() < 2 || text[0] != 's' || !absl::SimpleAtoi(absl::string_view(text).substr(1), &symbol) ||
        symbol < 0 || static_cast<size_t>(symbol) >= symbols) {
      reader.Fail("not an extent");
    }
    return Extent::Of(symbol);
  });
}

}  // namespace

Json SignatureToJson(const Signature& signature) {
  Json symbols = Json::array(), inputs = Json::array(), outputs = Json::array();
  for (const Symbol& symbol : signature.symbols) {
    symbols.push_back(
        {{"name", symbol.name}, {"min", symbol.min}, {"max", symbol.max}, {"multiple_of", symbol.multiple_of}});
  }
  for (const InputSpec& input : signature.inputs) {
    Json json = {{"name", input.name}, {"dtype", DTypeName(input.dtype)}, {"dims", FromDims(input.dims)}};
    if (input.optional) json["optional"] = true;
    if (input.absent) json["absent"] = true;
    if (input.values) json["values"] = *input.values;
    inputs.push_back(std::move(json));
  }
  for (const OutputSpec& output : signature.outputs) {
    outputs.push_back({{"name", output.name}, {"dtype", DTypeName(output.dtype)}, {"dims", FromDims(output.dims)}});
  }
  return {{"symbols", std::move(symbols)}, {"inputs", std::move(inputs)}, {"outputs", std::move(outputs)}};
}

Signature SignatureFromJson(JsonReader& reader, const Json& json) {
  Signature signature;
  signature.symbols = reader.List(json, "symbols", [&](const Json& value) {
    return Symbol{reader.String(value, "name"), reader.Int(value, "min", 0), reader.Int(value, "max", 0),
                  reader.Int(value, "multiple_of", 1)};
  });
  const size_t symbols = signature.symbols.size();
  signature.inputs = reader.List(json, "inputs", [&](const Json& value) {
    InputSpec input;
    input.name = reader.String(value, "name");
    input.dtype = reader.Type(value, "dtype");
    input.dims = ToDims(reader, value, symbols, false);
    input.optional = JsonReader::Has(value, "optional") && reader.Bool(value, "optional");
    input.absent = JsonReader::Has(value, "absent") && reader.Bool(value, "absent");
    if (JsonReader::Has(value, "values")) input.values = reader.Ints(value, "values");
    return input;
  });
  signature.outputs = reader.List(json, "outputs", [&](const Json& value) {
    OutputSpec output;
    output.name = reader.String(value, "name");
    output.dtype = reader.Type(value, "dtype");
    output.dims = ToDims(reader, value, symbols, true);
    return output;
  });
  return signature;
}

}  // namespace tcc
