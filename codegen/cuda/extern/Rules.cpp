//===- Rules.cpp - when the default mode calls a library ------------------===//
#include "codegen/cuda/extern/Rules.h"

#include <algorithm>

namespace tcc::codegen::cuda {
namespace {

constexpr int64_t kTile = 128, kLeastDepth = 512, kCopied = 16;

bool isWeak(DType element, bool tf32, const CudaDescription &device, bool wgmma) {
  const int major = device.computeCapability / 10;
  if (device.isSim() || major < 9 || major > 11 || (major == 9 && wgmma))
    return false;
  return element == DType::kF16 || element == DType::kBF16 || tf32;
}

bool isLarge(int64_t batch, int64_t m, int64_t n, int64_t k, const CudaDescription &device) {
  auto tiles = [](int64_t extent) { return (extent + kTile - 1) / kTile; };
  return k >= kLeastDepth && batch * tiles(m) * tiles(n) >= device.multiprocessors;
}

bool isCopied(int64_t extent, DType element) { return extent * DTypeBits(element) / 8 % kCopied == 0; }

bool prefers(const devices::GemmDescriptor &d, const CudaDescription &device, bool wgmma) {
  return isWeak(d.element, d.tf32, device, wgmma) && isLarge(d.batch, d.m, d.n, d.k, device) &&
         isCopied(d.k, d.element) && isCopied(d.n, d.element);
}

bool prefers(const devices::ConvDescriptor &d, const CudaDescription &device, bool wgmma) {
  int64_t pixels = d.images, taps = 1;
  for (const devices::ConvDescriptor::Axis &axis : d.axes) {
    pixels *= axis.out;
    taps *= axis.kernel;
  }
  return isWeak(d.element, d.tf32, device, wgmma) && d.groups == 1 && d.x.strides[1] == 1 && d.y.strides[1] == 1 &&
         isLarge(1, pixels, d.outputs, taps * d.inputs, device) && isCopied(d.inputs, d.element) &&
         isCopied(d.outputs, d.element);
}

} // namespace

bool prefersLibrary(const LibraryCall &call, const CudaDescription &device, bool wgmma) {
  if (const auto *gemm = std::get_if<devices::GemmDescriptor>(&call))
    return prefers(*gemm, device, wgmma);
  const auto *conv = std::get_if<devices::ConvDescriptor>(&call);
  return conv && prefers(*conv, device, wgmma);
}

} // namespace tcc::codegen::cuda
