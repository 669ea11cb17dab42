// SPDX-License-Identifier: Apache-2.0
#include "transport/building/admission.hpp"

#include <algorithm>

#include "transport/format/block.hpp"

namespace l3 {

void admission::look_into(candidate_event& event) const {
  event.used_boards = event.flags = 0;
  event.reference_time.reset();
  event.digest = {};
  for (arrived_fragment& f : event.fragments)
    if (f.whole && f.where.memory != nullptr) look_into(event, f);
}

void admission::look_into(candidate_event& event, arrived_fragment& f) const {
  const auto& crate = settings_.crates.crates[f.crate];
  f.kind = crate.kind;
  auto found = join(f.slots_of_chunks, f.sums, f.where.bytes, crate);
  if (!found)
    found = index_fragment(f.where, crate, event.key,
                           std::span(event.boards).subspan(event.used_boards));
  event.digest.add(f.crate, found->digest);
  if (!f.problem) f.problem = found->problem;
  if (f.problem) return;
  f.slots = found->slots;
  f.boards = found->boards;
  f.time = found->time;
  f.first_board = event.used_boards;
  if (f.slots == 0) event.used_boards += f.boards;
  if (found->opaque) event.flags |= event_opaque;
  if (!event.reference_time) event.reference_time = f.time;
  if (f.boards < crate.boards) event.flags |= event_incomplete;
}

admission::verdict admission::judge(candidate_event& event) {
  verdict v;
  const auto good = [](const arrived_fragment& f) { return f.whole && !f.problem; };
  v.complete = event.fragments.size() == settings_.crates.size() &&
               std::ranges::all_of(event.fragments, good);
  v.admit = v.complete || (settings_.incomplete == incomplete_events::forward &&
                           std::ranges::any_of(event.fragments, &arrived_fragment::whole));

  constexpr std::uint32_t time_mask = 0xfffffff; // of a time stamp
  std::size_t carried = 0;
  for (auto& f : event.fragments) {
    if (v.admit && f.whole) {
      ++carried;
      if (f.problem) event.flags |= event_damaged;
    }
    if (f.problem) {
      counters_.fragments_malformed.add(f.crate, *f.problem);
    } else {
      (v.admit && f.whole ? counters_.fragments_admitted : counters_.fragments_incomplete)
          .add(f.crate);
    }
    if (f.time) counters_.time_ahead.set(f.crate, (*f.time - *event.reference_time) & time_mask);
  }
  if (carried < settings_.crates.size()) event.flags |= event_incomplete;
  if (v.admit) counters_.events_admitted.add();
  if (!v.complete) {
    counters_.events_incomplete.add();
    count_missing(event);
  }
  return v;
}

/// If few crates sent an event, the other crates' fragments are not missing: the few have a wrong
/// event number.
void admission::count_missing(const candidate_event& event) {
  const std::size_t crates = settings_.crates.size();
  if (!settings_.is_half(event.fragments.size())) {
    for (const auto& f : event.fragments) counters_.fragments_alone.add(f.crate);
    return;
  }
  auto next = event.fragments.begin();
  for (std::size_t c = 0; c < crates; ++c) {
    const bool arrived = next != event.fragments.end() && next->crate == c;
    if (!arrived || (!next->whole && !next->problem)) counters_.fragments_missing.add(c);
    if (arrived) ++next;
  }
}

void admission::write(const candidate_event& candidate, time_point now, input_batch& batch) {
  event_entry& event = batch.events[batch.used_events];
  event = {};
  event.spill = candidate.key.spill;
  event.number = candidate.key.number;
  event.first_fragment = batch.used_fragments;
  event.first_board = batch.used_boards;
  event.flags = candidate.flags;
  event.reference_time = candidate.reference_time.value_or(0);
  event.completed_at = to_table(now);
  for (const auto& f : candidate.fragments) {
    if (!f.whole) continue;
    fragment_entry& entry = batch.fragments[batch.used_fragments];
    entry = {};
    entry.first_piece = batch.used_pieces;
    entry.piece_bytes = f.where.piece_bytes;
    entry.bytes = f.where.bytes;
    entry.first_board = batch.used_boards;
    entry.crate = f.crate;
    entry.raw = f.problem ? 1 : 0;
    std::copy_n(f.where.pieces, f.number_of_pieces(), batch.pieces.begin() + batch.used_pieces);
    batch.used_pieces += f.number_of_pieces();
    if (entry.raw == 0) {
      entry.boards = f.boards;
      const auto to = batch.boards.subspan(batch.used_boards, f.boards);
      if (f.slots != 0)
        write_boards(f.slots, f.kind, to);
      else
        std::ranges::copy(std::span(candidate.boards).subspan(f.first_board, f.boards), to.begin());
      batch.used_boards += f.boards;
    }
    ++batch.used_fragments;
  }
  event.fragments = batch.used_fragments - event.first_fragment;
  event.boards = batch.used_boards - event.first_board;
  ++batch.used_events;
}

} // namespace l3
