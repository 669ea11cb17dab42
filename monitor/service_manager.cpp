// SPDX-License-Identifier: Apache-2.0
#include "monitor/service_manager.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <thread>

#include "transport/system/known_folder.hpp"

namespace l3 {
void wait_for_a_later_start() {
  constexpr std::chrono::seconds pause(12);
  if (!is_a_service()) return;
  sigset_t stop{}; // ends the wait
  ::sigemptyset(&stop);
  ::sigaddset(&stop, SIGTERM);
  (void)std::signal(SIGTERM, SIG_DFL);
  ::pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
  std::this_thread::sleep_for(pause);
}

service_manager service_manager::from_environment() {
  const char* const socket = std::getenv("NOTIFY_SOCKET"); // NOLINT(concurrency-mt-unsafe)
  return service_manager(socket == nullptr ? "" : socket);
}

void service_manager::still_starting(std::chrono::microseconds limit) const {
  tell("EXTEND_TIMEOUT_USEC=" + std::to_string(limit.count()));
}

void service_manager::status(std::string_view text) const {
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' '); // a line break would begin another assignment
  tell("STATUS=" + line);
}

void service_manager::tell(std::string_view message) const {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  if (socket_.empty() || socket_.size() >= sizeof to.sun_path) return;
  std::copy(socket_.begin(), socket_.end(), to.sun_path);
  if (to.sun_path[0] == '@') to.sun_path[0] = '\0';
  const int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (s < 0) return;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  // The socket interface casts address families by design.
  (void)sendto(s, message.data(), message.size(), MSG_NOSIGNAL,
               reinterpret_cast<const sockaddr*>(&to), length);
  close(s);
}

} // namespace l3
