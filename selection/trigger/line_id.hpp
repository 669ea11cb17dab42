// SPDX-License-Identifier: Apache-2.0
// FNV-1a, 32 bits (Fowler, Noll, Vo): the short ids of lines and of the active settings in the
// stream.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

namespace l3 {

class fnv1a {
public:
  constexpr void add(std::string_view text) {
    for (const char c : text) add_byte(static_cast<std::uint8_t>(c));
  }
  /// Adds four bytes, the lowest first.
  template <std::integral T>
  requires(sizeof(T) <= sizeof(std::uint32_t)) constexpr void add(T number) {
    const auto bits = static_cast<std::uint32_t>(number);
    for (unsigned shift = 0; shift < 32; shift += 8)
      add_byte(static_cast<std::uint8_t>(bits >> shift));
  }
  [[nodiscard]] constexpr std::uint32_t value() const { return value_; }

private:
  constexpr void add_byte(std::uint8_t byte) { value_ = (value_ ^ byte) * 0x01000193U; }

  std::uint32_t value_ = 0x811c9dc5U;
};

/// The id of a line by its name.
[[nodiscard]] constexpr std::uint32_t line_id(std::string_view name) {
  fnv1a hash;
  hash.add(name);
  return hash.value();
}

} // namespace l3
