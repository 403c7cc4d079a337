#include "tests/codegen_gemm/harness.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <random>

#include "codegen/cpu/Backend.h"
#include "ir/ElementTypes.h"
#include "ir/Extents.h"
#include "llvm/ADT/APFloat.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "runtime/kernel_abi.h"
#include "tests/codegen_gemm/elements.h"

namespace tcc::codegen::testing {
namespace {

// Memory that ends at an untouchable page.
struct Guarded {
  explicit Guarded(size_t bytes) {
    size_t page = sysconf(_SC_PAGESIZE), body = (bytes + page - 1) / page * page;
    size = body + page;
    base = static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base + body, page, PROT_NONE);
    data = base + body - bytes;
  }
  Guarded(Guarded&& other) : base(other.base), data(other.data), size(other.size) { other.base = nullptr; }
  ~Guarded() {
    if (base) munmap(base, size);
  }
  char* base;
  char* data;
  size_t size;
};

int64_t EvaluateSymbols(mlir::AffineExpr expr, const std::vector<int64_t>& symbols) {
  return gemm::evaluate(expr, {}, symbols);
}

}  // namespace

struct Runner::State {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ir::KernelOp kernel;
  KernelCode code;
  std::vector<Guarded> memory;
  std::vector<void*> buffers;
  std::vector<int64_t> symbols;
  std::vector<std::vector<int64_t>> result_dims;
  std::vector<char> scratch;
  void* library = nullptr;
  bool ok = false;
};

Runner::Runner(const Case& test) : state_(std::make_unique<State>()) { Compile(test); }

void Runner::Compile(const Case& test) {
  State& s = *state_;
  s.symbols = test.symbols;
  mlir::MLIRContext* context = &s.context;
  context->disableMultithreading();
  Backend::loadDialects(context);
  context->loadDialect<ir::TCCDialect, mlir::func::FuncDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
  s.module = mlir::parseSourceString<mlir::ModuleOp>(test.text, context);
  ASSERT_TRUE(s.module) << test.text;
  s.module->walk([&](ir::KernelOp op) { s.kernel = op; });
  ASSERT_TRUE(s.kernel);
  auto cpu = describeCpu(test.cpu);
  ASSERT_TRUE(static_cast<bool>(cpu)) << llvm::toString(cpu.takeError());

  inputs = RandomInputs(s.kernel, s.symbols);
  mlir::Block& body = s.kernel.getBody().front();
  for (auto [array, argument] : llvm::zip_equal(inputs, body.getArguments())) {
    mlir::Type element = Element(argument.getType());
    Guarded memory(array.size() * Bytes(element));
    for (int64_t i = 0; i < array.size(); ++i) Write(memory.data + i * Bytes(element), element, array.values[i]);
    s.memory.push_back(std::move(memory));
  }

  std::vector<mlir::ElementsAttr> constants(inputs.size());
  for (int index : test.constants) {
    mlir::RankedTensorType type = llvm::cast<mlir::RankedTensorType>(body.getArgument(index).getType());
    auto tensor = tcc::Tensor::Wrap(s.memory[index].data, ir::getDType(type.getElementType()), inputs[index].dims);
    auto elements = ir::toElements(context, tensor.Clone().value());
    ASSERT_TRUE(elements.ok());
    constants[index] = *elements;
  }

  gemm::ScheduleOptions options;
  options.tiles = test.tiles;
  BackendOptions backend_options;
  backend_options.threads = 1;
  const char* dump = getenv("TCC_TEST_DUMP");
  if (dump) {
    backend_options.emitScheduled = backend_options.emitLlvm = backend_options.emitAssembly = true;
    backend_options.emit = [dump](CodeText kind, llvm::StringRef name, llvm::StringRef text) {
      const char* suffix[] = {".mlir", ".ll", ".s"};
      std::ofstream(std::string(dump) + "/" + name.str() + suffix[static_cast<int>(kind)]) << text.str();
    };
  }
  Backend backend(context, *cpu, backend_options);
  ASSERT_TRUE(gemm::canSchedule(s.kernel)) << test.text;
  auto code = gemm::schedule(s.kernel, constants, options, backend);
  ASSERT_TRUE(mlir::succeeded(code)) << test.text;
  s.code = *code;
  auto object = backend.finish();
  ASSERT_TRUE(static_cast<bool>(object)) << llvm::toString(object.takeError());
  if (getenv("TCC_TEST_TIMES"))
    fprintf(stderr, "%d functions, lowering %.3f s, LLVM %.3f s\n", backend.statistics().functions,
            backend.statistics().lowerSeconds, backend.statistics().llvmSeconds);
  std::string path = "/tmp/tcc_gemm_test_XXXXXX";
  int file = mkstemp(path.data());
  ASSERT_EQ(write(file, object->data(), object->size()), static_cast<ssize_t>(object->size()));
  close(file);
  s.library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  unlink(path.c_str());
  ASSERT_NE(s.library, nullptr) << dlerror();

  for (Guarded& memory : s.memory) s.buffers.push_back(memory.data);
  for (int32_t unused : s.code.unusedInputs) s.buffers[unused] = nullptr;
  for (auto [r, result] : llvm::enumerate(s.kernel.getResults())) {
    s.result_dims.push_back(DimsOf(result.getType(), s.symbols));
    int64_t count = 1;
    for (int64_t d : s.result_dims.back()) count *= d;
    void* place = nullptr;
    if (test.in_place)
      for (auto [to, from] : s.code.inPlace)
        if (to == static_cast<int32_t>(r)) place = s.buffers[from];
    if (!place) {
      s.memory.emplace_back(count * Bytes(Element(result.getType())));
      place = s.memory.back().data;
      std::memset(place, 0xA5, count * Bytes(Element(result.getType())));
    }
    s.buffers.push_back(place);
  }
  for (mlir::AffineExpr bytes : s.code.temporaryBytes) {
    int64_t size = (EvaluateSymbols(bytes, s.symbols) + 127) / 64 * 64;
    s.memory.emplace_back(size);
    s.buffers.push_back(s.memory.back().data);
    std::memset(s.memory.back().data, 0xFF, size);
  }
  for (const ConstantBlob& constant : s.code.constants) s.buffers.push_back(constant.tensor.data());
  s.ok = true;
}

