//===- Shapes.cpp - results whose extents are data, on the device ---------===//
//
// A launch of one thread finds the extents, which the host reads; another one makes the result.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/library/ShapeText.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

using Buffer = LibraryKernel::Buffer;
using Scalar = LibraryKernel::Scalar;

constexpr int kThreads = 256;
constexpr StringLiteral kHeader = "shapes.cuh";

/// What both launches of an op have: buffers and scalars, and statements in front.
struct ShapeOp {
  LibraryKernel &kernel;
  SmallVector<Buffer> buffers = {};
  SmallVector<Scalar> scalars = {};
  std::string before = {};
  int64_t rank = cast<RankedTensorType>(kernel.op->getResult(0).getType()).getRank();

  void addOperand(int64_t position, StringRef name) {
    buffers.push_back({kernel.input(*operandAt(kernel.op, position)), name.str()});
  }
  /// A list of integers as a value of shapes.cuh; `otherwise` where the operand is absent.
  std::string list(int64_t position, StringRef name, StringRef otherwise) {
    std::optional<unsigned> operand = operandAt(kernel.op, position);
    if (!operand)
      return otherwise.str();
    Value value = kernel.op->getOperand(*operand);
    buffers.push_back({kernel.input(*operand), name.str()});
    AffineExpr count = kernel.product(ir::getExtents(value.getType()));
    scalars.push_back({name.str() + "_count", count});
    return "tcc::List<" + elementText(elementTypeOf(value)) + ">{" + name.str() + ", " + name.str() + "_count}";
  }
  /// The operand's extents, with ones in front up to the rank of the result.
  void addInput() {
    ir::Exprs extents = ir::getExtents(kernel.op->getOperand(0).getType());
    extents.insert(extents.begin(), rank - extents.size(), kernel.constant(1));
    before += axesText("in", extents, scalars);
  }
  void find(const std::string &body) {
    buffers.push_back({kernel.foundExtents(), "found", true});
    kernel.launch("find_extents", kHeader, 1, kernel.constant(1), buffers, scalars, before + body);
    kernel.endFinding();
    buffers.pop_back();
  }
  /// `map`: an expression. `fill`: another one.
  void take(StringRef name, const std::string &map, const std::string &fill) {
    ir::Exprs extents = ir::getExtents(kernel.op->getResult(0).getType());
    std::string out = axesText("out", extents, scalars);
    AffineExpr count = kernel.product(extents);
    scalars.push_back({"count", count});
    buffers.push_back({kernel.input(0), "x"});
    buffers.push_back({kernel.result(0), "y", true});
    kernel.launch(name, kHeader, kThreads, count.ceilDiv(kThreads), buffers, scalars,
                  before + out + "  tcc::take_by_axes<" + std::to_string(rank) + ">(x, y, in, out, count, " + map +
                      ", " + fill + ");\n");
  }
  std::string zero() const { return "static_cast<" + storageText(elementTypeOf(kernel.op->getOperand(0))) + ">(0)"; }
};

void applySlice(LibraryKernel &kernel) {
  ShapeOp op{kernel};
  op.addInput();
  std::string starts = op.list(1, "starts", ""), ends = op.list(2, "ends", "");
  std::string axes = op.list(3, "axes", "tcc::AllAxes{starts_count}"),
              steps = op.list(4, "steps", "tcc::AllOnes{starts_count}");
  std::string rank = std::to_string(op.rank);
  op.before += "  const auto slices = tcc::read_slices<" + rank + ">(in, " + starts + ", " + ends + ", " + axes + ", " +
               steps + ");\n";
  op.find("  tcc::leave_extents<" + rank + ">(slices.good, slices.count, found, error);\n");
  op.take("slice", "slices", op.zero());
}

