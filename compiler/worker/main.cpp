// tcc-worker: compiles what it is asked to, in a process of its own, so that a fault of the compiler is not one of the
// program that called it.
//
//   tcc-worker                    serves requests on descriptor 3 until the other end closes it
//   tcc-worker --request FILE     runs one request from a file and prints the reply: for reproducers
//   tcc-worker --measure          runs what max-autotune measures on a device, for another worker on descriptor 3
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>

#include "compiler/autotune/MeasureServer.h"
#include "compiler/compile.h"
#include "compiler/compile_images.h"
#include "compiler/wire.h"
#include "runtime/file_util.h"
#include "runtime/logs.h"

namespace {

// Ends the process as soon as whoever asked is gone, in the middle of a compile too.
void WatchForHangup() {
  std::thread([] {
    while (true) {
      pollfd poll_for = {tcc::kWorkerSocket, POLLRDHUP, 0};
      if (::poll(&poll_for, 1, -1) > 0 && (poll_for.revents & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL)) != 0) {
        tcc::RemoveTemporaries();
        ::_exit(0);
      }
    }
  }).detach();
}

// Candidates run in another process of this very program, also where its file has been replaced.
constexpr const char* kThisProgram = "/proc/self/exe";

// Faults on demand, for the tests of what a session does about them: "crash", "kill", "exit", "garbage" (an answer that
// is none) or "hang" (which says so on stderr first), as soon as a request arrives, or with ":PHASE" at the start of
// that phase, with ":reply" when the package is written. From the request, else from $TCC_WORKER_FAULT. Only a worker
// has this.
class Fault {
 public:
  explicit Fault(const nlohmann::json& message) {
    const char* from_environment = ::getenv("TCC_WORKER_FAULT");
    what_ = message.value("fault", from_environment != nullptr ? from_environment : "");
    if (const size_t colon = what_.find(':'); colon != std::string::npos) {
      where_ = what_.substr(colon + 1);
      what_.resize(colon);
    }
  }

  void At(std::string_view where) const {
    if (what_.empty() || where != where_) return;
    // (LLVM's handler removes its temporary files and returns: only what faults again ends the process.)
    if (what_ == "crash") *static_cast<volatile int*>(Nowhere()) = 1;
    if (what_ == "kill") ::raise(SIGKILL);
    if (what_ == "exit") ::_exit(3);
    if (what_ == "garbage") (void)!::write(tcc::kWorkerSocket, "\x04\0\0\0\0\0\0\0oops", 12);
    if (what_ == "hang") {
      std::cerr << "tcc-worker: hangs" << std::endl;
      while (true) ::pause();
    }
  }

 private:
  static void* Nowhere() { return nullptr; }

  std::string what_, where_;
};

void AnswerImages(const nlohmann::json& message, nlohmann::json* answer) {
  const absl::StatusOr<tcc::ImageRequest> request = tcc::ImageRequestFromJson(message);
  const absl::StatusOr<std::vector<std::string>> binaries =
      request.ok() ? tcc::CompileKernelImages(*request) : request.status();
  (*answer)["status"] = tcc::StatusToJson(binaries.status());
  if (binaries.ok()) (*answer)["binaries"] = tcc::BinariesToJson(*binaries);
}

nlohmann::json Answer(const nlohmann::json& message) {
  const Fault fault(message);
  fault.At("");
  const auto progress = [&](tcc::Phase phase, int done, int total) {
    // Where nobody listens any more the watcher ends the process.
    (void)tcc::SendMessage(
        tcc::kWorkerSocket,
        {{"type", "progress"}, {"phase", std::string(tcc::PhaseName(phase))}, {"done", done}, {"total", total}});
    fault.At(tcc::PhaseName(phase));
  };
  nlohmann::json answer = {{"type", "result"}};
  if (message.contains("images")) {
    AnswerImages(message.at("images"), &answer);
    return answer;
  }
  absl::StatusOr<tcc::CompileRequest> request = tcc::RequestFromJson(message.at("request"));
  if (!request.ok()) {
    answer["status"] = tcc::StatusToJson(request.status());
    return answer;
  }
  request->worker = kThisProgram;
  absl::StatusOr<tcc::CompileReply> reply = tcc::CompileModel(*request, progress);
  fault.At("reply");
  answer["status"] = tcc::StatusToJson(reply.status());
  if (reply.ok()) answer["reply"] = tcc::ReplyToJson(*reply);
  return answer;
}

int Serve() {
  WatchForHangup();
  while (true) {
    absl::StatusOr<nlohmann::json> message = tcc::ReceiveMessage(tcc::kWorkerSocket);
    if (!message.ok() || !(message->contains("request") || message->contains("images"))) return 0;
    if (!tcc::SendMessage(tcc::kWorkerSocket, Answer(*message)).ok()) return 0;
  }
}

int RunFile(const char* path) {
  std::ifstream file(path);
  nlohmann::json json = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!file || json.is_discarded()) {
    std::cerr << "tcc-worker: " << path << ": cannot be read, or is not JSON\n";
    return 2;
  }
  if (json.contains("images")) {
    nlohmann::json answer;
    AnswerImages(json["images"], &answer);
    std::cout << answer.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
    return answer.contains("binaries") ? 0 : 1;
  }
  absl::StatusOr<tcc::CompileRequest> request = tcc::RequestFromJson(json.contains("request") ? json["request"] : json);
  if (!request.ok()) {
    std::cerr << "tcc-worker: " << request.status().message() << "\n";
    return 2;
  }
  request->worker = kThisProgram;
  absl::StatusOr<tcc::CompileReply> reply = tcc::CompileModel(
      *request, [](tcc::Phase phase, int, int) { std::cerr << "phase " << tcc::PhaseName(phase) << "\n"; });
  if (!reply.ok()) {
    std::cerr << reply.status().message() << "\n";
    return 1;
  }
  std::cout << tcc::ReplyToJson(*reply).dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--request") return RunFile(argv[2]);
  const bool measures = argc == 2 && std::string(argv[1]) == "--measure";
  if ((argc != 1 && !measures) || ::fcntl(tcc::kWorkerSocket, F_GETFD) < 0) {
    std::cerr << "usage: tcc-worker --request FILE\nWithout arguments it is started by tcc's library, not by hand.\n";
    return 2;
  }
  tcc::LogAsHelper();
  // A file that would grow beyond `ulimit -f` is an error of the write, like a full disk.
  ::signal(SIGXFSZ, SIG_IGN);
  // The socket is for this process, not for what it may start.
  ::fcntl(tcc::kWorkerSocket, F_SETFD, FD_CLOEXEC);
  if (measures) {
    WatchForHangup();
    return tcc::compiler::serveMeasurements(tcc::kWorkerSocket);
  }
  return Serve();
}
