#include "compiler/session.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/image_compiler.h"
#include "compiler/package_runner.h"
#include "compiler/this_machine.h"
#include "compiler/version.h"
#include "frontend/onnx/program/Interface.h"
#include "frontend/onnx/program/Program.h"
#include "runtime/cpu_features.h"
#include "runtime/devices/registry.h"
#include "runtime/dispatch.h"
#include "runtime/file_util.h"
#include "runtime/logs.h"
#include "runtime/signature_json.h"
#include "runtime/status.h"

namespace tcc {
namespace {

// Inputs up to so many elements may be specialised on by value.
constexpr int64_t kMaxSpecialisedElements = 64;

std::vector<DeclaredInput> Declared(const std::vector<onnx::ValueInfo>& infos,
                                    const std::map<std::string, std::string>& constants) {
  std::vector<DeclaredInput> inputs;
  for (const onnx::ValueInfo& info : infos) {
    if (constants.count(info.name)) continue;
    DeclaredInput& input = inputs.emplace_back();
    input.name = info.name;
    input.dtype = info.dtype;
    input.has_rank = info.hasShape;
    for (const onnx::Dim& dim : info.dims) input.dims.push_back({dim.value, dim.param});
    input.optional = info.hasDefault || info.kind == onnx::ValueInfo::Kind::Optional;
  }
  return inputs;
}

// A package's inputs: only what holds for all of its specialisations.
std::vector<DeclaredInput> Declared(const Package& package) {
  std::vector<DeclaredInput> inputs;
  for (int i = 0; i < package.size(); ++i) {
    const Signature& signature = package.signature(i);
    for (size_t k = 0; k < signature.inputs.size(); ++k) {
      const InputSpec& spec = signature.inputs[k];
      if (k == inputs.size()) {
        DeclaredInput& input = inputs.emplace_back();
        input.name = spec.name;
        input.dtype = spec.dtype;
        input.has_rank = !spec.absent;
        for (const Extent& extent : spec.dims) {
          input.dims.push_back({extent.symbol < 0 ? extent.value : -1,
                                extent.symbol < 0 ? "" : signature.symbols[static_cast<size_t>(extent.symbol)].name});
        }
      }
      DeclaredInput& input = inputs[k];
      input.optional |= spec.optional || spec.absent;
      if (input.dtype != spec.dtype) input.dtype = DType::kInvalid;
      if (spec.dims.size() != input.dims.size()) input.has_rank = false;
      for (size_t axis = 0; input.has_rank && axis < spec.dims.size(); ++axis) {
        if (spec.dims[axis].symbol >= 0 || spec.dims[axis].value != input.dims[axis].value) input.dims[axis].value = -1;
      }
    }
  }
  return inputs;
}

CallTypes TypesOf(absl::Span<const Tensor> inputs) {
  CallTypes types;
  for (const Tensor& input : inputs) types.push_back(input.valid() ? input.type() : TensorType());
  return types;
}

// Elements of small integer inputs, by name.
std::map<std::string, std::vector<int64_t>> SmallValues(const std::vector<DeclaredInput>& declared,
                                                        absl::Span<const Tensor> inputs) {
  std::map<std::string, std::vector<int64_t>> values;
  for (size_t i = 0; i < std::min(declared.size(), inputs.size()); ++i) {
    const Tensor& input = inputs[i];
    if (!input.valid() || input.rank() > 1 || input.num_elements() > kMaxSpecialisedElements) continue;
    if (!IsInteger(input.dtype()) && input.dtype() != DType::kBool) continue;
    if (absl::StatusOr<std::vector<int64_t>> list = ToInt64s(input); list.ok()) values[declared[i].name] = *list;
  }
  return values;
}

// Values of the symbols of a signature in a call.
std::vector<int64_t> SymbolValues(const Signature& signature, const CallTypes& types) {
  std::vector<int64_t> values(signature.symbols.size(), -1);
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    const InputSpec& input = signature.inputs[i];
    for (size_t axis = 0; axis < input.dims.size(); ++axis) {
      if (input.dims[axis].symbol >= 0) values[static_cast<size_t>(input.dims[axis].symbol)] = types[i].dims[axis];
    }
  }
  return values;
}

// Fixes in `signature` what `compiled`, which was asked for by the same signature, had to fix.
void Narrow(const Signature& compiled, const CallTypes& types,
            const std::map<std::string, std::vector<int64_t>>& values, Signature* signature) {
  std::map<int32_t, int64_t> fixed;
  const std::vector<int64_t> symbol_values = SymbolValues(*signature, types);
  for (size_t i = 0; i < std::min(compiled.inputs.size(), signature->inputs.size()); ++i) {
    InputSpec& input = signature->inputs[i];
    const InputSpec& other = compiled.inputs[i];
    for (size_t axis = 0; axis < std::min(input.dims.size(), other.dims.size()); ++axis) {
      const int32_t symbol = input.dims[axis].symbol;
      if (symbol >= 0 && other.dims[axis].symbol < 0) fixed[symbol] = symbol_values[static_cast<size_t>(symbol)];
    }
    const auto it = values.find(input.name);
    if (other.values && it != values.end() && !input.absent) input.values = it->second;
  }
  FixSymbols(fixed, signature);
}

}  // namespace

