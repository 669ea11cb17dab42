// SPDX-License-Identifier: Apache-2.0
// Repeated replays of a file: each loop uses new spill numbers, because spill and number identify
// an event within a run. Its events differ from the file only in the spill number of every board
// header. `replay` sends such events, `verify` expects them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "transport/file/record_parser.hpp"
#include "transport/format/batch.hpp"
#include "transport/format/l2.hpp"

namespace l3 {

inline constexpr std::uint32_t spill_numbers = l2::spill_mask + 1; ///< they wrap at this number

/// The number of a spill in the given loop, from 0: a loop uses as many numbers as the file has
/// spills.
[[nodiscard]] constexpr std::uint32_t
spill_in_loop(std::uint32_t spill, std::uint32_t spills_of_file, std::uint32_t loop) {
  return (spill + loop * spills_of_file) & l2::spill_mask;
}

/// Copies an event's body with another spill number: word 4 of every board header. Malformed
/// fragments are copied unchanged.
class spill_changer {
public:
  explicit spill_changer(const readout& crates);

  /// `body`: valid for parse_event(). The result is valid until the next call.
  [[nodiscard]] std::span<const std::byte> change(std::span<const std::byte> body,
                                                  std::uint32_t from, std::uint32_t to);

private:
  readout crates_;
  std::vector<std::byte> copy_;
  event_view view_;
  std::vector<board_entry> boards_;
};

} // namespace l3
