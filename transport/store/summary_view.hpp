// SPDX-License-Identifier: Apache-2.0
// Reading the summary of a packed event (docs/formats.md, section 7): what the selection found and
// decided. A view is made only of bytes that hold all that their head promises. Quantities that a
// later writer puts behind those of this page are left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transport/format/summary.hpp"

namespace l3 {

struct summary_view {
  packed_summary head;
  std::vector<packed_line> lines; ///< from bit 0 on
  std::vector<photon_summary> photons;
  std::vector<std::int32_t> quantities; ///< in the order of `quantity`
  std::vector<veto_hit_summary> hits;
  std::vector<std::uint8_t> reasons; ///< line_reason of each line

  /// Nothing: the bytes are no summary of this version.
  [[nodiscard]] static std::optional<summary_view> parse(std::span<const std::byte> bytes);
};

} // namespace l3
