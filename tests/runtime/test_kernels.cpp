// Kernels as the code generator makes them: a freestanding shared object. Built once with TCC_TEST_VALUE 1, once
// with 2.
#include "runtime/kernel_abi.h"

using namespace tcc;

#define TCC_TEST_EXPORT extern "C" __attribute__((visibility("default")))

// c[i] = a[i] + b[i]
TCC_TEST_EXPORT void add(const TccKernelContext* context, int64_t begin, int64_t end) {
  const auto* a = static_cast<const float*>(context->buffers[0]);
  const auto* b = static_cast<const float*>(context->buffers[1]);
  auto* c = static_cast<float*>(context->buffers[2]);
  for (int64_t i = begin; i < end; ++i) c[i] = a[i] + b[i];
}

// b[i] = a[i] * scalars[0], by way of the scratch space
TCC_TEST_EXPORT void scale(const TccKernelContext* context, int64_t begin, int64_t end) {
  const auto* a = static_cast<const float*>(context->buffers[0]);
  auto* b = static_cast<float*>(context->buffers[1]);
  auto* scratch = static_cast<float*>(context->scratch);
  for (int64_t i = begin; i < end; ++i) {
    scratch[0] = static_cast<float>(context->scalars[0]);
    b[i] = a[i] * scratch[0];
  }
}

// c[i] = a[b[i]]; scalars[0] elements in a
TCC_TEST_EXPORT void gather(const TccKernelContext* context, int64_t begin, int64_t end) {
  const auto* a = static_cast<const float*>(context->buffers[0]);
  const auto* b = static_cast<const int64_t*>(context->buffers[1]);
  auto* c = static_cast<float*>(context->buffers[2]);
  for (int64_t i = begin; i < end; ++i) {
    if (b[i] < 0 || b[i] >= context->scalars[0]) {
      *context->error = kTccIndexOutOfRange;
      return;
    }
    c[i] = a[b[i]];
  }
}

// a[0] = the value this object was built with
TCC_TEST_EXPORT void value(const TccKernelContext* context, int64_t, int64_t) {
  *static_cast<float*>(context->buffers[0]) = TCC_TEST_VALUE;
}
