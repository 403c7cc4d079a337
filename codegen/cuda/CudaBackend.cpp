//===- CudaBackend.cpp - scheduled functions and texts to kernel images ---===//
#include "codegen/cuda/CudaBackend.h"

#include <chrono>

#include "codegen/cuda/print/Print.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

// Letters, digits and underscores; short enough to be read.
std::string identifier(llvm::StringRef hint) {
  std::string name;
  for (char c : hint)
    if (llvm::isAlnum(c))
      name += c;
    else if (!name.empty() && name.back() != '_')
      name += '_';
  name = name.substr(0, 48);
  while (!name.empty() && name.back() == '_')
    name.pop_back();
  return name.empty() || llvm::isDigit(name[0]) ? "k_" + name : name;
}

std::string symbolFor(llvm::StringRef hint, llvm::StringRef text) {
  uint64_t hash = llvm::xxh3_64bits(text);
  return identifier(hint) + "_" + llvm::utohexstr(hash, /*LowerCase=*/true, /*Width=*/16);
}

std::string replaceAll(llvm::StringRef text, llvm::StringRef from, llvm::StringRef to) {
  std::string result;
  while (true) {
    auto [before, after] = text.split(from);
    result += before;
    if (before.size() == text.size())
      return result;
    result += to;
    text = after;
  }
}

} // namespace

CudaBackend::CudaBackend(MLIRContext *context, CudaDescription device, CudaBackendOptions options)
    : context(context), description(std::move(device)), options(std::move(options)) {}

CudaBackend::~CudaBackend() = default;

void CudaBackend::loadDialects(MLIRContext *context) {
  context->loadDialect<arith::ArithDialect, func::FuncDialect, gpu::GPUDialect, math::MathDialect,
                       memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>();
}

func::FuncOp CudaBackend::createFunction(llvm::StringRef name, llvm::ArrayRef<Type> bufferElements, unsigned numScalars,
                                         bool withErrorWord, bool withCounters) {
  OpBuilder b(context);
  llvm::SmallVector<Type> inputs;
  auto flat = [](Type element) { return MemRefType::get({ShapedType::kDynamic}, element); };
  for (Type element : bufferElements)
    inputs.push_back(flat(element));
  inputs.append(numScalars, b.getIndexType());
  if (withErrorWord)
    inputs.push_back(flat(b.getI64Type()));
  if (withCounters)
    inputs.push_back(flat(b.getI32Type()));
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(context));
  b.setInsertionPointToEnd(module->getBody());
  auto function = b.create<func::FuncOp>(module->getLoc(), name, b.getFunctionType(inputs, {}));
  function.addEntryBlock();
  modules[function] = std::move(module);
  return function;
}

func::FuncOp CudaBackend::declareDevice(func::FuncOp function, llvm::StringRef deviceName, FunctionType type) {
  auto module = function->getParentOfType<ModuleOp>();
  for (auto known : module.getOps<func::FuncOp>())
    if (auto name = known->getAttrOfType<StringAttr>("tcc.device_name");
        name && name == deviceName && known.getFunctionType() == type)
      return known;
  auto result = func::FuncOp::create(function.getLoc(), identifier(deviceName), type);
  result.setPrivate();
  result->setAttr("tcc.device_name", StringAttr::get(function.getContext(), deviceName));
  // For other types it is there already, under this name: the table gives it another one, as long as it is in no
  // module.
  SymbolTable(module).insert(result, module.getBody()->begin());
  return result;
}

FailureOr<std::string> CudaBackend::addKernel(func::FuncOp function) {
  auto found = modules.find(function);
  if (found == modules.end())
    return function.emitError("is no function of this backend");
  OwningOpRef<ModuleOp> module = std::move(found->second);
  modules.erase(found);
  if (failed(verify(*module)))
    return failure();
  KernelSource kernel;
  kernel.symbol = function.getName().str();
  if (auto sources = function->getAttrOfType<ArrayAttr>("tcc.sources"))
    for (auto source : sources.getAsRange<StringAttr>())
      kernel.sources.push_back(source.str());
  function.setName(kKernelNamePlaceholder);
  FailureOr<std::string> text = printCudaKernel(function);
  if (failed(text))
    return failure();
  kernel.text = std::move(*text);
  size_t before = queue.size();
  std::string symbol = addText(std::move(kernel));
  if (options.emitScheduled && queue.size() > before) {
    function.setName(symbol);
    llvm::raw_string_ostream stream(queue.back().scheduled);
    module->print(stream);
  }
  return symbol;
}

std::string CudaBackend::addText(KernelSource kernel) {
  std::string symbol = symbolFor(kernel.symbol, kernel.text);
  auto [position, isNew] = known.try_emplace(symbol, queue.size());
  if (!isNew) {
    ++stats.sharedKernels;
    return symbol;
  }
  kernel.text = replaceAll(kernel.text, kKernelNamePlaceholder, symbol);
  kernel.symbol = symbol;
  queue.push_back({std::move(kernel), {}});
  return symbol;
}

llvm::Expected<CodeBundle> CudaBackend::finish() {
  CodeBundle bundle;
  std::vector<KernelSource> kernels;
  for (Queued &queued : queue) {
    if (options.emit && options.emitScheduled && !queued.scheduled.empty())
      options.emit(CudaText::Scheduled, queued.kernel.symbol, queued.scheduled);
    if (options.emit && options.emitSource)
      options.emit(CudaText::Source, queued.kernel.symbol, queued.kernel.text);
    kernels.push_back(std::move(queued.kernel));
  }
  queue.clear();
  known.clear();
  stats.kernels = kernels.size();
  std::vector<KernelBinary> binaries; // of all kernels for one architecture after another
  if (!options.sourcesOnly && !kernels.empty()) {
    auto start = std::chrono::steady_clock::now();
    KernelCompiler compiler(options.compile);
    std::vector<std::string> archs = options.archs;
    if (archs.empty())
      archs.push_back(description.arch);
    for (const std::string &arch : archs) {
      auto compiled = compiler.compile(kernels, arch);
      if (!compiled)
        return compiled.takeError();
      binaries.insert(binaries.end(), std::make_move_iterator(compiled->begin()),
                      std::make_move_iterator(compiled->end()));
    }
    stats.compileSeconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  for (size_t i = 0; i < kernels.size(); ++i) {
    tcc::KernelImage &image = bundle.images.emplace_back();
    image.symbol = std::move(kernels[i].symbol);
    image.source = std::move(kernels[i].text);
    image.binaries.insert(kernels[i].libraries.begin(), kernels[i].libraries.end());
    for (size_t at = i; at < binaries.size(); at += kernels.size()) {
      image.binaries[binaries[at].arch] = std::move(binaries[at].bytes);
      stats.cachedKernels += binaries[at].cached;
      if (const std::optional<KernelResources> &used = binaries[at].resources)
        bundle.resources.push_back({image.symbol, binaries[at].arch, used->registers,
                                    used->spillStores + used->spillLoads, used->sharedBytes});
    }
  }
  return bundle;
}

} // namespace tcc::codegen
