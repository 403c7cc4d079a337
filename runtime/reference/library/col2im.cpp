#include "runtime/reference/window.h"

namespace tcc::reference {

// ONNX Col2Im(columns [N, C * block, L], image_shape, block_shape; strides, pads, dilations): each column is a window
// that is added into the image.
Results Col2im(const Call& call) {
  TCC_RETURN_IF_ERROR(CheckRank(call.inputs[0], 3, "the columns"));
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> image, Int64List(call.inputs[1], "image_shape"));
  TCC_ASSIGN_OR_RETURN(const std::vector<int64_t> block, Int64List(call.inputs[2], "block_shape"));
  const size_t axes = image.size();
  const std::vector<int64_t> ones(axes, 1), strides = call.attributes.IntsOr("strides", ones);
  const std::vector<int64_t> dilations = call.attributes.IntsOr("dilations", ones);
  const std::vector<int64_t> pads = call.attributes.IntsOr("pads", std::vector<int64_t>(2 * axes, 0));
  if (block.size() != axes || strides.size() != axes || dilations.size() != axes || pads.size() != 2 * axes) {
    return Invalid("shapes, strides, pads and dilations must fit ", axes, " axes");
  }
  constexpr int64_t kLimit = int64_t{1} << 31;
  Dims counts;  // windows along each axis
  int64_t taps = 1, windows = 1;
  for (size_t i = 0; i < axes; ++i) {
    for (int64_t v : {image[i], block[i], strides[i], dilations[i], pads[i], pads[i + axes]}) {
      if (v < 0 || v > kLimit) return OutOfRange("value ", v, " of axis ", i);
    }
    if (block[i] < 1 || strides[i] < 1 || dilations[i] < 1)
      return Invalid("blocks, strides and dilations must be positive");
    const int64_t room = image[i] + pads[i] + pads[i + axes] - dilations[i] * (block[i] - 1) - 1;
    counts.push_back(room < 0 ? 0 : room / strides[i] + 1);
    TCC_ASSIGN_OR_RETURN(taps, CheckedMul(taps, block[i]));
    TCC_ASSIGN_OR_RETURN(windows, CheckedMul(windows, counts.back()));
  }
  TCC_ASSIGN_OR_RETURN(const Tensor x, call.inputs[0].Contiguous());
  if (x.dim(1) % taps != 0 || x.dim(2) != windows) {
    return Invalid("columns ", DimsText(x.dims()), " do not fit ", windows, " windows of ", taps, " elements");
  }
  const int64_t planes = x.dim(0) * (x.dim(1) / taps);
  Dims dims{x.dim(0), x.dim(1) / taps};
  dims.insert(dims.end(), image.begin(), image.end());
  TCC_ASSIGN_OR_RETURN(Tensor y, Zeros(x.dtype(), dims));
  const int64_t plane_size = Product(image);
  const Dims places = ContiguousStrides(image);
  return Dispatch(Numbers(), x.dtype(), [&]<typename T>() -> Results {
    const T* xs = x.data_as<T>();
    for (int64_t p = 0; p < planes; ++p) {
      T* plane = y.data_as<T>() + p * plane_size;
      for (Counter tap(block); tap.more(); tap.Next()) {
        for (Counter window(counts); window.more(); window.Next(), ++xs) {
          int64_t offset = 0;
          bool inside = true;
          for (size_t i = 0; i < axes; ++i) {
            const int axis = static_cast<int>(i);
            const int64_t at = window[axis] * strides[i] - pads[i] + tap[axis] * dilations[i];
            inside = inside && at >= 0 && at < image[i];
            offset += at * places[i];
          }
          if (inside) plane[offset] = WrapAdd(plane[offset], *xs);
        }
      }
    }
    return One(std::move(y));
  });
}

}  // namespace tcc::reference
