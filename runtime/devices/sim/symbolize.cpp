#include "runtime/devices/sim/symbolize.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

extern char** environ;

namespace tcc::sim {
namespace {

constexpr char kMark = '\x01';

// What a program prints; empty when it cannot be started or fails.
std::string Output(const std::vector<std::string>& command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  if (error == 0) {
    char buffer[4096];
    for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(n));
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) text.clear();
  }
  close(ends[0]);
  return text;
}

// The last folder and the name: "tcc/reduce.cuh".
std::string ShortName(absl::string_view path) {
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
  if (parts.size() >= 2 && parts[parts.size() - 2] == "tcc") return absl::StrCat("tcc/", parts.back());
  return std::string(parts.back());
}

// `lines`: pairs of function and file:line:column, innermost first.
std::string Describe(const std::vector<std::string>& lines) {
  std::string text;
  for (size_t i = 0; i + 1 < lines.size(); i += 2) {
    std::vector<std::string> place = absl::StrSplit(lines[i + 1], ':');
    if (place.size() < 3 || place[0] == "??") continue;
    const std::string line = place[place.size() - 2];
    place.resize(place.size() - 2);
    const std::string file = ShortName(absl::StrJoin(place, ":"));
    // The simulator's own twins are no news for who reads this.
    if (absl::StartsWith(file, "tcc/sim")) continue;
    if (text.empty()) {
      text = absl::StrCat(file, ":", line);
      if (i + 3 < lines.size())
        absl::StrAppend(&text, " in ", std::string(lines[i].substr(0, lines[i].find_first_of("(<"))));
    } else {
      absl::StrAppend(&text, ", called from ", file, ":", line);
    }
  }
  return text;
}

std::string ReadFile(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(text).str();
}

// The bytes of the file that is mapped at the address, if it can still be read. A path may lead to another file by now
// (a descriptor that was closed and taken again): its number tells.
std::string MappedFile(uintptr_t address, const char* loaded_from) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    unsigned long long inode = 0;
    char path[4096] = "";
    if (std::sscanf(line.c_str(), "%zx-%zx %*s %*s %*s %llu %4095[^\n]", &begin, &end, &inode, path) < 3) continue;
    if (address < begin || address >= end) continue;
    for (const std::string& candidate :
         {std::string(loaded_from), std::string(path), absl::StrFormat("/proc/self/map_files/%x-%x", begin, end)}) {
      struct stat status;
      if (stat(candidate.c_str(), &status) == 0 && status.st_ino == inode) return ReadFile(candidate);
    }
    return "";
  }
  return "";
}

std::string Place(uintptr_t pc, const std::string* object) {
  if (pc == 0) return "an unknown place";
  // The address of the call itself: the line of the return address may be the next one.
  const uintptr_t call = pc - 1;
  Dl_info info;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): it was a pointer before it became text
  if (dladdr(reinterpret_cast<void*>(call), &info) == 0 || info.dli_fname == nullptr) return absl::StrFormat("%#x", pc);
  const uintptr_t offset = call - reinterpret_cast<uintptr_t>(info.dli_fbase);
  const std::string bytes = object != nullptr ? *object : MappedFile(call, info.dli_fname);
  std::string text;
  const char* folder = std::getenv("TMPDIR");
  std::string copy = absl::StrCat(folder != nullptr ? folder : "/tmp", "/tcc_sim_object.XXXXXX");
  const int file = bytes.empty() ? -1 : mkstemp(copy.data());
  if (file >= 0) {
    const bool written = write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
    close(file);
    std::vector<std::string> programs = {"llvm-symbolizer-19", "llvm-symbolizer"};
    if (const char* named = std::getenv("TCC_SYMBOLIZER")) programs = {named};
    for (const std::string& program : programs) {
      if (!written || !text.empty()) break;
      const std::string output = Output({program, "--demangle", "--inlines", "--functions=short",
                                         absl::StrCat("--obj=", copy), absl::StrFormat("%#x", offset)});
      text = Describe(absl::StrSplit(output, '\n', absl::SkipEmpty()));
    }
    unlink(copy.c_str());
  }
  return text.empty() ? absl::StrFormat("offset %#x of the kernel's object", offset) : text;
}

}  // namespace

std::string At(const void* pc) { return absl::StrFormat("%c%x%c", kMark, reinterpret_cast<uintptr_t>(pc), kMark); }

std::string ReplacePlaces(absl::string_view message, const std::string* object) {
  std::string text;
  bool place = false;
  for (absl::string_view part : absl::StrSplit(message, kMark)) {
    if (place) {
      text += Place(std::strtoull(std::string(part).c_str(), nullptr, 16), object);
    } else {
      absl::StrAppend(&text, part);
    }
    place = !place;
  }
  return text;
}

}  // namespace tcc::sim
