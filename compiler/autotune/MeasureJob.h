//===- MeasureJob.h - what is measured in a process of its own --*- C++ -*-===//
//
// A candidate is what a device needs to run a kernel: images, launches with their numbers, buffers. It passes to the
// measuring process as JSON; images and constants are files of the process that asks.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "runtime/devices/device.h"
#include "runtime/dtype.h"

namespace tcc::compiler {

struct MeasureBuffer {
  DType dtype = DType::kU8;
  std::vector<int64_t> dims;
  std::string file = {}; ///< its bytes, row-major; empty: made up (inputs), or not set
};

struct MeasureLaunch {
  std::string symbol;
  std::array<int64_t, 3> grid = {1, 1, 1};
  std::array<int32_t, 3> block = {1, 1, 1};
  int64_t sharedBytes = 0;
  std::vector<int32_t> buffers; ///< positions among inputs, outputs, and the candidate's own, in this order
  std::vector<int64_t> scalars;
  bool reportsErrors = false;
  int64_t counters = 0;
  std::vector<devices::TensorMap> tensorMaps = {};
};

/// What the candidates of a kernel share.
struct MeasureData {
  std::vector<MeasureBuffer> inputs, outputs;
};

struct MeasureCandidate {
  std::map<std::string, std::string> images; ///< symbol -> file: code, or a call of a library
  std::vector<MeasureBuffer> own;            ///< temporaries and constants
  std::vector<MeasureLaunch> launches;
  /// Instead of launches, a whole plan (as JSON) on the shared inputs, with outputs of its own making.
  std::string plan = {};
  std::string constants = {}; ///< file with the plan's constants; empty: there are none
  std::vector<int64_t> symbols = {};
};

/// The device that measures, as the measuring process found it.
struct MeasureDevice {
  std::string name;                                      ///< "cuda:0 (NVIDIA H200)"
  std::string arch;                                      ///< of those that were asked for, the one that suits it best
  std::string version;                                   ///< of what times depend on beside it: the driver
  std::map<std::string, std::string> libraries = {};     ///< those that are there: "cublaslt" -> "cuBLASLt 13.0"
  std::map<std::string, std::string> libraryFaults = {}; ///< why others are not
  bool isSimulated = false;
};

nlohmann::json toJson(const MeasureData &data);
nlohmann::json toJson(const MeasureCandidate &candidate);
nlohmann::json toJson(const MeasureDevice &device);
/// Throw nlohmann::json::exception for what is none.
MeasureData dataFrom(const nlohmann::json &json);
MeasureCandidate candidateFrom(const nlohmann::json &json);
MeasureDevice deviceFrom(const nlohmann::json &json);

} // namespace tcc::compiler
