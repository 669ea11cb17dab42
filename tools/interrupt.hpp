// SPDX-License-Identifier: Apache-2.0
// Blocks SIGINT, SIGTERM and SIGHUP while this object lives, so that a loop can ask for them and
// end cleanly. SIGHUP comes when the terminal closes; a program that was started to ignore it (as
// by nohup) continues. A command that does not ask, because it waits in a system call (for a pipe
// without a reader, or a hanging disk), is ended a fixed time after the signal. Create it before
// any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <stop_token>
#include <thread>

#include <pthread.h>

#include "tools/command_error.hpp"
#include "transport/system/end_now.hpp"

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
    guard_ = std::jthread([this](const std::stop_token& stop) { end_what_does_not_end(stop); });
  }
  ~interrupt() {
    std::fflush(stdout); // buffered output may wait for a pipe without a reader
    guard_ = {};
    // A signal after the loop's last check must not end the process before its message and exit
    // code.
    // and its exit code.
    while (take_one()) came_ = true;
    if (came_)
      limit_the_rest();
    else
      ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  interrupt(const interrupt&) = delete;
  interrupt& operator=(const interrupt&) = delete;

  /// Whether a signal has come.
  [[nodiscard]] bool came() {
    if (!came_ && take_one()) came_ = true;
    return came_;
  }
  /// Throws command_error if a signal has come.
  void check(const char* text = "interrupted") {
    if (came()) throw command_error(text);
  }

private:
  static constexpr auto longest_end = std::chrono::seconds(10);
  static constexpr const char* too_long = "koto-l3: not ended 10 s after a signal: it ends now\n";

  [[nodiscard]] bool take_one() const {
    constexpr timespec now{};
    return ::sigtimedwait(&signals_, nullptr, &now) > 0;
  }
  /// A blocked signal stays pending until came() takes it.
  [[nodiscard]] bool has_come() const {
    sigset_t waiting{};
    ::sigpending(&waiting);
    const auto waits = [&](int signal) {
      return ::sigismember(&signals_, signal) == 1 && ::sigismember(&waiting, signal) == 1;
    };
    return came_ || waits(SIGINT) || waits(SIGTERM) || waits(SIGHUP);
  }

  void end_what_does_not_end(const std::stop_token& stop) {
    using clock = std::chrono::steady_clock;
    constexpr auto look = std::chrono::milliseconds(500);
    auto until = clock::time_point::max();
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any ended;
    while (!ended.wait_for(lock, stop, look, [&] { return stop.stop_requested(); })) {
      if (until == clock::time_point::max() && has_come()) until = clock::now() + longest_end;
      if (clock::now() >= until) end_now(too_long);
    }
  }

  /// After a signal only a message and an exit code follow. Further signals stay blocked, so that
  /// they do not end the process earlier, and an alarm ends any wait.
  static void limit_the_rest() {
    struct sigaction at_the_end {};
    at_the_end.sa_handler = [](int) { end_now(too_long); };
    ::sigaction(SIGALRM, &at_the_end, nullptr);
    ::alarm(static_cast<unsigned>(longest_end.count()));
  }

  sigset_t signals_{};
  sigset_t before_{};
  std::atomic<bool> came_ = false;
  std::jthread guard_;
};

} // namespace l3
