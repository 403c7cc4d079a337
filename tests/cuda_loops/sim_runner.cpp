#include "sim_runner.h"

#include <dlfcn.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <random>

#include "codegen/cuda/compile/CudaFiles.h"
#include "codegen/fusion/Passes.h"
#include "ir/ElementTypes.h"
#include "ir/Extents.h"
#include "ir/Interpreter.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/devices/sim/sim_api.h"
#include "runtime/dispatch.h"

namespace tcc::codegen {
namespace {

constexpr unsigned char kFill = 0x7f;

// Memory of the simulated device, exactly as large as asked for.
class DeviceMemory {
 public:
  DeviceMemory(int64_t bytes, int64_t offset) : bytes_(bytes) {
    base_ = static_cast<unsigned char*>(std::aligned_alloc(256, (bytes + offset + 511) / 256 * 256));
    data_ = base_ + offset;
    memset(data_, kFill, bytes);
    sim::RegisterMemory(data_, bytes);
  }
  ~DeviceMemory() {
    sim::UnregisterMemory(data_);
    std::free(base_);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_;
  unsigned char *base_, *data_;
};

void Compare(const Tensor& actual, const Tensor& expected, double tolerance) {
  ASSERT_EQ(actual.dtype(), expected.dtype());
  ASSERT_EQ(actual.num_elements(), expected.num_elements());
  for (int64_t k = 0; k < actual.num_elements(); ++k) {
    if (!IsFloat(actual.dtype())) {
      ASSERT_EQ(LoadInt(actual.data(), actual.dtype(), k), LoadInt(expected.data(), expected.dtype(), k))
          << "element " << k;
      continue;
    }
    const double a = LoadDouble(actual.data(), actual.dtype(), k);
    const double e = LoadDouble(expected.data(), expected.dtype(), k);
    if ((std::isnan(e) && std::isnan(a)) || a == e) continue;
    ASSERT_LE(std::abs(a - e), tolerance * std::max(1.0, std::abs(e)))
        << "element " << k << ": " << a << " and not " << e;
  }
}

}  // namespace

Tensor RandomTensor(DType dtype, const std::vector<int64_t>& dims, unsigned seed, double low, double high) {
  Tensor result = *Tensor::Allocate(dtype, dims);
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> distribution(low, high);
  for (int64_t i = 0; i < result.num_elements(); ++i) {
    const double value = distribution(generator);
    if (IsFloat(dtype))
      StoreDouble(result.data(), dtype, i, value);
    else
      StoreInt(result.data(), dtype, i, dtype == DType::kBool ? value > 0 : static_cast<int64_t>(std::floor(value)));
  }
  return result;
}

// Where NVRTC is, it takes the same texts without a warning, and nothing spills.
static void CheckNvrtc(const CodeBundle& bundle, int64_t most_stack) {
  CompileOptions options;
  options.warningsAreErrors = true;
  for (const char* place : {"", TCC_TEST_PYTHON_PREFIX}) {
    auto found = findNvrtc(place);
    if (found)
      options.nvrtc = *found;
    else
      llvm::consumeError(found.takeError());
    if (!options.nvrtc.empty()) break;
  }
  if (options.nvrtc.empty()) return;
  std::vector<KernelSource> sources;
  for (const KernelImage& image : bundle.images) sources.push_back({image.symbol, image.source, {}});
  auto binaries = KernelCompiler(options).compile(sources, "sm_80");
  if (!binaries) {
    ADD_FAILURE() << llvm::toString(binaries.takeError());
    return;
  }
  for (const KernelBinary& binary : *binaries) {
    ASSERT_TRUE(binary.resources);
    EXPECT_LE(binary.resources->spillStores, most_stack) << binary.symbol;
    EXPECT_LE(binary.resources->stack, most_stack) << binary.symbol;
  }
}

// Kernels by symbol, loaded when they are first called.
struct SimRunner::Kernels {
  std::map<std::string, const KernelImage*> images;
  std::map<std::string, sim::Kernel> loaded;

