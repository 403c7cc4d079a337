#include "benchmarks/kernels/peak.h"

#include <immintrin.h>
#include <time.h>

#include <algorithm>

namespace {

double Now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

volatile float sink;

__attribute__((target("avx512f"))) void Avx512(int64_t steps) {
  __m512 sums[24];
  __m512 x = _mm512_set1_ps(0.999f), y = _mm512_set1_ps(1e-6f);
  for (auto& sum : sums) sum = x;
  for (int64_t i = 0; i < steps; ++i)
    for (auto& sum : sums) sum = _mm512_fmadd_ps(sum, x, y);
  for (auto& sum : sums) sink = _mm512_reduce_add_ps(sum);
}

__attribute__((target("avx2,fma"))) void Avx2(int64_t steps) {
  __m256 sums[12];
  __m256 x = _mm256_set1_ps(0.999f), y = _mm256_set1_ps(1e-6f);
  for (auto& sum : sums) sum = x;
  for (int64_t i = 0; i < steps; ++i)
    for (auto& sum : sums) sum = _mm256_fmadd_ps(sum, x, y);
  for (auto& sum : sums) sink = sum[0];
}

}  // namespace

double MeasurePeakGflops() {
  bool wide = __builtin_cpu_supports("avx512f");
  double best = 0, flops = wide ? 24 * 32.0 : 12 * 16.0;
  int64_t steps = 1 << 18;
  for (int i = 0; i < 16; ++i) {
    double start = Now();
    wide ? Avx512(steps) : Avx2(steps);
    best = std::max(best, steps * flops / (Now() - start) / 1e9);
  }
  return best;
}
