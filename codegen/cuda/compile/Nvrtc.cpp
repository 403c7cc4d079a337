//===- Nvrtc.cpp -----------------------------------------------------------===//
#include "codegen/cuda/compile/Nvrtc.h"

#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "llvm/ADT/StringExtras.h"

namespace tcc::codegen {
namespace {

template <typename... Parts> llvm::Error failure(const Parts &...parts) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), "%s", (std::string() + ... + parts).c_str());
}

/// Destroyed with its scope.
class Program {
public:
  explicit Program(int (*destroy)(void **)) : destroy(destroy) {}
  ~Program() {
    if (handle != nullptr)
      destroy(&handle);
  }
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;
  void *handle = nullptr;

private:
  int (*destroy)(void **);
};

/// Bytes that come in two calls: the size, then the bytes.
std::string read(void *program, int (*size)(void *, size_t *), int (*get)(void *, char *)) {
  size_t bytes = 0;
  if (size(program, &bytes) != 0 || bytes == 0)
    return "";
  std::string result(bytes, '\0');
  return get(program, result.data()) == 0 ? result : "";
}

std::string withoutFinalZero(std::string text) {
  while (!text.empty() && text.back() == '\0')
    text.pop_back();
  return text;
}

} // namespace

llvm::Error Nvrtc::open(const std::string &file) {
  path = file;
  void *library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char *why = dlerror();
    return failure("NVRTC cannot be loaded: ", why == nullptr ? file : std::string(why));
  }
  std::string missing;
  auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr)
      missing += std::string(missing.empty() ? "" : ", ") + name;
  };
  find(api.getErrorString, "nvrtcGetErrorString");
  find(api.version, "nvrtcVersion");
  find(api.getNumSupportedArchs, "nvrtcGetNumSupportedArchs");
  find(api.getSupportedArchs, "nvrtcGetSupportedArchs");
  find(api.createProgram, "nvrtcCreateProgram");
  find(api.destroyProgram, "nvrtcDestroyProgram");
  find(api.compileProgram, "nvrtcCompileProgram");
  find(api.getPTXSize, "nvrtcGetPTXSize");
  find(api.getPTX, "nvrtcGetPTX");
  find(api.getCUBINSize, "nvrtcGetCUBINSize");
  find(api.getCUBIN, "nvrtcGetCUBIN");
  find(api.getProgramLogSize, "nvrtcGetProgramLogSize");
  find(api.getProgramLog, "nvrtcGetProgramLog");
  if (!missing.empty())
    return failure("'", file, "' is no NVRTC of CUDA 12 or newer: it lacks ", missing);
  if (api.version(&versionMajor, &versionMinor) != 0 || versionMajor < 12)
    return failure("'", file, "' is NVRTC ", std::to_string(versionMajor), ".", std::to_string(versionMinor),
                   "; 12.0 or newer is needed (PyPI: nvidia-cuda-nvrtc)");
  int count = 0;
  if (api.getNumSupportedArchs(&count) == 0 && count > 0) {
    archs.resize(count);
    if (api.getSupportedArchs(archs.data()) != 0)
      archs.clear();
  }
  std::sort(archs.begin(), archs.end());
  return llvm::Error::success();
}

llvm::Expected<const Nvrtc *> Nvrtc::load(const std::string &file) {
  static std::mutex mutex;
  static auto *loaded = new std::map<std::string, std::unique_ptr<Nvrtc>>;
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Nvrtc> &entry = (*loaded)[file];
  if (entry == nullptr) {
    std::unique_ptr<Nvrtc> nvrtc(new Nvrtc);
    if (llvm::Error error = nvrtc->open(file))
      return error;
    entry = std::move(nvrtc);
  }
  return entry.get();
}

std::string Nvrtc::version() const {
  return "NVRTC " + std::to_string(versionMajor) + "." + std::to_string(versionMinor);
}

Nvrtc::Result Nvrtc::compile(llvm::StringRef text, llvm::StringRef name, llvm::ArrayRef<DeviceHeader> headers,
                             llvm::ArrayRef<std::string> options, bool cubin, llvm::StringRef headerFolder) const {
  std::vector<std::string> names, texts;
  std::vector<const char *> namePointers, textPointers, arguments;
  for (const DeviceHeader &header : headers) {
    names.push_back(header.name.str());
    texts.push_back(header.text.str());
  }
  for (size_t i = 0; i < names.size(); ++i) {
    namePointers.push_back(names[i].c_str());
    textPointers.push_back(texts[i].c_str());
  }
  for (const std::string &option : options)
    arguments.push_back(option.c_str());
  bool atLeast129 = versionMajor > 12 || versionMinor >= 9;
  bool atLeast128 = versionMajor > 12 || versionMinor >= 8;
  // Our cache knows the device library and survives the process; NVRTC's own would write to the user's home folder.
  if (atLeast129)
    arguments.push_back("--no-cache");
  // A folder of ours: NVRTC makes one in /tmp otherwise, and leaves it there.
  const std::string folder = "--pch-dir=" + headerFolder.str();
  const bool precompiled = !headerFolder.empty() && atLeast128;
  if (precompiled)
    for (const char *option : {"--pch", folder.c_str(), "--pch-verbose=false", "--pch-messages=false"})
      arguments.push_back(option);

  Result result;
  Program program(api.destroyProgram);
  int code = api.createProgram(&program.handle, text.str().c_str(), name.str().c_str(), static_cast<int>(names.size()),
                               textPointers.data(), namePointers.data());
  if (code == 0) {
    code = api.compileProgram(program.handle, static_cast<int>(arguments.size()), arguments.data());
    result.log = withoutFinalZero(read(program.handle, api.getProgramLogSize, api.getProgramLog));
    // Errors of ptxas are strings of their own in it.
    std::replace(result.log.begin(), result.log.end(), '\0', '\n');
  }
  if (code == 0) {
    result.bytes = cubin ? read(program.handle, api.getCUBINSize, api.getCUBIN)
                         : withoutFinalZero(read(program.handle, api.getPTXSize, api.getPTX));
    result.compiled = !result.bytes.empty();
  }
  if (!result.compiled)
    result.error = code == 0 ? "no code came out" : api.getErrorString(code);
  // What a precompiled header did to it must not be what the user reads.
  if (precompiled && !result.compiled)
    return compile(text, name, headers, options, cubin, /*headerFolder=*/"");
  return result;
}

} // namespace tcc::codegen
