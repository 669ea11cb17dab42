// SPDX-License-Identifier: Apache-2.0
#include "bench/decode/decode_batch.hpp"

#include "bench/harness/made_up_batch.hpp"

namespace l3::bench {

decode_batch::decode_batch(std::uint32_t events, std::uint32_t percent_opaque, bool varied)
    : held_batch(readout::koto(), events) {
  make_up_batch(batch_, 1, varied);
  constexpr std::uint32_t hundred = 100;
  constexpr std::uint32_t stride = 37; // coprime, so that these boards are not adjacent
  for (const fragment_entry& f : batch_.fragments.first(batch_.used_fragments)) {
    for (std::uint32_t i = f.first_board; i < f.first_board + f.boards; ++i)
      if (i * stride % hundred < percent_opaque) make_opaque(f, batch_.boards[i]);
  }
}

/// Marks a board of the fragment as opaque, although it has sent all its samples.
void decode_batch::make_opaque(const fragment_entry& f, board_entry& b) {
  b.opaque = 1;
  const std::uint32_t offset = b.offset + sizeof(std::uint16_t);
  const std::uint32_t piece = offset / f.piece_bytes;
  std::byte* const word =
      batch_.bytes.data() + batch_.pieces[f.first_piece + piece] + offset % f.piece_bytes;
  store_big(word, static_cast<std::uint16_t>(load_big<std::uint16_t>(word) | l2::compressed_bit));
}

} // namespace l3::bench
