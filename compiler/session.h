// A model with its specialisations: picks the one whose guards hold, compiles where there is none. The warm half: loads
// neither MLIR nor LLVM.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/model_files.h"
#include "compiler/request.h"
#include "compiler/specialize.h"
#include "compiler/worker_client.h"
#include "runtime/cache.h"
#include "runtime/executor.h"
#include "runtime/package.h"

namespace tcc {

class DeviceContexts;
class PlanRunner;

// What happened for one specialisation, for summaries.
struct CompileEvent {
  std::string key;
  std::string package;  // path
  bool hit = false;     // found in the cache
  double seconds = 0;
  std::string reason;  // why a new one was needed
  Signature signature;
  std::vector<KernelRecord> kernels;
  std::vector<ResourceRecord> resources;  // of kernels for GPUs
  std::string mode, precision, target;    // as the package was compiled
  std::optional<CompileReply> reply;      // where it was compiled now
  std::vector<std::string> warnings;      // also those of an earlier compile of the same
  std::string narrowed;                   // why extents marked dynamic are numbers; empty where none is
};

// Safe to call from many threads.
class Session {
 public:
  struct Config {
    Options options;
    ArtifactCache* cache = nullptr;  // null: the process's
    WorkerPool* workers = nullptr;   // null: the process's
    ProgressFunction progress;
    // Inputs that are constants: name -> file with a serialised ONNX value.
    std::map<std::string, std::string> constants;
    // Extents the model fixes may vary like any other: for tests of dynamic shapes.
    bool ignore_declared_extents = false;
    // Takes a specialisation that the cache holds and that will do, whatever call it was compiled for, and learns from
    // calls of other processes. Off: for tests of certain specialisations.
    bool share_specialisations = true;
    Phase to_phase = Phase::kPackage;
    bool allow_fallback = true;
    std::string verify_inputs;  // see CompileRequest; needs Phase::kCodegen
    VerifyTolerance verify_tolerance;
    std::vector<std::string> emit;
    // Where a package goes that is not kept in the cache; empty: it lives as long as the session.
    std::string package_file;
    // Compiles in this process, for debugging; null: through the workers.
    absl::StatusOr<CompileReply> (*compile)(const CompileRequest&, const ProgressFunction&) = nullptr;
  };

  // `path`: an ONNX model, or a package (named .tcc). Reads the interface only. NotFound, InvalidArgument.
  static absl::StatusOr<std::shared_ptr<Session>> Open(const std::string& path, Config config);
  ~Session();

  // Inputs in the model's order; an invalid tensor, or one missing at the end, is an absent one.
  absl::Status Run(absl::Span<const Tensor> inputs, const RunOptions& options, std::vector<Tensor>* outputs);

  // Makes sure that there is a specialisation for such inputs, without running it, and says how it came to be. Values
  // of small integer inputs are taken from `inputs` where given.
  absl::StatusOr<CompileEvent> Prepare(const CallTypes& types, absl::Span<const Tensor> inputs = {});

  // Of a package: makes all its specialisations ready.
  absl::Status PrepareAll();

  const std::string& path() const { return path_; }
  const Options& options() const { return config_.options; }
  const std::vector<DeclaredInput>& inputs() const { return policy_.inputs(); }
  const std::vector<std::string>& output_names() const { return output_names_; }
  std::vector<CompileEvent> events() const;
  bool is_package() const { return package_ != nullptr; }
  // Null where the session is of a model.
  const Package* package() const { return package_.get(); }

 private:
  struct Variant;

  Session(std::string path, Config config, std::vector<DeclaredInput> inputs);
  absl::StatusOr<std::shared_ptr<Variant>> Find(absl::Span<const Tensor> inputs, std::vector<int64_t>* symbols);
  absl::Status CheckMemory(absl::Span<const Tensor> inputs, absl::Span<const Tensor> outputs) const;
  absl::StatusOr<std::shared_ptr<Variant>> Add(absl::Span<const Tensor> inputs);
  absl::StatusOr<std::shared_ptr<Variant>> Obtain(const CallTypes& types, absl::Span<const Tensor> inputs,
                                                  const std::string& reason, CompileEvent* event);
  // Whether compiled packages stay in the cache, and are looked for there.
  bool KeepsPackages() const;
  // A specialisation in the cache that the call satisfies, whoever compiled it; null with why each one is none.
  std::shared_ptr<const Package> FindKept(const CallNotes& notes, const CallTypes& types,
                                          const std::map<std::string, std::vector<int64_t>>& small_values,
                                          CompileEvent* event, std::string* reasons);
  absl::StatusOr<std::shared_ptr<Variant>> Adopt(const std::shared_ptr<const Package>& package, int index,
                                                 CompileEvent* event);
  absl::StatusOr<std::shared_ptr<const Package>> GetPackage(
      const Signature& signature, const CallTypes& types,
      const std::map<std::string, std::vector<int64_t>>& small_values, CompileEvent* event);
  absl::StatusOr<std::string> ModelKey();
  std::string TargetKey() const;
  ArtifactCache& cache() const;

  // Ready to run, if the machine can: compile_mutex_ is held. `compile`: also kernels that have no code for the device.
  absl::Status MakeRunner(Variant* variant, bool compile);
  absl::StatusOr<PlanRunner*> Runner(Variant* variant);

  const std::string path_;
  const Config config_;
  std::vector<std::string> output_names_;
  std::shared_ptr<const Package> package_;  // where the session is of one

  const std::shared_ptr<DeviceContexts> contexts_;  // of all specialisations

  mutable std::shared_mutex variants_mutex_;
  std::vector<std::shared_ptr<Variant>> variants_;  // guarded by variants_mutex_

  std::mutex compile_mutex_;  // held while a variant is added; guards what follows
  ShapePolicy policy_;
  std::optional<ModelFiles> files_;  // where the session is not of a package
  std::string model_key_;
  bool warned_of_limit_ = false;
  mutable std::mutex events_mutex_;
  std::vector<CompileEvent> events_;  // guarded by events_mutex_
};

}  // namespace tcc
