#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/devices/sim/sim_api.h"

namespace tcc::sim {

std::vector<std::string> CompileFlags(bool checked) {
  std::vector<std::string> flags = {
      "-x", "c++", "-std=c++17", "-DTCC_SIM=1", "-shared", "-fPIC", "-fvisibility=hidden", "-nostdinc++",
      "-fuse-ld=lld",
      // Static variables in shared memory go through __emutls_get_address, which the device library defines.
      "-femulated-tls",
      // What a GPU does: no exceptions, no errno, types punned through pointers.
      "-fno-exceptions", "-fno-rtti", "-fno-math-errno", "-fno-strict-aliasing", "-fwrapv", "-fno-stack-protector",
      // Barriers stay where they are, and the return address of a call is a line of the kernel.
      "-Xclang", "-fconvergent-functions", "-fno-optimize-sibling-calls", "-gline-tables-only",
      // Every rounding is that of the source, on every machine.
      "-ffp-contract=off", "-Wno-unknown-pragmas", "-Wno-unused-command-line-argument"};
#if defined(__x86_64__)
  // Conversions of f16 and fma as instructions.
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) flags.push_back("-march=x86-64-v3");
#endif
  if (checked) {
    // ThreadSanitizer's instrumentation calls a function for each access, of at most 16 bytes; the device library has
    // functions of those names. Its run-time library is not linked.
    flags.insert(flags.end(),
                 {"-DTCC_SIM_CHECKED=1", "-O1", "-fno-vectorize", "-fno-slp-vectorize", "-fsanitize=thread",
                  "-fno-sanitize-link-runtime", "-mllvm", "-tsan-instrument-func-entry-exit=0", "-mllvm",
                  "-tsan-instrument-atomics=0", "-mllvm", "-tsan-instrument-read-before-write=1"});
  } else {
    flags.push_back("-O2");
  }
  flags.push_back("-lm");
  return flags;
}

std::string ExportText(absl::string_view kernel) { return absl::StrCat("\nTCC_SIM_EXPORT(", kernel, ")\n"); }

}  // namespace tcc::sim
