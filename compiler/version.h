#pragma once

namespace tcc {

inline constexpr char kVersion[] = TCC_VERSION;
inline constexpr char kLlvmVersion[] = TCC_LLVM_VERSION;

}  // namespace tcc
