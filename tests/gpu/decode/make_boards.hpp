// SPDX-License-Identifier: Apache-2.0
// Makes level-2 data: board packets, fragments, events, and batches as the receivers make them, cut
// into pieces that lie scattered in the input buffer. A test can damage the data before it adds an
// event to a batch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "transport/format/batch_capacity.hpp"
#include "transport/format/block.hpp"
#include "transport/format/input_batch.hpp"
#include "transport/format/l2.hpp"

namespace l3::test {

using bytes = std::vector<std::byte>;
using randomness = std::mt19937_64;

inline std::uint32_t below(randomness& r, std::uint32_t n) {
  return static_cast<std::uint32_t>(r() % n);
}

struct made_board {
  board_kind kind = board_kind::sampling_125_mhz;
  std::uint8_t slot = l2::first_slot;
  bool opaque = false;
  bytes packet;
};

/// The place of sample s of record r among the sample words, as docs/formats.md gives it.
inline std::size_t sample_word(board_kind kind, std::size_t r, std::size_t s) {
  return kind == board_kind::sampling_125_mhz ? 16 * s + r : 4 * (64 * (r % 4) + s) + r / 4;
}

/// A full packet with the predicted header and footer. `records` are 16 × 64 samples of at most 14
/// bits.
inline made_board make_board(board_kind kind, std::uint8_t slot, std::uint32_t spill,
                             std::uint32_t number, std::uint32_t time,
                             const std::vector<std::uint16_t>& records) {
  made_board b{kind, slot, false, bytes(l2::board_bytes)};
  for (int w = 0; w < l2::header_words; ++w) {
    store_big(b.packet.data() + 2 * w, l2::expected_header_word(w, spill, number, slot, time));
  }
  std::byte* const samples = b.packet.data() + 2 * l2::header_words;
  for (std::size_t r = 0; r < l2::waveforms_per_board; ++r) {
    for (std::size_t s = 0; s < l2::waveform_samples; ++s) {
      store_big(samples + 2 * sample_word(kind, r, s),
                static_cast<std::uint16_t>(l2::sample_tag | records[64 * r + s]));
    }
  }
  for (int w = 0; w < l2::footer_words; ++w) {
    store_big(samples + 2 * (l2::sample_words + w), l2::footer_tag);
  }
  return b;
}

/// A packet of a board that compressed its samples itself: random content of any length.
inline made_board make_opaque_board(std::uint8_t slot, std::size_t words, randomness& r) {
  made_board b{board_kind::sampling_125_mhz, slot, true, bytes(2 * words)};
  for (std::byte& x : b.packet) x = static_cast<std::byte>(r());
  return b;
}

/// 64 samples whose differences need exactly `bits` bits.
inline std::vector<std::uint16_t> make_waveform(std::uint32_t bits, std::uint32_t largest,
                                                randomness& r) {
  const std::uint32_t range = bits == 0 ? 0 : (1U << (bits - 1)) + below(r, 1U << (bits - 1));
  const std::uint32_t minimum = below(r, largest - range + 1);
  std::vector<std::uint16_t> samples(64);
  for (auto& s : samples) s = static_cast<std::uint16_t>(minimum + below(r, range + 1));
  const std::uint32_t lowest = below(r, 64);
  samples[lowest] = static_cast<std::uint16_t>(minimum);
  samples[(lowest + 1 + below(r, 63)) % 64] = static_cast<std::uint16_t>(minimum + range);
  return samples;
}

/// 16 records with random N from 0 to 14, or with N = `bits` if that is given.
inline std::vector<std::uint16_t> make_records(randomness& r, int bits = -1) {
  std::vector<std::uint16_t> all;
  for (int c = 0; c < l2::waveforms_per_board; ++c) {
    const auto w = make_waveform(bits < 0 ? below(r, 15) : static_cast<std::uint32_t>(bits),
                                 l2::payload_mask, r);
    all.insert(all.end(), w.begin(), w.end());
  }
  return all;
}

struct made_fragment {
  std::uint8_t crate = 0;
  bool raw = false; ///< the batch carries `content` as it is; there are no boards
  bytes content;
  std::vector<made_board> boards;
  std::vector<std::uint32_t> offsets; ///< where the boards begin in `content`
};

inline made_fragment make_fragment(std::uint8_t crate, std::uint32_t number,
                                   std::vector<made_board> boards) {
  made_fragment f{crate, false, bytes(4), std::move(boards), {}};
  store_big(f.content.data(), l2::fragment_header(number));
  for (const made_board& b : f.boards) {
    f.offsets.push_back(static_cast<std::uint32_t>(f.content.size()));
    f.content.insert(f.content.end(), b.packet.begin(), b.packet.end());
  }
  f.content.resize(f.content.size() + 4);
  store_big(f.content.data() + f.content.size() - 4, l2::fragment_trailer);
  return f;
}

inline made_fragment make_raw_fragment(std::uint8_t crate, std::size_t size, randomness& r) {
  made_fragment f{crate, true, bytes(size), {}, {}};
  for (std::byte& x : f.content) x = static_cast<std::byte>(r());
  return f;
}

struct made_event {
  std::uint32_t spill = 0;
  std::uint32_t number = 0;
  std::uint32_t flags = 0;
  std::uint32_t reference_time = 0;
  std::vector<made_fragment> fragments;
};

/// Adds an event to the batch, each fragment in pieces of piece_bytes (0: in one piece), which lie
/// in random order.
inline void add_event(input_batch& batch, const made_event& event, std::uint32_t piece_bytes,
                      randomness& r) {
  event_entry e;
  e.spill = event.spill;
  e.number = event.number;
  e.flags = event.flags;
  e.reference_time = event.reference_time;
  e.first_fragment = batch.used_fragments;
  e.first_board = batch.used_boards;
  for (const made_fragment& made : event.fragments) {
    fragment_entry f;
    f.first_piece = batch.used_pieces;
    f.bytes = static_cast<std::uint32_t>(made.content.size());
    f.piece_bytes = piece_bytes != 0 ? piece_bytes : std::max(f.bytes, 4U);
    f.first_board = batch.used_boards;
    f.boards = static_cast<std::uint16_t>(made.boards.size());
    f.crate = made.crate;
    f.raw = made.raw ? 1 : 0;

    std::vector<std::uint32_t> order;
    for (std::uint32_t at = 0; at < f.bytes; at += f.piece_bytes)
      order.push_back(at / f.piece_bytes);
    std::shuffle(order.begin(), order.end(), r);
    for (const std::uint32_t piece : order) {
      const std::uint32_t n = std::min(f.piece_bytes, f.bytes - piece * f.piece_bytes);
      std::memcpy(batch.bytes.subspan(batch.used_bytes, n).data(),
                  made.content.data() + std::size_t{piece} * f.piece_bytes, n);
      batch.pieces[f.first_piece + piece] = static_cast<piece_offset>(batch.used_bytes);
      batch.used_bytes = round_up(batch.used_bytes + n, 4) + 4 * below(r, 3);
    }
    batch.used_pieces += static_cast<std::uint32_t>(order.size());

    for (std::size_t k = 0; k < made.boards.size(); ++k) {
      board_entry b;
      b.offset = static_cast<std::uint16_t>(made.offsets[k]);
      b.bytes = static_cast<std::uint16_t>(made.boards[k].packet.size());
      b.slot = made.boards[k].slot;
      b.kind = made.boards[k].kind;
      b.opaque = made.boards[k].opaque ? 1 : 0;
      batch.boards[batch.used_boards++] = b;
    }
    batch.fragments[batch.used_fragments++] = f;
  }
  e.fragments = batch.used_fragments - e.first_fragment;
  e.boards = batch.used_boards - e.first_board;
  batch.events[batch.used_events++] = e;
}

/// The capacity that add_event needs at most for these events.
inline batch_capacity capacity_for(const std::vector<made_event>& events,
                                   std::uint32_t piece_bytes) {
  batch_capacity c;
  for (const made_event& e : events) {
    ++c.events;
    for (const made_fragment& f : e.fragments) {
      const auto size = static_cast<std::uint32_t>(f.content.size());
      const std::uint32_t pieces = piece_bytes == 0 ? 1 : (size + piece_bytes - 1) / piece_bytes;
      ++c.fragments;
      c.boards += static_cast<std::uint32_t>(f.boards.size());
      c.pieces += pieces;
      c.bytes += size + std::size_t{16} * pieces;
    }
  }
  c.bytes = round_up(c.bytes, 4096);
  return c;
}

} // namespace l3::test
