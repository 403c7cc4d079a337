#include "runtime/devices/extern/conv_descriptor.h"

#include "runtime/devices/extern/descriptor_json.h"
#include "runtime/status.h"

namespace tcc::devices {
namespace {

using Json = nlohmann::json;
using View = ConvDescriptor::View;
using Axis = ConvDescriptor::Axis;

constexpr size_t kMostAxes = 3;
// Of strides, dilations and zeros: so that places are within 64 bits.
constexpr int64_t kMostStep = int64_t{1} << 20;

Json ToJson(const View& view) {
  return {{"parameter", view.parameter}, {"start", view.start}, {"strides", view.strides}};
}

bool Read(const Json& json, size_t rank, View* view) {
  view->parameter = json.at("parameter").get<int32_t>();
  view->start = json.at("start").get<int64_t>();
  view->strides = json.at("strides").get<std::vector<int64_t>>();
  bool right = IsParameter(view->parameter) && InRange(view->start, 0) && view->strides.size() == rank;
  for (const int64_t stride : view->strides) right &= InRange(stride, 0);
  return right;
}

Json ToJson(const Axis& axis) {
  return {{"in", axis.in},         {"out", axis.out},           {"kernel", axis.kernel},
          {"stride", axis.stride}, {"dilation", axis.dilation}, {"before", axis.before},
          {"after", axis.after}};
}

bool Read(const Json& json, Axis* axis) {
  axis->in = json.at("in").get<int64_t>();
  axis->out = json.at("out").get<int64_t>();
  axis->kernel = json.at("kernel").get<int64_t>();
  axis->stride = json.at("stride").get<int64_t>();
  axis->dilation = json.at("dilation").get<int64_t>();
  axis->before = json.at("before").get<int64_t>();
  axis->after = json.at("after").get<int64_t>();
  if (!InRange(axis->in, 1) || !InRange(axis->out, 1) || !InRange(axis->kernel, 1, kMostStep) ||
      !InRange(axis->stride, 1, kMostStep) || !InRange(axis->dilation, 1, kMostStep) ||
      !InRange(axis->before, 0, kMostStep) || !InRange(axis->after, 0, kMostStep)) {
    return false;
  }
  // As many results as there are places.
  const int64_t room = axis->in + axis->before + axis->after - ((axis->kernel - 1) * axis->dilation + 1);
  return room >= 0 && axis->out == room / axis->stride + 1;
}

std::vector<int64_t> Extents(int64_t first, int64_t second, const std::vector<Axis>& axes, int64_t Axis::* extent) {
  std::vector<int64_t> extents = {first, second};
  for (const Axis& axis : axes) extents.push_back(axis.*extent);
  return extents;
}

}  // namespace

std::vector<int64_t> ConvDescriptor::x_extents() const { return Extents(images, inputs, axes, &Axis::in); }
std::vector<int64_t> ConvDescriptor::w_extents() const {
  return Extents(outputs, inputs / groups, axes, &Axis::kernel);
}
std::vector<int64_t> ConvDescriptor::y_extents() const { return Extents(images, outputs, axes, &Axis::out); }

std::string ToBytes(const ConvDescriptor& d) {
  Json axes = Json::array();
  for (const Axis& axis : d.axes) axes.push_back(ToJson(axis));
  Json json = ToJson("conv", d);
  json.update({{"images", d.images},
               {"groups", d.groups},
               {"inputs", d.inputs},
               {"outputs", d.outputs},
               {"axes", std::move(axes)},
               {"x", ToJson(d.x)},
               {"w", ToJson(d.w)},
               {"y", ToJson(d.y)}});
  if (d.addend.parameter >= 0) json["addend"] = ToJson(d.addend);
  return DescriptorBytes(json);
}

absl::StatusOr<ConvDescriptor> ConvDescriptorFrom(std::string_view bytes) {
  TCC_ASSIGN_OR_RETURN(const Json json, DescriptorJson(bytes));
  try {
    ConvDescriptor d;
    bool right = Read(json, "conv", &d) && d.element != DType::kF64;
    d.images = json.at("images").get<int64_t>();
    d.groups = json.at("groups").get<int64_t>();
    d.inputs = json.at("inputs").get<int64_t>();
    d.outputs = json.at("outputs").get<int64_t>();
    for (const int64_t extent : {d.images, d.groups, d.inputs, d.outputs}) right &= InRange(extent, 1);
    right = right && d.inputs % d.groups == 0 && d.outputs % d.groups == 0;
    const Json& axes = json.at("axes");
    right = right && axes.is_array() && !axes.empty() && axes.size() <= kMostAxes;
    if (!right) return DamagedDescriptor();
    for (const Json& axis : axes) right &= Read(axis, &d.axes.emplace_back());
    const size_t rank = d.axes.size() + 2;
    right = right && Read(json.at("x"), rank, &d.x) && Read(json.at("w"), rank, &d.w) && Read(json.at("y"), rank, &d.y);
    if (json.contains("addend")) right &= Read(json.at("addend"), rank, &d.addend);
    if (!right) return DamagedDescriptor();
    return d;
  } catch (const Json::exception&) {
    return DamagedDescriptor();
  }
}

std::vector<UsedParameter> ParametersOf(ConvDescriptor& d) {
  const int64_t bytes = DTypeBits(d.element) / 8;
  const auto used = [&](const View& view, const std::vector<int64_t>& extents) -> int64_t {
    double estimate = 0;
    int64_t last = view.start;
    for (size_t i = 0; i < view.strides.size(); ++i) {
      estimate += static_cast<double>(extents[i] - 1) * static_cast<double>(view.strides[i]);
      if (estimate > 1e17) return INT64_MAX;
      last += (extents[i] - 1) * view.strides[i];
    }
    return (last + 1) * bytes;
  };
  return {{&d.x.parameter, used(d.x, d.x_extents())},
          {&d.w.parameter, used(d.w, d.w_extents())},
          {&d.y.parameter, used(d.y, d.y_extents())},
          {&d.addend.parameter, used(d.addend, d.y_extents())},
          {&d.bias, d.outputs * bytes},
          {&d.workspace, d.workspace_bytes}};
}

}  // namespace tcc::devices
