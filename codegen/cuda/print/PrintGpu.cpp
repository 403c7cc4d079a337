//===- PrintGpu.cpp - threads, barriers, shuffles and calls ------------------===//
#include "codegen/cuda/print/Printer.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tcc::codegen::cuda_print {
namespace {

/// The block's extent along a dimension, where the kernel says it.
std::optional<int64_t> blockExtent(func::FuncOp function, gpu::Dimension dimension) {
  auto block = function->getAttrOfType<DenseI64ArrayAttr>("tcc.block");
  auto at = static_cast<unsigned>(dimension);
  return block && at < block.size() ? std::optional(block[at]) : std::nullopt;
}

/// The C++ name of a library function may hold template arguments, and nothing that ends an expression.
bool isFunctionName(llvm::StringRef name) {
  return !name.empty() && (llvm::isAlpha(name.front()) || name.front() == '_') &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || llvm::StringRef("_:<>,. -()").contains(c); });
}

} // namespace

LogicalResult Printer::printGpu(Operation &op) {
  if (isa<gpu::BarrierOp>(op)) {
    line("__syncthreads();");
    return success();
  }
  auto define = [&](llvm::StringRef base, const std::string &expression) {
    auto hint = op.getAttrOfType<StringAttr>("tcc.name");
    std::string hinted = hint ? identifier(hint.getValue()) : "";
    std::string name = names.role(hinted.empty() ? base : llvm::StringRef(hinted));
    line("const " + typeOf(op.getResult(0).getType()) + " " + name + " = " + expression + ";");
    defineName(op.getResult(0), name);
    return success();
  };
  auto dimensionOf = [](gpu::Dimension dimension) { return std::string(1, "xyz"[static_cast<unsigned>(dimension)]); };
  auto blockText = [&](gpu::Dimension dimension) {
    std::optional<int64_t> known = blockExtent(function, dimension);
    return known ? std::to_string(*known) : "blockDim." + dimensionOf(dimension);
  };
  if (auto id = dyn_cast<gpu::ThreadIdOp>(op))
    return define("t" + dimensionOf(id.getDimension()), "threadIdx." + dimensionOf(id.getDimension()));
  if (auto id = dyn_cast<gpu::BlockIdOp>(op))
    return define("b" + dimensionOf(id.getDimension()), "blockIdx." + dimensionOf(id.getDimension()));
  if (auto dim = dyn_cast<gpu::BlockDimOp>(op))
    return define("block_" + dimensionOf(dim.getDimension()), blockText(dim.getDimension()));
  if (auto dim = dyn_cast<gpu::GridDimOp>(op))
    return define("grid_" + dimensionOf(dim.getDimension()), "gridDim." + dimensionOf(dim.getDimension()));
  if (auto id = dyn_cast<gpu::GlobalIdOp>(op)) {
    std::string d = dimensionOf(id.getDimension()), wide = "(" + typeOf(op.getResult(0).getType()) + ")";
    return define("g" + d, wide + "blockIdx." + d + " * " + blockText(id.getDimension()) + " + threadIdx." + d);
  }
  if (isa<gpu::LaneIdOp>(op)) {
    if (blockExtent(function, gpu::Dimension::y) != 1 || blockExtent(function, gpu::Dimension::z) != 1)
      return unknown(op, "the kernel's tcc.block must say that blocks have one dimension");
    return define("lane", "threadIdx.x % 32");
  }
  if (auto shuffle = dyn_cast<gpu::ShuffleOp>(op)) {
    if (inlining.uses(shuffle.getValid()) != 0)
      return unknown(op, "whether the other lane took part is not known");
    Type type = shuffle.getShuffleResult().getType();
    if (!type.isInteger(32) && !type.isInteger(64) && !type.isF32() && !type.isF64())
      return unknown(op, "values of 32 and 64 bits are shuffled");
    llvm::StringRef mode = shuffle.getMode() == gpu::ShuffleMode::XOR    ? "__shfl_xor_sync"
                           : shuffle.getMode() == gpu::ShuffleMode::UP   ? "__shfl_up_sync"
                           : shuffle.getMode() == gpu::ShuffleMode::DOWN ? "__shfl_down_sync"
                                                                         : "__shfl_sync";
    std::string arguments = "0xffffffffu, " + getTyped(shuffle.getValue()) + ", " + get(shuffle.getOffset()).text;
    if (std::optional<int64_t> all = getConstantIntValue(shuffle.getWidth()); !all || *all != 32)
      arguments += ", " + get(shuffle.getWidth()).text;
    return define("other", mode.str() + "(" + arguments + ")");
  }
  return unknown(op);
}

LogicalResult Printer::printCall(func::CallOp op) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, op.getCalleeAttr());
  if (!callee)
    return unknown(*op, "no such function");
  std::string name = callee.getName().str();
  if (auto deviceName = callee->getAttrOfType<StringAttr>("tcc.device_name")) {
    name = deviceName.getValue().str();
    if (!isFunctionName(name))
      return unknown(*op, "tcc.device_name is no name of a function");
  } else if (callee.isExternal() || !callee->hasAttr("tcc.device_function")) {
    return unknown(*op, "the function has neither tcc.device_name nor tcc.device_function and a body");
  }
  llvm::SmallVector<std::string> arguments;
  for (Value operand : op.getOperands()) {
    if (isa<VectorType>(operand.getType())) {
      arguments.push_back(vectorName(operand));
      continue;
    }
    std::string text = getTyped(operand);
    if (auto memref = dyn_cast<MemRefType>(operand.getType()))
      for (int64_t i = 0; i < memref.getRank() - 1; ++i)
        text = i == 0 ? "*" + text : "*(" + text + ")";
    arguments.push_back(text);
  }
  std::string text = name + "(" + llvm::join(arguments, ", ") + ")";
  // A variable that nobody reads is a warning.
  if (llvm::all_of(op.getResults(), [&](Value result) { return inlining.uses(result) == 0; })) {
    line(text + ";");
    return success();
  }
  // Named after the function.
  names.reserve(name);
  auto hint = op->getAttrOfType<StringAttr>("tcc.name");
  llvm::StringRef last = llvm::StringRef(name).split('<').first;
  if (size_t at = last.rfind(':'); at != llvm::StringRef::npos)
    last = last.drop_front(at + 1);
  for (llvm::StringRef prefix : {"block_", "warp_", "reduce_"})
    last.consume_front(prefix);
  std::string base = identifier(hint ? hint.getValue() : last);
  if (base.empty())
    base = "r";
  if (op.getNumResults() == 1) {
    std::string variable = names.role(base);
    line("const " + typeOf(op.getResult(0).getType()) + " " + variable + " = " + text + ";");
    defineName(op.getResult(0), variable);
    return success();
  }
  llvm::SmallVector<std::string> variables;
  for (Value result : op.getResults()) {
    variables.push_back(names.number(base));
    defineName(result, variables.back());
  }
  line("const auto [" + llvm::join(variables, ", ") + "] = " + text + ";");
  return success();
}

} // namespace tcc::codegen::cuda_print
