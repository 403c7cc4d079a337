// tcc test: runs ONNX backend test folders (model.onnx, test_data_set_N/{input,output}_M.pb).
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "compiler/cli/command.h"
#include "frontend/onnx/program/Interface.h"
#include "frontend/onnx/program/ValueFile.h"
#include "runtime/file_util.h"
#include "runtime/status.h"

namespace tcc::cli {
namespace {

namespace fs = std::filesystem;

enum class Variant { kStatic, kDynamic, kConstantInputs };

struct Outcome {
  enum Kind { kPass, kFailed, kSkip } kind = kPass;
  std::string reason;
};

// Tensors of a value, in order; sequences and optionals one after another.
void Flatten(const onnx::Value& value, std::vector<Tensor>* tensors) {
  if (value.kind == onnx::ValueInfo::Kind::Tensor) {
    tensors->push_back(value.tensor);
    return;
  }
  for (const onnx::Value& element : value.elements) Flatten(element, tensors);
}

std::string OneLine(absl::string_view text) {
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

class FolderTest {
 public:
  FolderTest(const fs::path& folder, const Options& options, Variant variant, const Tolerance& tolerance,
             bool allow_fallback)
      : folder_(folder), options_(options), variant_(variant), tolerance_(tolerance), allow_fallback_(allow_fallback) {}

  absl::Status Run() {
    const std::string model = folder_ / "model.onnx";
    absl::StatusOr<onnx::Interface> read = onnx::readInterface(model);
    TCC_RETURN_IF_ERROR(read.status());
    interface_ = *std::move(read);
    std::vector<fs::path> sets;
    std::error_code error;
    for (fs::directory_iterator it(folder_, error); !error && it != fs::directory_iterator(); it.increment(error)) {
      const fs::directory_entry& entry = *it;
      if (IsFolder(entry.path()) && entry.path().filename().string().rfind("test_data_set_", 0) == 0) {
        sets.push_back(entry.path());
      }
    }
    if (sets.empty()) return absl::NotFoundError("no test_data_set_* folder");
    std::sort(sets.begin(), sets.end());
    std::shared_ptr<Session> session;
    for (const fs::path& set : sets) {
      TCC_RETURN_IF_ERROR(RunSet(model, set, &session));
    }
    return absl::OkStatus();
  }

  // What ran as library kernels on the host.
  const std::set<std::string>& library_kernels() const { return library_kernels_; }

 private:
  absl::Status RunSet(const std::string& model, const fs::path& set, std::shared_ptr<Session>* session) {
    std::map<std::string, std::string> constants;
    std::vector<Tensor> inputs;
    bool needs_constants = false;
    for (size_t i = 0; i < interface_.inputs.size(); ++i) {
      const onnx::ValueInfo& info = interface_.inputs[i];
      const fs::path file = set / absl::StrCat("input_", i, ".pb");
      if (!Exists(file)) {
        if (info.kind == onnx::ValueInfo::Kind::Tensor) inputs.emplace_back();
        continue;
      }
      // Sequences and optionals exist only while compiling.
      if (info.kind != onnx::ValueInfo::Kind::Tensor || variant_ == Variant::kConstantInputs) {
        constants[info.name] = file;
        needs_constants = true;
        continue;
      }
      TCC_ASSIGN_OR_RETURN(const onnx::Value value, onnx::loadValueFile(file, info.kind));
      inputs.push_back(value.tensor);
    }
    if (*session == nullptr || needs_constants) {
      Session::Config config;
      config.options = options_;
      config.constants = constants;
      config.allow_fallback = allow_fallback_;
      config.share_specialisations = false;
      if (variant_ == Variant::kDynamic) MakeDynamic(inputs, constants, &config);
      TCC_ASSIGN_OR_RETURN(*session, Session::Open(model, std::move(config)));
    }
    std::vector<Tensor> outputs;
    TCC_RETURN_IF_ERROR((*session)->Run(inputs, RunOptions(), &outputs));
    for (const CompileEvent& event : (*session)->events()) {
      for (const KernelRecord& kernel : event.kernels) {
        if (kernel.schedule.empty()) library_kernels_.insert(kernel.name);
      }
    }

    std::vector<Tensor> expected;
    for (size_t i = 0; i < interface_.outputs.size(); ++i) {
      const fs::path file = set / absl::StrCat("output_", i, ".pb");
      if (!Exists(file)) break;
      TCC_ASSIGN_OR_RETURN(const onnx::Value value, onnx::loadValueFile(file, interface_.outputs[i].kind));
      Flatten(value, &expected);
    }
    if (expected.empty()) return absl::NotFoundError(absl::StrCat(set.string(), ": has no output_*.pb"));
    if (outputs.size() < expected.size()) {
      return absl::DataLossError(absl::StrCat("returns ", outputs.size(), " tensors, expected ", expected.size()));
    }
    for (size_t i = 0; i < expected.size(); ++i) {
      if (!expected[i].valid()) continue;
      TCC_RETURN_IF_ERROR(WithContext(absl::StrCat("output ", i), CompareTensors(outputs[i], expected[i], tolerance_)));
    }
    return absl::OkStatus();
  }

  // Every extent becomes a symbol, also those that the model fixes.
  void MakeDynamic(const std::vector<Tensor>& inputs, const std::map<std::string, std::string>& constants,
                   Session::Config* config) const {
    size_t at = 0;
    for (const onnx::ValueInfo& info : interface_.inputs) {
      if (constants.count(info.name) || info.kind != onnx::ValueInfo::Kind::Tensor) continue;
      const Tensor& tensor = inputs[at++];
      if (!tensor.valid()) continue;
      DynamicSpec spec{info.name, {}};
      for (int axis = 0; axis < tensor.rank(); ++axis) {
        DimSpec dim;
        dim.kind = DimSpec::Kind::kDynamic;
        // Equal extents of different inputs share a symbol: most ops need that to broadcast.
        dim.name = absl::StrCat("d", tensor.dim(axis));
        dim.min = tensor.dim(axis) < 2 ? tensor.dim(axis) : 2;
        if (tensor.dim(axis) < 2) dim.max = tensor.dim(axis);
        spec.dims.push_back(std::move(dim));
      }
      config->options.dynamic.push_back(std::move(spec));
    }
    config->ignore_declared_extents = true;
  }

  fs::path folder_;
  const Options& options_;
  Variant variant_;
  Tolerance tolerance_;
  bool allow_fallback_;
  onnx::Interface interface_;
  std::set<std::string> library_kernels_;
};

struct TestCommand {
  std::vector<std::string> folders;
  std::string skip_list, shard, variant = "static", filter;
  int threads = 1;
  bool json = false;
  CompileFlags compile;
  Tolerance tolerance{1e-3, 1e-7, 1e-6};  // those of ONNX's own runner; the last: compare.cpp says why

  // Lines `NAME reason`; '#' starts a comment.
  static absl::StatusOr<std::map<std::string, std::string>> ReadSkipList(const std::string& path) {
    std::map<std::string, std::string> skips;
    if (path.empty()) return skips;
    std::ifstream file(path);
    if (!file) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
    for (std::string line; std::getline(file, line);) {
      line = line.substr(0, line.find('#'));
      std::pair<std::string, std::string> parts =
          absl::StrSplit(absl::StripAsciiWhitespace(line), absl::MaxSplits(' ', 1));
      if (!parts.first.empty()) skips[parts.first] = parts.second.empty() ? "listed" : parts.second;
    }
    return skips;
  }

  // Folders with a model.onnx at or below those given.
  absl::StatusOr<std::vector<fs::path>> FindTests() const {
    std::set<fs::path> found;
    for (const std::string& folder : folders) {
      std::error_code error;
      if (!fs::is_directory(folder, error)) return absl::NotFoundError(absl::StrCat(folder, ": is not a folder"));
      if (Exists(folder + "/model.onnx")) {
        found.insert(fs::path(folder).lexically_normal());
        continue;
      }
      for (fs::recursive_directory_iterator it(folder, error); !error && it != fs::recursive_directory_iterator();
           it.increment(error)) {
        if (it->path().filename() == "model.onnx") found.insert(it->path().parent_path());
      }
      if (error) return absl::PermissionDeniedError(absl::StrCat(folder, ": cannot be read: ", error.message()));
    }
    if (found.empty()) return absl::NotFoundError("no model.onnx at or below the given folders");
    std::vector<fs::path> tests;
    int shard_index = 0, shard_count = 1;
    if (!shard.empty()) {
      std::pair<std::string, std::string> parts = absl::StrSplit(shard, absl::MaxSplits('/', 1));
      if (!absl::SimpleAtoi(parts.first, &shard_index) || !absl::SimpleAtoi(parts.second, &shard_count) ||
          shard_count < 1 || shard_index < 0 || shard_index >= shard_count) {
        return absl::InvalidArgumentError(
            absl::StrCat("--shard: '", shard, "' is not of the form I/N with 0 <= I < N"));
      }
    }
    int index = 0;
    for (const fs::path& path : found) {
      if (!filter.empty() && path.filename().string().find(filter) == std::string::npos) continue;
      if (index++ % shard_count == shard_index) tests.push_back(path);
    }
    return tests;
  }

  absl::StatusOr<bool> Run() {
    TCC_ASSIGN_OR_RETURN(const Options options, compile.Parse());
    TCC_ASSIGN_OR_RETURN(const auto skips, ReadSkipList(skip_list));
    TCC_ASSIGN_OR_RETURN(const std::vector<fs::path> tests, FindTests());
    Variant kind = Variant::kStatic;
    if (variant == "dynamic") {
      kind = Variant::kDynamic;
    } else if (variant == "constant-inputs") {
      kind = Variant::kConstantInputs;
    } else if (variant != "static") {
      return absl::InvalidArgumentError(
          absl::StrCat("--mode-variant: unknown '", variant, "'; there are static, dynamic, constant-inputs"));
    }
    std::atomic<size_t> next = 0;
    std::mutex mutex;
    int counts[3] = {};
    nlohmann::json results = nlohmann::json::array();
    auto work = [&] {
      for (size_t i; (i = next++) < tests.size();) {
        const std::string name = tests[i].filename();
        Outcome outcome;
        std::set<std::string> library;
        if (const auto skip = skips.find(name); skip != skips.end()) {
          outcome = {Outcome::kSkip, skip->second};
        } else {
          FolderTest test(tests[i], options, kind, tolerance, compile.allow_fallback());
          const absl::Status status = test.Run();
          library = test.library_kernels();
          // A clear refusal is no wrong result.
          if (!status.ok()) {
            outcome = {absl::IsUnimplemented(status) ? Outcome::kSkip : Outcome::kFailed, OneLine(status.message())};
          }
        }
        static constexpr const char* kNames[] = {"PASS", "FAIL", "SKIP"};
        std::lock_guard lock(mutex);
        ++counts[outcome.kind];
        if (json) {
          results.push_back({{"name", name},
                             {"outcome", kNames[outcome.kind]},
                             {"reason", outcome.reason},
                             {"library_kernels", library}});
        } else {
          std::printf("%s %s%s%s\n", kNames[outcome.kind], name.c_str(), outcome.reason.empty() ? "" : " ",
                      outcome.reason.c_str());
          std::fflush(stdout);
        }
      }
    };
    std::vector<std::thread> pool;
    for (int i = 1; i < threads; ++i) pool.emplace_back(work);
    work();
    for (std::thread& thread : pool) thread.join();
    if (json) {
      std::printf("%s\n", nlohmann::json{{"tests", results},
                                         {"passed", counts[Outcome::kPass]},
                                         {"failed", counts[Outcome::kFailed]},
                                         {"skipped", counts[Outcome::kSkip]}}
                              .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
                              .c_str());
    } else {
      std::printf("%d passed, %d failed, %d skipped\n", counts[Outcome::kPass], counts[Outcome::kFailed],
                  counts[Outcome::kSkip]);
    }
    return counts[Outcome::kFailed] == 0;
  }
};

}  // namespace

void AddTestCommand(CLI::App& app, int* exit_code) {
  auto command = std::make_shared<TestCommand>();
  CLI::App* sub = app.add_subcommand("test", "Runs ONNX backend test folders");
  sub->add_option("DIR", command->folders, "Folders with model.onnx and test_data_set_*, or folders of those")
      ->required();
  sub->add_option("--skip-list", command->skip_list, "A file of lines 'NAME reason': tests that are not run");
  sub->add_option("--filter", command->filter, "Only tests whose name contains this");
  sub->add_option("--shard", command->shard, "I/N: the I-th of N parts, counted from 0");
  sub->add_option("--threads", command->threads, "Tests that run at once")->check(CLI::Range(1, 1024));
  sub->add_option("--variant,--mode-variant", command->variant,
                  "static; dynamic: every extent a symbol; constant-inputs: inputs are constants of the graph");
  sub->add_option("--rtol", command->tolerance.rtol, "Relative tolerance");
  sub->add_option("--atol", command->tolerance.atol, "Absolute tolerance");
  command->compile.AddTo(*sub);
  sub->add_flag("--json", command->json, "Output for machines, errors too");
  sub->footer("Example: tcc test onnx/backend/test/data/node --skip-list skips.txt");
  sub->callback([command, exit_code] {
    const absl::StatusOr<bool> passed = command->Run();
    *exit_code = !passed.ok() ? Fail(passed.status()) : *passed ? kOk : kFailed;
  });
}

}  // namespace tcc::cli
