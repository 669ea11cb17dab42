// SPDX-License-Identifier: Apache-2.0
#include "bench/harness/held_batch.hpp"

#include <algorithm>
#include <cstring>

namespace l3::bench {

fragment_entry& add_fragment(input_batch& batch, std::uint8_t crate,
                             std::span<const std::byte> content) {
  constexpr std::size_t cache_line = 64;
  fragment_entry f;
  f.first_piece = batch.used_pieces;
  f.piece_bytes = piece_bytes;
  f.bytes = static_cast<std::uint32_t>(content.size());
  f.first_board = batch.used_boards;
  f.crate = crate;
  for (std::size_t at = 0; at < content.size(); at += piece_bytes) {
    const std::size_t n = std::min<std::size_t>(piece_bytes, content.size() - at);
    std::memcpy(batch.bytes.data() + batch.used_bytes, content.data() + at, n);
    batch.pieces[batch.used_pieces++] = static_cast<piece_offset>(batch.used_bytes);
    batch.used_bytes = round_up(batch.used_bytes + n, cache_line);
  }
  return batch.fragments[batch.used_fragments++] = f;
}

std::uint64_t fragment_bytes(const input_batch& batch) {
  std::uint64_t n = 0;
  for (const fragment_entry& f : batch.fragments.first(batch.used_fragments)) n += f.bytes;
  return n;
}

held_batch::held_batch(const readout& crates, std::uint32_t events)
    : memory_(host_memory::allocate(capacity_of(crates, events, piece_bytes).bytes)) {
  const batch_capacity c = capacity_of(crates, events, piece_bytes);
  events_.resize(c.events);
  fragments_.resize(c.fragments);
  pieces_.resize(c.pieces);
  boards_.resize(c.boards);
  homes_.resize(c.boards);
  batch_.bytes = {memory_.data(), memory_.size()};
  batch_.events = events_;
  batch_.fragments = fragments_;
  batch_.pieces = pieces_;
  batch_.boards = boards_;
}

batch_view held_batch::view() const {
  for (std::uint32_t e = 0; e < batch_.used_events; ++e) {
    const std::uint32_t first = events_[e].first_fragment;
    for (std::uint32_t k = first; k < first + events_[e].fragments; ++k)
      std::fill_n(homes_.begin() + fragments_[k].first_board, fragments_[k].boards,
                  board_home{e, k});
  }
  return {batch_.bytes.data(),
          {events_.data(), batch_.used_events},
          {fragments_.data(), batch_.used_fragments},
          {pieces_.data(), batch_.used_pieces},
          {boards_.data(), batch_.used_boards},
          {homes_.data(), batch_.used_boards}};
}

void held_batch::copy_to(input_batch& batch) const {
  const auto copy = [](auto from, std::uint32_t n, auto to) {
    std::ranges::copy(from.first(n), to.begin());
    return n;
  };
  batch.clear();
  std::ranges::copy(bytes(), batch.bytes.begin());
  batch.used_bytes = batch_.used_bytes;
  batch.used_events = copy(batch_.events, batch_.used_events, batch.events);
  batch.used_fragments = copy(batch_.fragments, batch_.used_fragments, batch.fragments);
  batch.used_pieces = copy(batch_.pieces, batch_.used_pieces, batch.pieces);
  batch.used_boards = copy(batch_.boards, batch_.used_boards, batch.boards);
}

batch_capacity held_batch::capacity() const {
  return {batch_.used_events, batch_.used_fragments, batch_.used_pieces, batch_.used_boards,
          batch_.used_bytes};
}

} // namespace l3::bench
