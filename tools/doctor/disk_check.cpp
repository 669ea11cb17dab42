// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tools/doctor/checks.hpp"
#include "transport/system/file_descriptor.hpp"
#include "transport/system/file_io.hpp"
#include "transport/system/known_folder.hpp"

namespace l3 {
namespace {

namespace fs = std::filesystem;

struct written {
  double bytes_per_second = 0;
  std::error_code error;
};

/// Writes and flushes; the unnamed file is removed with its descriptor.
written measure(const fs::path& folder) {
  using clock = std::chrono::steady_clock;
  constexpr std::size_t step = 4 << 20;
  constexpr std::size_t most = 256 << 20;
  constexpr auto longest = std::chrono::seconds(2);
  const file_descriptor file(
      ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file) return {0, last_error()};
  std::vector<std::byte> bytes(step);
  std::uint32_t random = 1; // zeros would cost nothing on a compressing disk
  for (std::byte& b : bytes) {
    random = random * 1664525U + 1013904223U;
    b = static_cast<std::byte>(random >> 24);
  }
  const auto begin = clock::now();
  std::size_t done = 0;
  while (done < most && clock::now() - begin < longest) {
    if (::write(file.get(), bytes.data(), step) != static_cast<ssize_t>(step) ||
        ::fdatasync(file.get()) != 0)
      return {0, last_error()};
    done += step;
  }
  const std::chrono::duration<double> took = clock::now() - begin;
  return {static_cast<double>(done) / took.count(), {}};
}

void check_speed(const disk_use& use, const fs::path& there, findings& to) {
  constexpr double mega = 1e6;
  const std::string what = "disk.speed." + use.what;
  const written speed = measure(there);
  if (speed.error)
    return to.push_back(
        {health::warning, what,
         fmt::format("the speed of {} cannot be measured: {}", there.string(),
                     speed.error.message()),
         fmt::format("dd if=/dev/zero of={}/trial bs=4M count=64 oflag=dsync, then remove the file",
                     there.string())});
  const std::string text =
      fmt::format("{} writes {:.0f} MB/s, flushed", there.string(), speed.bytes_per_second / mega);
  if (speed.bytes_per_second >= use.bytes_per_second)
    return to.push_back({health::ok, what, text, ""});
  to.push_back(
      {health::warning, what,
       fmt::format(
           "{}; the output link carries {:.0f} MB/s: while the receiver is away events may be shed",
           text, use.bytes_per_second / mega),
       use.what + " on a faster disk"});
}

} // namespace

void check_disk(const disk_use& use, findings& to) {
  const fs::path there = nearest_folder(use.folder);
  const std::string what = "disk.room." + use.what;
  if (const std::string why = why_not_writable(use.folder); !why.empty()) {
    to.push_back({health::bad, what, fmt::format("{}: {}", use.what, why),
                  fmt::format("chown USER {} for the daemon's user, or run the doctor as that user",
                              there.string())});
    return;
  }
  struct statvfs disk {};
  if (::statvfs(there.c_str(), &disk) != 0) {
    to.push_back({health::warning, what,
                  fmt::format("the free space of {} cannot be read: {}", there.string(),
                              last_error().message()),
                  fmt::format("df {}", there.string())});
  } else {
    constexpr double giga = 1e9;
    const auto room = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize);
    const std::string text = fmt::format("{:.1f} GB are free at {}", room / giga, there.string());
    if (room < static_cast<double>(use.wanted))
      to.push_back({health::warning, what,
                    fmt::format("{}, but {:.1f} GB may be needed", text,
                                static_cast<double>(use.wanted) / giga),
                    "make room there, or lower spool.size"});
    else
      to.push_back({health::ok, what, text, ""});
  }
  check_speed(use, there, to);
}

} // namespace l3
