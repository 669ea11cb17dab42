// SPDX-License-Identifier: Apache-2.0
// Asks whether a new process would have the device: starts this program with --check-device and
// waits for its exit code, without blocking. A process whose device is lost cannot ask itself.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "transport/format/time.hpp"

namespace l3 {

class device_probe {
public:
  enum class answer { not_yet, yes, no };

  /// `command`: a program and its arguments.
  explicit device_probe(std::vector<std::string> command) : command_(std::move(command)) {}
  ~device_probe() { end(); }
  device_probe(const device_probe&) = delete;
  device_probe& operator=(const device_probe&) = delete;

  /// Starts the program if it is not running, and looks whether it has ended. `no`, too, after 30
  /// s.
  [[nodiscard]] answer ask(time_point now);

private:
  void end();

  std::vector<std::string> command_;
  pid_t child_ = 0;
  time_point until_{};
};

} // namespace l3
