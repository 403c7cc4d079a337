//===- DeviceCandidates.cpp - a kernel in several ways, for a device ------===//
#include "compiler/autotune/DeviceCandidates.h"

#include <stdlib.h>

#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/TensorMap.h"
#include "codegen/schedule/template/TileExpr.h"
#include "compiler/autotune/Prune.h"
#include "ir/ElementTypes.h"
#include "ir/Extents.h"
#include "runtime/devices/extern/conv_descriptor.h"
#include "runtime/file_util.h"
#include "runtime/plan_json.h"
#include "runtime/status.h"

using namespace mlir;

namespace tcc::compiler {
namespace {

// What is larger is not measured.
constexpr int64_t kMostBytes = int64_t{1} << 30;

int64_t evaluate(AffineExpr expr, const std::vector<int64_t> &symbols, int64_t otherwise) {
  return expr ? codegen::gemm::evaluate(expr, {}, symbols) : otherwise;
}

/// Elements as they lie in a file.
absl::StatusOr<std::string> write(MeasureFiles &files, const std::string &name, const Tensor &tensor) {
  TCC_ASSIGN_OR_RETURN(const Tensor contiguous, tensor.Contiguous());
  return files.write(name, {static_cast<const char *>(contiguous.data()), contiguous.bytes()});
}

/// What is measured: a call of a library where there is one, else the code.
absl::Status addImage(const tcc::KernelImage &image, const std::string &arch, MeasureFiles &files,
                      MeasureCandidate &candidate) {
  std::vector<std::string> kinds(devices::kLibraries.begin(), devices::kLibraries.end());
  kinds.push_back(arch);
  for (const std::string &kind : kinds) {
    const auto binary = image.binaries.find(kind);
    if (binary == image.binaries.end())
      continue;
    TCC_ASSIGN_OR_RETURN(candidate.images[image.symbol], files.write(image.symbol + "." + kind, binary->second));
    return absl::OkStatus();
  }
  return absl::OkStatus();
}

class Builder {
public:
  Builder(ir::KernelOp kernel, const std::vector<int64_t> &symbols, const MakeCudaTarget &makeTarget,
          const std::string &arch, MeasureFiles &files)
      : kernel(kernel), symbols(symbols), makeTarget(makeTarget), arch(arch), files(files) {}

  absl::StatusOr<BuiltCandidates> build(const std::vector<codegen::ScheduleCandidate> &choices) {
    TCC_RETURN_IF_ERROR(makeData());
    // What fails here is no error of the model.
    ScopedDiagnosticHandler quiet(kernel.getContext(), [](Diagnostic &) { return success(); });
    result.candidates.resize(choices.size());
    codes.resize(choices.size());
    std::vector<size_t> all;
    for (size_t i = 0; i < choices.size(); ++i)
      all.push_back(i);
    TCC_RETURN_IF_ERROR(compile(choices, all));
    return std::move(result);
  }

private:
  absl::Status makeData() {
    int64_t total = 0;
    auto add = [&](Type type, std::vector<MeasureBuffer> &to) -> absl::Status {
      TCC_ASSIGN_OR_RETURN(MeasureBuffer buffer, bufferFor(type, symbols));
      TCC_ASSIGN_OR_RETURN(const int64_t count, NumElements(buffer.dims));
      total += static_cast<int64_t>(DTypeBytes(buffer.dtype, count));
      if (total > kMostBytes)
        return absl::OutOfRangeError("its data is too large to measure");
      to.push_back(std::move(buffer));
      return absl::OkStatus();
    };
    for (auto [i, input] : llvm::enumerate(kernel.getInputs())) {
      TCC_RETURN_IF_ERROR(add(input.getType(), result.data.inputs));
      auto constant = input.getDefiningOp<ir::ConstantOp>();
      constants.push_back(constant ? constant.getValue() : ElementsAttr());
      if (!constant)
        continue;
      TCC_ASSIGN_OR_RETURN(const Tensor tensor, ir::toTensor(constant.getValue()));
      TCC_ASSIGN_OR_RETURN(result.data.inputs.back().file, write(files, absl::StrCat("input", i), tensor));
    }
    for (Type type : kernel.getResultTypes())
      TCC_RETURN_IF_ERROR(add(type, result.data.outputs));
    return absl::OkStatus();
  }

