//===- Interpreter.cpp - runs the dialect on the host ----------------------===//
#include "ir/Interpreter.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/ElementTypes.h"
#include "ir/Extents.h"
#include "ir/InterpretLoops.h"
#include "ir/KernelCall.h"
#include "ir/LocationName.h"
#include "runtime/dispatch.h"
#include "runtime/status.h"
#include "llvm/ADT/DenseMap.h"

namespace tcc::ir {

namespace {

using mlir::AffineExpr;
using mlir::Operation;
using mlir::Value;
using Tensors = absl::StatusOr<std::vector<Tensor>>;

std::string describe(Operation *op) {
  const std::string name = nameOf(op->getLoc()), kind = op->getName().getStringRef().str();
  return name.empty() ? kind : absl::StrCat(name, ": ", kind);
}

std::string toText(AffineExpr expr) {
  std::string text;
  llvm::raw_string_ostream(text) << expr;
  return text;
}

/// The same memory with another dtype of the same width (kernels see ui8 as i8).
Tensor reinterpret(const Tensor &tensor, DType dtype) {
  if (tensor.dtype() == dtype)
    return tensor;
  return Tensor::Wrap(tensor.data(), dtype, tensor.dims(), tensor.strides(), [keep = tensor] {});
}

class Interpreter {
public:
  Interpreter(mlir::ArrayAttr symbols, const InterpretOptions &options) : symbols(symbols), options(options) {}

  /// Runs a block on values for its arguments; the values its terminator returns.
  Tensors runBlock(mlir::Block &block, llvm::ArrayRef<Tensor> arguments) {
    TCC_RETURN_IF_ERROR(bindAll(block.getArguments(), arguments));
    for (Operation &op : block.without_terminator()) {
      // Folding hoists it like a constant, above the op that determines its symbols: its readers evaluate it.
      if (llvm::isa<ExtentsOp>(op))
        continue;
      Tensors results = runOp(&op);
      if (!results.ok())
        return WithContext(describe(&op), results.status());
      if (absl::Status status = bindAll(op.getResults(), *results); !status.ok())
        return WithContext(describe(&op), status);
      if (options.observe)
        options.observe(&op, *results);
    }
    return valuesOf(block.getTerminator()->getOperands());
  }

private:
  //===- Values and symbols -----------------------------------------------------===//

  std::optional<int64_t> symbolValue(unsigned position) const {
    return position < bound.size() ? bound[position] : std::nullopt;
  }
  std::optional<int64_t> valueOf(AffineExpr expr) const {
    return evaluate(expr, [this](unsigned position) { return symbolValue(position); });
  }

  absl::StatusOr<Tensor> tensorOf(Value value) const {
    if (auto extents = value.getDefiningOp<ExtentsOp>())
      return runExtents(extents);
    auto it = tensors.find(value);
    if (it == tensors.end())
      return absl::InternalError("a value is used before it is computed");
    return it->second;
  }
  Tensors valuesOf(mlir::ValueRange values) const {
    std::vector<Tensor> result;
    for (Value value : values) {
      TCC_ASSIGN_OR_RETURN(result.emplace_back(), tensorOf(value));
    }
    return result;
  }

  absl::Status bindAll(mlir::ValueRange values, llvm::ArrayRef<Tensor> given) {
    if (values.size() != given.size())
      return absl::InvalidArgumentError(
          absl::StrCat(values.size(), " tensors are needed, ", given.size(), " were given"));
    // Symbols that stand alone get their values first: expressions may need those of later tensors.
    for (auto [value, tensor] : llvm::zip(values, given))
      TCC_RETURN_IF_ERROR(bindSymbols(value, tensor));
    for (auto [index, value] : llvm::enumerate(values)) {
      if (absl::Status status = checkExtents(value, given[index]); !status.ok())
        return WithContext(absl::StrCat("tensor ", index), status);
      tensors[value] = given[index];
    }
    return absl::OkStatus();
  }

  absl::Status bindSymbols(Value value, const Tensor &tensor) {
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
    if (!type || (!type.hasStaticShape() && !type.getEncoding()))
      return absl::UnimplementedError("only tensors of known extents can be interpreted");
    if (getDType(type.getElementType()) != tensor.dtype() || type.getRank() != tensor.rank())
      return absl::InvalidArgumentError(absl::StrCat("a tensor of rank ", type.getRank(), " was expected, not ",
                                                     tensor.type().ToString(), ", or its dtype differs"));
    for (auto [axis, expr] : llvm::enumerate(getExtents(type))) {
      auto symbol = llvm::dyn_cast<mlir::AffineSymbolExpr>(expr);
      if (!symbol || symbolValue(symbol.getPosition()))
        continue;
      unsigned position = symbol.getPosition();
      int64_t extent = tensor.dim(axis);
      auto range = symbols && position < symbols.size() ? llvm::dyn_cast<SymbolAttr>(symbols[position]) : SymbolAttr();
      if (range && (extent < range.getMin() || extent > range.getMax() ||
                    (range.getMultipleOf() > 1 && extent % range.getMultipleOf() != 0)))
        return absl::InvalidArgumentError(
            absl::StrCat("extent ", extent, " of axis ", axis, " is outside the range of s", position, ": ",
                         range.getMin(), " to ", range.getMax(), ", multiples of ", range.getMultipleOf()));
      if (position >= bound.size())
        bound.resize(position + 1);
      bound[position] = extent;
    }
    return absl::OkStatus();
  }

