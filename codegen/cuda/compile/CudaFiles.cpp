//===- CudaFiles.cpp -------------------------------------------------------===//
#include "codegen/cuda/compile/CudaFiles.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/file_util.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

namespace tcc::codegen {
namespace {

namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string below(llvm::StringRef folder, llvm::StringRef name) {
  llvm::SmallString<128> result(folder);
  path::append(result, name);
  return std::string(result);
}

std::string realPath(llvm::StringRef file) {
  llvm::SmallString<128> result;
  return fs::real_path(file, result) ? file.str() : std::string(result);
}

/// The number behind ".so.": 13; 0 for none; -1 for a file of another name.
int libraryVersion(llvm::StringRef name) {
  if (!name.consume_front("libnvrtc.so"))
    return -1;
  int version = 0;
  if (name.consume_front("."))
    return name.split('.').first.getAsInteger(10, version) ? -1 : version;
  return name.empty() ? 0 : -1;
}

/// The library in one folder, empty for none.
std::string libraryIn(const std::string &folder) {
  int best = -1;
  std::string found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    int version = libraryVersion(path::filename(it->path()));
    // (The full name "libnvrtc.so.12.9.86" is the same file as its short one.)
    if (version > best && Exists(it->path())) {
      best = version;
      found = it->path();
    }
  }
  return found;
}

std::vector<std::string> subfolders(const std::string &folder, llvm::StringRef prefix) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (path::filename(it->path()).starts_with(prefix))
      names.push_back(it->path());
  // Newest first, where the names are versions: longer numbers are greater.
  std::sort(names.begin(), names.end(),
            [](const std::string &a, const std::string &b) { return llvm::StringRef(a).compare_numeric(b) > 0; });
  return names;
}

/// The folders of PyPI's wheels: nvidia/cu13 since CUDA 13, one for each package before.
std::vector<std::string> wheelFolders(const std::string &sitePackages) {
  std::vector<std::string> folders = subfolders(below(sitePackages, "nvidia"), "cu");
  return folders;
}

/// Roots below which lib, lib64 and include may lie, for a toolkit, a Python environment or its site-packages.
std::vector<std::string> rootsOf(const std::string &place) {
  std::vector<std::string> roots = {place, below(place, "targets/x86_64-linux"), below(place, "targets/sbsa-linux")};
  std::vector<std::string> packages = {place};
  for (const char *lib : {"lib", "lib64"})
    for (const std::string &python : subfolders(below(place, lib), "python"))
      packages.push_back(below(python, "site-packages"));
  for (const std::string &folder : packages)
    for (const std::string &wheel : wheelFolders(folder))
      roots.push_back(wheel);
  return roots;
}

std::vector<std::string> toolkits() {
  std::vector<std::string> places;
  for (const char *name : {"CUDA_HOME", "CUDA_PATH"})
    if (std::string value = environment(name); !value.empty())
      places.push_back(value);
  places.push_back("/usr/local/cuda");
  for (const std::string &folder : subfolders("/usr/local", "cuda-"))
    places.push_back(folder);
  return places;
}

/// Python and conda environments that are active.
std::vector<std::string> environments() {
  std::vector<std::string> places;
  for (const char *name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (std::string value = environment(name); !value.empty())
      places.push_back(value);
  return places;
}

/// Where the loader finds it although none of the folders has it (/etc/ld.so.conf). It has to be loaded for that.
std::string libraryOfLoader() {
  for (const char *name : {"libnvrtc.so.13", "libnvrtc.so.12"}) {
    void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    link_map *map = nullptr;
    if (library != nullptr && dlinfo(library, RTLD_DI_LINKMAP, static_cast<void *>(&map)) == 0 && map != nullptr)
      return map->l_name;
  }
  return "";
}

struct Place {
  std::string name; // for the error
  std::vector<std::string> folders;
};

std::vector<std::string> libraryFolders(const std::string &place) {
  std::vector<std::string> folders = {place};
  for (const std::string &root : rootsOf(place))
    for (const char *lib : {"lib64", "lib"})
      folders.push_back(below(root, lib));
  return folders;
}

llvm::Error notFound(const std::string &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), "%s", message.c_str());
}

} // namespace

