#include "runtime/cpu_count.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>

#include "tests/runtime/temp_folder.h"

namespace tcc {
namespace {

TEST(CpuCount, ParseThreadCount) {
  EXPECT_EQ(ParseThreadCount("8"), 8);
  EXPECT_EQ(ParseThreadCount("1024"), 1024);
  for (const char* bad : {"", "0", "-1", "1025", "8x", " 8", "99999999999"}) EXPECT_EQ(ParseThreadCount(bad), 0) << bad;
}

TEST(CpuCount, QuotaOfVersion2IsTheTightestLevel) {
  const TempFolder root;
  WriteFile(root / "a/cpu.max", "250000 100000\n");
  WriteFile(root / "a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(CgroupCpuLimit(root.path(), "0::/a/b\n"), 3);
  WriteFile(root / "a/b/cpu.max", "100000 100000\n");
  EXPECT_EQ(CgroupCpuLimit(root.path(), "0::/a/b\n"), 1);
  EXPECT_EQ(CgroupCpuLimit(root.path(), "0::/elsewhere\n"), 0);
  EXPECT_EQ(CgroupCpuLimit(root.path(), "0::/\n"), 0);
  WriteFile(root / "a/b/cpu.max", "nonsense");
  EXPECT_EQ(CgroupCpuLimit(root.path(), "0::/a/b\n"), 3);
}

TEST(CpuCount, QuotaOfVersion1) {
  const TempFolder root;
  WriteFile(root / "cpu/g/cpu.cfs_quota_us", "150000\n");
  WriteFile(root / "cpu/g/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(CgroupCpuLimit(root.path(), "4:memory:/x\n3:cpu,cpuacct:/g\n"), 2);
  WriteFile(root / "cpu/g/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(CgroupCpuLimit(root.path(), "3:cpu:/g\n"), 0);
}

TEST(CpuCount, AffinityMaskIsObeyed) {
  unsetenv("TCC_NUM_THREADS");
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &before)) {
      CPU_SET(cpu, &one);
      break;
    }
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(DefaultThreadCount(), 1);
  setenv("TCC_NUM_THREADS", "3", 1);
  EXPECT_EQ(DefaultThreadCount(), 3);
  setenv("TCC_NUM_THREADS", "many", 1);
  EXPECT_EQ(DefaultThreadCount(), 1);
  unsetenv("TCC_NUM_THREADS");
  sched_setaffinity(0, sizeof(before), &before);
}

}  // namespace
}  // namespace tcc
