// SPDX-License-Identifier: Apache-2.0
// Holds SIGINT and SIGTERM back while this object lives, so that a loop can ask for them and end
// cleanly. Make it before any thread is started.
#pragma once

#include <csignal>
#include <ctime>

#include <pthread.h>

namespace l3 {

class interrupt {
public:
  interrupt() {
    ::sigemptyset(&signals_);
    ::sigaddset(&signals_, SIGINT);
    ::sigaddset(&signals_, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  ~interrupt() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  interrupt(const interrupt&) = delete;
  interrupt& operator=(const interrupt&) = delete;

  /// Whether a signal has come; once true, always true.
  [[nodiscard]] bool came() {
    constexpr timespec now{};
    came_ = came_ || ::sigtimedwait(&signals_, nullptr, &now) > 0;
    return came_;
  }

private:
  sigset_t signals_{};
  sigset_t before_{};
  bool came_ = false;
};

} // namespace l3