void applyPad(LibraryKernel &kernel) {
  ShapeOp op{kernel};
  std::string mode = attributesOf(kernel.op).StringOr("mode", "constant");
  op.addInput();
  std::string pads = op.list(1, "pads", ""), rank = std::to_string(op.rank);
  std::string axes = op.list(3, "axes", "tcc::AllAxes{" + rank + "}");
  op.before += "  const auto pads_of = tcc::read_pads<" + rank + ", tcc::PadMode::" +
               (mode == "reflect" ? "kReflect"
                : mode == "edge"  ? "kEdge"
                : mode == "wrap"  ? "kWrap"
                                  : "kConstant") +
               ">(in, " + pads + ", " + axes + ");\n";
  op.find("  tcc::leave_extents<" + rank + ">(pads_of.good, pads_of.size, found, error);\n");
  bool hasFill = operandAt(kernel.op, 2).has_value();
  if (hasFill)
    op.addOperand(2, "fill");
  op.take("pad", "pads_of", hasFill ? "*fill" : op.zero());
}

/// By a list that the second operand has: `extents` finds the result's, `map` is what of x goes where.
void applyRepeated(LibraryKernel &kernel, StringRef name, StringRef list, StringRef extents, StringRef map) {
  ShapeOp op{kernel};
  op.addInput();
  std::string given = op.list(1, list, ""), rank = "<" + std::to_string(op.rank) + ">";
  op.find(("  tcc::" + extents + rank + "(in, " + given + ", found, error);\n").str());
  op.take(name, ("tcc::" + map + rank + "{in}").str(), op.zero());
}

void applyExpand(LibraryKernel &kernel) { applyRepeated(kernel, "expand", "shape", "find_broadcast", "Broadcast"); }

void applyTile(LibraryKernel &kernel) { applyRepeated(kernel, "tile", "repeats", "find_repeated", "Repeated"); }

void applyRange(LibraryKernel &kernel) {
  ShapeOp op{kernel};
  op.addOperand(0, "start");
  op.addOperand(1, "limit");
  op.addOperand(2, "delta");
  op.find("  tcc::find_range(start, limit, delta, found, error);\n");
  AffineExpr count = ir::getExtent(kernel.op->getResult(0).getType(), 0);
  op.buffers.push_back({kernel.result(0), "y", true});
  kernel.launch("range", kHeader, kThreads, count.ceilDiv(kThreads), op.buffers, {{"count", count}},
                "  tcc::write_range(start, delta, y, count);\n");
}

void applyOneHot(LibraryKernel &kernel) {
  ShapeOp op{kernel};
  ir::Exprs extents = ir::getExtents(kernel.op->getResult(0).getType());
  int64_t axis = attributesOf(kernel.op).IntOr("axis", -1);
  if (axis < 0)
    axis += op.rank;
  op.addOperand(1, "depth_input");
  std::string known;
  for (int64_t i = 0; i < op.rank; ++i) {
    std::string name = "e" + std::to_string(i);
    if (i != axis)
      op.scalars.push_back({name, extents[i]});
    known += (i == 0 ? "" : ", ") + (i == axis ? "depth_of" : name);
  }
  std::string rank = std::to_string(op.rank);
  op.scalars.push_back({"values_count", ir::getExtent(kernel.op->getOperand(2).getType(), 0)});
  op.find("  const long long depth_of = *depth_input;\n  const tcc::Axes<" + rank + "> extents = {{" + known +
          "}};\n  tcc::leave_extents<" + rank + ">(values_count == 2, extents, found, error);\n");
  AffineExpr count = kernel.product(extents);
  op.addOperand(0, "indices");
  op.addOperand(2, "values");
  op.buffers.push_back({kernel.result(0), "y", true});
  kernel.launch(
      "one_hot", kHeader, kThreads, count.ceilDiv(kThreads), op.buffers,
      {{"depth", extents[axis]}, {"inner", kernel.product(ArrayRef(extents).drop_front(axis + 1))}, {"count", count}},
      "  tcc::write_one_hot(indices, values, y, depth, inner, count);\n");
}

