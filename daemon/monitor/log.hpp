// SPDX-License-Identifier: Apache-2.0
// Sets up the log (spdlog, to standard error).
#pragma once

#include <string>

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

} // namespace l3