// One specialisation, ready to run.
struct Session::Variant {
  Signature signature;
  std::shared_ptr<const Package> package;
  int index = 0;  // in the package
  std::unique_ptr<PlanRunner> made;
  std::atomic<PlanRunner*> runner = nullptr;  // null: this machine could not run it when it was last tried
  CompileEvent event;
};

Session::Session(std::string path, Config config, std::vector<DeclaredInput> inputs)
    : path_(std::move(path)),
      config_(std::move(config)),
      contexts_(std::make_shared<DeviceContexts>()),
      policy_(std::move(inputs), config_.options.dynamic, absl::EndsWith(path_, ".tcc")) {}
Session::~Session() = default;

ArtifactCache& Session::cache() const { return config_.cache != nullptr ? *config_.cache : ArtifactCache::Global(); }

absl::StatusOr<std::shared_ptr<Session>> Session::Open(const std::string& path, Config config) {
  (void)LogEnabled("guards");  // says what is wrong with $TCC_LOGS before anything else happens
  RegisterProcessImageCompiler();
  TCC_RETURN_IF_ERROR(ValidateOptions(config.options));
  TCC_RETURN_IF_ERROR(UnifyDynamic(&config.options.dynamic));
  std::error_code error;
  // The worker may run elsewhere; the name as given decides which folder external data may lie in.
  std::string absolute = std::filesystem::absolute(path, error).string();
  if (error) absolute = path;
  if (absl::EndsWith(path, ".tcc")) {
    const ArtifactCache& cache = config.cache != nullptr ? *config.cache : ArtifactCache::Global();
    TCC_ASSIGN_OR_RETURN(
        std::shared_ptr<const Package> package,
        Package::Open(absolute, {.constant_store = cache.constant_store(), .device = config.options.device}));
    TCC_RETURN_IF_ERROR(ValidateForPackage(path, config.options));
    std::shared_ptr<Session> session(new Session(absolute, std::move(config), Declared(*package)));
    if (package->size() > 0) {
      for (const OutputSpec& output : package->signature(0).outputs) session->output_names_.push_back(output.name);
    }
    session->package_ = std::move(package);
    return session;
  }
  TCC_RETURN_IF_ERROR(CheckDevice(config.options));
  TCC_RETURN_IF_ERROR(ResolveTarget(&config.options));
  // (Noted before anything is read of them.)
  ModelFiles files(absolute, config.constants, config.options.external_data_roots);
  TCC_ASSIGN_OR_RETURN(const onnx::Interface interface, [&]() -> absl::StatusOr<onnx::Interface> {
    absl::StatusOr<onnx::Interface> quick = onnx::readInterface(absolute);
    if (quick.ok() && !quick->outputs.empty()) return quick;
    // The full loader says what is wrong with the file.
    onnx::LoadOptions options;
    options.externalDataRoots = config.options.external_data_roots;
    TCC_RETURN_IF_ERROR(onnx::Program::load(absolute, options).status());
    if (!quick.ok()) return quick.status();
    return absl::InvalidArgumentError(absl::StrCat(path, ": the model has no outputs"));
  }());
  std::vector<DeclaredInput> inputs = Declared(interface.inputs, config.constants);
  if (config.ignore_declared_extents) {
    for (DeclaredInput& input : inputs) {
      for (DeclaredInput::Dim& dim : input.dims) dim = {};
    }
  }
  std::shared_ptr<Session> session(new Session(absolute, std::move(config), std::move(inputs)));
  session->files_ = std::move(files);
  for (const onnx::ValueInfo& output : interface.outputs) session->output_names_.push_back(output.name);
  TCC_RETURN_IF_ERROR(session->policy_.Validate());
  return session;
}

