// SPDX-License-Identifier: Apache-2.0
// Sets up the log (spdlog, to standard error). A thread that logs never waits: lines that no
// program reads are left out and counted, and the log says so when it flows again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace l3 {

/// Makes spdlog's default logger write lines of this level and above ("trace" … "error") to
/// standard error: with date and time on a terminal or in a file; under the service manager, whose
/// journal has its own clock, with the priority.
void start_logging(const std::string& program, const std::string& level);

enum class log_level : std::uint8_t { info, warning, error };

/// Writes one line. Any thread; waits for nothing.
void log_line(log_level level, std::string_view text);

// The same, formatted. spdlog's own functions would compile spdlog and fmt in each source.
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

/// Lines that could not be written. Any thread.
[[nodiscard]] std::uint64_t log_lines_left_out();

/// Writes what waits, for a moment at most, and ends the log.
void close_log();

/// What a process says before it ends, behind its log, which it closes. It does not wait for long.
void say_last(const std::string& text);

/// Changes the level. Any thread.
void set_log_level(const std::string& level);

/// Whether standard error goes straight to the journal, as JOURNAL_STREAM says ("device:inode", may
/// be null).
[[nodiscard]] bool writes_to_journal(const char* journal_stream);

} // namespace l3
