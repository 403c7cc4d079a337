//===- PlanShapes.cpp - reshapes to extents that are data -----------------===//
//
// Where a library call on the host would take the tensor there, the plan's own arithmetic works out the extents, from
// the few numbers of the shape; the result is a view.
//
//===----------------------------------------------------------------------===//
#include "codegen/plan/PlanBuilder.h"
#include "ir/OpAttributes.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

/// Appends arithmetic on registers.
class Arithmetic {
public:
  Arithmetic(Registers &registers, std::vector<Instruction> &out) : registers(registers), out(out) {}
  Operand operator()(IntOp op, Operand lhs, Operand rhs) {
    RegisterId number = registers.makeRegister();
    out.push_back(plan::Compute{number, op, lhs, rhs});
    return Operand::Reg(number);
  }
  void check(Operand lhs, int64_t rhs, const std::string &message) {
    out.push_back(plan::CheckEqual{lhs, Operand::Imm(rhs), message});
  }

private:
  Registers &registers;
  std::vector<Instruction> &out;
};

} // namespace

FailureOr<bool> PlanBuilder::tryDynamicReshape(Operation *op, Instructions &out) {
  auto library = dyn_cast<ir::LibraryOp>(op);
  if (!library || library.getKernel() != "dynamic_reshape" || op->getNumOperands() != 2 || !library.getAbsent().empty())
    return false;
  Value x = op->getOperand(0), shape = op->getOperand(1);
  Type type = op->getResult(0).getType();
  ir::Exprs from = ir::getExtents(x.getType()), to = ir::getExtents(type);
  auto shapeType = cast<RankedTensorType>(shape.getType());
  if (shapeType.getRank() != 1 || shapeType.getDimSize(0) != static_cast<int64_t>(to.size()))
    return false;
  FailureOr<ValueId> source = use(x);
  if (failed(source))
    return failure();
  if (Layout layout = layouts.lookup(*source); layout.known && !layout.rowMajor)
    return false;
  const absl::StatusOr<Attributes> attributes = ir::getAttributes(op, nullptr);
  const bool allowZero = attributes.ok() && attributes->IntOr("allowzero", 0) != 0;
  std::string name = describeOp(op) + ": ";

  // The shape as numbers.
  std::vector<Operand> wanted;
  if (auto extents = shape.getDefiningOp<ir::ExtentsOp>()) {
    for (AffineExpr expr : extents.getValue().getExprs()) {
      FailureOr<Operand> operand = emit(expr, op, out);
      if (failed(operand))
        return failure();
      wanted.push_back(*operand);
    }
  } else {
    FailureOr<ValueId> numbers = use(shape);
    if (failed(numbers))
      return failure();
    for (size_t i = 0; i < to.size(); ++i) {
      RegisterId element = registers.makeRegister();
      out.push_back(plan::ReadElement{element, *numbers, static_cast<int64_t>(i)});
      wanted.push_back(Operand::Reg(element));
    }
  }

  Arithmetic compute(registers, out);
  FailureOr<Operand> total = emit(ir::product(context, from), op, out);
  if (failed(total))
    return failure();
  // 0 copies an extent; -1, once, is what is left. `known` is the product of all others.
  Operand known = Operand::Imm(1), inferredCount = Operand::Imm(0);
  std::vector<Operand> isInferred;
  for (auto [i, extent] : llvm::enumerate(wanted)) {
    if (!allowZero) {
      Operand isZero = compute(IntOp::kEq, extent, Operand::Imm(0));
      if (i < from.size()) {
        FailureOr<Operand> copied = emit(from[i], op, out);
        if (failed(copied))
          return failure();
        extent = compute(IntOp::kAdd, extent, compute(IntOp::kMul, isZero, *copied));
      } else {
        compute.check(isZero, 0, name + "0 at position " + std::to_string(i) + " of the shape has no extent to copy");
      }
    }
    Operand inferred = compute(IntOp::kEq, extent, Operand::Imm(-1));
    isInferred.push_back(inferred);
    inferredCount = compute(IntOp::kAdd, inferredCount, inferred);
    Operand other = compute(IntOp::kAdd, extent, compute(IntOp::kMul, inferred, Operand::Imm(2)));
    compute.check(compute(IntOp::kLt, other, Operand::Imm(0)), 0, name + "negative extent in the shape");
    known = compute(IntOp::kMul, known, other);
  }
  compute.check(compute(IntOp::kLt, Operand::Imm(1), inferredCount), 0, name + "more than one -1 in the shape");
  compute.check(compute(IntOp::kMul, inferredCount, compute(IntOp::kEq, known, Operand::Imm(0))), 0,
                name + "-1 in the shape cannot be inferred beside an extent of 0");
  Operand rest = compute(IntOp::kFloorDiv, *total, compute(IntOp::kMax, known, Operand::Imm(1)));
  Operand filled = Operand::Imm(1);
  for (auto [i, extent] : llvm::enumerate(wanted)) {
    extent =
        compute(IntOp::kAdd, extent, compute(IntOp::kMul, isInferred[i], compute(IntOp::kAdd, rest, Operand::Imm(1))));
    filled = compute(IntOp::kMul, filled, extent);
  }
  out.push_back(plan::CheckEqual{filled, *total, name + "the elements do not fill the shape"});
  for (auto [wantedExtent, extent] : llvm::zip(wanted, to)) {
    auto symbol = dyn_cast<AffineSymbolExpr>(extent);
    if (symbol && !registers.isBound(symbol.getPosition())) {
      out.push_back(
          plan::Compute{static_cast<RegisterId>(symbol.getPosition()), IntOp::kAdd, wantedExtent, Operand::Imm(0)});
      registers.bind(symbol.getPosition());
      continue;
    }
    FailureOr<Operand> declared = emit(extent, op, out);
    if (failed(declared))
      return failure();
    out.push_back(plan::CheckEqual{wantedExtent, *declared, name + "the shape is not that of the model"});
  }
  if (failed(emitView(op, *source, {}, getAffineConstantExpr(0, context), out)))
    return failure();
  return true;
}

} // namespace tcc::codegen