std::vector<CompileEvent> Session::events() const {
  std::lock_guard lock(events_mutex_);
  return events_;
}

absl::StatusOr<std::shared_ptr<Session::Variant>> Session::Find(absl::Span<const Tensor> inputs,
                                                                std::vector<int64_t>* symbols) {
  std::shared_lock lock(variants_mutex_);
  std::string reasons;
  for (const std::shared_ptr<Variant>& variant : variants_) {
    absl::Status status = CheckGuards(variant->signature, inputs, symbols);
    if (status.ok()) return variant;
    absl::StrAppend(&reasons, reasons.empty() ? "" : "\n", status.message());
  }
  return absl::NotFoundError(reasons);
}

absl::Status Session::Run(absl::Span<const Tensor> inputs, const RunOptions& options, std::vector<Tensor>* outputs) {
  TCC_RETURN_IF_ERROR(CheckMemory(inputs, options.outputs));
  std::vector<Tensor> padded;
  if (inputs.size() < policy_.inputs().size()) {
    padded.assign(inputs.begin(), inputs.end());
    padded.resize(policy_.inputs().size());
    inputs = padded;
  }
  std::vector<int64_t> symbols;
  absl::StatusOr<std::shared_ptr<Variant>> variant = Find(inputs, &symbols);
  if (!variant.ok()) {
    TCC_ASSIGN_OR_RETURN(variant, Add(inputs));
    TCC_RETURN_IF_ERROR(CheckGuards((*variant)->signature, inputs, &symbols));
  }
  TCC_ASSIGN_OR_RETURN(PlanRunner* const runner, Runner(variant->get()));
  return runner->Run(inputs, symbols, options, outputs);
}

absl::StatusOr<PlanRunner*> Session::Runner(Variant* variant) {
  if (PlanRunner* const runner = variant->runner.load(std::memory_order_acquire)) return runner;
  // Made for a GPU that was not there when it was compiled or found: it may be now.
  std::lock_guard lock(compile_mutex_);
  TCC_RETURN_IF_ERROR(MakeRunner(variant, /*compile=*/true));
  return variant->runner.load(std::memory_order_acquire);
}

absl::Status Session::MakeRunner(Variant* variant, bool compile) {
  if (variant->runner.load(std::memory_order_acquire) != nullptr) return absl::OkStatus();
  const Package& package = *variant->package;
  PreparedPlan::Options options;
  options.compile = [](absl::Span<const KernelImageView* const>, const std::string&) {
    return absl::StatusOr<std::vector<std::string>>(absl::FailedPreconditionError("nothing is run yet"));
  };
  if (compile) {
    options.compile = ImageCompiler(cache(), config_.workers != nullptr ? *config_.workers : WorkerPool::Global());
  }
  if (const std::string& device = config_.options.device;
      !device.empty() && package.target(variant->index).kind != "cpu") {
    const auto found = devices::DeviceFor(device);
    if (!found.ok()) {
      return absl::FailedPreconditionError(absl::StrCat("device '", device, "': ", found.status().message()));
    }
    options.device = *found;
  }
  TCC_ASSIGN_OR_RETURN(std::shared_ptr<const PreparedPlan> plan,
                       Package::Prepare(variant->package, variant->index, options));
  // A package may be asked to run in another mode than it was compiled in.
  const bool records = RecordsPlans(package) || config_.options.mode == Mode::kReduceOverhead ||
                       config_.options.mode == Mode::kMaxAutotune;
  variant->made = std::make_unique<PlanRunner>(std::move(plan), records, contexts_);
  variant->runner.store(variant->made.get(), std::memory_order_release);
  return absl::OkStatus();
}

