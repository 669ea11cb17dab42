// SPDX-License-Identifier: Apache-2.0
// A progress line on a terminal: how much is done, how fast, and how long the rest takes. Silent
// without a terminal and within the first second. For one thread.
#pragma once

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "tools/command_error.hpp"
#include "tools/print.hpp"
#include "transport/system/line_writer.hpp"

namespace l3 {

/// "verify 300 of 1000 events (30 %), 100 events/s, 7 s left"; for bytes "1.5 of 3.0 GB". `total`
/// 0: unknown. The rate is the mean since the start.
[[nodiscard]] inline std::string progress_text(std::string_view label, std::string_view unit,
                                               std::uint64_t done, std::uint64_t total,
                                               std::chrono::duration<double> since_start) {
  constexpr double mega = 1e6;
  constexpr double giga = 1e9;
  constexpr double longest = 360'000; // in s; a longer estimate is meaningless
  const bool bytes = unit == "bytes";
  const bool large = bytes && static_cast<double>(std::max(done, total)) >= giga;
  const std::string_view shown = !bytes ? unit : large ? "GB" : "MB";
  const auto number = [&](std::uint64_t n) {
    return bytes ? fmt::format("{:.1f}", static_cast<double>(n) / (large ? giga : mega))
                 : fmt::format("{}", n);
  };
  std::string text = fmt::format("{} {}", label, number(done));
  if (total > 0) text += fmt::format(" of {}", number(total));
  text += fmt::format(" {}", shown);
  if (total > 0)
    text +=
        fmt::format(" ({:.0f} %)", 100 * static_cast<double>(done) / static_cast<double>(total));
  if (done == 0 || since_start.count() <= 0) return text;
  const double rate = static_cast<double>(done) / since_start.count();
  text +=
      bytes ? fmt::format(", {:.1f} MB/s", rate / mega) : fmt::format(", {:.3g} {}/s", rate, unit);
  const double left = total > done ? static_cast<double>(total - done) / rate : longest;
  if (left >= longest) return text;
  const auto seconds = static_cast<std::uint64_t>(left + 1);
  return text + (seconds < 60 ? fmt::format(", {} s left", seconds)
                              : fmt::format(", {}:{:02} min left", seconds / 60, seconds % 60));
}

class progress {
public:
  /// `total` 0: unknown.
  progress(std::string label, std::uint64_t total, std::string unit)
      : label_(std::move(label)), unit_(std::move(unit)), total_(total),
        shown_(::isatty(STDERR_FILENO) != 0) {}
  ~progress() { clear(); }
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  /// Cheap: prints at most ten times a second, after the first second.
  void update(std::uint64_t done) {
    if (!shown_) return;
    const auto now = clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(100);
    visible_ = true;
    if (!standard_error().idle()) return; // the terminal is stopped
    const std::string text = progress_text(label_, unit_, done, total_, now - started_);
    show(plain_line(text.substr(0, columns() - 1)));
  }
  /// Also sets a total that was unknown before.
  void update(std::uint64_t done, std::uint64_t total) {
    total_ = total;
    update(done);
  }

  /// Removes the line before further output, as the destructor does.
  void clear() {
    if (visible_) {
      show({});
      standard_error().flush();
    }
    visible_ = false;
  }

private:
  using clock = std::chrono::steady_clock;

  /// Replaces the line.
  static void show(const std::string& text) { standard_error().write("\r" + text + "\033[K"); }
  /// A line longer than the terminal's would stay in part when it is replaced.
  [[nodiscard]] static std::size_t columns() {
    winsize size{};
    constexpr std::size_t unknown = 80;
    return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                                                                             : unknown;
  }

  std::string label_;
  std::string unit_;
  std::uint64_t total_;
  bool shown_;
  bool visible_ = false;
  clock::time_point started_ = clock::now();
  clock::time_point next_ = started_ + std::chrono::seconds(1);
};

} // namespace l3
