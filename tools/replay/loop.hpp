// SPDX-License-Identifier: Apache-2.0
// A file that is replayed several times: each loop takes the next spill numbers, because within a
// run spill and event number name an event. Its events differ from the file in the spill number of
// every board header only. `replay` sends such events, `verify` expects them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "transport/file/record_parser.hpp"
#include "transport/format/batch.hpp"
#include "transport/format/l2.hpp"

namespace l3 {

inline constexpr std::uint32_t spill_numbers = l2::spill_mask + 1; ///< then they wrap

/// The number of a spill in the given loop (from 0): a loop takes as many numbers as the file has
/// spills.
[[nodiscard]] constexpr std::uint32_t
spill_in_loop(std::uint32_t spill, std::uint32_t spills_of_file, std::uint32_t loop) {
  return (spill + loop * spills_of_file) & l2::spill_mask;
}

/// Copies an event's body and gives it another spill number: word 4 of every board header. A
/// fragment that is not well formed is copied as it is.
class spill_changer {
public:
  explicit spill_changer(const readout& crates);

  /// `body`: one that parse_event() takes. Valid until the next call.
  [[nodiscard]] std::span<const std::byte> change(std::span<const std::byte> body,
                                                  std::uint32_t from, std::uint32_t to);

private:
  readout crates_;
  std::vector<std::byte> copy_;
  event_view view_;
  std::vector<board_entry> boards_;
};

} // namespace l3
