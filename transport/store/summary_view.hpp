// SPDX-License-Identifier: Apache-2.0
// Reads the summary of a packed event (docs/formats.md, section 7): the results of the selection. A
// view exists only for complete bytes. Quantities that a later version added are left out.
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
  std::vector<packed_line> lines; ///< starting with bit 0
  std::vector<photon_summary> photons;
  std::vector<std::int32_t> quantities; ///< in the order of `quantity`
  std::vector<veto_hit_summary> hits;
  std::vector<std::uint8_t> reasons; ///< line_reason by line

  /// Returns nothing if the bytes are no summary of this version.
  [[nodiscard]] static std::optional<summary_view> parse(std::span<const std::byte> bytes);
};

} // namespace l3
