// SPDX-License-Identifier: Apache-2.0
// Numbers with a unit, as people write them: "64 MiB", "5 ms", "4 Gb/s". A number that cannot be
// read exactly is refused, and a shown number reads back to the same value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace l3 {

enum class dimension : std::uint8_t { size, duration, rate };

/// Returns bytes, nanoseconds, or bits per second; empty if the text is not a number with a unit of
/// this dimension.
[[nodiscard]] std::optional<std::uint64_t> read_amount(std::string_view text, dimension d);

/// Shows the value in the largest unit that needs no fraction.
[[nodiscard]] std::string show_amount(std::uint64_t value, dimension d);

/// The units of a dimension, for messages and the reference page: "ns, us, ms, s, min".
[[nodiscard]] std::string units_of(dimension d);

} // namespace l3