  absl::Status checkExtents(Value value, const Tensor &tensor) const {
    for (auto [axis, expr] : llvm::enumerate(getExtents(value.getType()))) {
      std::optional<int64_t> extent = valueOf(expr);
      if (extent != tensor.dim(axis))
        return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " has extent ", tensor.dim(axis), ", but ",
                                                       toText(expr),
                                                       extent ? absl::StrCat(" is ", *extent) : " has no value"));
    }
    return absl::OkStatus();
  }

  /// A scalar condition or trip count.
  absl::StatusOr<int64_t> scalarOf(const Tensor &tensor) const {
    if (tensor.num_elements() != 1)
      return absl::InvalidArgumentError("a scalar was expected");
    return LoadInt(tensor.data(), tensor.dtype(), 0);
  }

  //===- Ops --------------------------------------------------------------------===//

  Tensors runOp(Operation *op) {
    if (auto constant = llvm::dyn_cast<ConstantOp>(op)) {
      TCC_ASSIGN_OR_RETURN(Tensor tensor, toTensor(constant.getValue()));
      return std::vector<Tensor>{tensor};
    }
    if (auto constant = llvm::dyn_cast<StringConstantOp>(op))
      return runStringConstant(constant);
    if (auto branch = llvm::dyn_cast<IfOp>(op))
      return runIf(branch);
    if (auto loop = llvm::dyn_cast<LoopOp>(op))
      return runLoop(loop);
    if (auto kernel = llvm::dyn_cast<KernelOp>(op))
      return runKernel(kernel);
    if (auto loops = llvm::dyn_cast<LoopsOp>(op))
      return interpretLoops(
          loops, [&](Value value) { return tensorOf(value); }, [&](unsigned p) { return symbolValue(p); });
    if (auto scatter = llvm::dyn_cast<ScatterOp>(op))
      return interpretScatter(
          scatter, [&](Value value) { return tensorOf(value); }, [&](unsigned p) { return symbolValue(p); });
    if (!llvm::isa<TCCDialect>(op->getDialect()))
      return absl::UnimplementedError("the interpreter runs ops of the tcc dialect only");
    TCC_ASSIGN_OR_RETURN(std::vector<Tensor> operands, valuesOf(op->getOperands()));
    return callReference(op, operands, [&](unsigned p) { return symbolValue(p); });
  }

  Tensors runStringConstant(StringConstantOp op) {
    auto type = llvm::cast<mlir::RankedTensorType>(op.getType());
    TCC_ASSIGN_OR_RETURN(Tensor tensor,
                         Tensor::Allocate(DType::kString, {type.getShape().data(), type.getShape().size()}));
    for (auto [k, text] : llvm::enumerate(op.getValue().getAsRange<mlir::StringAttr>()))
      tensor.data_as<std::string>()[k] = text.getValue().str();
    return std::vector<Tensor>{tensor};
  }

