// ONNX DeformConv in two spatial axes: https://arxiv.org/abs/1703.06211, with a mask https://arxiv.org/abs/1811.11168.
#include <cmath>

#include "runtime/reference/convert.h"
#include "runtime/reference/gemm.h"

namespace tcc::reference {
namespace {

// Bilinear sample, zero outside.
double SampleAt(const double* plane, double y, double x, int64_t height, int64_t width) {
  if (!(y > -1 && x > -1 && y < static_cast<double>(height) && x < static_cast<double>(width))) return 0;
  const double fy = std::floor(y), fx = std::floor(x);
  const auto at = [&](double row, double column) {
    const auto r = static_cast<int64_t>(row), c = static_cast<int64_t>(column);
    return r < 0 || c < 0 || r >= height || c >= width ? 0.0 : plane[r * width + c];
  };
  const double wy = y - fy, wx = x - fx;
  return (1 - wy) * ((1 - wx) * at(fy, fx) + wx * at(fy, fx + 1)) +
         wy * ((1 - wx) * at(fy + 1, fx) + wx * at(fy + 1, fx + 1));
}

}  // namespace

// deform_conv(x, w, offset, bias?, mask?; strides, pads, dilations, group, offset_group)
Results DeformConv(const Call& call) {
  for (int i = 0; i < 3; ++i) TCC_RETURN_IF_ERROR(CheckRank(call.inputs[i], 4, "x, w and offset"));
  TCC_ASSIGN_OR_RETURN(const Tensor x, ConvertDType(call.inputs[0], DType::kF64));
  TCC_ASSIGN_OR_RETURN(const Tensor w, ConvertDType(call.inputs[1], DType::kF64));
  TCC_ASSIGN_OR_RETURN(const Tensor offset, ConvertDType(call.inputs[2], DType::kF64));
  const std::vector<int64_t> ones(2, 1), strides = call.attributes.IntsOr("strides", ones);
  const std::vector<int64_t> dilations = call.attributes.IntsOr("dilations", ones);
  const std::vector<int64_t> pads = call.attributes.IntsOr("pads", {0, 0, 0, 0});
  const int64_t groups = call.attributes.IntOr("group", 1), offset_groups = call.attributes.IntOr("offset_group", 1);
  const int64_t batch = x.dim(0), channels = x.dim(1), height = x.dim(2), width = x.dim(3);
  const int64_t outputs = w.dim(0), depth = w.dim(1), kh = w.dim(2), kw = w.dim(3), taps = kh * kw;
  const int64_t oh = offset.dim(2), ow = offset.dim(3);
  if (strides.size() != 2 || dilations.size() != 2 || pads.size() != 4 || groups < 1 || offset_groups < 1 ||
      channels != depth * groups || outputs % groups != 0 || channels % offset_groups != 0 || offset.dim(0) != batch ||
      offset.dim(1) != offset_groups * taps * 2) {
    return Invalid("x ", DimsText(x.dims()), ", w ", DimsText(w.dims()), " and offset ", DimsText(offset.dims()),
                   " do not fit");
  }
  Tensor mask, bias;
  if (call.inputs[3].valid()) {
    TCC_ASSIGN_OR_RETURN(bias, ConvertDType(call.inputs[3], DType::kF64));
    if (bias.rank() != 1 || bias.dim(0) != outputs) return Invalid("the bias must have ", outputs, " entries");
  }
  if (call.inputs[4].valid()) {
    TCC_ASSIGN_OR_RETURN(mask, ConvertDType(call.inputs[4], DType::kF64));
    if (mask.dims() != Dims{batch, offset_groups * taps, oh, ow}) return Invalid("mask ", DimsText(mask.dims()));
  }
  TCC_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(DType::kF64, {batch, outputs, oh, ow}));
  const int64_t rows = outputs / groups, per_offset = channels / offset_groups, area = oh * ow;
  for (int64_t n = 0; n < batch && y.num_elements() != 0; ++n) {
    for (int64_t g = 0; g < groups; ++g) {
      double* ys = y.data_as<double>() + (n * outputs + g * rows) * area;
      Gemm<double>(
          w.data_as<double>() + g * rows * depth * taps, depth * taps, 1, rows, area, depth * taps,
          [&](int64_t j, int columns, double* panel) {
            for (int c = 0; c < columns; ++c) {
              const int64_t at = j + c, i0 = at / ow * strides[0] - pads[0], j0 = at % ow * strides[1] - pads[1];
              for (int64_t d = 0; d < depth; ++d) {
                const int64_t channel = g * depth + d, og = channel / per_offset;
                const double* plane = x.data_as<double>() + (n * channels + channel) * height * width;
                for (int64_t t = 0; t < taps; ++t) {
                  const double* shift =
                      offset.data_as<double>() + ((n * offset_groups + og) * taps + t) * 2 * area + at;
                  const int64_t tap_row = i0 + t / kw * dilations[0], tap_column = j0 + t % kw * dilations[1];
                  const double row = static_cast<double>(tap_row) + shift[0],
                               column = static_cast<double>(tap_column) + shift[area];
                  double value = SampleAt(plane, row, column, height, width);
                  if (mask.valid()) value *= mask.data_as<double>()[((n * offset_groups + og) * taps + t) * area + at];
                  panel[(d * taps + t) * kPanel + c] = value;
                }
              }
            }
          },
          [&](int64_t i, int64_t j, double value) {
            ys[i * area + j] = value + (bias.valid() ? bias.data_as<double>()[g * rows + i] : 0);
          });
    }
  }
  return One(ConvertDType(y, call.inputs[0].dtype()));
}

}  // namespace tcc::reference
