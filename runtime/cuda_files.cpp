#include "runtime/cuda_files.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/file_util.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string Below(const std::string& folder, const std::string& name) { return (fs::path(folder) / name).string(); }
std::string Parent(const std::string& path) { return fs::path(path).parent_path().string(); }

std::string RealPath(const std::string& file) {
  std::error_code error;
  const fs::path path = fs::canonical(file, error);
  return error ? file : path.string();
}

// Names in a folder that begin so.
std::vector<std::string> FilesOf(const std::string& folder, absl::string_view prefix) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error); !error && it != fs::directory_iterator(); it.increment(error)) {
    if (absl::StartsWith(it->path().filename().string(), prefix)) files.push_back(it->path().string());
  }
  return files;
}

// The number behind ".so.": 13; 0 for none; -1 for a file of another name.
int LibraryVersion(const std::string& file) {
  const std::string name = fs::path(file).filename().string();
  absl::string_view rest(name);
  if (!absl::ConsumePrefix(&rest, "libnvrtc.so")) return -1;
  int version = 0;
  if (absl::ConsumePrefix(&rest, ".")) {
    return absl::SimpleAtoi(rest.substr(0, rest.find('.')), &version) ? version : -1;
  }
  return rest.empty() ? 0 : -1;
}

// The library in one folder, empty for none.
std::string LibraryIn(const std::string& folder) {
  int best = -1;
  std::string found;
  for (const std::string& file : FilesOf(folder, "libnvrtc.so")) {
    const int version = LibraryVersion(file);
    // (The full name "libnvrtc.so.12.9.86" is the same file as its short one.)
    if (version > best && Exists(file)) {
      best = version;
      found = file;
    }
  }
  return found;
}

// Whether a name comes before another one, by the numbers in them: "cuda-9" before "cuda-13".
bool ByNumbers(const std::string& a, const std::string& b) {
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (absl::ascii_isdigit(a[i]) && absl::ascii_isdigit(b[j])) {
      size_t end_a = i, end_b = j;
      while (end_a < a.size() && absl::ascii_isdigit(a[end_a])) ++end_a;
      while (end_b < b.size() && absl::ascii_isdigit(b[end_b])) ++end_b;
      if (end_a - i != end_b - j) return end_a - i < end_b - j;
      const int order = a.compare(i, end_a - i, b, j, end_b - j);
      if (order != 0) return order < 0;
      i = end_a;
      j = end_b;
      continue;
    }
    if (a[i] != b[j]) return a[i] < b[j];
    ++i;
    ++j;
  }
  return a.size() - i < b.size() - j;
}

// Newest first, where the names are versions.
std::vector<std::string> Subfolders(const std::string& folder, absl::string_view prefix) {
  std::vector<std::string> names = FilesOf(folder, prefix);
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) { return ByNumbers(b, a); });
  return names;
}

// Roots below which lib, lib64 and include may lie, for a toolkit, a Python environment or its site-packages.
std::vector<std::string> RootsOf(const std::string& place) {
  std::vector<std::string> roots = {place, Below(place, "targets/x86_64-linux"), Below(place, "targets/sbsa-linux")};
  std::vector<std::string> packages = {place};
  for (const char* lib : {"lib", "lib64"}) {
    for (const std::string& python : Subfolders(Below(place, lib), "python")) {
      packages.push_back(Below(python, "site-packages"));
    }
  }
  // PyPI's wheels: nvidia/cu13 since CUDA 13, a folder for each package before.
  for (const std::string& folder : packages) {
    for (const std::string& wheel : Subfolders(Below(folder, "nvidia"), "cu")) roots.push_back(wheel);
  }
  return roots;
}

std::vector<std::string> Toolkits() {
  std::vector<std::string> places;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (std::string value = Variable(name); !value.empty()) places.push_back(std::move(value));
  }
  places.emplace_back("/usr/local/cuda");
  for (const std::string& folder : Subfolders("/usr/local", "cuda-")) places.push_back(folder);
  return places;
}

// Python and conda environments that are active.
std::vector<std::string> Environments() {
  std::vector<std::string> places;
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (std::string value = Variable(name); !value.empty()) places.push_back(std::move(value));
  }
  return places;
}

std::vector<std::string> ToolkitsAndEnvironments() {
  std::vector<std::string> places = Toolkits();
  for (std::string& folder : Environments()) places.push_back(std::move(folder));
  return places;
}

// Where the loader finds it although none of the folders has it (/etc/ld.so.conf). It has to be loaded for that.
std::string LibraryOfLoader() {
  for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12"}) {
    void* library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    link_map* map = nullptr;
    if (library != nullptr && dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 && map != nullptr) {
      return map->l_name;
    }
  }
  return "";
}

struct Place {
  std::string name;  // for the error
  std::vector<std::string> folders;
};

std::vector<std::string> LibraryFolders(const std::string& place) {
  std::vector<std::string> folders = {place};
  for (const std::string& root : RootsOf(place)) {
    for (const char* lib : {"lib64", "lib"}) folders.push_back(Below(root, lib));
  }
  return folders;
}

// A program that can be started.
bool IsProgram(const std::string& file) { return Exists(file) && !IsFolder(file) && access(file.c_str(), X_OK) == 0; }

}  // namespace