absl::Status Session::CheckMemory(absl::Span<const Tensor> inputs, absl::Span<const Tensor> outputs) const {
  const std::vector<DeclaredInput>& declared = policy_.inputs();
  const auto name = [&](size_t i) { return i < declared.size() ? declared[i].name : absl::StrCat(i); };
  return CheckTensors(inputs, name, outputs);
}

absl::StatusOr<std::shared_ptr<Session::Variant>> Session::Add(absl::Span<const Tensor> inputs) {
  std::lock_guard lock(compile_mutex_);
  std::vector<int64_t> symbols;
  absl::StatusOr<std::shared_ptr<Variant>> variant = Find(inputs, &symbols);
  if (variant.ok()) return variant;  // another thread was faster
  if (package_ == nullptr) TCC_RETURN_IF_ERROR(CheckRunsHere(config_.options));
  CompileEvent event;
  return Obtain(TypesOf(inputs), inputs, std::string(variant.status().message()), &event);
}

absl::StatusOr<CompileEvent> Session::Prepare(const CallTypes& types, absl::Span<const Tensor> inputs) {
  TCC_RETURN_IF_ERROR(CheckMemory(inputs, {}));
  if (!config_.verify_inputs.empty()) TCC_RETURN_IF_ERROR(CheckRunsHere(config_.options));
  std::lock_guard lock(compile_mutex_);
  CallTypes call = types;
  TCC_RETURN_IF_ERROR(policy_.CheckCall(&call));
  const std::map<std::string, std::vector<int64_t>> values = SmallValues(policy_.inputs(), inputs);
  {
    std::shared_lock variants_lock(variants_mutex_);
    for (const std::shared_ptr<Variant>& variant : variants_) {
      if (CheckGuards(variant->signature, call, values).ok()) return variant->event;
    }
  }
  CompileEvent event;
  TCC_RETURN_IF_ERROR(Obtain(call, inputs, "", &event).status());
  return event;
}

