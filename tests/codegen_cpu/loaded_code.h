// Loads a code object as the runtime does and calls its kernels.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/kernel_abi.h"

namespace tcc::codegen {

class LoadedCode {
 public:
  explicit LoadedCode(const std::string& bytes) {
    char path[] = "/tmp/tcc-test-XXXXXX";
    int fd = mkstemp(path);
    EXPECT_EQ(write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    close(fd);
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(handle, nullptr) << dlerror();
    unlink(path);
  }
  ~LoadedCode() {
    if (handle) dlclose(handle);
  }
  LoadedCode(const LoadedCode&) = delete;
  LoadedCode& operator=(const LoadedCode&) = delete;

  TccKernelFunction get(const std::string& symbol) const {
    if (!handle) return nullptr;
    auto function = reinterpret_cast<TccKernelFunction>(dlsym(handle, symbol.c_str()));
    EXPECT_NE(function, nullptr) << symbol;
    return function;
  }

  /// Returns the error word.
  int64_t call(const std::string& symbol, const std::vector<void*>& buffers, const std::vector<int64_t>& scalars,
               int64_t begin, int64_t end, int64_t scratchBytes = 0) const {
    int64_t error = 0;
    void* scratch = aligned_alloc(64, (scratchBytes + 127) / 64 * 64);
    TccKernelContext context = {kKernelAbiVersion, buffers.data(), scalars.data(), scratch, &error};
    if (TccKernelFunction function = get(symbol)) function(&context, begin, end);
    free(scratch);
    return error;
  }

 private:
  void* handle = nullptr;
};

}  // namespace tcc::codegen
