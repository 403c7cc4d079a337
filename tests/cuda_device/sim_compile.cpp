// Compiles a text of kernels for the simulated device, as the kernel compiler does.
// usage: cuda_sim_compile CLANG INPUT OUTPUT plain|checked
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>
#include <sstream>
#include <string>

#include "codegen/cuda/device/DeviceLibrary.h"
#include "runtime/devices/sim/sim_api.h"

int main(int argc, char** argv) {
  if (argc != 5) return std::cerr << "usage: cuda_sim_compile CLANG INPUT OUTPUT plain|checked\n", 2;
  std::string folder = std::string(argv[3]) + ".XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return std::perror(folder.c_str()), 1;
  std::filesystem::create_directories(folder + "/tcc");
  for (const tcc::codegen::DeviceFile& file : tcc::codegen::deviceLibrary()) {
    std::ofstream(folder + "/" + std::string(file.name)) << file.text;
  }
  std::stringstream buffer;
  buffer << std::ifstream(argv[2]).rdbuf();
  std::string text = buffer.str();
  const std::regex kernel("__global__ void (__launch_bounds__\\([^)]*\\) )?(\\w+)\\(");
  std::string exports;
  for (std::sregex_iterator it(text.begin(), text.end(), kernel), end; it != end; ++it) {
    exports += tcc::sim::ExportText((*it)[2].str());
  }
  const std::string source = folder + "/" + std::filesystem::path(argv[2]).filename().string();
  std::ofstream(source) << text << exports;
  std::string command = argv[1];
  for (const std::string& flag : tcc::sim::CompileFlags(std::string(argv[4]) == "checked"))
    command += " '" + flag + "'";
  command += " -Werror '-I" + folder + "' '" + source + "' -o '" + argv[3] + "'";
  const int result = std::system(command.c_str());
  std::filesystem::remove_all(folder);
  return result == 0 ? 0 : 1;
}
