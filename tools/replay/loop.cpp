// SPDX-License-Identifier: Apache-2.0
#include "tools/replay/loop.hpp"

#include <algorithm>

#include "transport/building/fragment_index.hpp"
#include "transport/format/endian.hpp"

namespace l3 {

spill_changer::spill_changer(const readout& crates)
    : crates_(crates), copy_(max_event_body(crates)), boards_(l2::max_boards) {}

std::span<const std::byte> spill_changer::change(std::span<const std::byte> body,
                                                 std::uint32_t from, std::uint32_t to) {
  std::copy(body.begin(), body.end(), copy_.begin());
  const auto copy = std::span(copy_).first(body.size());
  if (parse_event(copy, crates_, view_)) return copy;
  constexpr piece_offset whole = 0;
  constexpr std::uint32_t spill_word = 4 * sizeof(std::uint16_t); // offset in a board header
  for (const auto& f : view_.fragments) {
    const auto bytes = static_cast<std::uint32_t>(f.bytes.size());
    const fragment_pieces pieces{f.bytes.data(), &whole,
                                 static_cast<std::uint32_t>(round_up(bytes, 4)), bytes};
    const auto found =
        index_fragment(pieces, crates_.crates[f.crate], {from, view_.number}, boards_);
    if (found.problem) continue;
    std::byte* const fragment = copy_.data() + (f.bytes.data() - copy_.data());
    for (std::uint16_t b = 0; b < found.boards; ++b) {
      std::byte* const word = fragment + boards_[b].offset + spill_word;
      store_big(word, l2::spill_slot_word(to, boards_[b].slot));
    }
  }
  return copy;
}

} // namespace l3
