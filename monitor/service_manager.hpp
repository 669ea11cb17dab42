// SPDX-License-Identifier: Apache-2.0
// Notifies the service manager, if one started the daemon, through the socket in NOTIFY_SOCKET
// (sd_notify(3)). So `systemctl` shows when the daemon is ready, what it does, and that it is
// alive.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace l3 {

class service_manager {
public:
  /// Reads NOTIFY_SOCKET; call it before other threads start.
  static service_manager from_environment();

  /// socket: a path, or an abstract name after '@'. Without one there is no service manager and
  /// calls have no effect.
  explicit service_manager(std::string socket) : socket_(std::move(socket)) {}

  void ready() const { tell("READY=1"); }
  void stopping() const { tell("STOPPING=1"); }
  /// Call it more often than WatchdogSec of the unit says.
  void alive() const { tell("WATCHDOG=1"); }
  /// Extends the start limit: the daemon is working but not ready yet.
  void still_starting(std::chrono::microseconds limit) const;
  /// One line for `systemctl status`.
  void status(std::string_view text) const;

  [[nodiscard]] bool is_there() const { return !socket_.empty(); }

private:
  // Undeliverable messages are dropped: the daemon works without a service manager.
  void tell(std::string_view message) const;

  std::string socket_;
};

/// Waits before a program ends because something is missing that may come later, such as an address
/// or a disk: systemd gives up after five starts in a minute.
void wait_for_a_later_start();

/// Extends the start limit while a start reads the disk: each call reports progress, but at most
/// once a second, so the service manager waits as long as files are being read.
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
