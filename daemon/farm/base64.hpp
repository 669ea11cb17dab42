// SPDX-License-Identifier: Apache-2.0
// Base64 (RFC 4648, with padding). etcd's JSON gateway encodes keys and values in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace l3 {

inline constexpr std::string_view base64_digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

[[nodiscard]] inline std::string to_base64(std::string_view bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t b = 0; b < 3; ++b)
      group = group << 8 | (i + b < bytes.size() ? static_cast<unsigned char>(bytes[i + b]) : 0U);
    for (std::size_t d = 0; d < 4; ++d)
      text += i + d > bytes.size() ? '=' : base64_digits[group >> (18 - 6 * d) & 63U];
  }
  return text;
}

/// Returns nothing if the text is not valid Base64.
[[nodiscard]] inline std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 4) {
    std::uint32_t group = 0;
    std::size_t digits = 0;
    for (std::size_t d = 0; d < 4; ++d) {
      const auto value = base64_digits.find(text[i + d]);
      if (value != base64_digits.npos && digits == d) {
        ++digits;
        group = group << 6 | static_cast<std::uint32_t>(value);
      } else if (text[i + d] == '=' && i + 4 == text.size() && d > 1) {
        group <<= 6;
      } else {
        return std::nullopt;
      }
    }
    for (std::size_t b = 0; b + 1 < digits; ++b)
      bytes += static_cast<char>(group >> (16 - 8 * b) & 255U);
  }
  return bytes;
}

} // namespace l3
