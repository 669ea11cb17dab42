// SPDX-License-Identifier: Apache-2.0
// The identity of an event within a run: its spill and its number in that spill.
#pragma once

#include <compare>
#include <cstdint>

namespace l3 {

/// Spill numbers have 9 bits and wrap; event numbers restart at 1 in each spill.
struct event_key {
  std::uint32_t spill = 0;
  std::uint32_t number = 0;

  friend auto operator<=>(const event_key&,
                          const event_key&) = default; // NOLINT(modernize-use-nullptr)
};

} // namespace l3
