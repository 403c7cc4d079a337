//===- Cudnn.cpp - convolutions that cuDNN can do -------------------------===//
#include "codegen/cuda/extern/Cudnn.h"

#include "codegen/cuda/extern/Epilogue.h"
#include "ir/ElementTypes.h"
#include "ir/Extents.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

using View = devices::ConvDescriptor::View;
using Axis = devices::ConvDescriptor::Axis;

/// The elements of a tensor whose coordinate is image, axes, channel (channels last) or image, channel, axes; weights
/// are always of the latter order.
std::optional<View> viewOf(int buffer, AffineExpr offset, unsigned rank, bool channelsLast) {
  bool hasSymbols = false;
  offset.walk([&](AffineExpr expr) { hasSymbols |= isa<AffineSymbolExpr>(expr); });
  if (hasSymbols)
    return std::nullopt;
  View view;
  view.parameter = buffer;
  view.start = gemm::evaluate(offset, SmallVector<int64_t>(rank, 0), {});
  for (unsigned i = 0; i < rank; ++i) {
    std::optional<AffineExpr> stride = gemm::dimStride(offset, i, rank);
    std::optional<int64_t> step = stride ? ir::getConstant(*stride) : std::nullopt;
    if (!step || *step < 0)
      return std::nullopt;
    view.strides.push_back(*step);
  }
  if (channelsLast)
    std::rotate(view.strides.begin() + 1, view.strides.end() - 1, view.strides.end());
  if (view.start < 0)
    return std::nullopt;
  return view;
}

/// Axes of one element have the strides that they would have if they had more: expressions do not mention them.
void fillStrides(View &view, ArrayRef<int64_t> extents, bool channelsLast) {
  SmallVector<size_t> order; // the innermost first
  if (channelsLast)
    order.push_back(1);
  for (size_t i = extents.size(); i-- > 0;)
    if (i != 1 || !channelsLast)
      order.push_back(i);
  int64_t step = 1;
  for (size_t i : order) {
    if (extents[i] == 1)
      view.strides[i] = step;
    step = std::max(step, view.strides[i] * extents[i]);
  }
}

std::optional<Axis> axisOf(const gemm::ConvAxis &from) {
  auto in = ir::getConstant(from.in), out = ir::getConstant(from.count);
  if (!in || !out || *in < 1 || *out < 1 || from.taps < 1 || from.tapStep < 1 || from.inStride < 1 ||
      from.tapOffset > 0)
    return std::nullopt;
  Axis axis{*in, *out, from.taps, from.inStride, from.tapStep, -from.tapOffset, -from.tapOffset};
  const int64_t reach = (axis.kernel - 1) * axis.dilation + 1;
  auto results = [&] {
    const int64_t room = axis.in + axis.before + axis.after - reach;
    return room < 0 ? 0 : room / axis.stride + 1;
  };
  // As many zeros behind as before, which most engines want, if that makes as many results.
  if (results() != axis.out)
    axis.after = std::max<int64_t>(0, (axis.out - 1) * axis.stride + reach - axis.in - axis.before);
  return results() == axis.out ? std::optional(axis) : std::nullopt;
}

} // namespace

std::optional<devices::ConvDescriptor> cudnnCall(const KernelBuilder &builder, const gemm::ConvGeometry &conv,
                                                 const OperandSpec &weights, bool tf32) {
  const gemm::TemplateKernel &kernel = builder.kernel;
  const gemm::Operand &x = kernel.operands[0], &w = kernel.operands[1];
  const unsigned rank = x.extents.size();
  auto images = ir::getConstant(conv.images);
  if (!isa<ir::ConvOp>(kernel.op) || !images || *images < 1 || conv.spatial() > 3 || conv.inChannels < 1 ||
      conv.outChannels < 1 || x.argument < 0 || !x.offset || weights.buffer < 0)
    return std::nullopt;
  devices::ConvDescriptor call;
  call.element = ir::getDType(x.element);
  if (!llvm::is_contained({DType::kF16, DType::kBF16, DType::kF32}, call.element) || w.element != x.element ||
      kernel.resultElement() != x.element)
    return std::nullopt;
  std::optional<LibraryEpilogue> epilogue = libraryEpilogue(kernel);
  if (!epilogue)
    return std::nullopt;
  call.tf32 = tf32 && call.element == DType::kF32;
  call.images = *images;
  call.groups = conv.groups;
  call.inputs = conv.groups * conv.inChannels;
  call.outputs = conv.groups * conv.outChannels;
  for (const gemm::ConvAxis &from : conv.phases.front().axes) {
    std::optional<Axis> axis = axisOf(from);
    if (!axis)
      return std::nullopt;
    call.axes.push_back(*axis);
  }
  const std::vector<int64_t> inner = call.w_extents();
  std::optional<View> viewX = viewOf(x.argument, x.offset, rank, conv.channelsLast), viewW,
                      viewY = viewOf(builder.numInputs(), epilogue->result, rank, conv.channelsLast);
  if (weights.buffer >= KernelBuilder::kFirstConstant) {
    // Packed: output channels, taps, input channels.
    viewW.emplace();
    viewW->parameter = weights.buffer;
    viewW->strides.assign(rank, 1);
    int64_t step = inner[1];
    for (unsigned i = rank; i-- > 2;) {
      viewW->strides[i] = step;
      step *= inner[i];
    }
    viewW->strides[0] = step;
  } else if (w.offset) {
    viewW = viewOf(w.argument, w.offset, rank, /*channelsLast=*/false);
  }
  if (!viewX || !viewW || !viewY)
    return std::nullopt;
  call.x = *viewX;
  call.w = *viewW;
  call.y = *viewY;
  call.relu = epilogue->relu;
  for (const LibraryEpilogue::Term &term : epilogue->terms) {
    if (call.bias < 0 && term.offset == getAffineDimExpr(conv.channelsLast ? rank - 1 : 1, builder.context)) {
      call.bias = term.buffer;
      continue;
    }
    std::optional<View> view = viewOf(term.buffer, term.offset, rank, conv.channelsLast);
    // (What is broadcast along an axis is no tensor of the result's extents.)
    const std::vector<int64_t> extents = call.y_extents();
    if (call.addend.parameter >= 0 || !view || llvm::any_of(llvm::zip_equal(extents, view->strides), [](auto item) {
          return std::get<0>(item) > 1 && std::get<1>(item) == 0;
        }))
      return std::nullopt;
    call.addend = *view;
    fillStrides(call.addend, extents, conv.channelsLast);
  }
  fillStrides(call.x, call.x_extents(), conv.channelsLast);
  fillStrides(call.w, inner, conv.channelsLast);
  fillStrides(call.y, call.y_extents(), conv.channelsLast);
  return call;
}

} // namespace tcc::codegen::cuda
