// How many threads are worth starting: what the affinity mask and the cgroup quota of this process allow.
#pragma once

#include <string>

namespace tcc {

// TCC_NUM_THREADS if it is a number from 1 to 1024 (anything else: one warning on stderr, and ignored). Otherwise the
// number of physical cores with a CPU in the affinity mask, at most what the cgroup's CPU quota allows. At least 1.
int DefaultThreadCount();

// The CPUs that a cgroup quota (cpu.max of version 2, cpu.cfs_quota_us of version 1) allows, rounded up; the tightest
// of the group and its parents. 0: no limit. `proc_cgroup` is the text of /proc/self/cgroup, `root` where cgroups are
// mounted.
int CgroupCpuLimit(const std::string& root, const std::string& proc_cgroup);

// A number from 1 to 1024, or 0 where the text is not one.
int ParseThreadCount(const std::string& text);

}  // namespace tcc