  const sim::Kernel& Find(const std::string& symbol) {
    auto [place, is_new] = loaded.try_emplace(symbol);
    if (!is_new) return place->second;
    const std::string& bytes = images.at(symbol)->binaries.at("sim");
    const std::string path = testing::TempDir() + "/" + symbol + ".so";
    std::ofstream(path, std::ios::binary) << bytes;
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(handle, nullptr) << dlerror();
    std::remove(path.c_str());
    auto kernel = sim::FindKernel(handle, symbol);
    EXPECT_TRUE(kernel.ok()) << kernel.status();
    if (kernel.ok()) place->second = *kernel;
    return place->second;
  }
};

SimRunner::SimRunner() {
  context_.loadDialect<ir::TCCDialect>();
  CudaBackend::loadDialects(&context_);
  CudaTargetOptions options;
  options.device = *describeCuda("sim");
  options.backend.compile.simChecked = true;
  target_ = std::make_unique<CudaTarget>(&context_, std::move(options));
}

void SimRunner::Add(const std::string& text, std::vector<Run> runs) {
  SCOPED_TRACE(text);
  Program& program = programs_.emplace_back();
  program.text = text;
  program.reference = mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
  program.lowered = mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
  ASSERT_TRUE(program.reference && program.lowered);
  mlir::PassManager passes(&context_);
  passes.addNestedPass<mlir::func::FuncOp>(createLowerToKernelsPass(nullptr));
  passes.addNestedPass<mlir::func::FuncOp>(createFuseKernelsPass(nullptr));
  passes.addNestedPass<mlir::func::FuncOp>(createVerifyKernelsPass());
  ASSERT_TRUE(succeeded(passes.run(*program.lowered)));
  mlir::func::FuncOp function = *program.lowered->getOps<mlir::func::FuncOp>().begin();
  for (mlir::Operation& op : function.getBody().front().without_terminator()) {
    if (llvm::isa<ir::ConstantOp>(op)) continue;  // what the code knows, and no buffer of a launch
    const bool isKernel = llvm::isa<ir::KernelOp>(op);
    ASSERT_TRUE(isKernel ? target_->canCompile(&op) : target_->hasLibraryKernel(&op))
        << "no kernel: " << op.getName().getStringRef().str();
    auto code = isKernel ? target_->addKernel(&op, {}) : target_->addLibraryKernel(&op);
    ASSERT_TRUE(succeeded(code));
    codes_.push_back(*code);
    program.kernels.push_back(std::move(*code));
  }
  program.runs = std::move(runs);
}

void SimRunner::Check() {
  auto bundle = target_->finish();
  if (!bundle) {
    ADD_FAILURE() << llvm::toString(bundle.takeError());
    return;
  }
  CheckNvrtc(*bundle, most_stack_);
  Kernels kernels;
  for (const KernelImage& image : bundle->images) kernels.images[image.symbol] = &image;
  for (Program& program : programs_)
    for (const Run& run : program.runs) {
      SCOPED_TRACE(program.text);
      RunOne(program, run, kernels);
      if (testing::Test::HasFailure()) {
        for (const KernelCode& code : program.kernels)
          for (const LaunchSpec& launch : code.launches) ADD_FAILURE() << kernels.images[launch.function]->source;
        return;
      }
    }
}

void SimRunner::RunOne(Program& program, const Run& run, Kernels& kernels) {
  auto reference = *program.reference->getOps<mlir::func::FuncOp>().begin();
  std::vector<Tensor> expected;
  if (run.error == 0) {
    auto want = ir::interpret(reference, run.inputs);
    ASSERT_TRUE(want.ok()) << want.status();
    for (const Tensor& tensor : *want) expected.push_back(*tensor.Contiguous());  // (some are views)
  }
  std::vector<int64_t> symbols = run.symbols;
  auto evaluate = [&](mlir::AffineExpr expr) -> int64_t {
    if (!expr) return 1;
    llvm::SmallVector<mlir::AffineExpr> constants;
    for (int64_t symbol : symbols) constants.push_back(mlir::getAffineConstantExpr(symbol, &context_));
    return *ir::getConstant(ir::simplifyExtent(expr.replaceSymbols(constants)));
  };
  std::vector<std::unique_ptr<DeviceMemory>> memories;
  auto allocate = [&](int64_t bytes, int64_t offset = 0) {
    return memories.emplace_back(std::make_unique<DeviceMemory>(bytes, offset)).get();
  };
  llvm::DenseMap<mlir::Value, DeviceMemory*> values;
  llvm::DenseMap<mlir::Value, int64_t> bytes_of;
  auto function = *program.lowered->getOps<mlir::func::FuncOp>().begin();
  for (auto [argument, input] : llvm::zip(function.getArguments(), run.inputs)) {
    const int64_t bytes = static_cast<int64_t>(DTypeBytes(input.dtype(), input.num_elements()));
    values[argument] = allocate(bytes, run.offset * DTypeBits(input.dtype()) / 8);
    if (bytes > 0) memcpy(values[argument]->data(), input.data(), bytes);
  }
  long long error = 0;
  DeviceMemory* error_word = allocate(sizeof(error));
  memset(error_word->data(), 0, sizeof(error));
  size_t position = 0;
  for (mlir::Operation& kernel : function.getBody().front().without_terminator()) {
    if (llvm::isa<ir::ConstantOp>(kernel)) continue;
    const KernelCode& code = program.kernels[position++];
    std::vector<DeviceMemory*> buffers;
    for (mlir::Value input : kernel.getOperands()) buffers.push_back(values.lookup(input));
    auto size_of = [&](mlir::Value result, mlir::AffineExpr elements) {
      auto type = llvm::cast<mlir::RankedTensorType>(result.getType());
      const int64_t count = evaluate(elements ? elements : ir::product(&context_, ir::getExtents(type)));
      return static_cast<int64_t>(DTypeBytes(ir::getDType(type.getElementType()), count));
    };
    auto make_results = [&] {
      for (mlir::OpResult result : kernel.getResults()) {
        const unsigned number = result.getResultNumber();
        bytes_of[result] = size_of(result, number < code.capacities.size() ? code.capacities[number] : nullptr);
        buffers[kernel.getNumOperands() + number] = values[result] = allocate(bytes_of[result]);
      }
    };
    const size_t first_temporary = kernel.getNumOperands() + kernel.getNumResults();
    buffers.resize(first_temporary);
    if (code.findLaunches == 0) make_results();
    for (mlir::AffineExpr bytes : code.temporaryBytes) buffers.push_back(allocate(evaluate(bytes)));
    for (const ConstantBlob& blob : code.constants) {
      const auto bytes = static_cast<int64_t>(DTypeBytes(blob.tensor.dtype(), blob.tensor.num_elements()));
      memcpy(buffers.emplace_back(allocate(bytes))->data(), blob.tensor.data(), bytes);
    }
    for (size_t number = 0; number < code.launches.size(); ++number) {
      const LaunchSpec& launch = code.launches[number];
      if (code.findLaunches > 0 && number == static_cast<size_t>(code.findLaunches)) {
        // The symbols that results have and nothing else, in order, are the next ones.
        memcpy(&error, error_word->data(), sizeof(error));
        if (error != 0) break;
        const auto* found = static_cast<const int64_t*>(buffers[first_temporary + code.found]->data());
        for (mlir::Type type : kernel.getResultTypes())
          for (mlir::AffineExpr extent : ir::getExtents(type)) {
            auto symbol = llvm::dyn_cast<mlir::AffineSymbolExpr>(extent);
            if (symbol && symbol.getPosition() == symbols.size())
              symbols.push_back(*found++);
            else
              ASSERT_EQ(*found++, evaluate(extent));
          }
        make_results();
      }
      ASSERT_TRUE(launch.device);
      std::vector<void*> pointers;
      for (int32_t buffer : launch.buffers) pointers.push_back(buffers[buffer]->data());
      std::vector<long long> scalars;
      for (unsigned symbol : launch.symbols) scalars.push_back(symbols[symbol]);
      void* error_pointer = error_word->data();
      std::vector<void*> params;
      for (void*& pointer : pointers) params.push_back(&pointer);
      for (long long& scalar : scalars) params.push_back(&scalar);
      if (launch.device->reportsErrors) params.push_back(&error_pointer);
      // Counters are zero before each launch and after it.
      const int64_t count = launch.device->counters ? evaluate(launch.device->counters) : 0;
      std::unique_ptr<DeviceMemory> counters;
      void* counter_pointer = nullptr;
      if (launch.device->counters) {
        counters = std::make_unique<DeviceMemory>(count * sizeof(int32_t), 0);
        memset(counters->data(), 0, count * sizeof(int32_t));
        counter_pointer = counters->data();
        params.push_back(&counter_pointer);
      }
      const sim::Dim grid{static_cast<unsigned>(evaluate(launch.device->grid[0])),
                          static_cast<unsigned>(evaluate(launch.device->grid[1])),
                          static_cast<unsigned>(evaluate(launch.device->grid[2]))};
      const auto& block = launch.device->block;
      if (grid.x == 0 || grid.y == 0 || grid.z == 0) continue;
      const absl::Status status = sim::Launch(
          kernels.Find(launch.function), grid,
          {static_cast<unsigned>(block[0]), static_cast<unsigned>(block[1]), static_cast<unsigned>(block[2])}, 0,
          params.data());
      ASSERT_TRUE(status.ok()) << status;
      for (int64_t i = 0; i < count; ++i) ASSERT_EQ(static_cast<int32_t*>(counter_pointer)[i], 0) << "counter " << i;
    }
    if (code.found < 0 || code.findLaunches > 0) continue;
    // The symbol that the results have and nothing else: the last one.
    memcpy(&symbols.emplace_back(), buffers[first_temporary + code.found]->data(), sizeof(int64_t));
    for (mlir::Value result : kernel.getResults()) {
      ASSERT_LE(size_of(result, nullptr), bytes_of[result]);
      bytes_of[result] = size_of(result, nullptr);
    }
  }
  memcpy(&error, error_word->data(), sizeof(error));
  ASSERT_EQ(error, run.error);
  if (error != 0) return;
  auto returned = function.getBody().front().getTerminator()->getOperands();
  ASSERT_EQ(returned.size(), expected.size());
  for (auto [value, want] : llvm::zip(returned, expected)) {
    DeviceMemory* memory = values.lookup(value);
    ASSERT_NE(memory, nullptr);
    ASSERT_EQ(bytes_of.lookup(value), static_cast<int64_t>(DTypeBytes(want.dtype(), want.num_elements())));
    Compare(Tensor::Wrap(memory->data(), want.dtype(), want.dims(), ContiguousStrides(want.dims()), [] {}), want,
            run.tolerance);
  }
}

}  // namespace tcc::codegen
