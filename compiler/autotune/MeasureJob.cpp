//===- MeasureJob.cpp - what is measured in a process of its own ----------===//
#include "compiler/autotune/MeasureJob.h"

namespace tcc::compiler {
namespace {

using Json = nlohmann::json;

Json buffersToJson(const std::vector<MeasureBuffer> &buffers) {
  Json list = Json::array();
  for (const MeasureBuffer &buffer : buffers)
    list.push_back({{"dtype", static_cast<int>(buffer.dtype)}, {"dims", buffer.dims}, {"file", buffer.file}});
  return list;
}

std::vector<MeasureBuffer> buffersFrom(const Json &json) {
  std::vector<MeasureBuffer> buffers;
  for (const Json &item : json)
    buffers.push_back({static_cast<DType>(item.at("dtype").get<int>()), item.at("dims").get<std::vector<int64_t>>(),
                       item.at("file").get<std::string>()});
  return buffers;
}

Json toJson(const std::vector<devices::TensorMap> &maps) {
  Json list = Json::array();
  for (const devices::TensorMap &map : maps)
    list.push_back({map.param, map.element_bytes, map.rank, map.swizzle, map.extents, map.strides, map.box});
  return list;
}

std::vector<devices::TensorMap> mapsFrom(const Json &json) {
  std::vector<devices::TensorMap> maps;
  for (const Json &item : json)
    maps.push_back({item.at(0).get<int32_t>(), item.at(1).get<int32_t>(), item.at(2).get<int32_t>(),
                    item.at(3).get<int32_t>(), item.at(4).get<std::array<int64_t, 5>>(),
                    item.at(5).get<std::array<int64_t, 4>>(), item.at(6).get<std::array<int32_t, 5>>()});
  return maps;
}

} // namespace

Json toJson(const MeasureData &data) {
  return {{"inputs", buffersToJson(data.inputs)}, {"outputs", buffersToJson(data.outputs)}};
}

MeasureData dataFrom(const Json &json) { return {buffersFrom(json.at("inputs")), buffersFrom(json.at("outputs"))}; }

Json toJson(const MeasureCandidate &candidate) {
  Json launches = Json::array();
  for (const MeasureLaunch &launch : candidate.launches)
    launches.push_back({{"symbol", launch.symbol},
                        {"grid", launch.grid},
                        {"block", launch.block},
                        {"shared", launch.sharedBytes},
                        {"buffers", launch.buffers},
                        {"scalars", launch.scalars},
                        {"errors", launch.reportsErrors},
                        {"counters", launch.counters},
                        {"tensor_maps", toJson(launch.tensorMaps)}});
  return {{"images", candidate.images}, {"own", buffersToJson(candidate.own)}, {"launches", launches},
          {"plan", candidate.plan},     {"constants", candidate.constants},    {"symbols", candidate.symbols}};
}

MeasureCandidate candidateFrom(const Json &json) {
  MeasureCandidate candidate;
  candidate.images = json.at("images").get<std::map<std::string, std::string>>();
  candidate.own = buffersFrom(json.at("own"));
  for (const Json &item : json.at("launches"))
    candidate.launches.push_back({item.at("symbol").get<std::string>(), item.at("grid").get<std::array<int64_t, 3>>(),
                                  item.at("block").get<std::array<int32_t, 3>>(), item.at("shared").get<int64_t>(),
                                  item.at("buffers").get<std::vector<int32_t>>(),
                                  item.at("scalars").get<std::vector<int64_t>>(), item.at("errors").get<bool>(),
                                  item.at("counters").get<int64_t>(), mapsFrom(item.at("tensor_maps"))});
  candidate.plan = json.at("plan").get<std::string>();
  candidate.constants = json.at("constants").get<std::string>();
  candidate.symbols = json.at("symbols").get<std::vector<int64_t>>();
  return candidate;
}

Json toJson(const MeasureDevice &device) {
  return {{"name", device.name},
          {"arch", device.arch},
          {"version", device.version},
          {"libraries", device.libraries},
          {"library_faults", device.libraryFaults},
          {"simulated", device.isSimulated}};
}

MeasureDevice deviceFrom(const Json &json) {
  using Names = std::map<std::string, std::string>;
  return {json.at("name").get<std::string>(),     json.at("arch").get<std::string>(),
          json.at("version").get<std::string>(),  json.at("libraries").get<Names>(),
          json.at("library_faults").get<Names>(), json.at("simulated").get<bool>()};
}

} // namespace tcc::compiler
