// tcc devices: what this machine can run on.
#include <cstdio>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/cli/command.h"
#include "runtime/cpu_count.h"
#include "runtime/cpu_features.h"
#include "runtime/devices/registry.h"

namespace tcc::cli {
namespace {

std::string CpuModel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (absl::StartsWith(line, "model name")) {
      const size_t colon = line.find(": ");
      if (colon != std::string::npos) return line.substr(colon + 2);
    }
  }
  return std::string(HostArch());
}

// As --target has it: "sm_90a"; "sim".
std::string ArchOf(const devices::Listing& listing) {
  if (listing.kind != devices::Kind::kCuda) return "sim";
  const int capability = listing.properties->compute_capability;
  return absl::StrCat("sm_", capability, capability >= 90 ? "a" : "");
}

nlohmann::json ToJson(const devices::Listing& listing) {
  if (!listing.properties.ok()) {
    return {{"device", listing.name}, {"error", std::string(listing.properties.status().message())}};
  }
  const devices::Properties& properties = *listing.properties;
  return {{"device", listing.name},
          {"name", properties.name},
          {"arch", ArchOf(listing)},
          {"multiprocessors", properties.multiprocessors},
          {"memory_bytes", properties.memory_bytes},
          {"driver", properties.driver_version}};
}

void Print(const devices::Listing& listing) {
  if (!listing.properties.ok()) {
    std::printf("%s: none: %s\n", listing.name.c_str(), std::string(listing.properties.status().message()).c_str());
    return;
  }
  const devices::Properties& properties = *listing.properties;
  std::printf("%s: %s, %s", listing.name.c_str(), properties.name.c_str(), ArchOf(listing).c_str());
  if (listing.kind == devices::Kind::kCuda) {
    std::printf(", %d multiprocessors, %s, driver for CUDA %d.%d", properties.multiprocessors,
                devices::BytesText(properties.memory_bytes).c_str(), properties.driver_version / 1000,
                properties.driver_version % 1000 / 10);
  }
  std::printf("\n");
}

int Devices(bool json) {
  const std::vector<devices::Listing> listings = devices::ListDevices();
  if (json) {
    nlohmann::json cpu = {{"device", "cpu"},
                          {"name", CpuModel()},
                          {"arch", std::string(HostArch())},
                          {"threads", DefaultThreadCount()},
                          {"features", HostCpuFeatures()}};
    nlohmann::json list = nlohmann::json::array({cpu});
    for (const devices::Listing& listing : listings) list.push_back(ToJson(listing));
    std::printf("%s\n", nlohmann::json{{"devices", list}}.dump().c_str());
    return kOk;
  }
  std::printf("cpu: %s, %s, %d threads\n", CpuModel().c_str(), std::string(HostArch()).c_str(), DefaultThreadCount());
  std::printf("  features: %s\n", absl::StrJoin(HostCpuFeatures(), " ").c_str());
  for (const devices::Listing& listing : listings) Print(listing);
  return kOk;
}

}  // namespace

void AddDevicesCommand(CLI::App& app, int* exit_code) {
  CLI::App* sub = app.add_subcommand("devices", "Lists what this machine can run on");
  auto json = std::make_shared<bool>(false);
  sub->add_flag("--json", *json, "Output for machines, errors too");
  sub->footer("Example: tcc devices");
  sub->callback([json, exit_code] { *exit_code = Devices(*json); });
}

}  // namespace tcc::cli
