// SPDX-License-Identifier: Apache-2.0
// Asks whether a new process would have the device: starts this program with --check-device and
// waits for its exit code, without blocking. A process whose device is lost cannot ask itself.
#pragma once

#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "transport/format/time.hpp"

namespace l3 {

class device_probe {
public:
  enum class answer { not_yet, yes, no };

  using kill_function = int (*)(pid_t, int);

  /// `command`: a program and its arguments. `end`: how it is ended, but in tests.
  explicit device_probe(std::vector<std::string> command, kill_function end = ::kill)
      : command_(std::move(command)), end_(end) {}
  /// Does not wait for the program.
  ~device_probe();
  device_probe(const device_probe&) = delete;
  device_probe& operator=(const device_probe&) = delete;

  /// Starts the program if it is not running, and looks whether it has ended. `no`, too, after 30
  /// s, and as long as the program has not ended then: a driver may hold it in a call, in which no
  /// signal ends it.
  [[nodiscard]] answer ask(time_point now);

private:
  /// False: it still runs.
  [[nodiscard]] bool is_over(int& status);

  std::vector<std::string> command_;
  kill_function end_;
  pid_t child_ = 0;
  bool given_up_ = false; ///< the child was to end, and says nothing any more
  time_point until_{};
};

} // namespace l3
