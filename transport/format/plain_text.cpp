// SPDX-License-Identifier: Apache-2.0
#include "transport/format/plain_text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace l3 {
namespace {

struct range {
  char32_t first;
  char32_t last;
};

/// Sorted. The general categories Cc, Cf, Zl and Zp of Unicode 15, without the visible members of
/// Cf such as the Arabic number sign. Also invisible letters and signs: the Hangul fillers, the
/// Khmer vowels without a shape, the grapheme joiner, and the empty Braille cell.
constexpr std::array unplain{
    range{0x00, 0x1f},       range{0x7f, 0x9f},       range{0xad, 0xad},
    range{0x34f, 0x34f},     range{0x61c, 0x61c},     range{0x115f, 0x1160},
    range{0x17b4, 0x17b5},   range{0x180e, 0x180e},   range{0x200b, 0x200f},
    range{0x2028, 0x202e},   range{0x2060, 0x206f},   range{0x2800, 0x2800},
    range{0x3164, 0x3164},   range{0xfeff, 0xfeff},   range{0xffa0, 0xffa0},
    range{0xfff9, 0xfffb},   range{0x1bca0, 0x1bca3}, range{0x1d173, 0x1d17a},
    range{0xe0000, 0xe0fff},
};

bool is_plain(char32_t c) {
  const auto behind = std::ranges::find_if(unplain, [&](const range& r) { return c <= r.last; });
  return behind == unplain.end() || c < behind->first;
}

/// The first character of a non-empty text according to RFC 3629: only the shortest form, and no
/// UTF-16 surrogate.
unplain_character read_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {0, 1, first};
  const std::size_t bytes = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (bytes == 0 || first > 0xf4 || text.size() < bytes) return {0, 1, std::nullopt};
  char32_t number = first & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {0, 1, std::nullopt};
    number = number << 6 | (byte(i) & 0x3fU);
  }
  constexpr std::array<char32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
  const bool is_half = number >= 0xd800 && number < 0xe000;
  if (number < least[bytes] || is_half || number > 0x10ffff) return {0, 1, std::nullopt};
  return {0, bytes, number};
}

} // namespace

std::optional<unplain_character> find_unplain(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    unplain_character c = read_character(text.substr(at));
    c.at = at;
    if (!c.number || !is_plain(*c.number)) return c;
    at += c.bytes;
  }
  return std::nullopt;
}

std::string escaped_name(const unplain_character& c, std::string_view text) {
  const std::uint32_t number =
      c.number ? static_cast<std::uint32_t>(*c.number) : static_cast<unsigned char>(text[c.at]);
  const int digits = !c.number ? 2 : number > 0xffff ? 8 : 4;
  std::string name(digits == 2 ? "\\x" : digits == 4 ? "\\u" : "\\U");
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
    name += "0123456789abcdef"[number >> shift & 15U];
  return name;
}

namespace {

/// Replaces each character that is not plain by `shown`, except those in `but`.
template <class Shown>
std::string made_plain(std::string_view text, std::string_view but, const Shown& shown) {
  std::string line;
  std::size_t from = 0;
  for (auto c = find_unplain(text); c; c = find_unplain(text, from)) {
    line += text.substr(from, c->at - from);
    if (but.find(text[c->at]) == but.npos)
      line += shown(*c);
    else
      line += text[c->at];
    from = c->at + c->bytes;
  }
  return line += text.substr(from);
}

std::string escaped(std::string_view text, std::string_view but) {
  return made_plain(text, but, [&](const unplain_character& c) {
    return c.number == U'\n' ? "\\n" : escaped_name(c, text);
  });
}

} // namespace

std::string plain_line(std::string_view text) { return escaped(text, {}); }

std::string plain_lines(std::string_view text) { return escaped(text, "\n\t"); }

std::string json_in_utf8(std::string_view json) {
  std::string valid;
  valid.reserve(json.size());
  for (std::size_t at = 0; at < json.size();) {
    unplain_character c = read_character(json.substr(at));
    c.at = at;
    if (c.number)
      valid += json.substr(at, c.bytes);
    else
      valid += '\\' + escaped_name(c, json); // a backslash is doubled in JSON
    at += c.bytes;
  }
  return valid;
}

std::string peer_text(std::string_view text) {
  constexpr std::size_t longest = 400; // worth reading
  const auto goes_on = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80; };
  std::size_t end = std::min(longest, text.size());
  for (int i = 0; i < 3 && end > 0 && end < text.size() && goes_on(text[end]); ++i) --end;
  return made_plain(text.substr(0, end), {}, [](const unplain_character& /*c*/) { return '?'; });
}

} // namespace l3
