//===- Print.cpp - whole functions ------------------------------------------===//
#include "codegen/cuda/print/Print.h"

#include "codegen/cuda/print/Printer.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tcc::codegen {
using namespace cuda_print;

namespace {

constexpr llvm::StringLiteral kReservedNames[] = {"error"};
constexpr size_t kMaxSources = 32;

struct Parameter {
  std::string declaration, name;
};

LogicalResult checkFunction(func::FuncOp function) {
  if (function.isExternal() || !llvm::hasSingleElement(function.getBody()))
    return function.emitOpError("cannot be printed as CUDA C++: it needs a body of one block");
  if (!isIdentifier(function.getName()))
    return function.emitOpError("cannot be printed as CUDA C++: its name is no identifier of C++");
  if (auto bits = function->getAttrOfType<IntegerAttr>("tcc.index_bits");
      bits && bits.getInt() != 32 && bits.getInt() != 64)
    return function.emitOpError("tcc.index_bits is 32 or 64");
  return success();
}

/// Of a pointer: const where nothing is written through it.
std::string pointerType(const Printer &printer, BlockArgument argument) {
  auto type = cast<MemRefType>(argument.getType());
  return (Printer::isWritten(argument) ? "" : "const ") + printer.memoryType(type.getElementType()) + "*";
}

std::string argumentName(Printer &printer, func::FuncOp function, unsigned index, llvm::StringRef otherwise) {
  auto hint = function.getArgAttrOfType<StringAttr>(index, "tcc.name");
  std::string base = hint ? identifier(hint.getValue()) : "";
  return printer.getNames().role(base.empty() ? otherwise : llvm::StringRef(base));
}

LogicalResult checkArgument(const Printer &printer, func::FuncOp function, BlockArgument argument) {
  auto memref = dyn_cast<MemRefType>(argument.getType());
  if (!printer.isPrintable(argument.getType()) ||
      (memref && (memref.getRank() != 1 || !memref.getLayout().isIdentity())))
    return function.emitOpError("cannot be printed as CUDA C++: unknown type of argument ")
           << argument.getArgNumber() << ": " << argument.getType();
  return success();
}

/// Parameters of a device function, in order, with the names that the body uses.
FailureOr<llvm::SmallVector<Parameter>> deviceParameters(Printer &printer, func::FuncOp function) {
  llvm::SmallVector<Parameter> parameters;
  for (BlockArgument argument : function.getArguments()) {
    if (failed(checkArgument(printer, function, argument)))
      return failure();
    Type type = argument.getType();
    llvm::StringRef base = isa<MemRefType>(type) ? "b" : type.isIndex() ? "s" : "a";
    std::string name = argumentName(printer, function, argument.getArgNumber(),
                                    (base + std::to_string(argument.getArgNumber())).str());
    std::string declared = isa<MemRefType>(type) ? pointerType(printer, argument) : printer.typeOf(type);
    parameters.push_back({declared + " " + name, name});
    printer.defineName(argument, name);
  }
  return parameters;
}

std::string resultType(const Printer &printer, func::FuncOp function) {
  llvm::ArrayRef<Type> types = function.getFunctionType().getResults();
  if (types.empty())
    return "void";
  return types.size() == 1 ? printer.typeOf(types[0]) : function.getName().str() + "_results";
}

/// The struct of several results; empty for one or none.
std::string resultStruct(const Printer &printer, func::FuncOp function) {
  llvm::ArrayRef<Type> types = function.getFunctionType().getResults();
  if (types.size() < 2)
    return {};
  std::string text = "struct " + resultType(printer, function) + " {\n";
  for (auto [i, type] : llvm::enumerate(types))
    text += "  " + printer.typeOf(type) + " r" + std::to_string(i) + ";\n";
  return text + "};\n";
}

/// What the function returns: names of vectors, else expressions of exactly their types.
llvm::SmallVector<std::string> returned(Printer &printer, func::FuncOp function) {
  llvm::SmallVector<std::string> results;
  for (Value value : function.getBody().front().getTerminator()->getOperands())
    results.push_back(isa<VectorType>(value.getType()) ? printer.vectorName(value) : printer.getTyped(value));
  return results;
}

LogicalResult checkResults(const Printer &printer, func::FuncOp function) {
  for (Type type : function.getFunctionType().getResults())
    if (!printer.isPrintable(type) || isa<MemRefType>(type))
      return function.emitOpError("cannot be printed as CUDA C++: unknown type of a result: ") << type;
  return success();
}

/// The body with its return statement.
LogicalResult printDeviceBody(Printer &printer, func::FuncOp function) {
  if (failed(printer.printBlock(function.getBody().front())))
    return failure();
  llvm::SmallVector<std::string> results = returned(printer, function);
  if (results.size() == 1)
    printer.line("return " + results[0] + ";");
  else if (!results.empty())
    printer.line("return {" + llvm::join(results, ", ") + "};");
  return success();
}

/// `start(a, b, c)end`, in several lines where one would be too long.
std::string signature(const std::string &start, llvm::ArrayRef<std::string> parameters, const std::string &end) {
  std::string text = start + "(", line = text;
  if (start.size() + llvm::join(parameters, ", ").size() + end.size() < 108)
    return start + "(" + llvm::join(parameters, ", ") + ")" + end;
  size_t column = 0;
  text += "\n    ";
  for (auto [i, parameter] : llvm::enumerate(parameters)) {
    if (column + parameter.size() > 100) {
      text.pop_back(); // the space
      text += "\n    ";
      column = 0;
    }
    text += parameter + (i + 1 < parameters.size() ? ", " : "");
    column += parameter.size() + 2;
  }
  return text + ")" + end;
}

std::string headerComment(func::FuncOp kernel, llvm::ArrayRef<int64_t> block) {
  std::string text = "// " + kernel.getName().str();
  auto strings = [&](llvm::StringRef name) {
    llvm::SmallVector<std::string> result;
    if (auto array = kernel->getAttrOfType<ArrayAttr>(name))
      for (Attribute attr : array)
        if (auto string = dyn_cast<StringAttr>(attr))
          result.push_back(commentText(string.getValue()));
    return result;
  };
  llvm::SmallVector<std::string> sources = strings("tcc.sources"), grid = strings("tcc.grid");
  text += sources.empty() ? "\n" : " computes\n";
  for (auto [i, source] : llvm::enumerate(sources)) {
    if (i == kMaxSources) {
      text += "//   and " + std::to_string(sources.size() - i) + " more\n";
      break;
    }
    text += "//   " + source + "\n";
  }
  if (auto schedule = kernel->getAttrOfType<StringAttr>("tcc.schedule"))
    text += "// Schedule: " + commentText(schedule.getValue()) + "\n";
  text += "// Block: " + std::to_string(block[0]) + " x " + std::to_string(block[1]) + " x " + std::to_string(block[2]);
  if (!grid.empty())
    text += "; grid: " + llvm::join(grid, " x ");
  return text + ".\n";
}

/// Device functions of the module that a function calls, callees first.
LogicalResult collectCallees(func::FuncOp function, llvm::SetVector<func::FuncOp> &callees,
                             llvm::SmallVectorImpl<func::FuncOp> &active) {
  if (llvm::is_contained(active, function))
    return function.emitOpError("cannot be printed as CUDA C++: it calls itself");
  active.push_back(function);
  auto result = function.walk([&](func::CallOp call) {
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
    if (!callee || callee.isExternal() || callee->hasAttr("tcc.device_name") || callees.contains(callee))
      return WalkResult::advance(); // what is wrong with it is said at the call
    if (failed(collectCallees(callee, callees, active)))
      return WalkResult::interrupt();
    callees.insert(callee);
    return WalkResult::advance();
  });
  active.pop_back();
  return failure(result.wasInterrupted());
}

} // namespace

