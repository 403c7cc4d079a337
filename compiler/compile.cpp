#include "compiler/compile.h"

#include <sys/resource.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/plan/Plan.h"
#include "compiler/autotune/Autotune.h"
#include "compiler/autotune/DeviceAutotune.h"
#include "compiler/compare.h"
#include "compiler/compile_logs.h"
#include "compiler/diagnostics.h"
#include "compiler/pipeline/Pipeline.h"
#include "compiler/pipeline/Resources.h"
#include "compiler/pipeline/Target.h"
#include "compiler/reproducer.h"
#include "compiler/signature_of.h"
#include "compiler/specialize.h"
#include "compiler/verify.h"
#include "compiler/version.h"
#include "frontend/onnx/import/Import.h"
#include "frontend/onnx/program/Check.h"
#include "frontend/onnx/program/Program.h"
#include "frontend/onnx/program/ValueFile.h"
#include "ir/ConstantMemory.h"
#include "ir/Dialect.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/cpu_features.h"
#include "runtime/logs.h"
#include "runtime/package.h"
#include "runtime/plan_json.h"
#include "runtime/status.h"

namespace tcc {
namespace {

// Strings as a package stores them: each with its length before it.
std::string EncodeStrings(const Tensor& tensor) {
  std::string bytes;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    const std::string& text = tensor.data_as<std::string>()[i];
    const auto size = static_cast<uint32_t>(text.size());
    bytes.append(reinterpret_cast<const char*>(&size), sizeof(size));
    bytes += text;
  }
  return bytes;
}

class Compilation {
 public:
  Compilation(const CompileRequest& request, const ProgressFunction& progress)
      : request_(request), progress_(progress) {}

  absl::StatusOr<CompileReply> Run() {
    absl::Status status = RunPhases();
    if (!status.ok()) return status;
    rusage usage = {};
    ::getrusage(RUSAGE_SELF, &usage);
    reply_.peak_rss_bytes = int64_t{usage.ru_maxrss} * 1024;
    return std::move(reply_);
  }

 private:
  // Runs one phase; false where it is beyond the last one asked for.
  template <typename F>
  absl::StatusOr<bool> Do(Phase phase, F work) {
    if (phase > request_.to_phase) return false;
    if (progress_) progress_(phase, 0, 0);
    const auto start = std::chrono::steady_clock::now();
    absl::Status status = work();
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
    reply_.phase_ms.emplace_back(std::string(PhaseName(phase)), elapsed.count());
    if (!status.ok()) return status;
    return true;
  }

  absl::Status RunPhases() {
    const absl::Status status = RunSteps();
    // (Each phase is noted when it ends: the import is over.)
    if (status.ok() || !request_.allow_fallback || reply_.phase_ms.size() <= 2) return status;
    // (Who asks for a GPU does not want a model that runs on the host alone.)
    if (target_.code.kind != "cpu") return status;
    // What cannot be written would not be written then either.
    if (reply_.phase_ms.back().first == PhaseName(Phase::kPackage)) return status;
    // Slow and right is better than nothing: everything as library kernels.
    reply_ = {};
    reply_.warnings.push_back(
        absl::StrCat("no code could be generated, everything runs as library kernels: ", status.message()));
    without_target_ = true;
    return RunSteps().ok() ? absl::OkStatus() : status;
  }

  absl::Status RunSteps() {
    const struct {
      Phase phase;
      absl::Status (Compilation::*work)();
    } steps[] = {{Phase::kLoad, &Compilation::LoadModel},      {Phase::kImport, &Compilation::Import},
                 {Phase::kSimplify, &Compilation::Simplify},   {Phase::kFuse, &Compilation::Fuse},
                 {Phase::kAutotune, &Compilation::Autotune},   {Phase::kCodegen, &Compilation::Codegen},
                 {Phase::kPackage, &Compilation::WritePackage}};
    for (const auto& step : steps) {
      if (step.phase == Phase::kAutotune && !Autotunes()) continue;
      TCC_ASSIGN_OR_RETURN(const bool done, Do(step.phase, [&] { return (this->*step.work)(); }));
      if (!done) break;
    }
    return absl::OkStatus();
  }