  absl::Status compile(const std::vector<codegen::ScheduleCandidate> &choices, const std::vector<size_t> &group) {
    TCC_ASSIGN_OR_RETURN(const std::unique_ptr<codegen::Target> target, makeTarget());
    std::vector<size_t> built;
    for (size_t i : group) {
      BuiltCandidate &candidate = result.candidates[i];
      codegen::setChoice(kernel, choices[i].parameters);
      FailureOr<codegen::KernelCode> code = target->addKernel(kernel, constants);
      codegen::setChoice(kernel, {});
      if (failed(code)) {
        candidate.fault = "no schedule";
        continue;
      }
      const std::string text = textOf(*code);
      if (auto [place, isNew] = seen.try_emplace(text, i); !isNew && place->second != i) {
        candidate.fault = "the same code as another";
        candidate.isPruned = true;
        continue;
      }
      codes[i] = *std::move(code);
      built.push_back(i);
    }
    llvm::Expected<codegen::CodeBundle> bundle = target->finish();
    if (!bundle) {
      const std::string why = llvm::toString(bundle.takeError());
      if (built.size() > 1) {
        // One of them does not compile: each by itself.
        for (size_t i : built)
          TCC_RETURN_IF_ERROR(compile(choices, {i}));
        return absl::OkStatus();
      }
      result.isLasting = false; // (it may be that nothing could be written)
      for (size_t i : built)
        result.candidates[i].fault = "does not compile: " + why;
      return absl::OkStatus();
    }
    for (size_t i : built)
      TCC_RETURN_IF_ERROR(makeJob(i, *bundle));
    return absl::OkStatus();
  }

  /// What tells code from other code: symbols stand for texts.
  std::string textOf(const codegen::KernelCode &code) const {
    std::string text;
    for (const codegen::LaunchSpec &launch : code.launches) {
      absl::StrAppend(&text, launch.function, " ", absl::StrJoin(launch.buffers, ","));
      if (launch.device)
        for (AffineExpr extent : launch.device->grid)
          absl::StrAppend(&text, " ", evaluate(extent, symbols, 1));
      text += "\n";
    }
    return text;
  }

  absl::Status makeJob(size_t i, const codegen::CodeBundle &bundle) {
    BuiltCandidate &candidate = result.candidates[i];
    const codegen::KernelCode &code = *codes[i];
    MeasureCandidate &job = candidate.job;
    std::vector<LaunchFigures> figures;
    for (const codegen::LaunchSpec &spec : code.launches) {
      if (!spec.device) {
        candidate.fault = "it has launches on the host";
        return absl::OkStatus();
      }
      MeasureLaunch &launch = job.launches.emplace_back();
      launch.symbol = spec.function;
      int64_t blocks = 1, threads = 1;
      for (size_t axis = 0; axis < 3; ++axis) {
        launch.grid[axis] = evaluate(spec.device->grid[axis], symbols, 1);
        launch.block[axis] = spec.device->block[axis];
        blocks *= launch.grid[axis];
        threads *= launch.block[axis];
      }
      launch.sharedBytes = evaluate(spec.device->sharedBytes, symbols, 0);
      launch.buffers.assign(spec.buffers.begin(), spec.buffers.end());
      for (unsigned symbol : spec.symbols)
        launch.scalars.push_back(symbols[symbol]);
      launch.reportsErrors = spec.device->reportsErrors;
      launch.counters = evaluate(spec.device->counters, symbols, 0);
      for (const codegen::TensorMap &map : spec.device->tensorMaps)
        launch.tensorMaps.push_back(
            codegen::evaluate(map, [&](AffineExpr expr) { return evaluate(expr, symbols, 1); }));
      figures.push_back({spec.function, blocks, static_cast<int>(threads), launch.sharedBytes});
      for (const tcc::KernelImage &image : bundle.images)
        if (image.symbol == spec.function) {
          TCC_RETURN_IF_ERROR(addImage(image, arch, files, job));
        }
    }
    candidate.fault = pruneByResources(figures, bundle.resources, arch, multiprocessorsOf());
    if (!candidate.fault.empty()) {
      candidate.isPruned = true;
      return absl::OkStatus();
    }
    for (AffineExpr bytes : code.temporaryBytes)
      job.own.push_back({DType::kU8, {evaluate(bytes, symbols, 0)}});
    for (const codegen::ConstantBlob &blob : code.constants) {
      MeasureBuffer &buffer = job.own.emplace_back();
      buffer.dtype = blob.tensor.dtype();
      buffer.dims.assign(blob.tensor.dims().begin(), blob.tensor.dims().end());
      TCC_ASSIGN_OR_RETURN(buffer.file, write(files, absl::StrCat("constant", i, ".", job.own.size()), blob.tensor));
    }
    return absl::OkStatus();
  }

