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

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/image_request.h"
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

// What a program prints that does not start: ": ..." or nothing. It is started again to hear it, since what workers say
// otherwise goes where this process's own messages go.
std::string Complaint(const std::string& program) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return "";
  const FileDescriptor out(ends[0]);
  FileDescriptor in(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in.get(), STDERR_FILENO);
  std::string name = program, argument = "--version";
  char* arguments[] = {name.data(), argument.data(), nullptr};
  pid_t process = -1;
  const int error = ::posix_spawn(&process, program.c_str(), &actions, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return absl::StrCat(": ", std::strerror(error));
  in.Close();
  std::string text(2048, '\0');
  size_t size = 0;
  for (ssize_t got = 1; got > 0 && size < text.size();) {
    got = ::read(out.get(), text.data() + size, text.size() - size);
    if (got > 0) size += static_cast<size_t>(got);
  }
  while (::waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
  }
  text.resize(size);
  return size == 0 ? "" : absl::StrCat(": ", absl::StripAsciiWhitespace(text));
}

// Before another is written: the newest stay, and only files of this user go.
void RemoveOldReproducers(const std::string& folder) {
  constexpr size_t kKept = 20;
  std::vector<std::pair<int64_t, std::string>> files;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    struct stat info = {};
    if (!absl::StartsWith(name, "tcc-reproducer-") || !absl::EndsWith(name, ".json") ||
        ::lstat(it->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != ::geteuid()) {
      continue;
    }
    files.emplace_back(info.st_mtim.tv_sec * int64_t{1000000000} + info.st_mtim.tv_nsec, it->path().string());
  }
  if (files.size() < kKept) return;
  std::sort(files.begin(), files.end());
  for (size_t i = 0; i + kKept <= files.size(); ++i) ::unlink(files[i].second.c_str());
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
  pid_t process() const { return pid_; }
  int socket() const { return socket_.get(); }

  struct Ending {
    std::string text;          // "was ended by signal 11 (Segmentation fault)"
    bool is_fault = true;      // of the compiler, for all we know
    bool not_started = false;  // the loader gave up, or the program is none
  };
  // Ends the process and says how it ended.
  Ending End(bool kill) {
    if (pid_ < 0) return {"ended"};
    if (kill) ::kill(pid_, SIGKILL);
    const std::optional<int> reaped = Reap();
    if (!reaped) return {"ended (how is not known: this process ignores SIGCHLD, or waits for any child)"};
    const int status = *reaped;
    if (WIFSIGNALED(status)) {
      const int signal = WTERMSIG(status);
      const std::string name = absl::StrCat("signal ", signal, " (", ::strsignal(signal), ")");
      if (signal == SIGKILL && !kill) {
        return {absl::StrCat("was killed from outside, by ", name, ", as when memory runs out,"), /*is_fault=*/false};
      }
      const bool outside = signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT ||
                           signal == SIGXCPU || signal == SIGPWR;
      return {absl::StrCat("was ended ", outside ? "from outside, " : "", "by ", name), /*is_fault=*/!outside};
    }
    // (127: from the loader, or where there is nothing to execute; 126 of a shell that starts it.)
    const int code = WEXITSTATUS(status);
    const bool not_started = code == 127 || code == 126;
    return {absl::StrCat("exited with code ", code), /*is_fault=*/!not_started, not_started};
  }

 private:
  Worker() = default;

  // How it ended; nothing where the process lets the system, or somebody else, wait for its children.
  std::optional<int> Reap() {
    int status = 0;
    pid_t waited;
    do {
      waited = ::waitpid(pid_, &status, 0);
    } while (waited < 0 && errno == EINTR);
    pid_ = -1;
    return waited < 0 ? std::nullopt : std::optional<int>(status);
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

std::unique_ptr<WorkerPool::Worker> WorkerPool::TakeIdle() {
  std::lock_guard lock(mutex_);
  while (!idle_.empty()) {
    std::unique_ptr<Worker> worker = std::move(idle_.back());
    idle_.pop_back();
    if (worker->IsOurs()) return worker;
  }
  return nullptr;
}

int WorkerPool::IdleProcess() {
  std::lock_guard lock(mutex_);
  return idle_.empty() ? -1 : idle_.back()->process();
}

absl::StatusOr<std::unique_ptr<WorkerPool::Worker>> WorkerPool::Start() {
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

absl::Status WorkerPool::NotStarted(const std::string& how) const {
  std::string program = options_.worker;
  if (program.empty()) {
    TCC_ASSIGN_OR_RETURN(program, FindWorker());
  }
  return absl::UnavailableError(absl::StrCat("the compiler ", program, " could not be started: it ", how,
                                             Complaint(program),
                                             "; is there enough memory (ulimit -v), are its libraries there?"));
}

std::string WorkerPool::WriteReproducer(const nlohmann::json& message) {
  std::string folder = options_.reproducer_folder;
  const char* from_environment = ::getenv("TCC_REPRODUCER_DIR");
  if (folder.empty() && from_environment != nullptr) folder = from_environment;
  if (folder.empty()) folder = TemporaryFolder();
  std::string pattern = absl::StrCat(folder, "/tcc-reproducer-XXXXXX.json");
  RemoveOldReproducers(folder);
  FileDescriptor file(::mkstemps(pattern.data(), 5));
  if (!file.valid()) return "";
  const std::string text = message.dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
  return file.Write(text).ok() ? pattern : "";
}

absl::StatusOr<CompileReply> WorkerPool::Compile(const CompileRequest& request, const ProgressFunction& progress) {
  TCC_ASSIGN_OR_RETURN(const nlohmann::json answer, Ask({{"request", RequestToJson(request)}}, request.model,
                                                        absl::StrCat(" (with the model ", request.model, ")"),
                                                        request.options.compile_timeout_seconds, progress));
  return ReplyFromJson(answer.value("reply", nlohmann::json()));
}

absl::StatusOr<std::vector<std::string>> WorkerPool::CompileImages(const ImageRequest& request) {
  TCC_ASSIGN_OR_RETURN(const nlohmann::json answer,
                       Ask({{"images", ImageRequestToJson(request)}}, "kernels of a package", "", 0, nullptr));
  return BinariesFromJson(answer.value("binaries", nlohmann::json()));
}

absl::StatusOr<nlohmann::json> WorkerPool::Ask(nlohmann::json message, const std::string& what, const std::string& with,
                                               double limit, const ProgressFunction& progress) {
  if (!fault_.empty()) message["fault"] = fault_;
  std::unique_ptr<Worker> worker = TakeIdle();
  bool was_idle = worker != nullptr;
  // Of one that died while it was idle (killed, out of memory) nothing comes: that is no fault of this request, which
  // another gets. (One that dies of the request does so again.)
  const auto send_to_new = [&]() -> absl::Status {
    was_idle = false;
    TCC_ASSIGN_OR_RETURN(worker, Start());
    // Where it is gone already, receiving says so.
    SendMessage(worker->socket(), message).IgnoreError();
    return absl::OkStatus();
  };
  if (!was_idle || !SendMessage(worker->socket(), message).ok()) {
    if (was_idle) worker->End(/*kill=*/true);
    TCC_RETURN_IF_ERROR(send_to_new());
  }

  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit));
  std::string phase = "start";
  auto reproducer = [&] {
    const std::string path = WriteReproducer(message);
    return path.empty() ? std::string() : absl::StrCat("; to reproduce: tcc-worker --request ", path, with);
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
      return absl::DeadlineExceededError(absl::StrCat(what, ": compiling took longer than ", limit, " s (in phase '",
                                                      phase, "') and was ended", reproducer()));
    }
    if (!answer.ok()) {
      const bool ended = absl::IsUnavailable(answer.status());
      const Worker::Ending ending = worker->End(/*kill=*/!ended);
      if (ended && was_idle && phase == "start") {
        TCC_RETURN_IF_ERROR(send_to_new());
        continue;
      }
      if (ending.not_started && phase == "start") return NotStarted(ending.text);
      return absl::InternalError(absl::StrCat(
          what, ": the compiler ", ended ? ending.text : absl::StrCat("sent ", answer.status().message()),
          " in phase '", phase, ending.is_fault ? "': a fault of tcc, please report it" : "'", reproducer()));
    }
    if (answer->value("type", "") == "progress") {
      phase = answer->value("phase", "");
      absl::StatusOr<Phase> parsed = ParsePhase(phase);
      if (progress && parsed.ok()) progress(*parsed, answer->value("done", 0), answer->value("total", 0));
      continue;
    }
    GiveBack(std::move(worker));
    TCC_RETURN_IF_ERROR(StatusFromJson(answer->value("status", nlohmann::json())));
    return *std::move(answer);
  }
}

}  // namespace tcc
