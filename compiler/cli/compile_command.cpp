// tcc compile: a model into a package.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "compiler/cli/command.h"
#include "runtime/file_util.h"
#include "runtime/status.h"

namespace tcc::cli {
namespace {

struct CompileCommand {
  std::string model, output, to_phase = "package";
  std::vector<std::string> emit;
  CompileFlags compile;
  InputFlags inputs;
  bool json = false;

  absl::Status Run() {
    TCC_ASSIGN_OR_RETURN(Options options, compile.Parse());
    TCC_RETURN_IF_ERROR(inputs.AddDynamic(&options));
    Session::Config config;
    TCC_ASSIGN_OR_RETURN(config.to_phase, ParsePhase(to_phase));
    if (config.to_phase != Phase::kPackage && !output.empty()) {
      return absl::InvalidArgumentError("-o needs a whole compile; leave --to-phase out");
    }
    std::string folder;
    if (!emit.empty()) {
      config.emit = absl::StrSplit(emit[0], ',');
      for (const std::string& name : config.emit) {
        if (name != "tcc" && name != "kernels" && name != "llvm" && name != "asm" && name != "plan" && name != "cuda" &&
            name != "scheduled" && name != "import") {
          return absl::InvalidArgumentError(absl::StrCat(
              "--emit: unknown '", name, "'; there are import, tcc, kernels, scheduled, cuda, llvm, asm, plan"));
        }
      }
      if (emit.size() > 1) folder = emit[1];
    }
    if (!output.empty() && std::filesystem::is_directory(output)) {
      return absl::InvalidArgumentError(absl::StrCat(output, ": is a folder; name the package file"));
    }
    config.options = std::move(options);
    config.allow_fallback = compile.allow_fallback();
    config.progress = TerminalProgress();
    TCC_ASSIGN_OR_RETURN(const std::shared_ptr<Session> session, Session::Open(model, std::move(config)));
    TCC_ASSIGN_OR_RETURN(const CallTypes types, inputs.Types(*session));
    // Values of small inputs may matter.
    absl::StatusOr<std::vector<Tensor>> tensors = inputs.Load(*session);
    if (!tensors.ok()) tensors = std::vector<Tensor>();
    TCC_ASSIGN_OR_RETURN(const CompileEvent event, session->Prepare(types, *tensors));
    ClearProgress();
    if (event.reply) TCC_RETURN_IF_ERROR(Emit(*event.reply, folder));
    if (!output.empty()) {
      // Without the cache there was only a temporary file.
      const bool kept = std::filesystem::exists(event.package);
      if (!kept) return absl::InvalidArgumentError("-o does not go together with --no-cache and --emit");
      TCC_RETURN_IF_ERROR(CopyPackage(event.package));
    }
    Summarise(event);
    return absl::OkStatus();
  }

  static absl::Status Emit(const CompileReply& reply, const std::string& folder) {
    for (const auto& [name, text] : reply.emitted) {
      if (folder.empty()) {
        std::printf("%s\n", text.c_str());
        continue;
      }
      std::error_code error;
      std::filesystem::create_directories(folder, error);
      const std::string path = absl::StrCat(folder, "/", name, name == "plan" ? ".json" : ".mlir");
      TCC_RETURN_IF_ERROR(WriteFileAtomically(path, text));
      std::fprintf(stderr, "wrote %s\n", path.c_str());
    }
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
    int library = 0;
    for (const KernelRecord& kernel : event.kernels) library += kernel.schedule.empty();
    const int generated = static_cast<int>(event.kernels.size()) - library;
    // (Without the cache the package was a temporary file.)
    const std::string kept = std::filesystem::exists(event.package) ? event.package : "";
    const std::string where = output.empty() ? kept : output;
    if (json) {
      nlohmann::json phases = nlohmann::json::object();
      if (event.reply) {
        for (const auto& [name, ms] : event.reply->phase_ms) phases[name] = ms;
      }
      std::printf("%s\n",
                  nlohmann::json{{"graphs", 1},
                                 {"graph_breaks", 0},
                                 {"kernels_generated", generated},
                                 {"kernels_library", library},
                                 {"phase_ms", phases},
                                 {"autotune", TuningToJson(event.reply ? event.reply->tuning : TuningSummary())},
                                 {"seconds", event.seconds},
                                 {"package", where},
                                 {"cache", event.hit ? "hit" : "miss"}}
                      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
                      .c_str());
      return;
    }
    std::printf("graphs 1, graph breaks 0\n");
    std::printf("kernels: %d generated, %d library calls\n", generated, library);
    if (event.reply) {
      std::printf("time:");
      for (const auto& [name, ms] : event.reply->phase_ms) std::printf(" %s %.0f ms", name.c_str(), ms);
      std::printf("\n");
    }
    if (event.reply && event.reply->tuning.kernels > 0) {
      const TuningSummary& tuning = event.reply->tuning;
      std::printf("autotune: %d kernels (%d reused, %d skipped), %d candidates measured, %d better than the default\n",
                  tuning.kernels, tuning.reused, tuning.skipped, tuning.measured, tuning.changed);
    }
    if (!where.empty()) std::printf("package: %s\n", where.c_str());
    std::printf("cache: %s, %.3f s\n", event.hit ? "hit" : "miss", event.seconds);
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
  sub->add_option("--emit", command->emit, "What to show: tcc, kernels, cuda, llvm, asm, plan; into DIR if given")
      ->expected(1, 2);
  sub->add_option("--to-phase", command->to_phase,
                  "The last phase: load, import, simplify, fuse, autotune, codegen or package");
  sub->add_flag("--json", command->json, "Output for machines, errors too");
  sub->footer("Example: tcc compile model.onnx -o model.tcc --input 'x=f32[batch:1..64,3,224,224]'");
  sub->callback([command, exit_code] {
    const absl::Status status = command->Run();
    *exit_code = status.ok() ? kOk : Fail(status);
  });
}

}  // namespace tcc::cli
