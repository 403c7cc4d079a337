//===- Scan.cpp - running reductions on the device ------------------------===//
#include "codegen/cuda/library/LibraryKernel.h"

using namespace mlir;

namespace tcc::codegen::cuda {
namespace {

constexpr int kThreads = 256, kItems = 4;
/// Lines of at least this length are worth a block each where there are few of them, and of kPart several.
constexpr int64_t kBlockLength = 64, kManyLines = 4096;
constexpr int64_t kPart = 16 * kThreads * kItems, kFewLines = 128;

StringRef opText(ir::ReduceKind kind) {
  switch (kind) {
  case ir::ReduceKind::Prod:
    return "ScanProd";
  case ir::ReduceKind::Max:
    return "ScanMax";
  case ir::ReduceKind::Min:
    return "ScanMin";
  default:
    return "ScanSum";
  }
}

// The least that an extent is taken to be: a symbol's range is often no more than a bound.
int64_t usual(AffineExpr extent) { return ir::getConstant(extent).value_or(256); }

// What an op of scan.cuh computes in.
std::pair<std::string, int64_t> valueText(Type element, ir::ReduceKind kind) {
  bool sums = kind != ir::ReduceKind::Max && kind != ir::ReduceKind::Min;
  if (isa<FloatType>(element))
    return sums || element.isF64() ? std::make_pair("double", 8) : std::make_pair("float", 4);
  if (!sums)
    return {elementText(element), element.getIntOrFloatBitWidth() / 8};
  return element.getIntOrFloatBitWidth() == 64 ? std::make_pair("unsigned long long", 8)
                                               : std::make_pair("unsigned", 4);
}

void applyScan(LibraryKernel &kernel) {
  auto op = cast<ir::ScanOp>(kernel.op);
  Type element = elementTypeOf(op.getX());
  Axis axis = axisOf(kernel, op.getX(), op.getAxis());
  std::string type = elementText(element), combine = "tcc::" + opText(op.getKind()).str() + "<" + type + ">";
  std::string exclusive = op.getExclusive() ? "true" : "false", reverse = op.getReverse() ? "true" : "false";
  std::string block = std::to_string(kThreads) + ", " + std::to_string(kItems);
  SmallVector<LibraryKernel::Buffer> buffers = {{kernel.input(0), "x"}, {kernel.result(0), "y", true}};
  SmallVector<LibraryKernel::Scalar> scalars = {{"length", axis.length}, {"inner", axis.inner}, {"lines", axis.lines}};
  int64_t lines = usual(axis.lines), length = usual(axis.length);
  if (lines >= kManyLines || length < kBlockLength) {
    kernel.launch("scan_lines", "scan.cuh", kThreads, axis.lines.ceilDiv(kThreads), buffers, scalars,
                  "  tcc::scan_line<" + combine + ", " + exclusive + ", " + reverse +
                      ">(x, y, {length, inner}, lines);\n");
    return;
  }
  if (lines >= kFewLines || length < 2 * kPart) {
    kernel.launch("scan", "scan.cuh", kThreads, axis.lines, buffers, scalars,
                  "  tcc::scan_block<" + combine + ", " + exclusive + ", " + reverse + ", " + block +
                      ">(x, y, {length, inner});\n");
    return;
  }
  AffineExpr parts = axis.length.ceilDiv(kPart);
  auto [value, bytes] = valueText(element, op.getKind());
  int totals = kernel.temporary(axis.lines * parts, value, bytes),
      befores = kernel.temporary(axis.lines * parts, value, bytes);
  scalars.push_back({"parts", parts});
  std::string part = std::to_string(kPart) + "ll";
  kernel.launch("scan_totals", "scan.cuh", kThreads, axis.lines * parts, {buffers[0], {totals, "totals", true}},
                scalars,
                "  tcc::scan_totals<" + combine + ", " + reverse + ", " + block + ">(x, totals, {length, inner}, " +
                    part + ", parts);\n");
  kernel.launch("scan_befores", "scan.cuh", kThreads, axis.lines, {{totals, "totals"}, {befores, "befores", true}},
                scalars,
                "  tcc::scan_block<tcc::" + opText(op.getKind()).str() + "<" + value + ">, true, false, " + block +
                    ">(totals, befores, {parts, 1});\n");
  kernel.launch("scan_parts", "scan.cuh", kThreads, axis.lines * parts, {buffers[0], buffers[1], {befores, "befores"}},
                scalars,
                "  tcc::scan_parts<" + combine + ", " + exclusive + ", " + reverse + ", " + block +
                    ">(x, y, befores, {length, inner}, " + part + ", parts);\n");
}

bool isScan(Operation *op) {
  auto scan = dyn_cast<ir::ScanOp>(op);
  return scan && !elementTypeOf(scan.getX()).isInteger(1) && scan.getKind() != ir::ReduceKind::Mean;
}

} // namespace

const LibrarySchedule scanSchedule = {"scan", isScan, applyScan};

} // namespace tcc::codegen::cuda
