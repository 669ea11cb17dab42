// SPDX-License-Identifier: Apache-2.0
// Opens and reads files of people and other programs. The name may lead to anything: a pipe without
// a writer, an endless device, a file of a terabyte. Opening never waits, only a regular file is
// read, and the length of a text is limited.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>

#include "transport/system/file_io.hpp"

namespace l3 {

struct input_file {
  file_descriptor file;
  std::uint64_t bytes = 0;
  mode_t mode = 0;
  /// Empty if the file is open; otherwise it follows the file's name: "is a pipe, not a regular
  /// file".
  std::string refusal;
};

struct input_text {
  std::string text;
  mode_t mode = 0;
  std::string refusal; ///< as above
};

[[nodiscard]] inline std::string cannot_be_read(const std::error_code& why) {
  return "cannot be read: " + why.message();
}

[[nodiscard]] inline input_file open_input(const std::filesystem::path& path) {
  input_file in;
  const auto refuse = [&](std::string why) {
    in.file = {};
    in.refusal = std::move(why);
    return std::move(in);
  };
  // The system would cut the name there and open another file.
  if (path.native().find('\0') != std::string::npos) return refuse("has a NUL in its name");
  in.file = file_descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  // Opening a socket fails with ENXIO.
  if (!in.file) return refuse(cannot_be_read(last_error()));
  struct stat is {};
  if (::fstat(in.file.get(), &is) != 0) return refuse(cannot_be_read(last_error()));
  if (S_ISDIR(is.st_mode)) return refuse("is a folder, not a file");
  if (S_ISFIFO(is.st_mode)) return refuse("is a pipe, not a regular file");
  if (!S_ISREG(is.st_mode)) return refuse("is a device, not a regular file");
  in.bytes = static_cast<std::uint64_t>(is.st_size);
  in.mode = is.st_mode;
  return in;
}

/// Reads the whole file if it has at most `most` bytes. It reads to the end, because the reported
/// size is 0 for the kernel's own files and may be outdated.
[[nodiscard]] inline input_text read_input(const std::filesystem::path& path, std::uint64_t most) {
  input_file in = open_input(path);
  if (!in.refusal.empty()) return {{}, 0, std::move(in.refusal)};
  const auto too_long = [&](const std::string& bytes) -> input_text {
    return {{}, in.mode, "has " + bytes + " bytes; at most " + std::to_string(most) + " are read"};
  };
  if (in.bytes > most) return too_long(std::to_string(in.bytes));
  constexpr std::uint64_t step = std::uint64_t{64} << 10;
  std::string text;
  std::size_t got = 0;
  do {
    text.resize(std::min(most + 1, got + std::max(step, in.bytes + 1)));
    std::error_code error;
    got +=
        read_up_to(in.file.get(), got, std::as_writable_bytes(std::span(text)).subspan(got), error);
    if (error) return {{}, in.mode, cannot_be_read(error)};
  } while (got == text.size() && got <= most);
  if (got > most) return too_long("more than " + std::to_string(most));
  text.resize(got);
  return {std::move(text), in.mode, {}};
}

} // namespace l3
