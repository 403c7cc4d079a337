//===- Backend.cpp - scheduled functions to a code object -----------------===//
#include "codegen/cpu/Backend.h"

#include <atomic>
#include <ctime>
#include <mutex>
#include <thread>

#include "codegen/cpu/Linker.h"
#include "codegen/cpu/Lowering.h"
#include "codegen/cpu/Optimizer.h"
#include "codegen/cpu/RuntimeFunctions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/ModuleTranslation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/xxhash.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace mlir;

namespace tcc::codegen {
namespace {

double threadSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

// Functions compiled together. Shards do not depend on the number of cores, so that the code does not either.
constexpr int64_t kShardCost = 3000;

struct Shard {
  std::vector<ModuleOp> modules;
  std::string name;
  ObjectBytes object;
  std::string error, llvmText, assemblyText;
  double lowerSeconds = 0, llvmSeconds = 0;
};

llvm::Error optimizeAndEmit(llvm::Module &module, const CpuDescription &cpu, const BackendOptions &options,
                            Shard &shard) {
  auto machine = makeTargetMachine(cpu);
  if (!machine)
    return machine.takeError();
  optimizeModule(module, **machine, cpu);
  if (options.emitLlvm) {
    llvm::raw_string_ostream stream(shard.llvmText);
    module.print(stream, nullptr);
  }
  if (options.emitAssembly) {
    auto copy = llvm::CloneModule(module);
    auto text = emitObject(*copy, **machine, /*assembly=*/true);
    if (!text)
      return text.takeError();
    shard.assemblyText.assign(text->data(), text->size());
  }
  auto object = emitObject(module, **machine);
  if (!object)
    return object.takeError();
  shard.object = std::move(*object);
  return llvm::Error::success();
}

// Lowers a shard as far as LLVM IR. Needs an MLIR context that allows threads, or to be alone.
std::unique_ptr<llvm::Module> lowerShard(Shard &shard, llvm::LLVMContext &llvmContext) {
  double start = threadSeconds();
  ModuleOp all = shard.modules.front();
  for (ModuleOp module : llvm::drop_begin(shard.modules))
    all.getBody()->getOperations().splice(all.getBody()->end(), module.getBody()->getOperations());
  std::unique_ptr<llvm::Module> result;
  if (succeeded(lowerToLlvmDialect(all)))
    result = translateModuleToLLVMIR(all, llvmContext, shard.name);
  if (!result)
    shard.error = "lowering scheduled code failed";
  shard.lowerSeconds = threadSeconds() - start;
  return result;
}

void compileShard(Shard &shard, std::unique_ptr<llvm::Module> module, const CpuDescription &cpu,
                  const BackendOptions &options) {
  double start = threadSeconds();
  if (llvm::Error error = optimizeAndEmit(*module, cpu, options, shard))
    shard.error = llvm::toString(std::move(error));
  shard.llvmSeconds = threadSeconds() - start;
}

void forEach(size_t count, unsigned threads, llvm::function_ref<void(size_t)> body) {
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < count;)
      body(i);
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < std::min<size_t>(threads, count); ++i)
    others.emplace_back(work);
  work();
  for (std::thread &other : others)
    other.join();
}

// A symbol made of a counter and what is readable of a hint.
std::string symbolFor(unsigned number, llvm::StringRef hint) {
  std::string symbol = "tcc_k" + std::to_string(number);
  if (!hint.empty())
    symbol += '_';
  for (char c : hint.take_front(40))
    symbol += llvm::isAlnum(c) ? c : '_';
  return symbol;
}

} // namespace

Backend::Backend(MLIRContext *context, CpuDescription cpu, BackendOptions options)
    : context(context), description(std::move(cpu)), options(std::move(options)) {}

Backend::~Backend() = default;

void Backend::loadDialects(MLIRContext *context) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context->appendDialectRegistry(registry);
  context->loadDialect<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect,
                       math::MathDialect, memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>();
}

func::FuncOp Backend::createFunction(llvm::StringRef name, llvm::ArrayRef<Type> bufferElements, unsigned numScalars,
                                     bool withErrorWord) {
  OpBuilder b(context);
  llvm::SmallVector<Type> inputs;
  auto flat = [&](Type element) { return MemRefType::get({ShapedType::kDynamic}, element); };
  for (Type element : bufferElements)
    inputs.push_back(flat(element));
  inputs.append(numScalars, b.getIndexType());
  inputs.push_back(flat(b.getI8Type()));
  inputs.append(2, b.getIndexType());
  if (withErrorWord)
    inputs.push_back(flat(b.getI64Type()));
  auto function = func::FuncOp::create(UnknownLoc::get(context), name, b.getFunctionType(inputs, {}));
  function.addEntryBlock();
  return function;
}