//===- What is accepted ------------------------------------------------------===//

bool isList(Operation *op, int64_t position) {
  std::optional<unsigned> operand = operandAt(op, position);
  if (!operand)
    return false;
  auto type = cast<RankedTensorType>(op->getOperand(*operand).getType());
  return type.getRank() == 1 &&
         (type.getElementType().isSignlessInteger(64) || type.getElementType().isSignlessInteger(32));
}
bool isListOrAbsent(Operation *op, int64_t position) { return !operandAt(op, position) || isList(op, position); }
int64_t rankOf(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }
bool isMoved(Value value) { return DTypeBits(ir::getDType(elementTypeOf(value))) >= 8; }
bool isShapeOp(Operation *op) {
  return isa<ir::LibraryOp>(op) && op->getNumResults() == 1 && op->getNumOperands() > 0 &&
         rankOf(op->getResult(0)) <= 16;
}
/// An operand of one element.
bool isOne(Operation *op, int64_t position) {
  std::optional<unsigned> operand = operandAt(op, position);
  return operand &&
         ir::getConstant(ir::product(op->getContext(), ir::getExtents(op->getOperand(*operand).getType()))) == 1;
}

bool isSlice(Operation *op) {
  return isShapeOp(op) && isMoved(op->getOperand(0)) && rankOf(op->getOperand(0)) == rankOf(op->getResult(0)) &&
         isList(op, 1) && isList(op, 2) && isListOrAbsent(op, 3) && isListOrAbsent(op, 4);
}
bool isPad(Operation *op) {
  if (!isShapeOp(op) || !isMoved(op->getOperand(0)) || rankOf(op->getOperand(0)) != rankOf(op->getResult(0)) ||
      !isList(op, 1) || !isListOrAbsent(op, 3))
    return false;
  std::string mode = attributesOf(op).StringOr("mode", "constant");
  bool knownMode = mode == "constant" || mode == "reflect" || mode == "edge" || mode == "wrap";
  return knownMode && (!operandAt(op, 2) || isOne(op, 2));
}
bool isExpand(Operation *op) {
  return isShapeOp(op) && isMoved(op->getOperand(0)) && rankOf(op->getOperand(0)) <= rankOf(op->getResult(0)) &&
         isList(op, 1);
}
bool isTile(Operation *op) { return isExpand(op) && rankOf(op->getOperand(0)) == rankOf(op->getResult(0)); }
bool isRange(Operation *op) {
  return isShapeOp(op) && op->getNumOperands() == 3 && isOne(op, 0) && isOne(op, 1) && isOne(op, 2) &&
         !elementTypeOf(op->getOperand(0)).isInteger(1);
}
bool isOneHot(Operation *op) {
  return isShapeOp(op) && op->getNumOperands() == 3 && isa<IntegerType>(elementTypeOf(op->getOperand(0))) &&
         isOne(op, 1) && elementTypeOf(op->getOperand(1)).isSignlessInteger(64) && isMoved(op->getOperand(2)) &&
         rankOf(op->getOperand(2)) == 1;
}

} // namespace

const LibrarySchedule dynamicSliceSchedule = {"dynamic_slice", isSlice, applySlice, /*narrow=*/true};
const LibrarySchedule dynamicPadSchedule = {"dynamic_pad", isPad, applyPad, /*narrow=*/true};
const LibrarySchedule dynamicExpandSchedule = {"dynamic_expand", isExpand, applyExpand, /*narrow=*/true};
const LibrarySchedule dynamicTileSchedule = {"dynamic_tile", isTile, applyTile, /*narrow=*/true};
const LibrarySchedule rangeSchedule = {"range", isRange, applyRange};
const LibrarySchedule oneHotSchedule = {"one_hot", isOneHot, applyOneHot, /*narrow=*/true};

} // namespace tcc::codegen::cuda
