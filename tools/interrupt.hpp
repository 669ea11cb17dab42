// SPDX-License-Identifier: Apache-2.0
// Blocks SIGINT, SIGTERM and SIGHUP while this object lives, so that a loop can ask for them and
// end cleanly. SIGHUP comes when the terminal closes; a program that was started to ignore it (as
// by nohup) continues. A command that does not ask, because it waits in a system call (for a pipe
// without a reader, or a hanging disk), is ended a fixed time after the signal. Create it before
// any thread.
#pragma once

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <thread>

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "tools/command_error.hpp"

namespace l3 {

class interrupt {
public:
  interrupt() {
    ::sigemptyset(&signals_);
    ::sigaddset(&signals_, SIGINT);
    ::sigaddset(&signals_, SIGTERM);
    // Blocking SIGHUP would cancel its being ignored.
    struct sigaction hangup {};
    if (::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
      ::sigaddset(&signals_, SIGHUP);
    ::pthread_sigmask(SIG_BLOCK, &signals_, &before_);
    struct sigaction at_the_limit {};
    at_the_limit.sa_handler = end_now;
    ::sigaction(SIGALRM, &at_the_limit, nullptr);
    waiting_ = std::jthread([this] {
      int number = 0;
      ::sigwait(&signals_, &number);
      if (!over_) come();
    });
  }
  /// After a signal only a message and an exit code remain. Further signals stay blocked, so that
  /// they cannot end the process first.
  ~interrupt() {
    std::fflush(stdout); // may also block, at a pipe that no program reads
    over_ = true;
    ::pthread_kill(waiting_.native_handle(), SIGINT);
    waiting_.join();
    constexpr timespec now{};
    if (!came_ && ::sigtimedwait(&signals_, nullptr, &now) > 0) come();
    if (!came_) ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  interrupt(const interrupt&) = delete;
  interrupt& operator=(const interrupt&) = delete;

  /// Whether a signal has come; once true, always true.
  [[nodiscard]] bool came() const { return came_; }
  /// Throws command_error if a signal has come.
  void check(const char* text = "interrupted") const {
    if (came()) throw command_error(text);
  }

private:
  static constexpr unsigned longest_end = 10; // s

  void come() {
    ::alarm(longest_end);
    came_ = true;
  }
  /// Never waits for a reader of the log, or for a lock of another thread.
  static void end_now(int /*signal*/) {
    constexpr std::string_view why = "koto-l3: still running 10 s after a signal: it ends now\n";
    pollfd log{STDERR_FILENO, POLLOUT, 0};
    if (::poll(&log, 1, 0) == 1) (void)!::write(STDERR_FILENO, why.data(), why.size());
    std::_Exit(EXIT_FAILURE);
  }

  sigset_t signals_{};
  sigset_t before_{};
  std::atomic<bool> came_ = false;
  std::atomic<bool> over_ = false;
  std::jthread waiting_;
};

} // namespace l3