FailureOr<std::string> printCudaKernel(func::FuncOp kernel) {
  if (failed(checkFunction(kernel)))
    return failure();
  auto block = kernel->getAttrOfType<DenseI64ArrayAttr>("tcc.block");
  int64_t threads = 1;
  if (!block || block.size() != 3)
    return kernel.emitOpError("needs the attribute tcc.block, three extents"), failure();
  for (int64_t extent : block.asArrayRef())
    if (extent < 1 || extent > 1024 || (threads *= extent) > 1024)
      return kernel.emitOpError("tcc.block is not a block of 1 to 1024 threads"), failure();
  if (kernel.getNumResults() != 0)
    return kernel.emitOpError("cannot be printed as a kernel: it has results"), failure();

  llvm::SetVector<func::FuncOp> callees;
  llvm::SmallVector<func::FuncOp> active;
  if (failed(collectCallees(kernel, callees, active)))
    return failure();
  std::string text = headerComment(kernel, block) + "#include \"tcc/device.cuh\"\n\n";
  for (func::FuncOp callee : callees) {
    FailureOr<std::string> printed = printCudaFunction(callee);
    if (failed(printed))
      return failure();
    text += *printed + "\n";
  }

  Printer printer(kernel, Names(), /*indent=*/1);
  std::string restrict = kernel->hasAttr("tcc.may_alias") ? "" : " __restrict__";
  llvm::SmallVector<std::string> parameters;
  llvm::SmallVector<std::pair<std::string, std::string>> narrowed;
  unsigned buffers = 0, scalars = 0;
  for (BlockArgument argument : kernel.getArguments()) {
    if (failed(checkArgument(printer, kernel, argument)))
      return failure();
    Type type = argument.getType();
    unsigned index = argument.getArgNumber();
    if (auto memref = dyn_cast<MemRefType>(type)) {
      bool isError = scalars && index + 1 == kernel.getNumArguments() && memref.getElementType().isInteger(64);
      std::string name =
          argumentName(printer, kernel, index, isError ? kReservedNames[0].str() : "b" + std::to_string(buffers++));
      bool isShared = kernel.getArgAttr(index, "tcc.other_threads") != nullptr;
      parameters.push_back(pointerType(printer, argument) + (isShared ? "" : restrict) + " " + name);
      printer.defineName(argument, name);
      continue;
    }
    if (!type.isIndex() && !type.isInteger(64))
      return kernel.emitOpError("cannot be printed as CUDA C++: scalars of a kernel are of 64 bits, not ") << type,
             failure();
    std::string name = argumentName(printer, kernel, index, "s" + std::to_string(scalars++));
    printer.defineName(argument, name);
    if (printer.width(type) == 64) {
      parameters.push_back("long long " + name);
      continue;
    }
    parameters.push_back("long long " + printer.getNames().role(name + "_64"));
    if (printer.isUsed(argument))
      narrowed.emplace_back(name, llvm::StringRef(parameters.back()).drop_front(10).str());
  }
  for (const auto &[name, wide] : narrowed)
    printer.line("const int " + name + " = (int)" + wide + ";");
  if (failed(printer.printBlock(kernel.getBody().front())))
    return failure();

  std::string bounds = std::to_string(threads);
  if (auto minBlocks = kernel->getAttrOfType<IntegerAttr>("tcc.min_blocks"))
    bounds += ", " + std::to_string(minBlocks.getInt());
  std::string start = "extern \"C\" __global__ void __launch_bounds__(" + bounds + ") " + kernel.getName().str();
  return text + signature(start, parameters, " {\n") + printer.takeText() + "}\n";
}

