// SPDX-License-Identifier: Apache-2.0
// Sets up the log (spdlog, to standard error). A logging thread never waits: lines that cannot be
// written are dropped and counted, and the log reports them when it flows again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace l3 {

/// Makes spdlog's default logger write lines of this level and above ("trace" … "error") to
/// standard error. On a terminal or in a file lines have date and time. Under the service manager,
/// whose journal adds the time, they have the priority instead.
void start_logging(const std::string& program, const std::string& level);

enum class log_level : std::uint8_t { info, warning, error };

/// Writes one line. Any thread; never waits.
void log_line(log_level level, std::string_view text);

// These format the line. spdlog's own functions would compile spdlog and fmt in each source.
template <class... Values>
void log_info(fmt::format_string<Values...> text, Values&&... values) {
  log_line(log_level::info, fmt::format(text, std::forward<Values>(values)...));
}
template <class... Values>
void log_warning(fmt::format_string<Values...> text, Values&&... values) {
  log_line(log_level::warning, fmt::format(text, std::forward<Values>(values)...));
}
template <class... Values>
void log_error(fmt::format_string<Values...> text, Values&&... values) {
  log_line(log_level::error, fmt::format(text, std::forward<Values>(values)...));
}

/// Number of lines that could not be written. Any thread.
[[nodiscard]] std::uint64_t log_lines_left_out();

/// Writes waiting lines, for a moment at most, and ends the log.
void close_log();

/// Closes the log and then writes the last words of a process. Waits only briefly.
void say_last(const std::string& text);

/// Changes the level. Any thread.
void set_log_level(const std::string& level);

/// Whether standard error goes directly to the journal, according to JOURNAL_STREAM
/// ("device:inode", may be null).
[[nodiscard]] bool writes_to_journal(const char* journal_stream);

} // namespace l3
