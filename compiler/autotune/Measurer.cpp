//===- Measurer.cpp - runs candidates in a process of its own -------------===//
#include "compiler/autotune/Measurer.h"

#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "compiler/wire.h"
#include "runtime/status.h"

extern char **environ;

namespace tcc::compiler {

using Json = nlohmann::json;

absl::StatusOr<std::unique_ptr<Measurer>> Measurer::start(MeasurerOptions options) {
  std::unique_ptr<Measurer> measurer(new Measurer(std::move(options)));
  TCC_RETURN_IF_ERROR(measurer->spawn());
  TCC_RETURN_IF_ERROR(measurer->open());
  return measurer;
}

Measurer::~Measurer() { end(/*kill=*/true); }

absl::Status Measurer::spawn() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return absl::UnavailableError(absl::StrCat("cannot make a socket: ", ::strerror(errno)));
  socket = FileDescriptor(ends[0]);
  FileDescriptor other(ends[1]);
  // dup2 onto itself would keep the descriptor close-on-exec.
  if (other.get() == kWorkerSocket) {
    const int moved = ::fcntl(other.get(), F_DUPFD_CLOEXEC, 10);
    if (moved < 0)
      return absl::UnavailableError("too many open files");
    other = FileDescriptor(moved);
  }
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&actions, other.get(), kWorkerSocket);
  // What runs here must not ignore the signals that end it.
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string name = options.program, argument = "--measure";
  char *arguments[] = {name.data(), argument.data(), nullptr};
  const int error = ::posix_spawn(&process, name.c_str(), &actions, &attributes, arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    process = -1;
    return absl::UnavailableError(absl::StrCat("cannot start ", name, ": ", ::strerror(error)));
  }
  ++generation;
  return absl::OkStatus();
}

absl::Status Measurer::open() {
  TCC_ASSIGN_OR_RETURN(const Json answer, ask({{"do", "open"}, {"kind", options.kind}, {"archs", options.archs}}));
  try {
    found = deviceFrom(answer.at("device"));
  } catch (const Json::exception &error) {
    return absl::InternalError(error.what());
  }
  return absl::OkStatus();
}

std::string Measurer::end(bool kill) {
  if (process < 0)
    return "is gone";
  socket.Close();
  if (kill)
    ::kill(process, SIGKILL);
  int status = 0;
  pid_t waited;
  do {
    waited = ::waitpid(process, &status, 0);
  } while (waited < 0 && errno == EINTR);
  process = -1;
  if (waited < 0)
    return "is gone";
  if (WIFSIGNALED(status))
    return absl::StrCat("was ended by signal ", WTERMSIG(status), " (", ::strsignal(WTERMSIG(status)), ")");
  return absl::StrCat("exited with code ", WEXITSTATUS(status));
}

absl::StatusOr<Json> Measurer::ask(const Json &request) {
  // One that is gone already says so when its answer is read.
  SendMessage(socket.get(), request).IgnoreError();
  absl::StatusOr<Json> answer = ReceiveMessage(socket.get(), static_cast<int64_t>(options.seconds * 1e3));
  if (absl::IsDeadlineExceeded(answer.status())) {
    end(/*kill=*/true);
    return absl::DeadlineExceededError(absl::StrCat("took longer than ", options.seconds, " s and was ended"));
  }
  if (!answer.ok()) {
    const bool isGone = absl::IsUnavailable(answer.status());
    return absl::InternalError(absl::StrCat("the process that ran it ", end(/*kill=*/!isGone)));
  }
  const auto error = answer->find("error");
  if (error == answer->end())
    return answer;
  if (answer->value("over", false))
    end(/*kill=*/false);
  const std::string text = error->is_string() ? error->get<std::string>() : "an error without a text";
  return answer->value("lasting", true) ? absl::InternalError(text) : absl::ResourceExhaustedError(text);
}

void Measurer::begin(MeasureData next) {
  data = std::move(next);
  known.clear();
  dataGeneration = 0;
}

absl::Status Measurer::prepare() {
  if (process < 0) {
    TCC_RETURN_IF_ERROR(spawn());
    TCC_RETURN_IF_ERROR(open());
  }
  if (dataGeneration == generation)
    return absl::OkStatus();
  TCC_RETURN_IF_ERROR(ask({{"do", "data"}, {"data", toJson(data)}}).status());
  dataGeneration = generation;
  return absl::OkStatus();
}

absl::Status Measurer::send(int id, const MeasureCandidate &candidate, bool check) {
  return ask({{"do", "load"}, {"id", id}, {"candidate", toJson(candidate)}, {"check", check}}).status();
}

absl::Status Measurer::sendAgain(int id, Known &item) {
  if (item.generation == generation)
    return absl::OkStatus();
  // The results of the first one are looked at by those that are loaded later.
  TCC_RETURN_IF_ERROR(send(id, item.candidate, /*check=*/&item == &known.begin()->second));
  item.generation = generation;
  return absl::OkStatus();
}

absl::Status Measurer::load(int id, MeasureCandidate candidate) {
  TCC_RETURN_IF_ERROR(prepare());
  if (!known.empty())
    TCC_RETURN_IF_ERROR(sendAgain(known.begin()->first, known.begin()->second));
  TCC_RETURN_IF_ERROR(send(id, candidate, /*check=*/true));
  known[id] = {std::move(candidate), generation};
  return absl::OkStatus();
}

absl::StatusOr<double> Measurer::time(int id) {
  const auto item = known.find(id);
  if (item == known.end())
    return absl::NotFoundError("was not loaded");
  TCC_RETURN_IF_ERROR(prepare());
  TCC_RETURN_IF_ERROR(sendAgain(id, item->second));
  TCC_ASSIGN_OR_RETURN(const Json answer, ask({{"do", "time"}, {"id", id}}));
  return answer.value("seconds", -1.0);
}

} // namespace tcc::compiler
