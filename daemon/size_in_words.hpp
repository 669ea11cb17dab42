// SPDX-License-Identifier: Apache-2.0
// Sizes of memory and of disks for people: "950.0 MB", "1.5 GB".
#pragma once

#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace l3 {

[[nodiscard]] inline std::string size_in_words(std::uint64_t bytes) {
  constexpr std::uint64_t mega = 1'000'000;
  constexpr std::uint64_t giga = 1000 * mega;
  const bool large = bytes >= giga;
  return fmt::format("{:.1f} {}", static_cast<double>(bytes) / (large ? giga : mega),
                     large ? "GB" : "MB");
}

} // namespace l3
