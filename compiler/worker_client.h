// The warm half's side of the door: compiles through worker processes.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/image_request.h"
#include "compiler/request.h"

namespace tcc {

// Workers of one session (or of the process). Started on first need, kept for the next request; as many as compile at
// once. A worker that dies, hangs or fails is an error of that request, with a reproducer file, and nothing else: the
// next request gets a new one. One that died while it was idle is no error. Thread-safe; usable after fork in the
// child, which starts workers of its own.
class WorkerPool {
 public:
  struct Options {
    std::string worker;  // the program; empty: FindWorker()
    // Where reproducers go; empty: $TCC_REPRODUCER_DIR, else $TMPDIR or /tmp. The newest 20 stay.
    std::string reproducer_folder;
  };

  explicit WorkerPool(Options options);
  WorkerPool() : WorkerPool(Options()) {}
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  // The pool of the process.
  static WorkerPool& Global();

  // Errors of the compilation as CompileModel gives them; Internal for a worker that died, DeadlineExceeded where the
  // request's compile_timeout_seconds ran out, Unavailable where no worker could be started.
  absl::StatusOr<CompileReply> Compile(const CompileRequest& request, const ProgressFunction& progress = nullptr);
  // Binaries of kernels (compile_images.h), with the same errors.
  absl::StatusOr<std::vector<std::string>> CompileImages(const ImageRequest& request);

 private:
  friend class WorkerPoolPeer;  // tests
  class Worker;

  // Sends `message` and waits for the answer. For errors: `what` is compiled, `with` which files it is reproduced.
  absl::StatusOr<nlohmann::json> Ask(nlohmann::json message, const std::string& what, const std::string& with,
                                     double limit, const ProgressFunction& progress);
  std::unique_ptr<Worker> TakeIdle();  // null: there is none
  absl::StatusOr<std::unique_ptr<Worker>> Start();
  int IdleProcess();  // -1: there is none
  absl::Status NotStarted(const std::string& how) const;
  void GiveBack(std::unique_ptr<Worker> worker);
  std::string WriteReproducer(const nlohmann::json& message);

  Options options_;
  std::string fault_;  // passed to the worker; tests only
  std::mutex mutex_;
  std::vector<std::unique_ptr<Worker>> idle_;
};

// $TCC_WORKER, else relative to the library or executable that this code is in, so that a prefix can move: beside it,
// in ../bin, ../libexec/tcc. NotFound says where it was looked for.
absl::StatusOr<std::string> FindWorker();
// Identifies the worker's build, cheaply: its size and time. Part of cache keys. Empty where there is none.
std::string WorkerIdentity();

}  // namespace tcc
