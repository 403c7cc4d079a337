#include "tests/cuda_gemm/harness.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>

#include "codegen/TensorMap.h"
#include "codegen/cuda/compile/KernelCompiler.h"
#include "gtest/gtest-spi.h"
#include "ir/ElementTypes.h"
#include "ir/Extents.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "runtime/devices/extern/library_call.h"
#include "runtime/devices/sim/sim_api.h"
#include "runtime/devices/sim_device.h"
#include "tests/codegen_gemm/elements.h"

namespace tcc::codegen::testing {
namespace {

int64_t Value(mlir::AffineExpr expr, const std::vector<int64_t>& symbols) {
  return expr ? gemm::evaluate(expr, {}, symbols) : 1;
}

// A kernel as scheduled, with what it was made from.
struct Scheduled {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ir::KernelOp kernel;
  std::vector<Array> inputs;
  KernelCode code;
  std::vector<KernelSource> texts;  // by launch
  bool ok = false;

  Scheduled(const Case& test, const std::string& arch, const cuda::ScheduleOptions& schedule) {
    Make(test, arch, schedule);
  }
  void Make(const Case& test, const std::string& arch, const cuda::ScheduleOptions& schedule) {
    context.disableMultithreading();
    CudaBackend::loadDialects(&context);
    context.loadDialect<ir::TCCDialect, mlir::func::FuncDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(test.text, &context);
    ASSERT_TRUE(module) << test.text;
    module->walk([&](ir::KernelOp op) { kernel = op; });
    setChoice(kernel, test.choice);
    auto device = describeCuda(arch);
    ASSERT_TRUE(static_cast<bool>(device)) << llvm::toString(device.takeError());
    inputs = RandomInputs(kernel, test.symbols);
    std::vector<mlir::ElementsAttr> constants(inputs.size());
    for (int index : test.constants) {
      mlir::Type element = Element(kernel.getBody().getArgument(index).getType());
      auto tensor = tcc::Tensor::Allocate(ir::getDType(element), inputs[index].dims);
      ASSERT_TRUE(tensor.ok());
      for (int64_t i = 0; i < inputs[index].size(); ++i)
        Write(static_cast<char*>(tensor->data()) + i * Bytes(element), element, inputs[index].values[i]);
      auto elements = ir::toElements(&context, *tensor);
      ASSERT_TRUE(elements.ok());
      constants[index] = *elements;
    }
    CudaBackendOptions options;
    options.sourcesOnly = true;
    CudaBackend backend(&context, *device, options);
    ASSERT_TRUE(cuda::canSchedule(kernel, *device)) << test.text;
    auto scheduled = cuda::schedule(kernel, constants, backend, schedule);
    ASSERT_TRUE(mlir::succeeded(scheduled)) << test.text;
    code = *scheduled;
    auto bundle = backend.finish();
    ASSERT_TRUE(static_cast<bool>(bundle)) << llvm::toString(bundle.takeError());
    for (const LaunchSpec& launch : code.launches) {
      auto image = llvm::find_if(bundle->images, [&](const KernelImage& i) { return i.symbol == launch.function; });
      ASSERT_NE(image, bundle->images.end()) << launch.function;
      texts.push_back({image->symbol, image->source, {}});
      for (const auto& [name, bytes] : image->binaries)
        if (devices::IsLibraryCall(bytes)) texts.back().libraries[name] = bytes;
      if (const char* dump = getenv("TCC_TEST_DUMP"))
        std::ofstream(std::string(dump) + "/" + image->symbol + ".cu") << image->source;
    }
    ok = true;
  }
};

// Compiled with all checks; what is asked for again is kept.
llvm::Expected<std::string> CompileForSim(const KernelSource& source) {
  static auto* compiler = [] {
    CompileOptions options;
    options.simChecked = true;
    options.warningsAreErrors = true;
    return new KernelCompiler(options);
  }();
  static auto* kept = new std::map<std::string, std::string>;
  std::string& bytes = (*kept)[source.text];
  if (bytes.empty()) {
    auto compiled = compiler->compile({source}, "sim");
    if (!compiled) return compiled.takeError();
    bytes = compiled->front().bytes;
  }
  return bytes;
}

struct Buffer {
  void* data;
  size_t bytes;
};

// Runs a text's kernel on the simulated device, whose checks find anything wrong; its error, or "". `buffers` are
// registered as the only memory it may touch; the addresses of the first ones are parameters before the scalars, those
// of others after them.
std::string RunOnSim(const KernelSource& source, const std::vector<Buffer>& buffers, size_t before_scalars,
                     const std::vector<int64_t>& scalars, const std::vector<devices::TensorMap>& maps, int64_t blocks,
                     int threads, int64_t shared) {
  auto bytes = CompileForSim(source);
  if (!bytes) return llvm::toString(bytes.takeError());
  std::string path = "/tmp/tcc_cuda_gemm_XXXXXX";
  int file = mkstemp(path.data());
  bool written = write(file, bytes->data(), bytes->size()) == static_cast<ssize_t>(bytes->size());
  close(file);
  void* library = written ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  unlink(path.c_str());
  if (!library) return "the kernel's shared object cannot be loaded";
  std::string error;
  auto kernel = sim::FindKernel(library, source.symbol);
  if (kernel.ok()) {
    std::vector<void*> pointers;
    for (const Buffer& buffer : buffers) {
      if (buffer.bytes > 0) sim::RegisterMemory(buffer.data, buffer.bytes);
      pointers.push_back(buffer.data);
    }
    std::vector<int64_t> numbers = scalars;
    std::vector<void*> params;
    for (size_t i = 0; i < before_scalars; ++i) params.push_back(&pointers[i]);
    for (int64_t& number : numbers) params.push_back(&number);
    for (size_t i = before_scalars; i < pointers.size(); ++i) params.push_back(&pointers[i]);
    std::vector<TccSimTensorMap> encoded;
    for (const devices::TensorMap& map : maps) {
      auto made = devices::EncodeForSim(map, pointers[map.param]);
      if (!made.ok()) return std::string(made.status().message());
      encoded.push_back(*made);
    }
    for (TccSimTensorMap& map : encoded) params.push_back(&map);
    absl::Status status = blocks == 0
                              ? absl::OkStatus()
                              : sim::Launch(*kernel, {static_cast<unsigned>(blocks)}, {static_cast<unsigned>(threads)},
                                            static_cast<size_t>(shared), params.data());
    if (!status.ok()) error = std::string(status.message());
    for (const Buffer& buffer : buffers)
      if (buffer.bytes > 0) sim::UnregisterMemory(buffer.data);
  } else {
    error = std::string(kernel.status().message());
  }
  dlclose(library);
  return error;
}

// The library's call in place of the kernel.
std::string RunLibrary(const KernelSource& source, const std::vector<Buffer>& buffers) {
  setenv("TCC_CUBLASLT_SIM", TCC_FAKE_CUBLASLT, 1);
  setenv("TCC_CUDNN_SIM", TCC_FAKE_CUDNN, 1);
  auto call = devices::MakeLibraryCall(source.libraries.begin()->second, devices::Kind::kCudaSim,
                                       devices::MakeLibraryHandles(), source.symbol);
  if (!call.ok()) return std::string(call.status().message());
  std::vector<void*> pointers, params;
  std::vector<devices::MemoryRange> ranges;
  for (const Buffer& buffer : buffers) {
    pointers.push_back(buffer.data);
    ranges.push_back({buffer.data, static_cast<int64_t>(buffer.bytes)});
  }
  for (void*& pointer : pointers) params.push_back(&pointer);
  return std::string((*call)->Run(params, ranges, nullptr).message());
}

// Runs the texts; the error of the simulated device, or "".
std::string Run(const Case& test, const Scheduled& s, std::vector<Array>& got) {
  std::vector<std::vector<char>> memory;
  std::vector<Buffer> buffers;
  // Aligned as the device's allocator does, with a gap on both sides.
  auto allocate = [&](int64_t bytes, int fill) {
    memory.emplace_back(bytes + 1024, static_cast<char>(fill));
    auto at = (reinterpret_cast<uintptr_t>(memory.back().data()) + 511) / 256 * 256;
    buffers.push_back({reinterpret_cast<void*>(at), static_cast<size_t>(bytes)});
  };
  ir::KernelOp kernel = s.kernel;
  for (auto [array, argument] : llvm::zip_equal(s.inputs, kernel.getBody().getArguments())) {
    mlir::Type element = Element(argument.getType());
    allocate(array.size() * Bytes(element), 0);
    for (int64_t i = 0; i < array.size(); ++i)
      Write(static_cast<char*>(buffers.back().data) + i * Bytes(element), element, array.values[i]);
  }
  std::vector<std::vector<int64_t>> dims;
  for (auto [r, result] : llvm::enumerate(kernel.getResults())) {
    dims.push_back(DimsOf(result.getType(), test.symbols));
    int64_t count = 1;
    for (int64_t d : dims.back()) count *= d;
    auto taken = llvm::find_if(s.code.inPlace, [&, r = r](auto pair) { return pair.first == static_cast<int>(r); });
    if (test.in_place && taken != s.code.inPlace.end())
      buffers.push_back(buffers[taken->second]);
    else
      allocate(count * Bytes(Element(result.getType())), 0xA5);
  }
  for (mlir::AffineExpr bytes : s.code.temporaryBytes) allocate(Value(bytes, test.symbols), 0xFF);
  for (const ConstantBlob& constant : s.code.constants) {
    allocate(constant.tensor.bytes(), 0);
    std::memcpy(buffers.back().data, constant.tensor.data(), constant.tensor.bytes());
  }
  for (auto [launch, text] : llvm::zip_equal(s.code.launches, s.texts)) {
    std::vector<Buffer> used;
    for (int32_t buffer : launch.buffers) {
      EXPECT_FALSE(llvm::is_contained(s.code.unusedInputs, buffer))
          << "input " << buffer << " is not given to launches";
      used.push_back(buffers[buffer]);
    }
    std::vector<int64_t> scalars;
    for (unsigned symbol : launch.symbols) scalars.push_back(test.symbols[symbol]);
    if (!launch.device) return "a launch of the host";
    // Counters are zero before each launch and after it.
    std::vector<int32_t> counters(launch.device->counters ? Value(launch.device->counters, test.symbols) : 0);
    if (launch.device->counters) used.push_back({counters.data(), counters.size() * sizeof(int32_t)});
    const size_t before_scalars = launch.buffers.size();
    std::vector<devices::TensorMap> maps;
    for (const TensorMap& map : launch.device->tensorMaps)
      maps.push_back(evaluate(map, [&](mlir::AffineExpr expr) { return Value(expr, test.symbols); }));
    std::string error =
        !text.libraries.empty()
            ? RunLibrary(text, used)
            : RunOnSim(text, used, before_scalars, scalars, maps, Value(launch.device->grid[0], test.symbols),
                       launch.device->block[0],
                       launch.device->sharedBytes ? Value(launch.device->sharedBytes, test.symbols) : 0);
    if (!error.empty()) return error + "\n" + text.text;
    if (llvm::any_of(counters, [](int32_t counter) { return counter != 0; })) return "counters are left over";
  }
  for (size_t r = 0; r < dims.size(); ++r) {
    Array array{dims[r], {}};
    int64_t count = 1;
    for (int64_t d : dims[r]) count *= d;
    mlir::Type element = Element(kernel->getResult(r).getType());
    for (int64_t i = 0; i < count; ++i)
      array.values.push_back(
          Read(static_cast<const char*>(buffers[s.inputs.size() + r].data) + i * Bytes(element), element));
    got.push_back(std::move(array));
  }
  return "";
}

}  // namespace

std::vector<KernelSource> CudaTexts(const Case& test, const std::string& arch, KernelCode* code,
                                    const cuda::ScheduleOptions& options) {
  Scheduled scheduled(test, arch, options);
  if (code) *code = scheduled.code;
  return scheduled.ok ? scheduled.texts : std::vector<KernelSource>();
}

void CheckCuda(const Case& test, const cuda::ScheduleOptions& options) {
  Scheduled s(test, "sim", options);
  if (!s.ok) return;
  std::vector<Array> got;
  std::string error = Run(test, s, got);
  ASSERT_EQ(error, "") << test.text;
  Compare(s.kernel, Evaluate(s.kernel, s.inputs, test.symbols), got, test.tolerance, test.text);
}

std::string FaultOf(const Case& test, const std::function<void(std::string& text)>& change,
                    const cuda::ScheduleOptions& options) {
  Scheduled s(test, "sim", options);
  if (!s.ok) return "no schedule";
  for (KernelSource& source : s.texts) change(source.text);
  std::vector<Array> got;
  std::string error = Run(test, s, got);
  if (!error.empty()) return error;
  ::testing::TestPartResultArray failures;
  {
    ::testing::ScopedFakeTestPartResultReporter reporter(
        ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &failures);
    Compare(s.kernel, Evaluate(s.kernel, s.inputs, test.symbols), got, test.tolerance, test.text);
  }
  return failures.size() == 0 ? "" : "wrong results";
}

}  // namespace tcc::codegen::testing
