// SPDX-License-Identifier: Apache-2.0
#include "transport/building/admission.hpp"

#include <algorithm>

#include "transport/format/block.hpp"

namespace l3 {

admission::admission(const building_settings& settings, building_counters& counters)
    : settings_(settings), counters_(counters), boards_(settings.crates.boards()) {}

admission::verdict admission::judge(event_key key, std::span<arrived_fragment> fragments) {
  verdict v;
  used_boards_ = 0;
  timed_ = false;
  event_digest digest;
  for (auto& f : fragments) {
    if (f.whole && f.where.memory != nullptr) look_into(key, f, v, digest);
  }
  v.mark = digest.mark();
  const auto good = [](const arrived_fragment& f) { return f.whole && !f.problem; };
  v.complete = fragments.size() == settings_.crates.size() &&
               std::all_of(fragments.begin(), fragments.end(), good);
  const bool forward = settings_.incomplete == incomplete_events::forward;
  v.admit =
      v.complete || (forward && std::any_of(fragments.begin(), fragments.end(),
                                            [](const arrived_fragment& f) { return f.whole; }));

  std::size_t carried = 0;
  for (auto& f : fragments) {
    if (v.admit && f.whole) {
      f.form = f.problem ? arrived_fragment::carried::raw : arrived_fragment::carried::as_boards;
      ++carried;
      if (f.problem) v.flags |= event_damaged;
    }
    count(f, v);
  }
  if (carried < settings_.crates.size()) v.flags |= event_incomplete;
  if (v.admit) counters_.events_admitted.add();
  if (!v.complete) counters_.events_incomplete.add();
  return v;
}

std::uint32_t admission::mark_of(event_key key, std::span<const arrived_fragment> fragments) {
  event_digest digest;
  for (const auto& f : fragments) {
    const auto& crate = settings_.crates.crates[f.crate];
    digest.add(f.crate, index_fragment(f.where, crate, key, boards_).digest);
  }
  return digest.mark();
}

void admission::look_into(event_key key, arrived_fragment& f, verdict& v, event_digest& digest) {
  const auto& crate = settings_.crates.crates[f.crate];
  const auto found = index_fragment(f.where, crate, key, std::span(boards_).subspan(used_boards_));
  digest.add(f.crate, found.digest);
  if (!f.problem) f.problem = found.problem;
  if (f.problem) return;
  f.first_board = used_boards_;
  f.boards = found.boards;
  used_boards_ += found.boards;
  if (found.boards < crate.boards) v.flags |= event_incomplete;
  if (found.opaque) v.flags |= event_opaque;
  if (found.time && !timed_) {
    v.reference_time = *found.time;
    timed_ = true;
  }
}

void admission::count(const arrived_fragment& f, const verdict& v) {
  if (f.problem) {
    counters_.fragments_malformed.add(*f.problem);
  } else if (v.admit && f.whole) {
    counters_.fragments_admitted.add();
  } else {
    counters_.fragments_incomplete.add();
  }
}

void admission::write(event_key key, const verdict& v, std::span<const arrived_fragment> fragments,
                      time_point now, input_batch& batch) const {
  const std::uint32_t event_index = batch.used_events;
  event_entry& event = batch.events[batch.used_events++];
  event = {};
  event.spill = key.spill;
  event.number = key.number;
  event.first_fragment = batch.used_fragments;
  event.first_board = batch.used_boards;
  event.flags = v.flags;
  event.reference_time = v.reference_time;
  event.completed_at = to_table(now);

  for (const auto& f : fragments) {
    if (f.form == arrived_fragment::carried::no) continue;
    const std::uint32_t fragment_index = batch.used_fragments;
    fragment_entry& entry = batch.fragments[batch.used_fragments++];
    entry = {};
    entry.first_piece = batch.used_pieces;
    entry.piece_bytes = f.where.piece_bytes;
    entry.bytes = f.where.bytes;
    entry.first_board = batch.used_boards;
    entry.crate = f.crate;
    entry.raw = f.form == arrived_fragment::carried::raw ? 1 : 0;
    const std::uint32_t pieces = (f.where.bytes + f.where.piece_bytes - 1) / f.where.piece_bytes;
    std::copy_n(f.where.pieces, pieces, batch.pieces.begin() + batch.used_pieces);
    batch.used_pieces += pieces;
    if (entry.raw != 0) continue;
    entry.boards = f.boards;
    for (std::uint32_t b = 0; b < f.boards; ++b) {
      board_entry& board = batch.boards[batch.used_boards++];
      board = boards_[f.first_board + b];
      board.event = event_index;
      board.fragment = fragment_index;
    }
  }
  event.fragments = batch.used_fragments - event.first_fragment;
  event.boards = batch.used_boards - event.first_board;
}

} // namespace l3
