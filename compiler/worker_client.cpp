#include "compiler/worker_client.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/wire.h"
#include "runtime/file_util.h"
#include "runtime/status.h"

extern char** environ;

namespace tcc {
namespace {

using Clock = std::chrono::steady_clock;

std::string FolderOfThisCode() {
  Dl_info info = {};
  std::error_code ignored;
  if (::dladdr(reinterpret_cast<const void*>(&FindWorker), &info) != 0 && info.dli_fname != nullptr) {
    // Of the main program the loader reports what it was started as.
    std::filesystem::path path = std::filesystem::canonical(info.dli_fname, ignored);
    if (!path.empty() && ::access(path.c_str(), F_OK) == 0 &&
        path.filename().string().find(".so") != std::string::npos) {
      return path.parent_path();
    }
  }
  std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return self.parent_path();
}

}  // namespace

absl::StatusOr<std::string> FindWorker() {
  if (const char* given = ::getenv("TCC_WORKER"); given != nullptr && *given != '\0') return std::string(given);
  const std::string folder = FolderOfThisCode();
  std::vector<std::string> candidates;
  for (const char* relative : {"", "../bin", "../libexec/tcc", "../../libexec/tcc", "../../bin"}) {
    const std::string path = (std::filesystem::path(folder) / relative / "tcc-worker").lexically_normal();
    if (::access(path.c_str(), X_OK) == 0) return path;
    candidates.push_back(path);
  }
  return absl::NotFoundError(absl::StrCat("the compile worker was not found; looked for ",
                                          absl::StrJoin(candidates, ", "), "; name it in $TCC_WORKER"));
}

std::string WorkerIdentity() {
  absl::StatusOr<std::string> path = FindWorker();
  struct stat info = {};
  if (!path.ok() || ::stat(path->c_str(), &info) != 0) return "";
  return absl::StrCat(info.st_size, ".", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec);
}

class WorkerPool::Worker {
 public:
  static absl::StatusOr<std::unique_ptr<Worker>> Start(const std::string& program) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      return absl::UnavailableError(
          absl::StrCat("cannot make a socket for the compile worker: ", std::strerror(errno)));
    }
    std::unique_ptr<Worker> worker(new Worker);
    worker->socket_ = FileDescriptor(ends[0]);
    FileDescriptor other(ends[1]);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    // dup2 onto itself would keep the descriptor close-on-exec.
    if (other.get() == kWorkerSocket) {
      const int moved = ::fcntl(other.get(), F_DUPFD_CLOEXEC, 10);
      if (moved < 0) return absl::UnavailableError("too many open files");
      other = FileDescriptor(moved);
    }
    ::posix_spawn_file_actions_adddup2(&actions, other.get(), kWorkerSocket);
    // A worker must not take the terminal's Ctrl-C for its own, nor inherit blocked signals.
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    std::string name = program;
    char* arguments[] = {name.data(), nullptr};
    const int error = ::posix_spawn(&worker->pid_, program.c_str(), &actions, &attributes, arguments, environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    if (error != 0) {
      worker->pid_ = -1;
      return absl::UnavailableError(
          absl::StrCat("cannot start the compile worker ", program, ": ", std::strerror(error)));
    }
    worker->owner_ = ::getpid();
    return worker;
  }

  ~Worker() {
    if (pid_ < 0 || !IsOurs()) return;  // after fork the parent's worker is the parent's
    socket_.Close();                    // ends an idle worker; a busy one at once too
    Reap();
  }

  bool IsOurs() const { return owner_ == ::getpid(); }
  int socket() const { return socket_.get(); }

  struct Ending {
    std::string text;                  // "was ended by signal 11 (Segmentation fault)"
    bool killed_from_outside = false;  // no fault of the compiler
  };
  // Ends the process and says how it ended.
  Ending End(bool kill) {
    if (pid_ < 0) return {"ended"};
    if (kill) ::kill(pid_, SIGKILL);
    const int status = Reap();
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && !kill) {
      return {"was killed from outside (signal 9), as when memory runs out,", /*killed_from_outside=*/true};
    }
    if (WIFSIGNALED(status)) {
      return {absl::StrCat("was ended by signal ", WTERMSIG(status), " (", ::strsignal(WTERMSIG(status)), ")")};
    }
    return {absl::StrCat("exited with code ", WEXITSTATUS(status))};
  }

 private:
  Worker() = default;

  int Reap() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

  FileDescriptor socket_;
  pid_t pid_ = -1;
  pid_t owner_ = -1;
};

