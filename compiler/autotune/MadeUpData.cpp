//===- MadeUpData.cpp - what candidates are run on ------------------------===//
#include "compiler/autotune/MadeUpData.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "runtime/dispatch.h"

namespace tcc::compiler {
void fillRandom(Tensor &tensor, unsigned seed) {
  const DType dtype = tensor.dtype();
  const bool isFloat = IsFloat(dtype);
  std::minstd_rand random(seed);
  // A stretch of random elements, over and over. Wide integers may be indices: small ones.
  const int64_t period = std::min<int64_t>(tensor.num_elements(), 8191), bytes = DTypeBits(dtype) / 8;
  for (int64_t i = 0; i < period; ++i) {
    const int64_t draw = static_cast<int64_t>(random() >> 8);
    if (isFloat)
      StoreDouble(tensor.data(), dtype, i, static_cast<double>(draw % 2001 - 1000) / 1000);
    else
      StoreInt(tensor.data(), dtype, i, draw % (DTypeBits(dtype) <= 16 && dtype != DType::kBool ? 4 : 2));
  }
  char *begin = static_cast<char *>(tensor.data());
  const int64_t total = tensor.num_elements() * bytes, stretch = period * bytes;
  for (int64_t at = stretch; at < total; at += stretch)
    std::memcpy(begin + at, begin, static_cast<size_t>(std::min(stretch, total - at)));
}

namespace {

// How far sums in another order may differ, relative to the largest element.
double toleranceOf(DType dtype) {
  switch (DTypeBits(dtype)) {
  case 64:
    return 1e-10;
  case 32:
    return 1e-4;
  default:
    return 2e-2;
  }
}

} // namespace

bool isClose(const Tensor &actual, const Tensor &expected) {
  const DType dtype = expected.dtype();
  if (!IsFloat(dtype))
    return std::memcmp(actual.data(), expected.data(), expected.bytes()) == 0;
  auto compare = [&](auto load) {
    const int64_t count = expected.num_elements();
    double top = 0;
    for (int64_t i = 0; i < count; ++i)
      if (const double value = std::abs(load(expected, i)); std::isfinite(value))
        top = std::max(top, value);
    const double allowed = toleranceOf(dtype) * std::max(top, 1e-30);
    for (int64_t i = 0; i < count; ++i) {
      const double a = load(actual, i), e = load(expected, i);
      if (a != e && !(std::isnan(a) && std::isnan(e)) && !(std::abs(a - e) <= allowed))
        return false;
    }
    return true;
  };
  if (dtype == DType::kF32)
    return compare([](const Tensor &t, int64_t i) { return double{t.data_as<float>()[i]}; });
  return compare([dtype](const Tensor &t, int64_t i) { return LoadDouble(t.data(), dtype, i); });
}

} // namespace tcc::compiler
