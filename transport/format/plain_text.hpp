// SPDX-License-Identifier: Apache-2.0
// Which text may stand in a log, on a page and in a terminal: characters that are seen where they
// stand, and that change nothing of what stands beside them. A control character commands the
// terminal, an override of the direction of writing (U+202E) shows a text as another one, and a
// character without width makes two names look like one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace l3 {

/// A place in a text that is not plain.
struct unplain_character {
  std::size_t at = 0;    ///< of its first byte
  std::size_t bytes = 0; ///< that it has there
  /// In the Unicode standard; nothing: the byte there begins no character of UTF-8.
  std::optional<char32_t> number;
};

/// The first character, from `at` on, that is a control character (also a tabulator or the end of a
/// line), changes the direction of writing, has no width, or is none of UTF-8.
[[nodiscard]] std::optional<unplain_character> find_unplain(std::string_view text,
                                                            std::size_t at = 0);

/// "\u202e", "\U000e0001", or of a byte that is no character "\xff".
[[nodiscard]] std::string escaped_name(const unplain_character& c, std::string_view text);

/// What a peer says as one line: cut, and with a question mark for each character that is not
/// plain.
[[nodiscard]] std::string peer_text(std::string_view text);
/// As one line, whole, with an escape for each character that is not plain ("\n" for the end of a
/// line): the name of a file, an argument.
[[nodiscard]] std::string plain_line(std::string_view text);
/// The same of several lines: ends of lines and tabulators stay.
[[nodiscard]] std::string plain_lines(std::string_view text);
/// The same of JSON, whose own escapes are for the others: of a byte in it that is no character. A
/// text in it then has the "\xff" that plain_line() makes.
[[nodiscard]] std::string json_in_utf8(std::string_view json);

} // namespace l3
