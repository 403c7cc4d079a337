// Messages between a session and its compile worker: JSON with a length before it, over a socket.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace tcc {

// The descriptor at which the worker finds its end of the socket.
inline constexpr int kWorkerSocket = 3;

absl::Status SendMessage(int socket, const nlohmann::json& message);

// Waits up to `timeout_ms` (< 0: without end) for the whole of a message. DeadlineExceeded; Unavailable where the other
// end is gone (at a message's border or within one).
absl::StatusOr<nlohmann::json> ReceiveMessage(int socket, int64_t timeout_ms = -1);

}  // namespace tcc
