//===- DeformConv.cpp - deformable convolution and determinants -----------===//
#include "codegen/cuda/library/ShapeText.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

constexpr int kThreads = 128;

void applyDeformConv(LibraryKernel &kernel) {
  Operation *op = kernel.op;
  tcc::Attributes attributes = attributesOf(op);
  ir::Exprs x = ir::getExtents(op->getOperand(0).getType()), w = ir::getExtents(op->getOperand(1).getType()),
            y = ir::getExtents(op->getResult(0).getType());
  int64_t groups = attributes.IntOr("group", 1), offsetGroups = attributes.IntOr("offset_group", 1);
  std::vector<int64_t> strides = attributes.IntsOr("strides", {1, 1}), pads = attributes.IntsOr("pads", {0, 0, 0, 0}),
                       dilations = attributes.IntsOr("dilations", {1, 1});
  SmallVector<LibraryKernel::Buffer> buffers = {
      {kernel.input(0), "x"}, {kernel.input(1), "w"}, {kernel.input(2), "offset"}};
  std::string type = elementText(elementTypeOf(op->getOperand(0)));
  auto optional = [&](int64_t position, const char *name) {
    std::optional<unsigned> operand = operandAt(op, position);
    if (operand)
      buffers.push_back({kernel.input(*operand), name});
    return operand ? std::string(name) : "static_cast<const " + type + "*>(nullptr)";
  };
  std::string bias = optional(3, "bias"), mask = optional(4, "mask");
  buffers.push_back({kernel.result(0), "y", true});
  AffineExpr count = kernel.product(y);
  std::string numbers;
  for (int64_t value : {offsetGroups, strides[0], strides[1], pads[0], pads[1], dilations[0], dilations[1]})
    numbers += ", " + std::to_string(value);
  kernel.launch("deform_conv", "deform_conv.cuh", kThreads, count.ceilDiv(kThreads), buffers,
                {{"channels", x[1]},
                 {"height", x[2]},
                 {"width", x[3]},
                 {"outputs", y[1]},
                 {"rows", y[2]},
                 {"columns", y[3]},
                 {"depth", w[1]},
                 {"kernel_h", w[2]},
                 {"kernel_w", w[3]},
                 {"per_group", ir::simplifyExtent(w[0].floorDiv(groups))},
                 {"per_offset", ir::simplifyExtent(x[1].floorDiv(offsetGroups))},
                 {"count", count}},
                "  const tcc::DeformShape shape = {channels, height, width, outputs, rows, columns, depth, kernel_h, "
                "kernel_w, per_group, per_offset" +
                    numbers + "};\n  tcc::deform_conv<" + type + ">(x, w, offset, " + bias + ", " + mask +
                    ", y, shape, count);\n");
}

bool isDeformConv(Operation *op) {
  if (!isa<ir::LibraryOp>(op) || op->getNumOperands() < 3)
    return false;
  Type element = elementTypeOf(op->getOperand(0));
  for (Value operand : op->getOperands())
    if (elementTypeOf(operand) != element)
      return false;
  tcc::Attributes attributes = attributesOf(op);
  int64_t groups = attributes.IntOr("group", 1), offsetGroups = attributes.IntOr("offset_group", 1);
  ir::Exprs x = ir::getExtents(op->getOperand(0).getType()), w = ir::getExtents(op->getOperand(1).getType()),
            offset = ir::getExtents(op->getOperand(2).getType()), y = ir::getExtents(op->getResult(0).getType());
  if (!isa<FloatType>(element) || x.size() != 4 || w.size() != 4 || offset.size() != 4 || y.size() != 4 || groups < 1 ||
      offsetGroups < 1 || attributes.IntsOr("strides", {1, 1}).size() != 2 ||
      attributes.IntsOr("pads", {0, 0, 0, 0}).size() != 4 || attributes.IntsOr("dilations", {1, 1}).size() != 2)
    return false;
  // The reference says what does not fit; what is not known to fit is left to it.
  AffineExpr taps = w[2] * w[3] * offsetGroups;
  auto same = [](AffineExpr a, AffineExpr b) { return ir::simplifyExtent(a) == ir::simplifyExtent(b); };
  auto divides = [](AffineExpr extent, int64_t by) {
    std::optional<int64_t> constant = ir::getConstant(extent);
    return by == 1 || (constant && *constant % by == 0);
  };
  std::optional<unsigned> bias = operandAt(op, 3), mask = operandAt(op, 4);
  ir::Exprs biasExtents = bias ? ir::getExtents(op->getOperand(*bias).getType()) : ir::Exprs{w[0]};
  ir::Exprs maskExtents = mask ? ir::getExtents(op->getOperand(*mask).getType()) : ir::Exprs{x[0], taps, y[2], y[3]};
  return same(x[1], w[1] * groups) && divides(w[0], groups) && divides(x[1], offsetGroups) && offset[0] == x[0] &&
         same(offset[1], taps * 2) && offset[2] == y[2] && offset[3] == y[3] && y[0] == x[0] && y[1] == w[0] &&
         biasExtents.size() == 1 && biasExtents[0] == w[0] && maskExtents.size() == 4 && maskExtents[0] == x[0] &&
         same(maskExtents[1], taps) && maskExtents[2] == y[2] && maskExtents[3] == y[3];
}

void applyDet(LibraryKernel &kernel) {
  ir::Exprs x = ir::getExtents(kernel.op->getOperand(0).getType());
  AffineExpr n = x.back(), matrices = kernel.product(ir::getExtents(kernel.op->getResult(0).getType()));
  int room = kernel.temporary(ir::simplifyExtent(matrices * n * n), "double", 8);
  kernel.launch("det", "determinant.cuh", kThreads, matrices,
                {{kernel.input(0), "x"}, {kernel.result(0), "y", true}, {room, "matrices", true}}, {{"n", n}},
                "  tcc::determinants<" + std::to_string(kThreads) + ">(x, y, matrices, n);\n");
}

bool isDet(Operation *op) {
  if (!isa<ir::LibraryOp>(op) || op->getNumOperands() != 1 || !isa<FloatType>(elementTypeOf(op->getOperand(0))))
    return false;
  ir::Exprs x = ir::getExtents(op->getOperand(0).getType());
  return x.size() >= 2 && x[x.size() - 1] == x[x.size() - 2];
}

} // namespace

const LibrarySchedule deformConvSchedule = {"deform_conv", isDeformConv, applyDeformConv};
const LibrarySchedule detSchedule = {"det", isDet, applyDet};

} // namespace tcc::codegen::cuda
