// tcc compile: a model into a package.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "compiler/cli/command.h"
#include "runtime/file_util.h"
#include "runtime/signature_json.h"
#include "runtime/status.h"

namespace tcc::cli {
namespace {

// What a package accepts, with the names of symbols as extents: each has one of its own. No upper bound: null.
nlohmann::json SignatureForPeople(const Signature& signature) {
  nlohmann::json json = SignatureToJson(signature);
  std::set<std::string> taken;
  std::vector<std::string> names;
  for (const Symbol& symbol : signature.symbols) taken.insert(symbol.name);
  std::set<std::string> used;
  for (size_t i = 0; i < signature.symbols.size(); ++i) {
    std::string name = signature.symbols[i].name;
    const auto is_free = [&] { return !name.empty() && name != "?" && used.count(name) == 0; };
    if (!is_free()) {
      name = absl::StrCat("s", i);
      while (taken.count(name) > 0 || used.count(name) > 0) name += "_";
    }
    used.insert(name);
    names.push_back(name);
    json["symbols"][i]["name"] = name;
    if (signature.symbols[i].max == kMaxExtent) json["symbols"][i]["max"] = nullptr;
  }
  const auto rename = [&](const auto& specs, const char* list) {
    for (size_t i = 0; i < specs.size(); ++i) {
      for (size_t axis = 0; axis < specs[i].dims.size(); ++axis) {
        const int32_t symbol = specs[i].dims[axis].symbol;
        if (symbol >= 0) json[list][i]["dims"][axis] = names[static_cast<size_t>(symbol)];
      }
    }
  };
  rename(signature.inputs, "inputs");
  rename(signature.outputs, "outputs");
  return json;
}

struct CompileCommand {
  std::string model, output, to_phase = "package";
  std::vector<std::string> emit;
  CompileFlags compile;
  InputFlags inputs;
  bool json = false;
  std::string folder_;                          // of --emit; empty: standard output
  std::map<std::string, std::string> emitted_;  // name -> text, or the file it is in

  absl::Status Run() {
    TCC_ASSIGN_OR_RETURN(Options options, compile.Parse());
    TCC_RETURN_IF_ERROR(inputs.AddDynamic(model, &options));
    Session::Config config;
    TCC_ASSIGN_OR_RETURN(config.to_phase, ParsePhase(to_phase));
    if (config.to_phase != Phase::kPackage && !output.empty()) {
      return absl::InvalidArgumentError("-o needs a whole compile; leave --to-phase out");
    }
    std::vector<std::string> names;
    if (!emit.empty()) {
      names = absl::StrSplit(emit[0], ',', absl::SkipEmpty());
      TCC_ASSIGN_OR_RETURN(const TargetSpec target, ParseTarget(compile.target()));
      for (const std::string& name : names) {
        TCC_ASSIGN_OR_RETURN(const EmitKind kind, ParseEmitKind(name, target));
        if (kind.phase <= config.to_phase) continue;
        return absl::InvalidArgumentError(absl::StrCat("--emit=", name, ": is made by phase ",
                                                       std::string(PhaseName(kind.phase)),
                                                       ", but --to-phase=", to_phase, " stops before it"));
      }
      if (emit.size() > 1) folder_ = emit[1];
    }
    config.emit = names;
    const Phase phase = config.to_phase;
    config.package_file = output;
    if (!output.empty() && IsFolder(output)) {
      return absl::InvalidArgumentError(absl::StrCat(output, ": is a folder; name the package file"));
    }
    TCC_RETURN_IF_ERROR(CheckOutput(output, model));
    config.options = std::move(options);
    config.allow_fallback = compile.allow_fallback();
    config.progress = TerminalProgress();
    TCC_ASSIGN_OR_RETURN(const std::shared_ptr<Session> session, Session::Open(model, std::move(config)));
    if (session->is_package()) {
      return absl::InvalidArgumentError(absl::StrCat(model, ": is compiled already; name the model it was made from"));
    }
    const absl::StatusOr<CallTypes> types_or = inputs.Types(*session);
    if (!types_or.ok() && session->options().dynamic.empty() && inputs.empty() && phase <= Phase::kImport) {
      return ImportOpen(session->options(), phase, types_or.status());
    }
    TCC_ASSIGN_OR_RETURN(const CallTypes types, types_or);
    // Values of small inputs may matter.
    absl::StatusOr<std::vector<Tensor>> tensors = inputs.Load(*session);
    if (!tensors.ok()) tensors = std::vector<Tensor>();
    TCC_ASSIGN_OR_RETURN(const CompileEvent event, session->Prepare(types, *tensors));
    ClearProgress();
    if (event.reply) {
      for (const std::string& name : names) TCC_RETURN_IF_ERROR(Emit(*event.reply, name));
    }
    if (!output.empty() && compile.marks_dynamic() && !event.narrowed.empty()) {
      // (What is not kept in the cache was written there.)
      if (event.package == output) TCC_RETURN_IF_ERROR(RemovePackage());
      return absl::InvalidArgumentError(
          absl::StrCat(model,
                       ": no package can serve what --dynamic asks for; give a number or a range that it allows "
                       "for the extent that is named here: ",
                       event.narrowed));
    }
    // What is not kept in the cache was written there at once.
    if (!output.empty() && event.package != output) TCC_RETURN_IF_ERROR(CopyPackage(event.package));
    Summarise(event);
    return absl::OkStatus();
  }

