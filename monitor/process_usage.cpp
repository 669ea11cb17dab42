// SPDX-License-Identifier: Apache-2.0
#include "monitor/process_usage.hpp"

#include <array>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <sstream>
#include <string>
#include <system_error>

#include <sys/resource.h>
#include <unistd.h>

#include "transport/system/input_file.hpp"

namespace l3 {
namespace {

constexpr double seconds_per_us = 1e-6;
constexpr double seconds_per_ns = 1e-9;

double seconds_of(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * seconds_per_us;
}

double seconds_of(const timespec& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * seconds_per_ns;
}

/// in s since 1970-01-01 UTC
double time_of_boot() {
  timespec now{};
  timespec since{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  ::clock_gettime(CLOCK_BOOTTIME, &since);
  return seconds_of(now) - seconds_of(since);
}

std::uint64_t count_open_files() {
  std::error_code error;
  std::uint64_t count = 0;
  std::filesystem::directory_iterator at("/proc/self/fd", error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) ++count;
  return count > 0 ? count - 1 : 0; // one descriptor is the iterator's
}

} // namespace

stat_line stat_line_of(std::string_view line) {
  // The program's name, field 2, may contain anything but ends with the last bracket.
  const std::size_t name_ends = line.rfind(')');
  std::istringstream rest(std::string(line.substr(name_ends == line.npos ? 0 : name_ends + 1)));
  constexpr std::size_t first = 3;
  constexpr std::size_t last = 24;
  std::array<std::uint64_t, last + 1> fields{};
  std::string text;
  for (std::size_t n = first; n <= last; ++n) {
    if (!(rest >> text)) return {};
    (void)std::from_chars(text.data(), text.data() + text.size(), fields[n]);
  }
  return {.threads = fields[20],
          .started = fields[22],
          .virtual_bytes = fields[23],
          .pages = fields[24]};
}

process_usage usage_of_this_process() {
  process_usage u;
  rusage used{};
  if (::getrusage(RUSAGE_SELF, &used) == 0)
    u.cpu = seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) u.most_files = files.rlim_cur;
  constexpr std::uint64_t most_bytes = 4096;
  const stat_line s = stat_line_of(read_input("/proc/self/stat", most_bytes).text);
  static const double boot = time_of_boot(); // once: clock steps do not change the start
  u.started = boot + static_cast<double>(s.started) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  u.virtual_bytes = s.virtual_bytes;
  u.resident_bytes = s.pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  u.threads = s.threads;
  u.open_files = count_open_files();
  return u;
}

std::vector<family> families_of(const process_usage& u) {
  using enum family::kind;
  return {
      {counter, "process_cpu_seconds_total", "", "Processor time that the process has used.",
       u.cpu},
      {gauge, "process_start_time_seconds", "", "Start of the process, since 1970-01-01 UTC.",
       u.started},
      {gauge, "process_resident_memory_bytes", "", "Resident memory of the process.",
       u.resident_bytes},
      {gauge, "process_virtual_memory_bytes", "", "Virtual memory of the process.",
       u.virtual_bytes},
      {gauge, "process_threads", "", "Its threads.", u.threads},
      {gauge, "process_open_fds", "", "Files and sockets that the process has open.", u.open_files},
      {gauge, "process_max_fds", "", "Maximum number of open files and sockets.", u.most_files},
  };
}

} // namespace l3
