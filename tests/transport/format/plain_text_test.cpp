// SPDX-License-Identifier: Apache-2.0
#include "transport/format/plain_text.hpp"

#include <gtest/gtest.h>

namespace l3 {
namespace {

/// The name of the first character that is not plain, with its place; empty: there is none.
std::string found_in(std::string_view text) {
  const auto c = find_unplain(text);
  return c ? std::to_string(c->at) + " " + escaped_name(*c, text) : std::string();
}

TEST(plain_text, is_what_people_write) {
  for (const char* text : {"", "beam at 100 kW", "Kläger, µ-Spule … 中間子 π⁰νν̄", "نص", "😀", " "})
    EXPECT_EQ(found_in(text), "") << text;
}

TEST(plain_text, has_nothing_that_commands_or_is_not_seen) {
  for (const auto& [text, name] : {std::pair{"a\nb", "1 \\u000a"},
                                   {"a\tb", "1 \\u0009"},
                                   {"\x1b[2J", "0 \\u001b"},
                                   {"a\x7f", "1 \\u007f"},
                                   {"é\u009b", "2 \\u009b"},
                                   {"run \u202e321", "4 \\u202e"},
                                   {"\u2066x", "0 \\u2066"},
                                   {"a\u200bb", "1 \\u200b"},
                                   {"a\u2028b", "1 \\u2028"},
                                   {"\ufeffa", "0 \\ufeff"},
                                   {"\u00ad", "0 \\u00ad"},
                                   {"\u034f", "0 \\u034f"},
                                   {"a\u115f", "1 \\u115f"},
                                   {"a\u17b4", "1 \\u17b4"},
                                   {"\u2800", "0 \\u2800"},
                                   {"\u3164", "0 \\u3164"},
                                   {"\uffa0", "0 \\uffa0"},
                                   {"x\U000e0041", "1 \\U000e0041"}})
    EXPECT_EQ(found_in(text), name) << text;
}

TEST(plain_text, has_nothing_that_is_no_character) {
  for (const auto& [text, name] : {std::pair{"a\xff", "1 \\xff"},
                                   {"\x80", "0 \\x80"},
                                   {"\xc0\x80", "0 \\xc0"},         // of NUL, too long
                                   {"\xe2\x80", "0 \\xe2"},         // cut
                                   {"\xe0\x80\x8a", "0 \\xe0"},     // too long
                                   {"\xed\xa0\x80", "0 \\xed"},     // half of a pair
                                   {"\xf4\x90\x80\x80", "0 \\xf4"}, // beyond the last
                                   {"\xf0\x9f\x98z", "0 \\xf0"}})
    EXPECT_EQ(found_in(text), name);
}

TEST(plain_text, of_a_line_and_of_lines_has_escapes) {
  const std::string text = "a\x1b[2J\n\tb\u202e\xff é" + std::string(500, 'c');
  EXPECT_EQ(plain_line(text), "a\\u001b[2J\\n\\u0009b\\u202e\\xff é" + std::string(500, 'c'));
  EXPECT_EQ(plain_lines(text), "a\\u001b[2J\n\tb\\u202e\\xff é" + std::string(500, 'c'));
}

TEST(plain_text, of_json_is_utf8) {
  EXPECT_EQ(json_in_utf8("{\"a\xff\\n é\":\t\"\xe2\x80\"}\n"),
            "{\"a\\\\xff\\n é\":\t\"\\\\xe2\\\\x80\"}\n");
}

TEST(plain_text, of_a_peer_has_question_marks_and_an_end) {
  EXPECT_EQ(peer_text("a\x1b[2J\nb\u202e\xff é"), "a?[2J?b?? é");
  EXPECT_EQ(peer_text(std::string(500, 'a')), std::string(400, 'a'));
  EXPECT_EQ(peer_text(std::string(399, 'a') + "é"), std::string(399, 'a'));
  EXPECT_EQ(peer_text(std::string(400, '\x80')), std::string(400, '?'));
  EXPECT_EQ(peer_text(std::string(500, '\x80')), std::string(397, '?'));
}

} // namespace
} // namespace l3