  // The first phases need no extents: those the model leaves open are symbols. Where the import needs one after all,
  // `open`, which says how to give it; but what is not supported comes first, with any extents.
  absl::Status ImportOpen(const Options& options, Phase phase, const absl::Status& open) {
    CompileRequest request;
    std::error_code unknown;
    request.model = std::filesystem::absolute(model, unknown).string();
    request.options = options;
    request.to_phase = Phase::kImport;
    if (!emit.empty()) request.emit = {"import"};
    CompileEvent event;
    const auto start = std::chrono::steady_clock::now();
    absl::StatusOr<CompileReply> reply = WorkerPool::Global().Compile(request, TerminalProgress());
    ClearProgress();
    if (!reply.ok()) {
      const bool other = !absl::StrContains(reply.status().message(), "ops that are not supported");
      if (phase == Phase::kLoad && other) reply = CompileReply();  // the import was for the ops alone
      if (!reply.ok()) return other ? open : reply.status();
    }
    event.reply = *std::move(reply);
    event.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!emit.empty()) TCC_RETURN_IF_ERROR(Emit(*event.reply, "import"));
    Summarise(event);
    return absl::OkStatus();
  }

  absl::Status RemovePackage() const {
    std::error_code error;
    std::filesystem::remove(output, error);
    if (error) return absl::InternalError(absl::StrCat(output, ": cannot be removed: ", error.message()));
    return absl::OkStatus();
  }

  absl::Status Emit(const CompileReply& reply, const std::string& name) {
    const auto it = reply.emitted.find(name);
    // A model without kernels has no code.
    const std::string text = it == reply.emitted.end() ? std::string() : it->second;
    if (folder_.empty()) {
      if (!json) std::printf("%s%s", text.c_str(), text.empty() || text.back() == '\n' ? "" : "\n");
      emitted_[name] = text;
      return absl::OkStatus();
    }
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    TCC_ASSIGN_OR_RETURN(const TargetSpec target, ParseTarget(compile.target()));
    TCC_ASSIGN_OR_RETURN(const EmitKind kind, ParseEmitKind(name, target));
    const std::string path = absl::StrCat(folder_, "/", name, std::string(kind.suffix));
    TCC_RETURN_IF_ERROR(WriteFileAtomically(path, text));
    emitted_[name] = path;
    return absl::OkStatus();
  }

  // With all its constants in it, so that it can go to another machine.
  absl::Status CopyPackage(const std::string& from) const {
    TCC_ASSIGN_OR_RETURN(const std::shared_ptr<const Package> package,
                         Package::Open(from, {.constant_store = ArtifactCache::Global().constant_store()}));
    PackageBuilder builder;
    builder.options = package->options();
    builder.tcc_version = package->tcc_version();
    std::vector<std::shared_ptr<const MappedFile>> constants;
    for (int i = 0; i < package->size(); ++i) {
      Specialisation& specialisation = builder.specialisations.emplace_back();
      if (package->constants_bytes(i) > 0 && package->constants_file(i).empty()) {
        // They are in the package already.
        TCC_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(from));
        return WriteFileAtomically(output, file->bytes());
      }
      specialisation.signature = package->signature(i);
      specialisation.target = package->target(i);
      specialisation.code = std::string(package->code(i));
      for (const KernelImageView& image : package->images(i)) {
        specialisation.images.push_back(
            {image.symbol, std::string(image.source), {image.binaries.begin(), image.binaries.end()}});
      }
      specialisation.info = package->info(i);
      specialisation.constants_bytes = package->constants_bytes(i);
      TCC_ASSIGN_OR_RETURN(specialisation.plan, package->ReadPlan(i));
      if (specialisation.constants_bytes > 0) {
        TCC_ASSIGN_OR_RETURN(constants.emplace_back(), MappedFile::Open(package->constants_file(i)));
        specialisation.constants.push_back(
            {0, constants.back()->bytes().substr(0, static_cast<size_t>(specialisation.constants_bytes))});
      }
    }
    for (const std::string& name : package->DumpNames()) {
      TCC_ASSIGN_OR_RETURN(const std::string_view text, package->Dump(name));
      builder.dumps[name] = std::string(text);
    }
    return builder.Write(output);
  }

