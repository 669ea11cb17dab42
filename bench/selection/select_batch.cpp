// SPDX-License-Identifier: Apache-2.0
#include "bench/selection/select_batch.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "bench/measure/made_up_batch.hpp"
#include "tools/simulation/event_maker.hpp"
#include "tools/simulation/front_end.hpp"
#include "tools/simulation/spill_plan.hpp"
#include "transport/input/fragment_index.hpp"

namespace l3::bench {
namespace {

constexpr std::uint32_t spill = 1;

// Independent streams of random numbers.
constexpr std::uint64_t front_end_stream = 1;
constexpr std::uint64_t plan_stream = 2;
constexpr std::uint64_t event_stream = 3;

} // namespace

select_batch::select_batch(const detector& d, std::uint32_t events)
    : memory_(capacity_of(d.crates(), events, piece_bytes).bytes) {
  const readout& crates = d.crates();
  const batch_capacity c = capacity_of(crates, events, piece_bytes);
  events_.resize(c.events);
  fragments_.resize(c.fragments);
  pieces_.resize(c.pieces);
  boards_.resize(c.boards);
  batch_.bytes = memory_.bytes();
  batch_.events = events_;
  batch_.fragments = fragments_;
  batch_.pieces = pieces_;
  batch_.boards = boards_;

  const front_end electronics(d, front_end_stream);
  event_maker maker(d);
  true_event truth;
  std::vector<std::byte> event(electronics.event_bytes());
  for (const planned_event& plan : plan_spill(events, random_source(plan_stream, spill, 0))) {
    const event_key key{spill, batch_.used_events + 1};
    random_source random(event_stream, key.spill, key.number);
    maker.make(plan.type, plan.on_spill, random, truth);
    electronics.digitize(truth, {key, plan.since_spill}, random, event);
    add(crates, key, event);
  }
  view_.input = batch_.bytes.data();
  view_.events = {events_.data(), batch_.used_events};
  view_.fragments = {fragments_.data(), batch_.used_fragments};
  view_.pieces = {pieces_.data(), batch_.used_pieces};
  view_.boards = {boards_.data(), batch_.used_boards};
}

std::uint64_t select_batch::fragment_bytes() const { return bench::fragment_bytes(batch_); }

void select_batch::add(const readout& crates, event_key key, std::span<const std::byte> event) {
  event_entry entry;
  entry.spill = key.spill;
  entry.number = key.number;
  entry.first_fragment = batch_.used_fragments;
  entry.fragments = crates.size();
  entry.first_board = batch_.used_boards;
  for (std::uint8_t c = 0; c < crates.size(); ++c) {
    const std::size_t n = l2::fragment_bytes(crates.crates[c].boards);
    add_fragment(crates, c, key, event.first(n), entry);
    event = event.subspan(n);
  }
  entry.boards = batch_.used_boards - entry.first_board;
  batch_.events[batch_.used_events++] = entry;
}

void select_batch::add_fragment(const readout& crates, std::uint8_t crate, event_key key,
                                std::span<const std::byte> content, event_entry& event) {
  constexpr std::size_t cache_line = 64;
  fragment_entry f;
  f.first_piece = batch_.used_pieces;
  f.piece_bytes = piece_bytes;
  f.bytes = static_cast<std::uint32_t>(content.size());
  f.first_board = batch_.used_boards;
  f.crate = crate;
  for (std::size_t at = 0; at < content.size(); at += piece_bytes) {
    const std::size_t n = std::min<std::size_t>(piece_bytes, content.size() - at);
    std::memcpy(batch_.bytes.data() + batch_.used_bytes, content.data() + at, n);
    batch_.pieces[batch_.used_pieces++] = static_cast<piece_offset>(batch_.used_bytes);
    batch_.used_bytes = round_up(batch_.used_bytes + n, cache_line);
  }
  const auto boards = batch_.boards.subspan(batch_.used_boards, crates.crates[crate].boards);
  const fragment_index found =
      index_fragment({batch_.bytes.data(), &batch_.pieces[f.first_piece], f.piece_bytes, f.bytes},
                     crates.crates[crate], key, boards);
  if (found.problem) throw std::logic_error("the simulated electronics made a malformed fragment");
  f.boards = found.boards;
  for (board_entry& b : boards.first(found.boards)) {
    b.event = batch_.used_events;
    b.fragment = batch_.used_fragments;
  }
  if (crate == 0) event.reference_time = found.time.value_or(0);
  batch_.used_boards += found.boards;
  batch_.fragments[batch_.used_fragments++] = f;
}

} // namespace l3::bench
