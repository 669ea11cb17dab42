// SPDX-License-Identifier: Apache-2.0
// Reads and writes whole ranges of a file: interrupted and partial calls continue, and errors are
// values.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transport/system/file_descriptor.hpp"

namespace l3 {

[[nodiscard]] inline std::error_code last_error() { return {errno, std::generic_category()}; }

/// The disk or the user's quota is full.
[[nodiscard]] inline bool is_want_of_room(const std::error_code& error) {
  return error == std::errc::no_space_on_device ||
         error == std::error_code(EDQUOT, std::generic_category());
}

/// Opens a file for writing and creates it if necessary; `flags` are added. On failure errno
/// says why.
[[nodiscard]] inline file_descriptor create_file(const std::filesystem::path& path, int flags) {
  constexpr mode_t mode = 0644;
  return file_descriptor(::open(path.c_str(), O_CREAT | O_CLOEXEC | flags, mode));
}

[[nodiscard]] inline std::error_code write_all(int file, std::uint64_t offset,
                                               std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto n = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return last_error();
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return {};
}

/// Writes at the file's own position; also for pipes.
[[nodiscard]] inline std::error_code append_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto n = ::write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return last_error();
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

/// Whether a file may be created or replaced under this name. A pipe, a socket or a device stays,
/// and so does a link to one such as /dev/stdout, because other programs use it.
[[nodiscard]] inline bool is_for_a_file(const std::filesystem::path& name) {
  struct stat found {};
  return ::stat(name.c_str(), &found) != 0 || S_ISREG(found.st_mode) ||
         S_ISDIR(found.st_mode); // no file can replace it
}

/// Replaces the file's content, or leaves it unchanged. `write(descriptor)` writes it under the
/// name `trial` in the same folder and returns an error, if any. Then it is flushed and renamed,
/// and the folder is flushed. A link of either name is replaced, its target untouched. Returns
/// `file_exists` if the name cannot be a file's.
template <class Write>
requires std::invocable<Write, int>
[[nodiscard]] std::error_code write_anew(const std::filesystem::path& file,
                                         const std::filesystem::path& trial, const Write& write) {
  if (!is_for_a_file(file)) return std::make_error_code(std::errc::file_exists);
  ::unlink(trial.c_str());
  const file_descriptor made = create_file(trial, O_WRONLY | O_EXCL | O_NOFOLLOW);
  if (!made) return last_error();
  std::error_code error = write(made.get());
  if (!error && ::fdatasync(made.get()) != 0) error = last_error();
  if (!error) std::filesystem::rename(trial, file, error);
  if (error) {
    ::unlink(trial.c_str());
    return error;
  }
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  const file_descriptor names(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (names) (void)::fsync(names.get()); // errors are ignored: the content is there anyway
  return {};
}

[[nodiscard]] inline std::error_code write_anew(const std::filesystem::path& file,
                                                const std::filesystem::path& trial,
                                                std::span<const std::byte> bytes) {
  return write_anew(file, trial, [&](int made) { return append_all(made, bytes); });
}

/// Whether the error may be temporary: of the disk, of the network, or missing memory.
[[nodiscard]] inline bool may_pass(int error) {
  return error == EIO || error == ESTALE || error == ETIMEDOUT || error == EINTR || error == ENOMEM;
}

/// Calls the system, and again after 1 and 10 ms if a temporary error occurs, because only a
/// successful call tells what a file is.
template <class Call>
[[nodiscard]] auto ask_again(const Call& call) {
  constexpr std::chrono::milliseconds pauses[] = {std::chrono::milliseconds(1),
                                                  std::chrono::milliseconds(10)};
  auto answer = call();
  for (const auto pause : pauses) {
    if (answer >= 0 || !may_pass(errno)) break;
    std::this_thread::sleep_for(pause);
    answer = call();
  }
  return answer;
}

/// Returns the number of bytes read: less than wanted only at the end of the file, which the size
/// of the kernel's own files does not tell.
[[nodiscard]] inline std::size_t read_up_to(int file, std::uint64_t offset, std::span<std::byte> to,
                                            std::error_code& error) {
  std::size_t got = 0;
  while (got < to.size()) {
    const auto n = ask_again([&] {
      return ::pread(file, to.data() + got, to.size() - got, static_cast<off_t>(offset + got));
    });
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) error = last_error();
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  return got;
}

/// Returns `result_out_of_range` if the file ends before `to` is full.
[[nodiscard]] inline std::error_code read_all(int file, std::uint64_t offset,
                                              std::span<std::byte> to) {
  std::error_code error;
  const bool whole = read_up_to(file, offset, to, error) == to.size();
  return whole || error ? error : std::make_error_code(std::errc::result_out_of_range);
}

/// The first place in [from, end) with data, or `end` if there are only holes. So a long sparse
/// file is not read. Moves the file's own position.
[[nodiscard]] inline std::uint64_t next_data(int file, std::uint64_t from, std::uint64_t end) {
  if (from >= end) return end;
  const auto at = ::lseek(file, static_cast<off_t>(from), SEEK_DATA);
  if (at < 0) return errno == ENXIO ? end : from; // a file system without SEEK_DATA
  return std::min(end, static_cast<std::uint64_t>(at));
}

} // namespace l3
