// SPDX-License-Identifier: Apache-2.0
// Text that is safe in a log, on a page and in a terminal: only visible characters that do not
// change their neighbours. A control character commands the terminal, an override of the writing
// direction (U+202E) makes text look different, and a zero-width character makes two names look
// equal.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace l3 {

/// An unsafe place in a text.
struct unplain_character {
  std::size_t at = 0;    ///< of its first byte
  std::size_t bytes = 0; ///< its length
  /// Code point; nothing if the bytes are no UTF-8 character.
  std::optional<char32_t> number;
};

/// The first character at or after `at` that is a control character (including tab and line end),
/// changes the writing direction, has no width, or is invalid UTF-8.
[[nodiscard]] std::optional<unplain_character> find_unplain(std::string_view text,
                                                            std::size_t at = 0);

/// "\u202e", "\U000e0001", or "\xff" for a byte that is no character.
[[nodiscard]] std::string escaped_name(const unplain_character& c, std::string_view text);

/// A peer's text as one line: truncated, and with a question mark for each unsafe character.
[[nodiscard]] std::string peer_text(std::string_view text);
/// The whole text as one line, such as a file name or an argument, with an escape for each unsafe
/// character ("\n" for a line end).
[[nodiscard]] std::string plain_line(std::string_view text);
/// Escapes as plain_line() does, but keeps line ends and tabs.
[[nodiscard]] std::string plain_lines(std::string_view text);
/// Escapes invalid bytes in a JSON text, so that its strings contain the "\xff" of plain_line().
/// JSON has its own escapes for other characters.
[[nodiscard]] std::string json_in_utf8(std::string_view json);

} // namespace l3