  VerifyTolerance ToleranceOfVerify() const {
    VerifyTolerance tolerance = request_.verify_tolerance;
    tolerance.rounding = RoundingOf(request_.options.precision);
    return tolerance;
  }

  bool Emits(const char* what) const {
    for (const std::string& name : request_.emit) {
      if (name == what) return true;
    }
    return false;
  }
  void EmitModule(const char* name) {
    llvm::raw_string_ostream stream(reply_.emitted[name]);
    mlir::OpPrintingFlags flags;
    flags.elideLargeElementsAttrs(16).elideLargeResourceString(16);
    (*module_)->print(stream, flags);
  }

  absl::Status LoadModel() {
    if (program_ != nullptr) return absl::OkStatus();
    onnx::LoadOptions options;
    options.externalDataRoots = request_.options.external_data_roots;
    options.check = onnx::checkModel;
    TCC_ASSIGN_OR_RETURN(program_, onnx::Program::load(request_.model, options));
    return absl::OkStatus();
  }

  absl::Status Import() {
    onnx::ImportOptions options;
    options.signature = request_.signature;
    for (const auto& [name, path] : request_.constants) {
      auto kind = onnx::ValueInfo::Kind::Tensor;
      for (const onnx::ValueInfo& input : program_->inputs()) {
        if (input.name == name) kind = input.kind;
      }
      TCC_ASSIGN_OR_RETURN(const onnx::Value value, onnx::loadValueFile(path, kind));
      TCC_RETURN_IF_ERROR(Flatten(value, &options.constants[name]));
    }
    std::set<std::string> value_inputs;
    std::set<unsigned> static_symbols;
    const absl::Status first = TryImport(options, &value_inputs, &static_symbols);
    // Where the model's structure depends on small inputs or on extents, their values are part of the specialisation.
    // One of them may hide the next.
    absl::Status status = first;
    std::vector<int64_t> symbol_values = request_.symbol_values;
    while (!status.ok()) {
      if (!FixValues(value_inputs, &options.signature) &&
          !FixExtents(static_symbols, &symbol_values, &options.signature)) {
        return first;
      }
      Log("recompiles", absl::StrCat(status.message(), "\n  compiled for the values at hand alone"));
      value_inputs.clear();
      static_symbols.clear();
      status = TryImport(options, &value_inputs, &static_symbols);
    }
    if (!first.ok()) reply_.narrowed = std::string(first.message());
    request_.signature = options.signature;
    request_.symbol_values = std::move(symbol_values);
    LogGraph(request_.model, *module_);
    return absl::OkStatus();
  }

  // False where nothing changed.
  bool FixValues(const std::set<std::string>& names, Signature* signature) const {
    bool changed = false;
    for (InputSpec& input : signature->inputs) {
      const auto values = request_.small_values.find(input.name);
      if (!names.count(input.name) || values == request_.small_values.end() || input.absent || input.values) continue;
      for (Extent& extent : input.dims) extent = Extent::Constant(static_cast<int64_t>(values->second.size()));
      input.values = values->second;
      changed = true;
    }
    return changed;
  }

  static bool FixExtents(const std::set<unsigned>& symbols, std::vector<int64_t>* values, Signature* signature) {
    std::map<int32_t, int64_t> fixed;
    std::vector<int64_t> rest;
    for (size_t i = 0; i < values->size(); ++i) {
      if (symbols.count(static_cast<unsigned>(i))) {
        fixed[static_cast<int32_t>(i)] = (*values)[i];
      } else {
        rest.push_back((*values)[i]);
      }
    }
    if (fixed.empty()) return false;
    FixSymbols(fixed, signature);
    *values = std::move(rest);
    return true;
  }

