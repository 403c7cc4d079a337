#include "runtime/cpu_count.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <vector>

namespace tcc {
namespace {

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

int CeilDiv(long long quota, long long period) {
  if (quota <= 0 || period <= 0) return 0;
  return static_cast<int>(std::min<long long>((quota + period - 1) / period, 1024));
}

int Tighter(int a, int b) { return a == 0 ? b : b == 0 ? a : std::min(a, b); }

// Calls f(folder) for a group's folder and each of its parents up to the mount point.
template <typename F>
void EachLevel(const std::string& mount, std::string group, F f) {
  while (true) {
    f(mount + group);
    const size_t slash = group.find_last_of('/');
    if (slash == std::string::npos || group.empty()) return;
    group.resize(slash);
  }
}

// The CPUs of the affinity mask; masks larger than cpu_set_t exist on large machines.
std::vector<int> AllowedCpus() {
  for (size_t count = 1024; count <= 1 << 20; count *= 2) {
    cpu_set_t* set = CPU_ALLOC(count);
    if (set == nullptr) return {};
    const size_t bytes = CPU_ALLOC_SIZE(count);
    std::vector<int> cpus;
    const bool ok = sched_getaffinity(0, bytes, set) == 0;
    if (ok) {
      for (size_t cpu = 0; cpu < count; ++cpu) {
        if (CPU_ISSET_S(cpu, bytes, set)) cpus.push_back(static_cast<int>(cpu));
      }
    }
    CPU_FREE(set);
    if (ok) return cpus;
  }
  return {};
}

// Two hyperthreads of a core share its vector units: a second thread there gains little and costs cache.
int PhysicalCores(const std::vector<int>& cpus) {
  std::set<std::string> cores;
  for (const int cpu : cpus) {
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    std::string siblings = ReadAll(folder + "thread_siblings_list");
    cores.insert(siblings.empty() ? std::to_string(cpu) : siblings);
  }
  return static_cast<int>(cores.size());
}

}  // namespace

int ParseThreadCount(const std::string& text) {
  if (text.empty() || text.size() > 4 || text.find_first_not_of("0123456789") != std::string::npos) return 0;
  const int count = std::atoi(text.c_str());
  return count >= 1 && count <= 1024 ? count : 0;
}

int CgroupCpuLimit(const std::string& root, const std::string& proc_cgroup) {
  int limit = 0;
  std::istringstream lines(proc_cgroup);
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (controllers == ",,") {  // version 2
      EachLevel(root, group, [&](const std::string& folder) {
        std::istringstream text(ReadAll(folder + "/cpu.max"));
        std::string quota;
        long long period = 0;
        if (text >> quota >> period && quota != "max")
          limit = Tighter(limit, CeilDiv(std::atoll(quota.c_str()), period));
      });
    } else if (controllers.find(",cpu,") != std::string::npos) {
      for (const char* mount : {"/cpu", "/cpu,cpuacct", "/cpuacct,cpu"}) {
        EachLevel(root + mount, group, [&](const std::string& folder) {
          const std::string quota = ReadAll(folder + "/cpu.cfs_quota_us"),
                            period = ReadAll(folder + "/cpu.cfs_period_us");
          limit = Tighter(limit, CeilDiv(std::atoll(quota.c_str()), std::atoll(period.c_str())));
        });
      }
    }
  }
  return limit;
}

int DefaultThreadCount() {
  if (const char* text = std::getenv("TCC_NUM_THREADS"); text != nullptr && *text != '\0') {
    if (const int count = ParseThreadCount(text)) return count;
    static std::once_flag warned;
    std::call_once(warned, [&] {
      std::fprintf(stderr, "tcc: TCC_NUM_THREADS='%s' is not a number from 1 to 1024: ignored\n", text);
    });
  }
  const std::vector<int> cpus = AllowedCpus();
  int count = cpus.empty() ? static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)) : PhysicalCores(cpus);
  count = Tighter(count, CgroupCpuLimit("/sys/fs/cgroup", ReadAll("/proc/self/cgroup")));
  return std::clamp(count, 1, 1024);
}

}  // namespace tcc