Runner::~Runner() {
  if (state_->library) dlclose(state_->library);
}

bool Runner::ok() const { return state_->ok; }
ir::KernelOp Runner::kernel() const { return state_->kernel; }
const KernelCode& Runner::code() const { return state_->code; }

void Runner::Run(int64_t pieces) {
  State& s = *state_;
  for (const LaunchSpec& launch : s.code.launches) {
    auto function = reinterpret_cast<TccKernelFunction>(dlsym(s.library, launch.function.c_str()));
    ASSERT_NE(function, nullptr) << launch.function;
    std::vector<void*> buffers;
    for (int32_t index : launch.buffers) buffers.push_back(s.buffers[index]);
    std::vector<int64_t> scalars;
    for (unsigned symbol : launch.symbols) scalars.push_back(s.symbols[symbol]);
    size_t scratch = EvaluateSymbols(launch.scratchBytes, s.symbols);
    if (s.scratch.size() < scratch + 64) s.scratch.assign(scratch + 64, char(0xFF));
    void* aligned = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(s.scratch.data()) + 63) / 64 * 64);
    int64_t error = 0, items = EvaluateSymbols(launch.items, s.symbols);
    TccKernelContext context{kKernelAbiVersion, buffers.data(), scalars.data(), aligned, &error};
    // The last piece first: nothing may depend on the order.
    for (int64_t piece = std::min(pieces, std::max<int64_t>(items, 1)); piece-- > 0;) {
      int64_t count = std::min(pieces, std::max<int64_t>(items, 1));
      function(&context, items * piece / count, items * (piece + 1) / count);
    }
  }
}

std::vector<Array> Runner::Results() const {
  const State& s = *state_;
  std::vector<Array> results;
  for (size_t r = 0; r < s.result_dims.size(); ++r) {
    Array array{s.result_dims[r], {}};
    int64_t count = 1;
    for (int64_t d : array.dims) count *= d;
    mlir::Type element = Element(s.kernel->getResult(r).getType());
    const char* data = static_cast<const char*>(s.buffers[inputs.size() + r]);
    for (int64_t i = 0; i < count; ++i) array.values.push_back(Read(data + i * Bytes(element), element));
    results.push_back(std::move(array));
  }
  return results;
}

void Check(const Case& test) {
  Runner runner(test);
  if (!runner.ok()) return;
  runner.Run(3);
  std::vector<Array> want = Evaluate(runner.kernel(), runner.inputs, test.symbols), got = runner.Results();
  Compare(runner.kernel(), want, got, test.tolerance, test.text);
}

bool CanCompileExp() {
  mlir::MLIRContext context;
  context.disableMultithreading();
  context.getDiagEngine().registerHandler([](mlir::Diagnostic&) { return mlir::success(); });
  Backend::loadDialects(&context);
  auto cpu = describeCpu("");
  if (!cpu) {
    llvm::consumeError(cpu.takeError());
    return false;
  }
  Backend backend(&context, *cpu);
  mlir::Type f32 = mlir::Float32Type::get(&context);
  mlir::func::FuncOp function = backend.createFunction("exp", {f32}, 0);
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockBegin(&function.getBody().front());
  gemm::Emit e(builder, builder.getUnknownLoc());
  mlir::Value memref = function.getArgument(0), zero = e.c(0);
  mlir::Value exp = builder.create<mlir::math::ExpOp>(e.loc, e.vload(memref, zero, 8));
  e.vstore(exp, memref, zero);
  if (!function.getBody().front().mightHaveTerminator()) builder.create<mlir::func::ReturnOp>(e.loc);
  backend.addFunction(function);
  auto object = backend.finish();
  if (!object) llvm::consumeError(object.takeError());
  return static_cast<bool>(object);
}

}  // namespace tcc::codegen::testing