std::string Backend::addFunction(func::FuncOp function) {
  std::string hint = function.getName().str();
  OpBuilder b(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(function.getLoc());
  module->getBody()->push_back(function);
  function.setName("f");

  std::string text;
  llvm::raw_string_ostream stream(text);
  function->print(stream, OpPrintingFlags().useLocalScope().elideLargeElementsAttrs(1 << 20));
  llvm::XXH128_hash_t hash =
      llvm::xxh3_128bits(llvm::ArrayRef<uint8_t>(reinterpret_cast<const uint8_t *>(text.data()), text.size()));
  std::string key(reinterpret_cast<const char *>(&hash), sizeof hash);
  auto [entry, added] = known.try_emplace(key);
  if (!added) {
    ++stats.sharedFunctions;
    return entry->second;
  }
  entry->second = symbolFor(counter++, hint);
  function.setName(entry->second);
  int64_t cost = 0;
  function.walk([&](Operation *) { ++cost; });
  queue.push_back({entry->second, std::move(module), cost});
  return entry->second;
}

llvm::Expected<std::string> Backend::finish() {
  if (options.emit && options.emitScheduled)
    for (Queued &queued : queue) {
      std::string text;
      llvm::raw_string_ostream stream(text);
      queued.module->print(stream);
      options.emit(CodeText::Scheduled, queued.symbol, text);
    }

  std::vector<Shard> shards;
  int64_t cost = kShardCost;
  for (Queued &queued : queue) {
    if (cost + queued.cost > kShardCost) {
      shards.emplace_back().name = "shard" + std::to_string(shards.size());
      cost = 0;
    }
    cost += queued.cost;
    shards.back().modules.push_back(*queued.module);
  }
  stats.functions = queue.size();

  std::mutex progressMutex;
  int done = 0;
  auto finished = [&](const Shard &shard) {
    if (!options.progress)
      return;
    std::lock_guard lock(progressMutex);
    done += shard.modules.size();
    options.progress(done, stats.functions);
  };
  if (options.progress && !queue.empty())
    options.progress(0, stats.functions);

  unsigned threads = options.threads ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  if (context->isMultithreadingEnabled()) {
    forEach(shards.size(), threads, [&](size_t i) {
      llvm::LLVMContext llvmContext;
      if (auto module = lowerShard(shards[i], llvmContext))
        compileShard(shards[i], std::move(module), description, options);
      finished(shards[i]);
    });
  } else {
    // The MLIR context is not locked: its part is done here, LLVM's in parallel.
    std::vector<llvm::LLVMContext> contexts(shards.size());
    std::vector<std::unique_ptr<llvm::Module>> modules;
    for (auto [shard, llvmContext] : llvm::zip(shards, contexts))
      modules.push_back(lowerShard(shard, llvmContext));
    forEach(shards.size(), threads, [&](size_t i) {
      if (modules[i])
        compileShard(shards[i], std::move(modules[i]), description, options);
      modules[i] = nullptr;
      finished(shards[i]);
    });
  }
  queue.clear();
  known.clear();

  std::vector<ObjectBytes> objects;
  for (Shard &shard : shards) {
    stats.lowerSeconds += shard.lowerSeconds;
    stats.llvmSeconds += shard.llvmSeconds;
    if (!shard.error.empty())
      return llvm::createStringError(shard.error);
    if (options.emit && options.emitLlvm)
      options.emit(CodeText::Llvm, shard.name, shard.llvmText);
    if (options.emit && options.emitAssembly)
      options.emit(CodeText::Assembly, shard.name, shard.assemblyText);
    objects.push_back(std::move(shard.object));
  }

  double start = threadSeconds();
  auto missing = undefinedSymbols(objects);
  if (!missing)
    return missing.takeError();
  if (!missing->empty()) {
    llvm::LLVMContext llvmContext;
    auto module = makeRuntimeFunctions(llvmContext, *missing);
    if (!module)
      return module.takeError();
    Shard shard;
    BackendOptions quiet;
    if (llvm::Error error = optimizeAndEmit(**module, description, quiet, shard))
      return std::move(error);
    objects.push_back(std::move(shard.object));
  }
  auto code = linkSharedObject(objects);
  stats.linkSeconds += threadSeconds() - start;
  return code;
}

} // namespace tcc::codegen
