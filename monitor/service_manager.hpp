// SPDX-License-Identifier: Apache-2.0
// Sends short datagrams to the service manager, if one started the daemon, at the socket named in
// NOTIFY_SOCKET (sd_notify(3)), so that `systemctl` shows when the daemon is ready, what it does,
// and that it is alive.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace l3 {

class service_manager {
public:
  /// From NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID; call it before other threads start.
  static service_manager from_environment();

  /// socket: a path, or an abstract name after '@'; empty: no service manager, and every call does
  /// nothing.
  explicit service_manager(std::string socket,
                           std::optional<std::chrono::microseconds> watchdog = {})
      : socket_(std::move(socket)), watchdog_(watchdog) {}

  void ready() const { tell("READY=1"); }
  void stopping() const { tell("STOPPING=1"); }
  void alive() const { tell("WATCHDOG=1"); }
  /// It works and is not ready yet: the limit of the start begins anew, and is this long.
  void still_starting(std::chrono::microseconds limit) const;
  /// One line for `systemctl status`.
  void status(std::string_view text) const;

  [[nodiscard]] bool is_there() const { return !socket_.empty(); }
  /// alive() must be called more often than this.
  [[nodiscard]] std::optional<std::chrono::microseconds> watchdog() const { return watchdog_; }

private:
  // A message that cannot be delivered is dropped: the daemon works without a service manager.
  void tell(std::string_view message) const;

  std::string socket_;
  std::optional<std::chrono::microseconds> watchdog_;
};

/// A start that reads what is on disk: it says that it goes on whenever it is asked, though not
/// more often than every second, so that the service manager waits as long as something is read.
class long_start {
public:
  explicit long_start(const service_manager& manager) : manager_(manager) {}

  void goes_on(std::chrono::steady_clock::time_point now) {
    if (said_ && now - *said_ < std::chrono::seconds(1)) return;
    said_ = now;
    manager_.still_starting(std::chrono::seconds(30));
  }

private:
  const service_manager& manager_;
  std::optional<std::chrono::steady_clock::time_point> said_;
};

} // namespace l3