WorkerPool::WorkerPool(Options options) : options_(std::move(options)) {}
WorkerPool::~WorkerPool() = default;

WorkerPool& WorkerPool::Global() {
  // Never destroyed: compiles may run while the process ends. The worker notices that its socket closes.
  static WorkerPool* const pool = new WorkerPool();
  return *pool;
}

absl::StatusOr<std::unique_ptr<WorkerPool::Worker>> WorkerPool::Take() {
  {
    std::lock_guard lock(mutex_);
    while (!idle_.empty()) {
      std::unique_ptr<Worker> worker = std::move(idle_.back());
      idle_.pop_back();
      if (worker->IsOurs()) return worker;
    }
  }
  std::string program = options_.worker;
  if (program.empty()) {
    TCC_ASSIGN_OR_RETURN(program, FindWorker());
  }
  return Worker::Start(program);
}

void WorkerPool::GiveBack(std::unique_ptr<Worker> worker) {
  std::lock_guard lock(mutex_);
  // One is kept; more were for a burst.
  if (idle_.empty()) idle_.push_back(std::move(worker));
}

std::string WorkerPool::WriteReproducer(const nlohmann::json& message) {
  std::string folder = options_.reproducer_folder;
  const char* from_environment = ::getenv("TCC_REPRODUCER_DIR");
  if (folder.empty() && from_environment != nullptr) folder = from_environment;
  if (folder.empty()) folder = TemporaryFolder();
  std::string pattern = absl::StrCat(folder, "/tcc-reproducer-XXXXXX.json");
  FileDescriptor file(::mkstemps(pattern.data(), 5));
  if (!file.valid()) return "";
  const std::string text = message.dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
  return file.Write(text).ok() ? pattern : "";
}

absl::StatusOr<CompileReply> WorkerPool::Compile(const CompileRequest& request, const ProgressFunction& progress) {
  nlohmann::json message = {{"request", RequestToJson(request)}};
  if (!fault_.empty()) message["fault"] = fault_;
  TCC_ASSIGN_OR_RETURN(std::unique_ptr<Worker> worker, Take());
  if (!SendMessage(worker->socket(), message).ok()) {
    // It died while idle (killed, out of memory): that is no fault of this request.
    worker->End(/*kill=*/true);
    TCC_ASSIGN_OR_RETURN(worker, Take());
    TCC_RETURN_IF_ERROR(SendMessage(worker->socket(), message));
  }

  const double limit = request.options.compile_timeout_seconds;
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit));
  std::string phase = "start";
  auto reproducer = [&] {
    const std::string path = WriteReproducer(message);
    return path.empty()
               ? std::string()
               : absl::StrCat("; to reproduce: tcc-worker --request ", path, " (with the model ", request.model, ")");
  };
  while (true) {
    int64_t wait = -1;
    if (limit > 0) {
      wait = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      wait = std::max<int64_t>(wait, 0);
    }
    absl::StatusOr<nlohmann::json> answer = ReceiveMessage(worker->socket(), wait);
    if (absl::IsDeadlineExceeded(answer.status())) {
      worker->End(/*kill=*/true);
      return absl::DeadlineExceededError(absl::StrCat(request.model, ": compiling took longer than ", limit,
                                                      " s (in phase '", phase, "') and was ended", reproducer()));
    }
    if (!answer.ok()) {
      const bool ended = absl::IsUnavailable(answer.status());
      const Worker::Ending ending = worker->End(/*kill=*/!ended);
      return absl::InternalError(
          absl::StrCat(request.model, ": the compiler ",
                       ended ? ending.text : absl::StrCat("sent ", answer.status().message()), " in phase '", phase,
                       ending.killed_from_outside ? "'" : "': a fault of tcc, please report it", reproducer()));
    }
    if (answer->value("type", "") == "progress") {
      phase = answer->value("phase", "");
      absl::StatusOr<Phase> parsed = ParsePhase(phase);
      if (progress && parsed.ok()) progress(*parsed, answer->value("done", 0), answer->value("total", 0));
      continue;
    }
    GiveBack(std::move(worker));
    TCC_RETURN_IF_ERROR(StatusFromJson(answer->value("status", nlohmann::json())));
    return ReplyFromJson(answer->value("reply", nlohmann::json()));
  }
}

}  // namespace tcc