absl::StatusOr<std::string> FindNvrtc(std::string_view place, bool ask_loader) {
  const std::string wanted = place.empty() ? Variable("TCC_NVRTC") : std::string(place);
  if (!wanted.empty()) {
    if (Exists(wanted) && !IsFolder(wanted)) return RealPath(wanted);
    for (const std::string& folder : LibraryFolders(wanted)) {
      if (const std::string file = LibraryIn(folder); !file.empty()) return RealPath(file);
    }
    return absl::NotFoundError(absl::StrCat(place.empty() ? "TCC_NVRTC is '" : "NVRTC is set to '", wanted, "', which ",
                                            Exists(wanted) ? "holds no libnvrtc.so.*" : "does not exist",
                                            ". It names the library, its folder, a CUDA toolkit, or a Python "
                                            "environment with nvidia-cuda-nvrtc"));
  }
  std::vector<Place> places;
  std::vector<std::string> loader = absl::StrSplit(Variable("LD_LIBRARY_PATH"), ':', absl::SkipEmpty());
  places.push_back({"$LD_LIBRARY_PATH", std::move(loader)});
  for (const std::string& toolkit : Toolkits()) places.push_back({toolkit, LibraryFolders(toolkit)});
  places.push_back({"the system's library folders",
                    {"/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
                     "/lib/x86_64-linux-gnu", "/usr/lib"}});
  for (const std::string& folder : Environments()) places.push_back({folder, LibraryFolders(folder)});
  std::string looked;
  for (const Place& one : places) {
    for (const std::string& folder : one.folders) {
      if (const std::string file = LibraryIn(folder); !file.empty()) return RealPath(file);
    }
    absl::StrAppend(&looked, looked.empty() ? "" : ", ", one.name);
  }
  if (ask_loader) {
    if (const std::string file = LibraryOfLoader(); !file.empty()) return RealPath(file);
  }
  return absl::NotFoundError(
      absl::StrCat("no NVRTC, which compiles CUDA kernels (libnvrtc.so.13 or .12; looked in ", looked,
                   "). Install the CUDA toolkit or PyPI's nvidia-cuda-nvrtc, and set TCC_NVRTC to its folder or to the "
                   "Python environment"));
}

absl::StatusOr<std::string> FindCudaInclude(std::string_view place, std::string_view nvrtc) {
  constexpr const char* kHeader = "cuda_fp16.h";
  const std::string wanted = place.empty() ? Variable("TCC_CUDA_INCLUDE") : std::string(place);
  if (!wanted.empty()) {
    if (Exists(Below(wanted, kHeader))) return wanted;
    for (const std::string& root : RootsOf(wanted)) {
      if (std::string folder = Below(root, "include"); Exists(Below(folder, kHeader))) return folder;
    }
    return absl::NotFoundError(
        absl::StrCat(place.empty() ? "TCC_CUDA_INCLUDE is '" : "the CUDA include folder is set to '", wanted,
                     "', which holds no ", kHeader));
  }
  std::vector<std::string> folders;
  if (!nvrtc.empty()) {
    const std::string library = Parent(std::string(nvrtc));
    folders.push_back(Below(Parent(library), "include"));
    // CUDA 12's wheels have a folder for each package.
    folders.push_back(Below(Parent(Parent(library)), "cuda_runtime/include"));
  }
  for (const std::string& toolkit : ToolkitsAndEnvironments()) {
    for (const std::string& root : RootsOf(toolkit)) folders.push_back(Below(root, "include"));
  }
  folders.emplace_back("/usr/include");
  for (const std::string& folder : folders) {
    if (Exists(Below(folder, kHeader))) return folder;
  }
  return absl::NotFoundError(absl::StrCat(
      "no CUDA headers (", kHeader,
      "): they are in the CUDA toolkit and in PyPI's nvidia-cuda-runtime, beside nvidia-cuda-nvrtc in the same Python "
      "environment. TCC_CUDA_INCLUDE names their folder"));
}

absl::StatusOr<std::string> FindCudaTool(std::string_view name, std::string_view nvrtc) {
  const std::string tool(name);
  std::vector<std::string> folders;
  if (const std::string folder = Variable("TCC_CUDA_TOOLS"); !folder.empty()) {
    folders.push_back(folder);
    for (const std::string& root : RootsOf(folder)) folders.push_back(Below(root, "bin"));
  }
  std::string library(nvrtc);
  if (library.empty()) library = FindNvrtc().value_or("");
  if (!library.empty()) folders.push_back(Below(Parent(Parent(library)), "bin"));
  for (const std::string& toolkit : ToolkitsAndEnvironments()) {
    for (const std::string& root : RootsOf(toolkit)) folders.push_back(Below(root, "bin"));
  }
  for (const absl::string_view folder : absl::StrSplit(Variable("PATH"), ':', absl::SkipEmpty())) {
    folders.emplace_back(folder);
  }
  for (const std::string& folder : folders) {
    if (std::string file = Below(folder, tool); IsProgram(file)) return file;
  }
  return absl::NotFoundError(absl::StrCat("no ", tool, ": it is in the CUDA toolkit and in PyPI's nvidia-cuda-", tool,
                                          ". TCC_CUDA_TOOLS names its folder or the Python environment"));
}

}  // namespace tcc
