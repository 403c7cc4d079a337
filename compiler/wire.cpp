#include "compiler/wire.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/status.h"

namespace tcc {
namespace {

constexpr uint64_t kMaxMessageBytes = uint64_t{1} << 30;

using Clock = std::chrono::steady_clock;

absl::Status ReceiveAll(int socket, char* to, size_t size, int64_t timeout_ms, Clock::time_point deadline) {
  while (size > 0) {
    int wait = -1;
    if (timeout_ms >= 0) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      if (left <= 0) return absl::DeadlineExceededError("no message within the time limit");
      wait = static_cast<int>(std::min<int64_t>(left, 1 << 30));
    }
    pollfd poll_for = {socket, POLLIN, 0};
    const int ready = ::poll(&poll_for, 1, wait);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return absl::InternalError(absl::StrCat("poll: ", std::strerror(errno)));
    if (ready == 0) continue;  // the deadline is checked above
    const ssize_t got = ::recv(socket, to, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return absl::UnavailableError("the other end is gone");
    to += got;
    size -= static_cast<size_t>(got);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SendMessage(int socket, const nlohmann::json& message) {
  // Names in models need not be UTF-8.
  const std::string text = message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  uint64_t size = text.size();
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof(size));
  bytes += text;
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = ::send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::UnavailableError(absl::StrCat("cannot send: ", std::strerror(errno)));
    sent += static_cast<size_t>(n);
  }
  return absl::OkStatus();
}

absl::StatusOr<nlohmann::json> ReceiveMessage(int socket, int64_t timeout_ms) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(std::max<int64_t>(timeout_ms, 0));
  uint64_t size = 0;
  TCC_RETURN_IF_ERROR(ReceiveAll(socket, reinterpret_cast<char*>(&size), sizeof(size), timeout_ms, deadline));
  if (size > kMaxMessageBytes) return absl::InternalError("a message that is too long");
  std::string text(size, '\0');
  TCC_RETURN_IF_ERROR(ReceiveAll(socket, text.data(), size, timeout_ms, deadline));
  nlohmann::json message = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!message.is_object()) return absl::InternalError("a message that is not JSON");
  return message;
}

}  // namespace tcc