  void Summarise(const CompileEvent& event) const {
    const std::vector<KernelRecord>& kernels = event.reply ? event.reply->kernels : event.kernels;
    const auto library =
        std::count_if(kernels.begin(), kernels.end(), [](const auto& k) { return k.schedule.empty(); });
    const auto generated = static_cast<ptrdiff_t>(kernels.size()) - library;
    // (Without the cache the package was a temporary file.)
    const std::string kept = Exists(event.package) ? event.package : "";
    const std::string where = output.empty() ? kept : output;
    const std::vector<std::pair<std::string, double>> phases =
        event.reply ? event.reply->phase_ms : std::vector<std::pair<std::string, double>>();
    if (json) {
      nlohmann::json phase_ms = nlohmann::json::object();
      for (const auto& [name, ms] : phases) phase_ms[name] = ms;
      nlohmann::json summary = {{"graphs", 1},
                                {"graph_breaks", 0},
                                {"kernels_generated", generated},
                                {"kernels_library", library},
                                {"phase_ms", phase_ms},
                                {"autotune", TuningToJson(event.reply ? event.reply->tuning : TuningSummary())},
                                {"seconds", event.seconds},
                                {"package", where},
                                {"signature", SignatureForPeople(event.signature)},
                                {"warnings", event.warnings},
                                {"cache", event.hit ? "hit" : "miss"}};
      if (!emitted_.empty()) summary[folder_.empty() ? "emitted" : "emitted_files"] = emitted_;
      std::printf("%s\n", summary.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
      return;
    }
    // What was asked for as text has standard output for itself.
    std::FILE* const out = !emitted_.empty() && folder_.empty() ? stderr : stdout;
    std::fprintf(out, "graphs: 1, graph breaks: 0\n");
    if (!kernels.empty() || !where.empty())
      std::fprintf(out, "kernels: %td generated, %td library\n", generated, library);
    if (!phases.empty()) {
      std::fprintf(out, "time:");
      for (const auto& [name, ms] : phases) std::fprintf(out, " %s %.0f ms", name.c_str(), ms);
      std::fprintf(out, "\n");
    }
    if (event.reply && event.reply->tuning.kernels > 0) {
      const TuningSummary& tuning = event.reply->tuning;
      std::fprintf(out,
                   "autotune: %d kernels (%d reused, %d skipped), %d candidates measured, %d better than the default\n",
                   tuning.kernels, tuning.reused, tuning.skipped, tuning.measured, tuning.changed);
      if (tuning.pruned + tuning.dropped > 0) {
        std::fprintf(out, "autotune: %d candidates not worth a run, %d lost (TCC_LOGS=autotuning says why)\n",
                     tuning.pruned, tuning.dropped);
      }
      if (tuning.reverted > 0) {
        std::fprintf(out, "autotune: the whole model is not faster with what was measured: defaults are used\n");
      }
    }
    if (!folder_.empty()) {
      for (const auto& [name, path] : emitted_) std::fprintf(out, "wrote: %s\n", path.c_str());
    }
    if (!where.empty()) std::fprintf(out, "package: %s\n", where.c_str());
    std::fprintf(out, "cache: %s, %.3f s\n", event.hit ? "hit" : "miss", event.seconds);
  }
};

}  // namespace

void AddCompileCommand(CLI::App& app, int* exit_code) {
  auto command = std::make_shared<CompileCommand>();
  CLI::App* sub = app.add_subcommand("compile", "Compiles a model into the cache, or into a package");
  sub->add_option("MODEL", command->model, "An .onnx model")->required();
  sub->add_option("-o,--output", command->output, "Where the package goes");
  command->inputs.AddTo(*sub);
  command->compile.AddTo(*sub);
  sub->add_option("--emit", command->emit,
                  "Texts to show, with commas between them: import, tcc, kernels, scheduled, plan, and llvm, asm (CPU) "
                  "or cuda; into files in DIR if given")
      ->expected(1, 2);
  sub->add_option("--to-phase", command->to_phase,
                  "The last phase: load, import, simplify, fuse, autotune, codegen or package");
  sub->add_flag("--json", command->json, "Output for machines, errors too");
  sub->footer(
      "Example: tcc compile model.onnx -o model.tcc --input 'x=f32[batch:1..64,3,224,224]'\n"
      "         tcc compile model.onnx --emit kernels,asm DIR");
  sub->callback([command, exit_code] {
    const absl::Status status = command->Run();
    *exit_code = status.ok() ? kOk : Fail(status);
  });
}

}  // namespace tcc::cli