absl::StatusOr<std::shared_ptr<Session::Variant>> Session::Obtain(const CallTypes& given,
                                                                  absl::Span<const Tensor> inputs,
                                                                  const std::string& reason, CompileEvent* event) {
  CallTypes types = given;
  TCC_RETURN_IF_ERROR(policy_.CheckCall(&types));
  event->reason = reason;
  std::shared_ptr<const Package> package = package_;
  int index = 0;
  if (package != nullptr) {
    std::vector<int64_t> symbols;
    TCC_ASSIGN_OR_RETURN(index, inputs.size() == types.size()
                                    ? package->Select(inputs, &symbols)
                                    : package->Select(types, SmallValues(policy_.inputs(), inputs)));
    event->hit = true;
    event->package = package->path();
  } else {
    TCC_ASSIGN_OR_RETURN(model_key_, ModelKey());
    const std::map<std::string, std::vector<int64_t>> values = SmallValues(policy_.inputs(), inputs);
    size_t count = 0;
    if (KeepsPackages() && config_.share_specialisations) {
      std::string reasons;
      package = FindKept(cache().ReadNotes(model_key_), types, values, event, &reasons);
      if (package != nullptr) return Adopt(package, index, event);
      if (event->reason.empty()) event->reason = reasons;
      // Decided one after another, so that of many processes that start with different extents one compiles for its
      // own, and the others for a symbol, together.
      const CallNotes notes = cache().UpdateNotes(model_key_, [&](CallNotes& kept) {
        policy_.Recall(kept);
        policy_.Observe(types);
        policy_.AddTo(&kept);
      });
      count = notes.specialisations.size();
    } else {
      if (config_.options.use_cache && config_.share_specialisations) policy_.Recall(cache().ReadNotes(model_key_));
      policy_.Observe(types);
    }
    {
      std::shared_lock lock(variants_mutex_);
      count = std::max(count, variants_.size());
    }
    if (!event->reason.empty()) {
      Log("recompiles", absl::StrCat(path_, ": specialisation ", count + 1, ", because of\n", event->reason));
    }
    const bool general = count >= static_cast<size_t>(config_.options.recompile_limit);
    if (general && !warned_of_limit_) {
      warned_of_limit_ = true;
      Warn(absl::StrCat(
          path_, ": has ", count, " specialisations, the recompile limit; compiling the most general one. ",
          "Mark the extents that vary as dynamic (--dynamic), and see TCC_LOGS=recompiles for what varied"));
    }
    TCC_ASSIGN_OR_RETURN(Signature signature, policy_.Specialize(types, general));
    absl::StatusOr<std::shared_ptr<const Package>> got = GetPackage(signature, types, values, event);
    if (!got.ok() && general) {
      // Some models have no general form; what is asked for right now may still have one.
      TCC_ASSIGN_OR_RETURN(signature, policy_.Specialize(types));
      got = GetPackage(signature, types, values, event);
    }
    if (!got.ok()) return got.status();
    package = *std::move(got);
    if (package != nullptr && !inputs.empty()) {
      std::vector<Tensor> padded(inputs.begin(), inputs.end());
      padded.resize(policy_.inputs().size());
      std::vector<int64_t> symbols;
      if (!CheckGuards(package->signature(0), padded, &symbols).ok()) {
        // The model's structure depends on values or extents that the entry under this key was compiled for others of.
        Narrow(package->signature(0), types, values, &signature);
        TCC_ASSIGN_OR_RETURN(package, GetPackage(signature, types, values, event));
      }
    }
    if (event->reply) event->warnings = event->reply->warnings;
    if (package == nullptr) return std::shared_ptr<Variant>();  // stopped at an earlier phase
    const auto& info = package->info(0);
    if (!config_.ignore_declared_extents && !policy_.IsAsMarked(package->signature(0))) {
      const auto why = info.find("narrowed");
      event->narrowed = why != info.end() ? why->second : "the model's structure depends on them";
      event->warnings.push_back(absl::StrCat(
          "extents marked dynamic are numbers in what was compiled, and other ones will be compiled anew: ",
          event->narrowed));
      if (event->reply) Warn(event->warnings.back());
    }
    if (KeepsPackages() && config_.share_specialisations) {
      cache().UpdateNotes(model_key_, [&](CallNotes& kept) {
        if (!kept.Has(event->key)) kept.specialisations.push_back({event->key, package->signature(0)});
      });
    }
  }
  return Adopt(package, index, event);
}

bool Session::KeepsPackages() const {
  return config_.options.use_cache && config_.to_phase == Phase::kPackage && config_.emit.empty();
}

std::shared_ptr<const Package> Session::FindKept(const CallNotes& notes, const CallTypes& types,
                                                 const std::map<std::string, std::vector<int64_t>>& small_values,
                                                 CompileEvent* event, std::string* reasons) {
  const auto start = std::chrono::steady_clock::now();
  for (const CallNotes::Specialisation& one : notes.specialisations) {
    if (!policy_.IsAsMarked(one.signature)) continue;
    const absl::Status status = CheckGuards(one.signature, types, small_values);
    if (!status.ok()) {
      absl::StrAppend(reasons, reasons->empty() ? "" : "\n", status.message());
      continue;
    }
    std::shared_ptr<const Package> package = cache().Lookup(one.key);
    if (package == nullptr || package->size() == 0) continue;  // evicted, or damaged
    // (The notes are a hint, the package decides.)
    if (!CheckGuards(package->signature(0), types, small_values).ok()) continue;
    event->hit = true;
    event->key = one.key;
    event->package = package->path();
    event->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    Log("cache", absl::StrCat(path_, ": hit ", event->key, " ", event->seconds, " s"));
    return package;
  }
  return nullptr;
}