  absl::StatusOr<Tensor> runExtents(ExtentsOp op) const {
    auto type = llvm::cast<mlir::RankedTensorType>(op.getType());
    TCC_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(getDType(type.getElementType()),
                                                         {type.getShape().data(), type.getShape().size()}));
    for (auto [k, expr] : llvm::enumerate(op.getValue().getExprs())) {
      std::optional<int64_t> value = valueOf(expr);
      if (!value)
        return absl::InternalError(absl::StrCat(toText(expr), " has no value here"));
      StoreInt(tensor.data(), tensor.dtype(), k, *value);
    }
    return tensor;
  }

  Tensors runIf(IfOp op) {
    TCC_ASSIGN_OR_RETURN(Tensor tensor, tensorOf(op.getCondition()));
    TCC_ASSIGN_OR_RETURN(int64_t condition, scalarOf(tensor));
    mlir::Region &region = condition ? op.getThenRegion() : op.getElseRegion();
    // Symbols that the branch binds are its own.
    auto outer = bound;
    Tensors results = runBlock(region.front(), {});
    bound = outer;
    return results;
  }

  Tensors runLoop(LoopOp op) {
    int64_t trips = INT64_MAX, condition = 1;
    if (op.getTripCount()) {
      TCC_ASSIGN_OR_RETURN(Tensor tensor, tensorOf(op.getTripCount()));
      TCC_ASSIGN_OR_RETURN(trips, scalarOf(tensor));
    }
    if (op.getCondition()) {
      TCC_ASSIGN_OR_RETURN(Tensor tensor, tensorOf(op.getCondition()));
      TCC_ASSIGN_OR_RETURN(condition, scalarOf(tensor));
    }
    TCC_ASSIGN_OR_RETURN(std::vector<Tensor> carried, valuesOf(op.getInitial()));
    size_t scans = op.getNumResults() - carried.size();
    std::vector<std::vector<Tensor>> stacks(scans);
    auto outer = bound;
    for (int64_t iteration = 0; iteration < trips && condition; ++iteration) {
      bound = outer; // the body's own symbols differ from one iteration to the next
      std::vector<Tensor> arguments{Tensor::Scalar<int64_t>(iteration)};
      arguments.insert(arguments.end(), carried.begin(), carried.end());
      TCC_ASSIGN_OR_RETURN(std::vector<Tensor> yielded, runBlock(op.getBody().front(), arguments));
      if (op.getCondition()) {
        TCC_ASSIGN_OR_RETURN(condition, scalarOf(yielded.front()));
      }
      carried.assign(yielded.begin() + 1, yielded.begin() + 1 + carried.size());
      for (size_t k = 0; k < scans; ++k)
        stacks[k].push_back(yielded[1 + carried.size() + k]);
    }
    bound = outer;
    for (size_t k = 0; k < scans; ++k) {
      TCC_ASSIGN_OR_RETURN(carried.emplace_back(), stack(stacks[k], op.getResult(op.getInitial().size() + k)));
    }
    return carried;
  }

  /// Scan outputs along a new axis 0. Without iterations the element's extents come from the result's type.
  absl::StatusOr<Tensor> stack(const std::vector<Tensor> &elements, Value result) {
    auto type = llvm::cast<mlir::RankedTensorType>(result.getType());
    Dims dims{static_cast<int64_t>(elements.size())};
    if (elements.empty())
      for (AffineExpr extent : llvm::drop_begin(getExtents(type)))
        dims.push_back(valueOf(extent).value_or(0));
    else
      dims.insert(dims.end(), elements.front().dims().begin(), elements.front().dims().end());
    TCC_ASSIGN_OR_RETURN(Tensor stacked, Tensor::Allocate(getDType(type.getElementType()), dims));
    Dims inner(dims.begin() + 1, dims.end());
    for (size_t k = 0; k < elements.size(); ++k) {
      if (elements[k].dims() != inner)
        return absl::InvalidArgumentError("scan outputs change their extents between iterations");
      Tensor slot = stacked.View(inner, ContiguousStrides(inner), k * elements[k].num_elements());
      TCC_RETURN_IF_ERROR(CopyElements(elements[k], slot));
    }
    return stacked;
  }

  Tensors runKernel(KernelOp op) {
    std::vector<Tensor> arguments;
    for (auto [input, argument] : llvm::zip(op.getInputs(), op.getBody().front().getArguments())) {
      TCC_ASSIGN_OR_RETURN(Tensor tensor, tensorOf(input));
      arguments.push_back(reinterpret(tensor, elementOf(argument)));
    }
    TCC_ASSIGN_OR_RETURN(std::vector<Tensor> results, runBlock(op.getBody().front(), arguments));
    for (auto [k, result] : llvm::enumerate(results))
      result = reinterpret(result, elementOf(op.getResult(k)));
    return results;
  }

  static DType elementOf(Value value) {
    return getDType(llvm::cast<mlir::RankedTensorType>(value.getType()).getElementType());
  }

  mlir::ArrayAttr symbols;
  const InterpretOptions &options;
  llvm::SmallVector<std::optional<int64_t>> bound;
  llvm::DenseMap<Value, Tensor> tensors;
};

} // namespace

Tensors interpret(mlir::FunctionOpInterface function, absl::Span<const Tensor> inputs,
                  const InterpretOptions &options) {
  if (function.isExternal() || !llvm::hasSingleElement(function.getFunctionBody()))
    return absl::InvalidArgumentError("a function of one block can be interpreted");
  for (auto [index, input] : llvm::enumerate(inputs))
    if (!input.valid())
      return absl::InvalidArgumentError(absl::StrCat("input ", index, " is missing"));
  Interpreter interpreter(getSymbols(function), options);
  return interpreter.runBlock(function.getFunctionBody().front(), {inputs.data(), inputs.size()});
}

} // namespace tcc::ir
