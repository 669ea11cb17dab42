// SPDX-License-Identifier: Apache-2.0
#include "transport/system/other_process.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <span>
#include <system_error>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "transport/system/file_descriptor.hpp"
#include "transport/system/file_io.hpp"

namespace l3 {
namespace {

/// The first word of a text, which goes on behind it.
std::string_view next_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const auto word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

/// Empty if it cannot be read.
std::string locks_of_machine() {
  constexpr std::size_t most = 1 << 20;
  const file_descriptor in(::open("/proc/locks", O_RDONLY | O_CLOEXEC));
  if (!in) return {};
  std::string text(most, '\0');
  std::error_code error;
  text.resize(read_up_to(in.get(), 0, std::as_writable_bytes(std::span(text)), error));
  return text;
}

} // namespace

/// A line: "1: FLOCK  ADVISORY  WRITE 1234 fe:00:567 0 EOF"; who waits has "->" behind the number.
std::optional<pid_t> lock_holder_in(std::string_view locks, std::string_view file) {
  while (!locks.empty()) {
    std::string_view line = locks.substr(0, locks.find('\n'));
    locks.remove_prefix(std::min(line.size() + 1, locks.size()));
    (void)next_word(line);
    if (next_word(line) != "FLOCK") continue;
    (void)next_word(line); // ADVISORY
    (void)next_word(line); // WRITE
    const std::string_view number = next_word(line);
    if (next_word(line) != file) continue;
    pid_t process = 0;
    const auto [end, wrong] =
        std::from_chars(number.data(), number.data() + number.size(), process);
    if (wrong == std::errc{} && end == number.data() + number.size() && process > 0) return process;
  }
  return std::nullopt;
}

std::optional<pid_t> lock_holder(const std::filesystem::path& of) {
  struct stat s {};
  if (::stat(of.c_str(), &s) != 0) return std::nullopt;
  std::array<char, 64> file{};
  std::snprintf(file.data(), file.size(), "%02x:%02x:%llu", major(s.st_dev), minor(s.st_dev),
                static_cast<unsigned long long>(s.st_ino));
  return lock_holder_in(locks_of_machine(), file.data());
}

std::string program_text(std::string_view kind, std::optional<pid_t> process) {
  std::string command;
  if (process.value_or(0) > 0)
    std::getline(std::ifstream("/proc/" + std::to_string(*process) + "/comm"), command);
  const std::string_view is = command == "koto-l3d"  ? "daemon"
                              : command == "koto-l3" ? "receiver"
                                                     : kind;
  if (is == kind) return std::string(kind) + process_text(process);
  return "program" + process_text(process) + " (" + command + ")";
}

std::optional<pid_t> socket_server(const std::string& unix_socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (unix_socket.empty() || unix_socket.size() >= sizeof address.sun_path) return std::nullopt;
  std::memcpy(address.sun_path, unix_socket.data(), unix_socket.size());
  const file_descriptor s(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (::connect(s.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == EAGAIN) return 0; // more wait to be served than may wait
    return std::nullopt;
  }
  ucred who{};
  socklen_t bytes = sizeof who;
  const bool known = ::getsockopt(s.get(), SOL_SOCKET, SO_PEERCRED, &who, &bytes) == 0;
  return known ? who.pid : 0;
}

} // namespace l3
