// SPDX-License-Identifier: Apache-2.0
// A child process: started with its output in a file, waited for with a time limit, and ended with
// this program, even if that is killed. It ends with the thread that started it, so use the thread
// that lives longest.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace l3 {

/// The folder of this program and the other programs.
[[nodiscard]] std::filesystem::path program_folder();

/// Finds a program in PATH.
[[nodiscard]] std::optional<std::filesystem::path> find_program(const std::string& name);

class child_process {
public:
  enum class errors : std::uint8_t { to_output, to_ours };

  /// Starts `arguments[0]` with the other arguments. Appends stdout to the file `output`, and also
  /// stderr unless this program's is used. Without a file both are this program's. Throws
  /// std::system_error if it cannot be started.
  explicit child_process(std::vector<std::string> arguments,
                         const std::filesystem::path& output = {},
                         errors where = errors::to_output);
  /// Kills the child if it is still running.
  ~child_process();
  child_process(child_process&& other) noexcept;
  child_process& operator=(child_process&&) = delete;

  /// Its exit code (128 + the signal that ended it), or nothing if it still runs at the time limit
  /// or when `stop` returns true.
  [[nodiscard]] std::optional<int> wait(std::chrono::milliseconds time_limit,
                                        const std::function<bool()>& stop = {});
  [[nodiscard]] bool running() { return !wait(std::chrono::milliseconds(0)).has_value(); }
  void signal(int number = SIGTERM);
  [[nodiscard]] pid_t pid() const { return pid_; }

private:
  pid_t pid_ = -1;
  std::optional<int> exit_code_;
};

/// For error messages of a failed program: "; see LOG", with its last lines, if any.
[[nodiscard]] std::string see_log(const std::filesystem::path& log);

// Finds free ports on loopback.

/// The first of `count` adjacent ports that are free for UDP and TCP on 127.0.0.1. Throws
/// std::runtime_error if there are none.
[[nodiscard]] std::uint16_t free_ports(std::uint16_t count);

} // namespace l3
