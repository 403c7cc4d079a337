//===- PrintMemory.cpp - loads, stores, arrays and pointers -----------------===//
#include "codegen/cuda/print/Printer.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tcc::codegen::cuda_print {
namespace {

/// `__shared__` memory.
bool isShared(MemRefType type) {
  auto space = dyn_cast_or_null<gpu::AddressSpaceAttr>(type.getMemorySpace());
  return space && space.getValue() == gpu::AddressSpace::Workgroup;
}

bool isKnownSpace(MemRefType type) {
  auto space = dyn_cast_or_null<gpu::AddressSpaceAttr>(type.getMemorySpace());
  return !type.getMemorySpace() || space;
}

} // namespace

std::string Printer::element(Value memref, ValueRange indices) const {
  std::string result = get(memref).text;
  for (Value index : indices)
    result += "[" + get(index).text + "]";
  return result;
}

std::string Printer::address(Value memref, ValueRange indices) const {
  if (indices.size() != 1)
    return "&" + element(memref, indices);
  Expr index = getSigned(indices[0]);
  std::string base = get(memref).text;
  if (index.literal && index.literal->isZero())
    return base;
  return base + " + " + atLeast(index, Precedence::Product);
}

LogicalResult Printer::printMemory(Operation &op) {
  if (auto store = dyn_cast<memref::StoreOp>(op)) {
    line(element(store.getMemRef(), store.getIndices()) + " = " + get(store.getValueToStore()).text + ";");
    return success();
  }
  if (auto alloca = dyn_cast<memref::AllocaOp>(op))
    return printAlloca(alloca);
  if (auto atomic = dyn_cast<memref::AtomicRMWOp>(op))
    return printAtomic(atomic);
  if (isa<memref::ViewOp, memref::SubViewOp, memref::ReinterpretCastOp>(op))
    return printView(op);
  return unknown(op);
}

LogicalResult Printer::printAlloca(memref::AllocaOp op) {
  MemRefType type = op.getType();
  if (!type.hasStaticShape() || type.getRank() == 0 || !type.getLayout().isIdentity() || type.getNumElements() == 0)
    return unknown(*op, "only arrays of static extents are known");
  if (!isKnownSpace(type))
    return unknown(*op, "unknown memory space");
  bool shared = isShared(type);
  auto hint = op->getAttrOfType<StringAttr>("tcc.name");
  std::string base = hint ? identifier(hint.getValue()) : "";
  std::string name = names.role(!base.empty() ? base : shared ? "shared" : "local");
  // Vectors of up to 16 bytes are loaded from it.
  std::string text =
      std::string(shared ? "__shared__ " : "") + "__align__(16) " + memoryType(type.getElementType()) + " " + name;
  for (int64_t extent : type.getShape())
    text += "[" + std::to_string(extent) + "]";
  line(text + ";");
  define(op.getResult(), {name});
  return success();
}

// A pointer into another buffer. Its type holds the offset, which is part of the pointer here.
LogicalResult Printer::printView(Operation &op) {
  Value source = op.getOperand(0), result = op.getResult(0);
  auto from = cast<MemRefType>(source.getType()), to = cast<MemRefType>(result.getType());
  auto flat = [&](MemRefType type) { return type.getRank() == 1; };
  if (!flat(from) || !flat(to))
    return unknown(op, "only flat buffers are viewed");
  std::string offset;
  auto offsetOf = [&](OpFoldResult value) {
    if (std::optional<int64_t> constant = getConstantIntValue(value))
      return std::to_string(*constant);
    return atLeast(getSigned(cast<Value>(value)), Precedence::Product);
  };
  std::string base = get(source).text, pointer = isWritten(result) ? "" : "const ";
  pointer += memoryType(to.getElementType()) + "*";
  if (auto view = dyn_cast<memref::ViewOp>(op)) {
    offset = offsetOf(view.getByteShift());
  } else if (auto subview = dyn_cast<memref::SubViewOp>(op)) {
    if (!isConstantIntValue(subview.getMixedStrides()[0], 1))
      return unknown(op, "only views of stride 1 are known");
    offset = offsetOf(subview.getMixedOffsets()[0]);
  } else {
    // Relative to the whole of the source, which is where its pointer is unless the type of the source has an offset.
    auto cast = llvm::cast<memref::ReinterpretCastOp>(op);
    if (!from.getLayout().isIdentity() || !isConstantIntValue(cast.getMixedStrides()[0], 1))
      return unknown(op, "only flat buffers without offset are viewed, with stride 1");
    offset = offsetOf(cast.getMixedOffsets()[0]);
  }
  std::string text = offset == "0" ? base : base + " + " + offset;
  if (isa<memref::ViewOp>(op))
    text = "reinterpret_cast<" + pointer + ">(" + text + ")";
  auto hint = op.getAttrOfType<StringAttr>("tcc.name");
  std::string hinted = hint ? identifier(hint.getValue()) : "";
  std::string name = hinted.empty() ? names.number("p") : names.role(hinted);
  line(pointer + " const " + name + " = " + text + ";");
  define(result, {name});
  return success();
}

LogicalResult Printer::printAtomic(memref::AtomicRMWOp op) {
  using K = arith::AtomicRMWKind;
  Type type = op.getValue().getType();
  bool isUnsigned = false;
  std::string name;
  switch (op.getKind()) {
  case K::addf:
  case K::addi:
    name = "add";
    break;
  case K::mulf:
  case K::muli:
    name = "mul";
    break;
  case K::assign:
    name = "exchange";
    break;
  case K::andi:
    name = "and";
    break;
  case K::ori:
    name = "or";
    break;
  case K::maximumf:
  case K::maxs:
    name = "max";
    break;
  case K::minimumf:
  case K::mins:
    name = "min";
    break;
  case K::maxu:
    isUnsigned = true;
    name = "max";
    break;
  case K::minu:
    isUnsigned = true;
    name = "min";
    break;
  default:
    return unknown(*op, "unknown kind of update");
  }
  if (type.isInteger(1))
    return unknown(*op, "bools are not updated");
  std::string address = this->address(op.getMemref(), op.getIndices()), value = getTyped(op.getValue());
  if (isUnsigned) {
    address = "reinterpret_cast<" + unsignedType(width(type)).str() + "*>(" + address + ")";
    value = getUnsigned(op.getValue()).text;
  }
  std::string text = "tcc::atomic_" + name + "(" + address + ", " + value + ")";
  if (inlining.uses(op.getResult()) == 0) {
    line(text + ";");
    return success();
  }
  std::string variable = names.number("old");
  line("const " + typeOf(type) + " " + variable + " = " + text + ";");
  defineName(op.getResult(), variable);
  return success();
}

} // namespace tcc::codegen::cuda_print