  static absl::Status Flatten(const onnx::Value& value, std::vector<Tensor>* tensors) {
    if (value.kind == onnx::ValueInfo::Kind::Tensor) {
      tensors->push_back(value.tensor);
      return absl::OkStatus();
    }
    for (const onnx::Value& element : value.elements) TCC_RETURN_IF_ERROR(Flatten(element, tensors));
    return absl::OkStatus();
  }

  absl::Status TryImport(const onnx::ImportOptions& options, std::set<std::string>* value_inputs,
                         std::set<unsigned>* static_symbols) {
    pipeline_options_.target = nullptr;
    target_ = {};
    imported_ = {};
    simplified_ = {};
    module_ = {};
    result_ = {};
    context_ = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
    context_->loadDialect<ir::TCCDialect, mlir::func::FuncDialect>();
    TCC_RETURN_IF_ERROR(MakeTarget());
    DiagnosticCollector diagnostics(context_.get());
    auto module = onnx::importModel(*program_, options, context_.get(), value_inputs, static_symbols);
    if (mlir::failed(module)) return WithContext(request_.model, diagnostics.Take("the import failed"));
    module_ = *std::move(module);
    imported_ = {};
    if (!request_.verify_inputs.empty()) imported_ = module_->clone();
    if (Emits("import")) EmitModule("import");
    ReleaseWeights();
    return absl::OkStatus();
  }

  // Between phases: the weights that folding has replaced, and the pages of the files they were read from.
  void ReleaseWeights() {
    std::vector<mlir::ModuleOp> modules = {*module_};
    for (mlir::ModuleOp module : {*imported_, *simplified_}) {
      if (module) modules.push_back(module);
    }
    ir::ConstantMemory::of(context_.get())->release(modules);
    program_->dropPages();
  }

  absl::Status RunPipeline(void (*add)(mlir::OpPassManager&, const compiler::PipelineOptions&), const char* what) {
    mlir::PassManager passes(context_.get(), mlir::ModuleOp::getOperationName());
    add(passes, pipeline_options_);
    DiagnosticCollector diagnostics(context_.get());
    if (mlir::failed(passes.run(*module_))) {
      return WithContext(request_.model, diagnostics.Take(absl::StrCat(what, " failed")));
    }
    return absl::OkStatus();
  }

  absl::Status MakeTarget() {
    compiler::TargetHooks hooks;
    const bool logs_code = LogEnabled("output_code");
    hooks.wants = [this, logs_code](const char* name) { return logs_code || Emits(name); };
    code_texts_.clear();
    if (progress_) hooks.progress = [this](int done, int total) { progress_(Phase::kCodegen, done, total); };
    hooks.emit = [this](const char* entry, llvm::StringRef name, llvm::StringRef text) {
      const std::string_view kind = entry;
      const char* comment = kind == "llvm" ? "; " : kind == "asm" ? "# " : "// ";
      absl::StrAppend(&code_texts_[entry], comment, name.str(), "\n", text.str(), "\n");
    };
    hooks.kernelCache = request_.kernel_cache;
    TCC_ASSIGN_OR_RETURN(target_, compiler::MakeTarget(request_.options, hooks, context_.get()));
    pipeline_options_.target = without_target_ ? nullptr : target_.target.get();
    if (request_.options.precision == Precision::kBF16) pipeline_options_.precision = "bf16";
    if (request_.options.precision == Precision::kF16) pipeline_options_.precision = "f16";
    return absl::OkStatus();
  }

  absl::Status Simplify() {
    TCC_RETURN_IF_ERROR(RunPipeline(compiler::addSimplifyPipeline, "simplification"));
    simplified_ = {};
    if (!request_.verify_inputs.empty()) simplified_ = module_->clone();
    if (Emits("tcc")) EmitModule("tcc");
    ReleaseWeights();
    return absl::OkStatus();
  }

