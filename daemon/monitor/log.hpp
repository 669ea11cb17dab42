// SPDX-License-Identifier: Apache-2.0
// Sets up the log (spdlog, to standard error), and decides when to log repeated news: the first of
// a kind at once, then a count now and then. A flood of bad packets must not become a flood of
// lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "transport/format/time.hpp"

namespace l3 {

/// Makes spdlog's default logger write lines of this level and above ("trace" … "error") to
/// standard error: with date and time on a terminal or in a file; under the service manager, whose
/// journal has its own clock, with the priority.
void start_logging(const std::string& level);

/// Changes the level. Any thread.
void set_log_level(const std::string& level);

/// Whether standard error goes straight to the journal, as JOURNAL_STREAM says ("device:inode", may
/// be null).
[[nodiscard]] bool writes_to_journal(const char* journal_stream);

/// Decides when to log something that may happen often. For one thread.
class occasional {
public:
  explicit occasional(std::chrono::nanoseconds interval) : interval_(interval) {}

  /// It happened (`times` times). Returns the number of times to log now, these included; nothing
  /// while it is too early to log again.
  [[nodiscard]] std::optional<std::uint64_t> happened(time_point now, std::uint64_t times = 1) {
    untold_ += times;
    return due(now);
  }

  /// The same without a new occurrence, for a timer, so that the end of a burst is logged too.
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
