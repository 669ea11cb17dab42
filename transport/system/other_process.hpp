// SPDX-License-Identifier: Apache-2.0
// Which other process of this machine has what a program wants for itself: a file or folder under a
// lock, or a unix socket. For sentences that a person reads: a process in a container that this one
// does not see is not named. Nothing is locked, made or removed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace l3 {

/// The process that holds an flock() on the file or folder of this name. Nothing: none does, or the
/// system does not show it.
[[nodiscard]] std::optional<pid_t> lock_holder(const std::filesystem::path& of);

/// The same in the text of /proc/locks; `file` is there "MAJOR:MINOR:INODE".
[[nodiscard]] std::optional<pid_t> lock_holder_in(std::string_view locks, std::string_view file);

/// The process that serves this unix socket, 0 if the system does not show which. Nothing: none
/// answers.
[[nodiscard]] std::optional<pid_t> socket_server(const std::string& unix_socket);

/// "daemon, process 1234" for a program of this kind, a daemon or a receiver; "program, process
/// 1234 (koto-l3)" if that process is the other one of the two.
[[nodiscard]] std::string program_text(std::string_view kind, std::optional<pid_t> process);

/// ", process 1234"; empty if it is not known.
[[nodiscard]] inline std::string process_text(std::optional<pid_t> process) {
  return process.value_or(0) > 0 ? ", process " + std::to_string(*process) : std::string();
}

} // namespace l3
