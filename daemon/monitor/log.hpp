// SPDX-License-Identifier: Apache-2.0
// Setting up the log (spdlog, to standard error), and the way in which repeated news are told: the
// first of a kind at once, then a count now and then. A flood of bad packets must not become a
// flood of lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "transport/format/time.hpp"

namespace l3 {

/// From here on spdlog's default logger writes lines of this level and above ("trace" … "error") to
/// standard error: with date and time on a terminal or in a file; under the service manager, whose
/// journal has its own clock, with the priority it reads.
void start_logging(const std::string& level);

/// The same from now on with another level; from any thread.
void set_log_level(const std::string& level);

/// Whether standard error goes straight to the journal, as JOURNAL_STREAM says ("device:inode", may
/// be null).
[[nodiscard]] bool writes_to_journal(const char* journal_stream);

/// Decides when to speak of something that may happen often. For one thread.
class occasional {
public:
  explicit occasional(std::chrono::nanoseconds interval) : interval_(interval) {}

  /// It happened (so many times). The number of times to be told now, itself included; nothing
  /// while it is too early to speak again.
  [[nodiscard]] std::optional<std::uint64_t> happened(time_point now, std::uint64_t times = 1) {
    untold_ += times;
    return due(now);
  }

  /// For a timer, so that the end of a burst is told too: the same without a new occurrence.
  [[nodiscard]] std::optional<std::uint64_t> due(time_point now) {
    if (untold_ == 0 || (told_at_ && now - *told_at_ < interval_)) return std::nullopt;
    told_at_ = now;
    return std::exchange(untold_, 0);
  }

private:
  std::chrono::nanoseconds interval_;
  std::optional<time_point> told_at_;
  std::uint64_t untold_ = 0;
};

} // namespace l3
