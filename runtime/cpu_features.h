// The instruction set extensions of the machine, under LLVM's names ("avx2", "avx512f", "neon"): what code needs and
// hosts have.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tcc {

// "x86_64", "aarch64".
std::string_view HostArch();
// The extensions this machine and its operating system support, of those that can matter to kernels; sorted.
const std::vector<std::string>& HostCpuFeatures();
// Those of `required` that this machine lacks (or that we have never heard of).
std::vector<std::string> MissingCpuFeatures(const std::vector<std::string>& required);

}  // namespace tcc
