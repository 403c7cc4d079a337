#include "tests/cuda_device/device_test.h"

#include <dlfcn.h>

#include <fstream>
#include <sstream>

namespace tcc::sim {

Kernels::Kernels(const std::string& file, bool checked)
    : handle_(dlopen((std::string(TCC_KERNEL_OBJECTS) + "/" + file + (checked ? ".checked.so" : ".plain.so")).c_str(),
                     RTLD_NOW | RTLD_LOCAL)) {
  EXPECT_NE(handle_, nullptr) << dlerror();
}

Kernels::~Kernels() { dlclose(handle_); }

std::string TextOf(const std::string& file) {
  std::stringstream text;
  text << std::ifstream(std::string(TCC_KERNEL_SOURCES) + "/" + file + ".cu").rdbuf();
  return text.str();
}

int LineOf(const std::string& file, const std::string& mark) {
  std::istringstream text(TextOf(file));
  const std::string end = "mark: " + mark;
  int number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    if (line.size() >= end.size() && line.compare(line.size() - end.size(), end.size(), end) == 0) return number;
  }
  ADD_FAILURE() << "no line has the mark " << mark;
  return -1;
}

}  // namespace tcc::sim
