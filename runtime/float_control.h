// The floating-point environment that generated code and reference kernels expect: round to nearest, denormals kept,
// exceptions masked. Whatever the host program has set is put back at the end of the scope.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tcc {

class ScopedFloatControl {
 public:
  ScopedFloatControl() : saved_(Get()) {
    if (saved_ != kDefault) Set(kDefault);
  }
  ~ScopedFloatControl() {
    if (saved_ != kDefault) Set(saved_);
  }
  ScopedFloatControl(const ScopedFloatControl&) = delete;
  ScopedFloatControl& operator=(const ScopedFloatControl&) = delete;

 private:
#if defined(__x86_64__)
  // The low six bits are sticky exception flags: no control, and left to be set.
  static constexpr uint64_t kDefault = 0x1f80;
  static uint64_t Get() { return _mm_getcsr() & ~0x3fu; }
  static void Set(uint64_t value) { _mm_setcsr(static_cast<unsigned>(value)); }
#elif defined(__aarch64__)
  static constexpr uint64_t kDefault = 0;
  static uint64_t Get() {
    uint64_t value;
    asm volatile("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static void Set(uint64_t value) { asm volatile("msr fpcr, %0" : : "r"(value)); }
#else
  static constexpr uint64_t kDefault = 0;
  static uint64_t Get() { return 0; }
  static void Set(uint64_t) {}
#endif

  uint64_t saved_;
};

}  // namespace tcc