  absl::Status Fuse() {
    TCC_RETURN_IF_ERROR(RunPipeline(compiler::addFusionPipeline, "fusion"));
    if (Emits("kernels")) EmitModule("kernels");
    return absl::OkStatus();
  }

  bool Autotunes() const {
    return pipeline_options_.target != nullptr &&
           (request_.options.mode == Mode::kMaxAutotune || request_.options.mode == Mode::kMaxAutotuneNoCudagraphs);
  }

  absl::Status Autotune() {
    const auto progress = [this](int done, int total) {
      if (progress_) progress_(Phase::kAutotune, done, total);
    };
    // The rest of the compile needs some time as well.
    const double seconds = request_.options.compile_timeout_seconds / 2;
    if (target_.code.kind != "cpu") {
      compiler::DeviceAutotuneOptions options;
      options.options = request_.options;
      options.worker = request_.worker;
      options.kernel_cache = request_.kernel_cache;
      options.store = request_.tuning_store;
      options.symbol_values = request_.symbol_values;
      options.seconds = seconds;
      reply_.tuning = compiler::autotuneDeviceKernels(*module_, options, progress);
      return absl::OkStatus();
    }
    compiler::AutotuneOptions options;
    TCC_ASSIGN_OR_RETURN(const TargetSpec target, ParseTarget(request_.options.target));
    options.cpu = target.name;
    options.store = request_.tuning_store;
    options.symbol_values = request_.symbol_values;
    options.seconds = seconds;
    reply_.tuning = compiler::autotuneKernels(*module_, options, progress);
    return absl::OkStatus();
  }

  absl::Status Codegen() {
    auto function = module_->lookupSymbol<mlir::func::FuncOp>("main");
    TCC_ASSIGN_OR_RETURN(const ArgumentSignature arguments, SignatureOf(function, *program_, request_));
    DiagnosticCollector diagnostics(context_.get());
    auto result = codegen::buildPlan(function, pipeline_options_.target);
    if (mlir::failed(result)) return WithContext(request_.model, diagnostics.Take("building the plan failed"));
    result_ = *std::move(result);
    if (!request_.verify_inputs.empty()) {
      const VerifyStages stages = {*imported_, *simplified_, *module_};
      const auto target = [&]() -> absl::StatusOr<std::unique_ptr<codegen::Target>> {
        if (without_target_) return nullptr;
        TCC_ASSIGN_OR_RETURN(compiler::TargetInstance made, compiler::MakeTarget(request_.options, {}, context_.get()));
        return std::move(made.target);
      };
      TCC_ASSIGN_OR_RETURN(reply_.verification, Verify(stages, result_, request_.verify_inputs, target,
                                                       /*write_reproducer=*/true, ToleranceOfVerify()));
    }
    // The plan's inputs are the function's arguments; inputs known while compiling are none of those.
    std::vector<ValueId> inputs;
    for (int argument : arguments.argument_of_input) {
      inputs.push_back(argument < 0 ? kNoValue : result_.plan.inputs[static_cast<size_t>(argument)]);
    }
    result_.plan.inputs = std::move(inputs);
    reply_.signature = arguments.signature;
    for (const codegen::ExplainRecord& record : result_.explain) {
      reply_.kernels.push_back({record.name, record.sources, record.schedule, record.launches, record.flops,
                                record.bytes, record.flopsText, record.bytesText});
      for (const codegen::LaunchRecord& launch : record.deviceLaunches) {
        reply_.kernels.back().device_launches.push_back({launch.symbol, launch.grid, launch.block, launch.shared});
      }
    }
    reply_.resources = compiler::resourcesOf(result_);
    if (Emits("plan")) reply_.emitted["plan"] = PlanToJson(result_.plan);
    for (auto& [name, text] : code_texts_) {
      if (Emits(name.c_str())) reply_.emitted[name] = text;
    }
    LogCode(request_.model, code_texts_, result_);
    LogHints(request_.model, *module_, result_);
    return absl::OkStatus();
  }

