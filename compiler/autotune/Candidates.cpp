//===- Candidates.cpp - a kernel compiled in several ways, to be run ------===//
#include "compiler/autotune/Candidates.h"

#include <sys/resource.h>

#include <chrono>
#include <cstring>

#include "codegen/cpu/gemm/Schedule.h"
#include "codegen/plan/Plan.h"
#include "compiler/autotune/MadeUpData.h"
#include "ir/ElementTypes.h"
#include "ir/Extents.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "runtime/code_object.h"
#include "runtime/dispatch.h"
#include "runtime/executor.h"
#include "runtime/thread_pool.h"

using namespace mlir;

namespace tcc::compiler {
namespace {

using codegen::gemm::GemmTiles;

// A kernel whose data is larger than this is not measured.
constexpr int64_t kMostBytes = int64_t{1} << 30;

/// Schedules into a backend that all candidates share, so that they are compiled in parallel.
class SharedTarget : public codegen::Target {
public:
  SharedTarget(codegen::Backend &backend, std::optional<GemmTiles> tiles) : backend(backend), options{tiles} {}
  bool canCompile(Operation *op) override {
    auto kernel = dyn_cast<ir::KernelOp>(op);
    return kernel && codegen::gemm::canSchedule(kernel);
  }
  FailureOr<codegen::KernelCode> addKernel(Operation *op, codegen::ConstantInputs constants) override {
    return codegen::gemm::schedule(cast<ir::KernelOp>(op), constants, options, backend);
  }
  llvm::Expected<codegen::CodeBundle> finish() override { return codegen::CodeBundle(); }

private:
  codegen::Backend &backend;
  codegen::gemm::ScheduleOptions options;
};

/// A function that is the kernel alone. Its arguments are the kernel's operands that are no constants, and an unused
/// one for each symbol, which makes all symbols inputs.
OwningOpRef<ModuleOp> isolate(ir::KernelOp kernel) {
  MLIRContext *context = kernel.getContext();
  OpBuilder builder(context);
  Location loc = kernel.getLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  ArrayAttr symbols = ir::getSymbols(kernel);
  SmallVector<Type> types;
  for (Value input : kernel.getInputs())
    if (!input.getDefiningOp<ir::ConstantOp>())
      types.push_back(input.getType());
  size_t numInputs = types.size();
  for (unsigned i = 0; i < symbols.size(); ++i)
    types.push_back(ir::makeTensorType({getAffineSymbolExpr(i, context)}, builder.getI8Type()));
  builder.setInsertionPointToStart(module->getBody());
  auto function = builder.create<func::FuncOp>(loc, "main", builder.getFunctionType(types, kernel.getResultTypes()));
  function->setAttr("tcc.symbols", symbols);
  mlir::Block *block = function.addEntryBlock();
  builder.setInsertionPointToStart(block);
  IRMapping mapping;
  size_t next = 0;
  for (Value input : kernel.getInputs()) {
    if (auto constant = input.getDefiningOp<ir::ConstantOp>()) {
      if (!mapping.contains(input))
        builder.clone(*constant, mapping);
      continue;
    }
    // The same value twice is two operands still.
    mapping.map(input, block->getArgument(static_cast<unsigned>(next++)));
  }
  assert(next == numInputs);
  Operation *clone = builder.clone(*kernel, mapping);
  builder.create<func::ReturnOp>(loc, clone->getResults());
  return module;
}

/// How often a thread of this process had to leave a processor that it was working on.
int64_t timesInterrupted() {
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

} // namespace

struct Candidates::Candidate {
  std::optional<GemmTiles> tiles;
  codegen::PlanResult result;
  std::shared_ptr<const CodeObject> code;
  std::unique_ptr<ExecutionContext> context;
  std::string fault;
};

struct Candidates::Data {
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  std::vector<Tensor> inputs; ///< of the function; invalid for the unused ones
  std::vector<Tensor> outputs;
  std::vector<Tensor> expected;
  std::vector<char> sweep; ///< read between runs, so that the caches hold nothing of use
};

Candidates::Candidates(ir::KernelOp kernel, const codegen::CpuDescription &cpu,
                       std::vector<std::optional<GemmTiles>> tiles, std::vector<int64_t> symbols)
    : kernel(kernel), cpu(cpu), symbols(std::move(symbols)), data(std::make_unique<Data>()) {
  for (std::optional<GemmTiles> &choice : tiles)
    all.emplace_back(std::make_unique<Candidate>())->tiles = choice;
}

Candidates::~Candidates() = default;

const std::string &Candidates::fault(size_t i) const { return all[i]->fault; }

bool Candidates::makeData(std::string *why) {
  data->module = isolate(kernel);
  data->function = *data->module->getOps<func::FuncOp>().begin();
  int64_t total = 0;
  auto allocate = [&](Type type, std::vector<Tensor> &to) {
    Dims dims;
    for (AffineExpr extent : ir::getExtents(type))
      dims.push_back(codegen::gemm::evaluate(extent, {}, symbols));
    const DType dtype = ir::getDType(cast<RankedTensorType>(type).getElementType());
    if (IsPacked(dtype) || dtype == DType::kString) {
      *why = "element types that cannot be made up";
      return false;
    }
    auto count = NumElements(dims);
    if (!count.ok() || *count <= 0 || *count > kMostBytes || (total += *count * DTypeBits(dtype) / 8) > kMostBytes) {
      *why = "extents that are empty or too large to measure";
      return false;
    }
    auto tensor = Tensor::Allocate(dtype, dims);
    if (!tensor.ok()) {
      lasting = false;
      *why = std::string(tensor.status().message());
      return false;
    }
    to.push_back(*std::move(tensor));
    return true;
  };
  for (BlockArgument argument : data->function.getArguments()) {
    if (argument.use_empty()) {
      data->inputs.emplace_back();
      continue;
    }
    if (!allocate(argument.getType(), data->inputs))
      return false;
    fillRandom(data->inputs.back(), argument.getArgNumber() + 1);
  }
  for (Type type : data->function.getResultTypes())
    if (!allocate(type, data->outputs))
      return false;
  const int64_t caches = cpu.l3Bytes + 2 * cpu.l2Bytes * ThreadPool::Global().threads();
  data->sweep.assign(static_cast<size_t>(std::min<int64_t>(caches, 64 << 20)), 1);
  return true;
}

void Candidates::compile(ArrayRef<Candidate *> group) {
  codegen::Backend backend(kernel.getContext(), cpu);
  std::vector<std::string> seen;
  std::vector<Candidate *> built;
  for (Candidate *candidate : group) {
    SharedTarget target(backend, candidate->tiles);
    auto result = codegen::buildPlan(data->function, &target);
    if (failed(result)) {
      candidate->fault = "no schedule";
      continue;
    }
    candidate->result = *std::move(result);
    built.push_back(candidate);
    // Functions are shared by content: the same functions are the same candidate.
    std::string names;
    for (const std::string &name : candidate->result.plan.functions)
      names += name + " ";
    if (llvm::is_contained(seen, names))
      candidate->fault = kSameCode.str();
    seen.push_back(std::move(names));
  }
  llvm::erase_if(built, [](Candidate *candidate) { return !candidate->fault.empty(); });
  auto fail = [&](const std::string &reason) {
    if (built.size() == 1) {
      built.front()->fault = reason;
      return;
    }
    for (Candidate *candidate : built)
      compile(candidate);
  };
  llvm::Expected<std::string> bytes = backend.finish();
  if (!bytes) {
    lasting = false; // (it may be that nothing could be written)
    return fail(llvm::toString(bytes.takeError()));
  }
  auto code = CodeObject::Load(*bytes, "tcc autotune");
  if (!code.ok()) {
    lasting = false; // (no descriptors, no memory)
    return fail(std::string(code.status().message()));
  }
  for (Candidate *candidate : built)
    candidate->code = *code;
}

bool Candidates::load(Candidate &candidate) {
  codegen::PlanResult &result = candidate.result;
  auto bytes = Tensor::Allocate(DType::kU8, {result.constantBytes});
  auto fail = [&](const absl::Status &status) {
    if (absl::IsResourceExhausted(status))
      lasting = false;
    candidate.fault = std::string(status.message());
    return false;
  };
  if (!bytes.ok())
    return fail(bytes.status());
  for (auto [constant, tensor] : llvm::zip_equal(result.plan.constants, result.constants)) {
    auto contiguous = tensor.Contiguous();
    if (!contiguous.ok())
      return fail(contiguous.status());
    std::memcpy(static_cast<char *>(bytes->data()) + constant.offset, contiguous->data(), contiguous->bytes());
  }
  result.constants.clear();
  auto owner = std::make_shared<const Tensor>(*bytes);
  auto plan = PreparedPlan::Create(
      std::move(result.plan), candidate.code,
      {static_cast<const char *>(owner->data()), static_cast<size_t>(result.constantBytes)}, owner);
  if (!plan.ok())
    return fail(plan.status());
  candidate.context = std::make_unique<ExecutionContext>(*std::move(plan));
  return true;
}

bool Candidates::run(Candidate &candidate) {
  RunOptions options;
  options.outputs = data->outputs;
  std::vector<Tensor> outputs;
  absl::Status status = candidate.context->Run(data->inputs, symbols, options, &outputs);
  if (status.ok())
    return true;
  if (absl::IsResourceExhausted(status))
    lasting = false;
  candidate.fault = std::string(status.message());
  return false;
}

bool Candidates::prepare(std::string *why) {
  // What fails here is no error of the model.
  ScopedDiagnosticHandler quiet(kernel.getContext(), [](Diagnostic &) { return success(); });
  if (!makeData(why))
    return false;
  SmallVector<Candidate *> group;
  for (auto &candidate : all)
    group.push_back(candidate.get());
  compile(group);
  size_t left = 0;
  for (auto &candidate : all) {
    if (!candidate->fault.empty() || !load(*candidate))
      continue;
    for (Tensor &output : data->outputs)
      std::memset(output.data(), 0x55, output.bytes());
    if (!run(*candidate))
      continue;
    if (candidate == all.front()) {
      for (Tensor &output : data->outputs) {
        auto copy = output.Clone();
        if (!copy.ok()) {
          lasting = false;
          *why = std::string(copy.status().message());
          return false;
        }
        data->expected.push_back(*std::move(copy));
      }
    } else if (!data->expected.empty()) {
      for (auto [output, expected] : llvm::zip_equal(data->outputs, data->expected))
        if (!isClose(output, expected))
          candidate->fault = "other results than the default's";
    }
    left += candidate->fault.empty();
  }
  if (!all.front()->fault.empty()) {
    *why = "the default cannot be run: " + all.front()->fault;
    return false;
  }
  if (left < 2)
    *why = "no other candidate";
  return left >= 2;
}

double Candidates::measure(size_t i) {
  Candidate &candidate = *all[i];
  if (!candidate.fault.empty())
    return -1;
  // In a model a kernel's inputs were just written by another, its weights are in memory at best.
  ThreadPool &pool = ThreadPool::Global();
  constexpr int64_t kLine = 64;
  auto touch = [&](char *bytes, size_t size, char change) {
    pool.ParallelFor(static_cast<int64_t>(size) / kLine, 1024, [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) {
        auto *place = const_cast<volatile char *>(bytes + line * kLine);
        *place = static_cast<char>(*place + change);
      }
    });
  };
  // A sample in which another process took a processor away says little: once more, a few times.
  constexpr int kTries = 4;
  double best = -1;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    touch(data->sweep.data(), data->sweep.size(), 1);
    for (Tensor &input : data->inputs)
      if (input.valid())
        touch(static_cast<char *>(input.data()), input.bytes(), 0);
    const int64_t interruptions = timesInterrupted();
    const auto start = std::chrono::steady_clock::now();
    if (!run(candidate))
      return -1;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = best < 0 ? seconds : std::min(best, seconds);
    if (timesInterrupted() == interruptions)
      break;
  }
  return best;
}

} // namespace tcc::compiler