llvm::Expected<std::string> findNvrtc(llvm::StringRef place) {
  std::string wanted = place.empty() ? environment("TCC_NVRTC") : place.str();
  if (!wanted.empty()) {
    if (Exists(wanted) && !IsFolder(wanted))
      return realPath(wanted);
    for (const std::string &folder : libraryFolders(wanted))
      if (std::string file = libraryIn(folder); !file.empty())
        return realPath(file);
    return notFound((place.empty() ? "TCC_NVRTC is '" : "NVRTC is set to '") + wanted + "', which " +
                    (Exists(wanted) ? "holds no libnvrtc.so.*" : "does not exist") +
                    ". It names the library, its folder, a CUDA toolkit, or a Python environment with "
                    "nvidia-cuda-nvrtc");
  }
  std::vector<Place> places;
  llvm::SmallVector<llvm::StringRef> loaderPath;
  std::string libraryPath = environment("LD_LIBRARY_PATH");
  llvm::SplitString(libraryPath, loaderPath, ":");
  places.push_back({"$LD_LIBRARY_PATH", {}});
  for (llvm::StringRef folder : loaderPath)
    places.back().folders.push_back(folder.str());
  for (const std::string &toolkit : toolkits())
    places.push_back({toolkit, libraryFolders(toolkit)});
  places.push_back({"the system's library folders",
                    {"/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
                     "/lib/x86_64-linux-gnu", "/usr/lib"}});
  for (const std::string &folder : environments())
    places.push_back({folder, libraryFolders(folder)});
  std::string looked;
  for (const Place &one : places) {
    for (const std::string &folder : one.folders)
      if (std::string file = libraryIn(folder); !file.empty())
        return realPath(file);
    looked += (looked.empty() ? "" : ", ") + one.name;
  }
  if (std::string file = libraryOfLoader(); !file.empty())
    return realPath(file);
  return notFound("no NVRTC, which compiles CUDA kernels (libnvrtc.so.13 or .12; looked in " + looked +
                  "). Install the CUDA toolkit or PyPI's nvidia-cuda-nvrtc, and set TCC_NVRTC to its folder or to the "
                  "Python environment");
}

llvm::Expected<std::string> findCudaInclude(llvm::StringRef place, llvm::StringRef nvrtc) {
  constexpr const char *header = "cuda_fp16.h";
  std::string wanted = place.empty() ? environment("TCC_CUDA_INCLUDE") : place.str();
  if (!wanted.empty()) {
    if (Exists(below(wanted, header)))
      return wanted;
    for (const std::string &root : rootsOf(wanted))
      if (std::string folder = below(root, "include"); Exists(below(folder, header)))
        return folder;
    return notFound((place.empty() ? "TCC_CUDA_INCLUDE is '" : "the CUDA include folder is set to '") + wanted +
                    "', which holds no " + header);
  }
  std::vector<std::string> folders;
  if (!nvrtc.empty()) {
    llvm::StringRef library = path::parent_path(nvrtc);
    folders.push_back(below(path::parent_path(library), "include"));
    // CUDA 12's wheels have a folder for each package.
    folders.push_back(below(path::parent_path(path::parent_path(library)), "cuda_runtime/include"));
  }
  std::vector<std::string> places = toolkits();
  for (const std::string &folder : environments())
    places.push_back(folder);
  for (const std::string &toolkit : places)
    for (const std::string &root : rootsOf(toolkit))
      folders.push_back(below(root, "include"));
  folders.push_back("/usr/include");
  for (const std::string &folder : folders)
    if (Exists(below(folder, header)))
      return folder;
  return notFound(std::string("no CUDA headers (") + header +
                  "): they are in the CUDA toolkit and in PyPI's nvidia-cuda-runtime, beside nvidia-cuda-nvrtc in the "
                  "same Python environment. TCC_CUDA_INCLUDE names their folder");
}

llvm::Expected<std::string> findCudaTool(llvm::StringRef name, llvm::StringRef nvrtc) {
  std::vector<std::string> folders;
  if (std::string folder = environment("TCC_CUDA_TOOLS"); !folder.empty()) {
    folders.push_back(folder);
    for (const std::string &root : rootsOf(folder))
      folders.push_back(below(root, "bin"));
  }
  std::string library = nvrtc.str();
  if (library.empty()) {
    if (llvm::Expected<std::string> found = findNvrtc(""))
      library = *found;
    else
      llvm::consumeError(found.takeError());
  }
  if (!library.empty())
    folders.push_back(below(path::parent_path(path::parent_path(library)), "bin"));
  std::vector<std::string> places = toolkits();
  for (const std::string &folder : environments())
    places.push_back(folder);
  for (const std::string &toolkit : places)
    for (const std::string &root : rootsOf(toolkit))
      folders.push_back(below(root, "bin"));
  for (const std::string &folder : folders)
    if (std::string file = below(folder, name); fs::can_execute(file))
      return file;
  if (llvm::ErrorOr<std::string> file = llvm::sys::findProgramByName(name))
    return *file;
  return notFound("no " + name.str() + ": it is in the CUDA toolkit and in PyPI's nvidia-cuda-" + name.str() +
                  ". TCC_CUDA_TOOLS names its folder or the Python environment");
}

std::string cudaHeaderIn(llvm::StringRef text) {
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    llvm::StringRef directive = line.ltrim();
    if (!directive.consume_front("#"))
      continue;
    directive = directive.ltrim();
    if (!directive.consume_front("include"))
      continue;
    directive = directive.ltrim();
    if (!directive.consume_front("<"))
      continue;
    llvm::StringRef name = directive.split('>').first;
    if (name.starts_with("cuda") || name.starts_with("cooperative_groups") || name.starts_with("cub/") ||
        name == "mma.h")
      return name.str();
  }
  return "";
}

} // namespace tcc::codegen