  absl::Status WritePackage() {
    if (request_.package.empty()) return absl::OkStatus();
    PackageBuilder builder;
    builder.tcc_version = kVersion;
    const nlohmann::json options = OptionsToJson(request_.options);
    for (const auto& [name, value] : options.items()) {
      builder.options[name] = value.is_string() ? value.get<std::string>() : value.dump();
    }
    builder.options["model"] = request_.model;
    Specialisation& specialisation = builder.specialisations.emplace_back();
    specialisation.signature = reply_.signature;
    specialisation.target = target_.code;
    // Library kernels run anywhere.
    if (result_.codeObject.empty()) specialisation.target.features.clear();
    if (result_.images.empty() && specialisation.target.kind != "cpu") {
      specialisation.target = {"cpu", std::string(HostArch()), request_.options.target, {}};
    }
    specialisation.plan = result_.plan;
    specialisation.code = result_.codeObject;
    specialisation.images = result_.images;
    std::vector<std::string> encoded(result_.constants.size());
    for (size_t i = 0; i < result_.constants.size(); ++i) {
      Tensor& tensor = result_.constants[i];
      const PlanConstant& constant = result_.plan.constants[i];
      if (tensor.dtype() == DType::kString) {
        encoded[i] = EncodeStrings(tensor);
        specialisation.constants.push_back({constant.offset, encoded[i]});
        continue;
      }
      TCC_ASSIGN_OR_RETURN(tensor, tensor.Contiguous());
      specialisation.constants.push_back({constant.offset, {static_cast<const char*>(tensor.data()), tensor.bytes()}});
    }
    specialisation.constants_bytes = result_.constantBytes;
    specialisation.info["kernels"] =
        KernelsToJson(reply_.kernels).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    if (!reply_.resources.empty()) specialisation.info["resources"] = ResourcesToJson(reply_.resources).dump();
    if (!reply_.warnings.empty()) specialisation.info["warnings"] = absl::StrJoin(reply_.warnings, "\n");
    if (!reply_.narrowed.empty()) specialisation.info["narrowed"] = reply_.narrowed;
    for (const auto& [name, text] : reply_.emitted) builder.dumps[name] = text;
    return builder.Write(request_.package, {.constant_store = request_.constant_store});
  }

  CompileRequest request_;
  const ProgressFunction& progress_;
  CompileReply reply_;
  bool without_target_ = false;
  compiler::PipelineOptions pipeline_options_;
  // Constants of the module point into the program, and those of the result into both.
  std::shared_ptr<const onnx::Program> program_;
  std::unique_ptr<mlir::MLIRContext> context_;
  compiler::TargetInstance target_;
  mlir::OwningOpRef<mlir::ModuleOp> imported_, simplified_;  // for Verify
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  codegen::PlanResult result_;
  std::map<std::string, std::string> code_texts_;  // by name of --emit
};

// A folder that an earlier verification left (reproducer.h).
absl::StatusOr<CompileReply> RunReproducer(const CompileRequest& request) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ir::TCCDialect, mlir::func::FuncDialect>();
  const auto target = [&]() -> absl::StatusOr<std::unique_ptr<codegen::Target>> {
    TCC_ASSIGN_OR_RETURN(compiler::TargetInstance made, compiler::MakeTarget(request.options, {}, &context));
    return std::move(made.target);
  };
  // (Its dialects, before anything is parsed.)
  TCC_RETURN_IF_ERROR(target().status());
  CompileReply reply;
  TCC_ASSIGN_OR_RETURN(reply.verification, VerifyReproducer(request.model, &context, target, request.verify_tolerance));
  return reply;
}

}  // namespace

absl::StatusOr<CompileReply> CompileModel(const CompileRequest& request, const ProgressFunction& progress) {
  std::error_code ignored;
  if (std::filesystem::is_directory(request.model, ignored)) return RunReproducer(request);
  return Compilation(request, progress).Run();
}

}  // namespace tcc
