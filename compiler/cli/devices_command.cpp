// tcc devices: what this machine can run on.
#include <cstdio>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/cli/command.h"
#include "runtime/cpu_count.h"
#include "runtime/cpu_features.h"

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

int Devices(bool json) {
  if (json) {
    nlohmann::json cpu = {{"device", "cpu"},
                          {"name", CpuModel()},
                          {"arch", std::string(HostArch())},
                          {"threads", DefaultThreadCount()},
                          {"features", HostCpuFeatures()}};
    std::printf("%s\n", nlohmann::json{{"devices", {cpu}}}.dump().c_str());
    return kOk;
  }
  std::printf("cpu: %s, %s, %d threads\n", CpuModel().c_str(), std::string(HostArch()).c_str(), DefaultThreadCount());
  std::printf("  features: %s\n", absl::StrJoin(HostCpuFeatures(), " ").c_str());
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
