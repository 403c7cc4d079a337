#include "runtime/cpu_features.h"

#include <algorithm>

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace tcc {
namespace {

std::vector<std::string> Detect() {
  std::vector<std::string> features;
  const auto add = [&](const char* name, bool present) {
    if (present) features.emplace_back(name);
  };
#if defined(__x86_64__)
  __builtin_cpu_init();
#define TCC_FEATURE(name, builtin) add(name, __builtin_cpu_supports(builtin) != 0)
  TCC_FEATURE("sse2", "sse2");
  TCC_FEATURE("sse3", "sse3");
  TCC_FEATURE("ssse3", "ssse3");
  TCC_FEATURE("sse4.1", "sse4.1");
  TCC_FEATURE("sse4.2", "sse4.2");
  TCC_FEATURE("popcnt", "popcnt");
  TCC_FEATURE("avx", "avx");
  TCC_FEATURE("avx2", "avx2");
  TCC_FEATURE("fma", "fma");
  TCC_FEATURE("f16c", "f16c");
  TCC_FEATURE("bmi", "bmi");
  TCC_FEATURE("bmi2", "bmi2");
  TCC_FEATURE("lzcnt", "lzcnt");
  TCC_FEATURE("movbe", "movbe");
  TCC_FEATURE("gfni", "gfni");
  TCC_FEATURE("avxvnni", "avxvnni");
  TCC_FEATURE("avxvnniint8", "avxvnniint8");
  TCC_FEATURE("avxneconvert", "avxneconvert");
  TCC_FEATURE("avxifma", "avxifma");
  TCC_FEATURE("avx512f", "avx512f");
  TCC_FEATURE("avx512bw", "avx512bw");
  TCC_FEATURE("avx512cd", "avx512cd");
  TCC_FEATURE("avx512dq", "avx512dq");
  TCC_FEATURE("avx512vl", "avx512vl");
  TCC_FEATURE("avx512ifma", "avx512ifma");
  TCC_FEATURE("avx512vbmi", "avx512vbmi");
  TCC_FEATURE("avx512vbmi2", "avx512vbmi2");
  TCC_FEATURE("avx512vnni", "avx512vnni");
  TCC_FEATURE("avx512bitalg", "avx512bitalg");
  TCC_FEATURE("avx512vpopcntdq", "avx512vpopcntdq");
  TCC_FEATURE("avx512bf16", "avx512bf16");
  TCC_FEATURE("avx512fp16", "avx512fp16");
  TCC_FEATURE("amx-tile", "amx-tile");
  TCC_FEATURE("amx-int8", "amx-int8");
  TCC_FEATURE("amx-bf16", "amx-bf16");
#undef TCC_FEATURE
#elif defined(__aarch64__)
  const unsigned long hwcap = getauxval(AT_HWCAP), hwcap2 = getauxval(AT_HWCAP2);
  add("neon", (hwcap & HWCAP_ASIMD) != 0);
  add("fullfp16", (hwcap & HWCAP_ASIMDHP) != 0);
  add("dotprod", (hwcap & HWCAP_ASIMDDP) != 0);
  add("sve", (hwcap & HWCAP_SVE) != 0);
  add("bf16", (hwcap2 & HWCAP2_BF16) != 0);
  add("i8mm", (hwcap2 & HWCAP2_I8MM) != 0);
#endif
  std::sort(features.begin(), features.end());
  return features;
}

}  // namespace

std::string_view HostArch() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "unknown";
#endif
}

const std::vector<std::string>& HostCpuFeatures() {
  static const auto* features = new std::vector<std::string>(Detect());
  return *features;
}

std::vector<std::string> MissingCpuFeatures(const std::vector<std::string>& required) {
  std::vector<std::string> missing;
  for (const std::string& feature : required) {
    if (!std::binary_search(HostCpuFeatures().begin(), HostCpuFeatures().end(), feature)) missing.push_back(feature);
  }
  return missing;
}

}  // namespace tcc