absl::Status Session::PrepareAll() {
  std::lock_guard lock(compile_mutex_);
  for (int index = 0; package_ != nullptr && index < package_->size(); ++index) {
    CompileEvent event;
    event.hit = true;
    event.package = package_->path();
    TCC_RETURN_IF_ERROR(Adopt(package_, index, &event).status());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<Session::Variant>> Session::Adopt(const std::shared_ptr<const Package>& package,
                                                                 int index, CompileEvent* event) {
  const std::string signature_text = SignatureToJson(package->signature(index)).dump();
  {
    // There already, as where a call without values asks again for what is specialised on values.
    std::shared_lock lock(variants_mutex_);
    for (const std::shared_ptr<Variant>& variant : variants_) {
      if (variant->event.key != event->key || variant->index != index ||
          SignatureToJson(variant->signature).dump() != signature_text) {
        continue;
      }
      *event = variant->event;
      return variant;
    }
  }
  auto variant = std::make_shared<Variant>();
  variant->signature = package->signature(index);
  variant->package = package;
  variant->index = index;
  // (Made for a GPU of another machine: that is no error before it is to be run.)
  const absl::Status made = MakeRunner(variant.get(), /*compile=*/false);
  if (!made.ok() && !(package->target(index).kind != "cpu" && absl::IsFailedPrecondition(made))) return made;
  event->signature = variant->signature;
  const auto option = [&](const char* name) {
    const auto it = package->options().find(name);
    return it == package->options().end() ? std::string() : it->second;
  };
  event->mode = option("mode");
  event->precision = option("precision");
  event->target = option("target");
  if (const auto it = package->info(index).find("kernels"); it != package->info(index).end()) {
    const nlohmann::json json = nlohmann::json::parse(it->second, nullptr, /*allow_exceptions=*/false);
    if (absl::StatusOr<std::vector<KernelRecord>> kernels = KernelsFromJson(json); kernels.ok())
      event->kernels = *kernels;
  }
  if (const auto it = package->info(index).find("resources"); it != package->info(index).end()) {
    const nlohmann::json json = nlohmann::json::parse(it->second, nullptr, /*allow_exceptions=*/false);
    if (absl::StatusOr<std::vector<ResourceRecord>> records = ResourcesFromJson(json); records.ok())
      event->resources = *records;
  }
  const auto warnings = package->info(index).find("warnings");
  if (!event->reply && warnings != package->info(index).end()) {
    event->warnings.insert(event->warnings.begin(), warnings->second);
  }
  if (LogEnabled("guards")) {
    Log("guards", absl::StrCat(path_, ": ", signature_text));
  }
  variant->event = *event;
  {
    std::unique_lock lock(variants_mutex_);
    variants_.push_back(variant);
  }
  std::lock_guard lock(events_mutex_);
  events_.push_back(*event);
  return variant;
}

std::string Session::TargetKey() const {
  const absl::StatusOr<TargetSpec> target = ParseTarget(config_.options.target);
  if (target.ok() && target->kind != TargetSpec::Kind::kCpu) {
    return absl::StrCat(config_.options.target, "\n", ToolchainIdentity(target->kind));
  }
  if (config_.options.target != "cpu") return config_.options.target;
  return absl::StrCat("cpu ", std::string(HostArch()), " ", absl::StrJoin(HostCpuFeatures(), ","));
}

absl::StatusOr<std::string> Session::ModelKey() {
  TCC_ASSIGN_OR_RETURN(std::vector<std::string> parts, files_->Hashes(cache(), config_.options.use_cache));
  if (!model_key_.empty()) return model_key_;  // the files still are what they were
  for (std::string part :
       {OptionsKey(config_.options), TargetKey(), std::string(kVersion), std::string(kLlvmVersion), WorkerIdentity()}) {
    parts.push_back(std::move(part));
  }
  return ArtifactCache::Key(parts);
}

absl::StatusOr<std::shared_ptr<const Package>> Session::GetPackage(
    const Signature& signature, const CallTypes& types, const std::map<std::string, std::vector<int64_t>>& small_values,
    CompileEvent* event) {
  const auto start = std::chrono::steady_clock::now();
  CompileRequest request;
  request.model = path_;
  request.options = config_.options;
  request.signature = signature;
  request.small_values = small_values;
  request.symbol_values = SymbolValues(signature, types);
  request.constants = config_.constants;
  request.to_phase = config_.to_phase;
  request.emit = config_.emit;
  request.allow_fallback = config_.allow_fallback;
  request.verify_inputs = config_.verify_inputs;
  request.verify_tolerance = config_.verify_tolerance;
  if (config_.options.use_cache) request.tuning_store = cache().tuning_store();
  if (config_.options.use_cache && cache().readable()) request.kernel_cache = cache().folder();
  auto build = [&](const std::string& package, const std::string& constant_store) -> absl::Status {
    request.package = package;
    request.constant_store = constant_store;
    absl::StatusOr<CompileReply> reply =
        config_.compile != nullptr
            ? config_.compile(request, config_.progress)
            : (config_.workers != nullptr ? *config_.workers : WorkerPool::Global()).Compile(request, config_.progress);
    // What was compiled is what the files held all the time, or nothing that may be kept under their key.
    TCC_RETURN_IF_ERROR(files_->Hashes(cache(), config_.options.use_cache).status());
    if (!reply.ok()) return reply.status();
    for (const std::string& warning : reply->warnings) Warn(absl::StrCat(path_, ": ", warning));
    event->reply = *std::move(reply);
    return absl::OkStatus();
  };
  event->hit = false;
  std::vector<std::string> key_parts = {model_key_, SignatureToJson(signature).dump()};
  if (!config_.allow_fallback) key_parts.push_back("no fallback");  // an entry may be of library kernels only
  event->key = ArtifactCache::Key(key_parts);
  std::shared_ptr<const Package> package;
  if (config_.to_phase != Phase::kPackage) {
    TCC_RETURN_IF_ERROR(build("", ""));
  } else if (!KeepsPackages() && !config_.package_file.empty()) {
    TCC_RETURN_IF_ERROR(build(config_.package_file, ""));
    TCC_ASSIGN_OR_RETURN(package, Package::Open(config_.package_file));
  } else if (!KeepsPackages()) {
    // For this process only; what is open stays readable.
    std::string pattern = absl::StrCat(TemporaryFolder(), "/tcc-XXXXXX.tcc");
    FileDescriptor file(::mkstemps(pattern.data(), 4));
    if (!file.valid()) return ErrnoStatus(errno, pattern, "create");
    const TemporaryFile temporary(pattern);
    TCC_RETURN_IF_ERROR(build(pattern, ""));
    TCC_ASSIGN_OR_RETURN(package, Package::Open(pattern));
  } else {
    TCC_ASSIGN_OR_RETURN(package,
                         cache().GetOrBuild(event->key, build, &event->hit, config_.options.compile_timeout_seconds));
    // One just built was opened under the name it was written to.
    const std::string path = cache().PackagePath(event->key);
    event->package = Exists(path) ? path : package->path();
  }
  if (package != nullptr && event->package.empty()) event->package = package->path();
  event->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Log("cache", absl::StrCat(path_, ": ", event->hit ? "hit " : "miss ", event->key, " ", event->seconds, " s"));
  return package;
}

}  // namespace tcc
