// A convolution that cuDNN can do in place of a generated kernel, as a package stores it beside the kernel's binaries
// ("cudnn").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/devices/extern/gemm_descriptor.h"
#include "runtime/dtype.h"

namespace tcc::devices {

// y[image, o, p] = epilogue(sum over channels i of o's group and taps t of x[image, i, q(p, t)] * w[o, i, t]
//                           + addend[image, o, p] + bias[o]), q = p * stride + t * dilation - before along each axis,
// where x has that; all of one type: f16, bf16, f32.
struct ConvDescriptor : CallDescriptor {
  // A parameter of the launch; the strides are those of image, channel and axes, of weights those of output channel,
  // input channel and axes, in elements.
  struct View {
    int32_t parameter = -1;
    int64_t start = 0;
    std::vector<int64_t> strides;
    bool operator==(const View&) const = default;
  };
  struct Axis {
    int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1;
    int64_t before = 0, after = 0;  // zeros
    bool operator==(const Axis&) const = default;
  };
  int64_t images = 1, groups = 1;
  int64_t inputs = 1, outputs = 1;  // channels, of all groups
  std::vector<Axis> axes;           // one to three
  View x, w, y;
  View addend;  // no parameter: none
  bool operator==(const ConvDescriptor&) const = default;

  std::vector<int64_t> x_extents() const, w_extents() const, y_extents() const;
};

std::string ToBytes(const ConvDescriptor& descriptor);
// InvalidArgument for what is none, or says what no convolution has.
absl::StatusOr<ConvDescriptor> ConvDescriptorFrom(std::string_view bytes);
std::vector<UsedParameter> ParametersOf(ConvDescriptor& descriptor);

}  // namespace tcc::devices