  int multiprocessorsOf() const {
    llvm::Expected<codegen::CudaDescription> device = codegen::describeCuda(arch);
    if (device)
      return device->multiprocessors;
    llvm::consumeError(device.takeError());
    return 1;
  }

  ir::KernelOp kernel;
  const std::vector<int64_t> &symbols;
  const MakeCudaTarget &makeTarget;
  const std::string &arch;
  MeasureFiles &files;
  SmallVector<ElementsAttr> constants;
  std::vector<std::optional<codegen::KernelCode>> codes;
  std::map<std::string, size_t> seen; ///< text -> the candidate that has it
  BuiltCandidates result;
};

} // namespace

absl::StatusOr<std::unique_ptr<MeasureFiles>> MeasureFiles::create() {
  std::string pattern = TemporaryFolder() + "/tcc-measure-XXXXXX";
  if (!::mkdtemp(pattern.data()))
    return ErrnoStatus(errno, pattern, "create");
  return std::unique_ptr<MeasureFiles>(new MeasureFiles(pattern));
}

MeasureFiles::~MeasureFiles() {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

absl::StatusOr<std::string> MeasureFiles::write(const std::string &name, std::string_view bytes) {
  std::string path = folder + "/" + name;
  if (llvm::is_contained(written, name))
    return path;
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.valid())
    return ErrnoStatus(errno, path, "create");
  TCC_RETURN_IF_ERROR(file.Write(bytes));
  written.push_back(name);
  return path;
}

absl::StatusOr<MeasureBuffer> bufferFor(Type type, const std::vector<int64_t> &symbols) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return absl::UnimplementedError("values that are no tensors");
  MeasureBuffer buffer;
  buffer.dtype = ir::getDType(tensor.getElementType());
  for (AffineExpr extent : ir::getExtents(type))
    buffer.dims.push_back(codegen::gemm::evaluate(extent, {}, symbols));
  if (IsPacked(buffer.dtype) || buffer.dtype == DType::kString || buffer.dtype == DType::kInvalid)
    return absl::UnimplementedError("element types that cannot be made up");
  const absl::StatusOr<int64_t> count = NumElements(buffer.dims);
  if (!count.ok() || *count <= 0 || *count > kMostBytes)
    return absl::OutOfRangeError("extents that are empty or too large to measure");
  return buffer;
}

absl::StatusOr<BuiltCandidates> buildCandidates(ir::KernelOp kernel,
                                                const std::vector<codegen::ScheduleCandidate> &choices,
                                                const std::vector<int64_t> &symbols, const MakeCudaTarget &makeTarget,
                                                const std::string &arch, MeasureFiles &files) {
  return Builder(kernel, symbols, makeTarget, arch, files).build(choices);
}

absl::StatusOr<MeasureCandidate> planCandidate(const codegen::PlanResult &plan, const std::vector<int64_t> &symbols,
                                               const std::string &arch, const std::string &name, MeasureFiles &files) {
  if (plan.constantBytes > 2 * kMostBytes)
    return absl::OutOfRangeError("its constants are too large to run it once more");
  MeasureCandidate candidate;
  candidate.plan = PlanToJson(plan.plan);
  candidate.symbols.assign(symbols.begin(), symbols.begin() + static_cast<int64_t>(std::min(
                                                                  symbols.size(), plan.plan.symbol_registers.size())));
  for (const tcc::KernelImage &image : plan.images)
    TCC_RETURN_IF_ERROR(addImage(image, arch, files, candidate));
  if (plan.constants.empty())
    return candidate;
  std::string bytes(static_cast<size_t>(plan.constantBytes), '\0');
  for (auto [constant, tensor] : llvm::zip_equal(plan.plan.constants, plan.constants)) {
    if (tensor.dtype() == DType::kString)
      return absl::UnimplementedError("constants that are strings");
    TCC_ASSIGN_OR_RETURN(const Tensor contiguous, tensor.Contiguous());
    std::memcpy(bytes.data() + constant.offset, contiguous.data(), contiguous.bytes());
  }
  TCC_ASSIGN_OR_RETURN(candidate.constants, files.write(name + ".constants", bytes));
  return candidate;
}

} // namespace tcc::compiler