FailureOr<std::string> printCudaFunction(func::FuncOp function) {
  if (failed(checkFunction(function)))
    return failure();
  Printer printer(function, Names(), /*indent=*/1);
  FailureOr<llvm::SmallVector<Parameter>> parameters = deviceParameters(printer, function);
  if (failed(parameters) || failed(checkResults(printer, function)) || failed(printDeviceBody(printer, function)))
    return failure();
  llvm::SmallVector<std::string> declarations;
  for (const Parameter &parameter : *parameters)
    declarations.push_back(parameter.declaration);
  std::string start =
      "static __device__ __forceinline__ " + resultType(printer, function) + " " + function.getName().str();
  return resultStruct(printer, function) + signature(start, declarations, " {\n") + printer.takeText() + "}\n";
}

FailureOr<std::string> printCudaFunctor(func::FuncOp function, unsigned members) {
  if (failed(checkFunction(function)))
    return failure();
  if (members > function.getNumArguments())
    return function.emitOpError("has fewer arguments than the functor has members"), failure();
  Printer printer(function, Names(), /*indent=*/2);
  FailureOr<llvm::SmallVector<Parameter>> parameters = deviceParameters(printer, function);
  if (failed(parameters) || failed(checkResults(printer, function)) || failed(printDeviceBody(printer, function)))
    return failure();
  std::string text = resultStruct(printer, function) + "struct " + function.getName().str() + " {\n";
  llvm::SmallVector<std::string> declarations;
  for (auto [i, parameter] : llvm::enumerate(*parameters)) {
    if (i < members)
      text += "  " + parameter.declaration + ";\n";
    else
      declarations.push_back(parameter.declaration);
  }
  std::string start = "  __device__ __forceinline__ " + resultType(printer, function) + " operator()";
  return text + signature(start, declarations, " const {\n") + printer.takeText() + "  }\n};\n";
}

FailureOr<CudaBody> printCudaBody(func::FuncOp function, llvm::ArrayRef<std::string> arguments, unsigned indent,
                                  llvm::StringRef suffix) {
  if (failed(checkFunction(function)))
    return failure();
  if (arguments.size() != function.getNumArguments())
    return function.emitOpError("has another number of arguments than was given"), failure();
  Printer printer(function, Names(suffix), indent);
  if (failed(checkResults(printer, function)))
    return failure();
  for (auto [argument, name] : llvm::zip(function.getArguments(), arguments)) {
    if (failed(checkArgument(printer, function, argument)))
      return failure();
    printer.defineName(argument, name);
  }
  if (failed(printer.printBlock(function.getBody().front())))
    return failure();
  CudaBody body;
  llvm::SmallVector<std::string> results = returned(printer, function);
  body.results.assign(results.begin(), results.end());
  body.statements = printer.takeText();
  return body;
}

} // namespace tcc::codegen
