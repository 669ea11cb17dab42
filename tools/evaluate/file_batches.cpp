// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/file_batches.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "tools/replay/file_fault.hpp"
#include "transport/building/fragment_index.hpp"
#include "transport/format/block.hpp"

namespace l3 {
namespace {

/// A fragment lies in one piece, aligned like one that came over TCP.
constexpr std::size_t fragment_alignment = 64;

} // namespace

file_batches::file_batches(const std::filesystem::path& file) : file_(file), reader_(file) {
  if (reader_.damage()) throw std::runtime_error(file.string() + " " + fault_of(reader_));
}

batch_capacity file_batches::capacity(std::uint32_t events) const {
  const std::size_t fragment = round_up(l2::max_fragment_bytes, fragment_alignment);
  const std::uint32_t fragments = events * crates().size();
  return {events, fragments, fragments, events * crates().boards(), fragments * fragment};
}

bool file_batches::fill(input_batch& batch) {
  batch.clear();
  while (batch.used_events < batch.events.size()) {
    const auto record = reader_.next();
    if (!record) break;
    if (record->header.type != record_type::event) continue;
    if (const auto wrong = parse_event(record->body, crates(), event_))
      throw std::runtime_error(file_.string() + " has an event record that contradicts itself: " +
                               std::string(name_of(*wrong)));
    add(batch, record->header.spill);
  }
  if (reader_.damage()) throw std::runtime_error(file_.string() + " " + fault_of(reader_));
  return batch.used_events != 0;
}

void file_batches::add(input_batch& batch, std::uint32_t spill) {
  event_entry event;
  event.spill = spill;
  event.number = event_.number;
  event.first_fragment = batch.used_fragments;
  event.fragments = static_cast<std::uint32_t>(event_.fragments.size());
  event.first_board = batch.used_boards;
  std::sort(event_.fragments.begin(), event_.fragments.end(),
            [](const crate_fragment& a, const crate_fragment& b) { return a.crate < b.crate; });
  if (event_.fragments.size() < crates().size()) event.flags |= event_incomplete;
  std::optional<std::uint32_t> time;
  for (const crate_fragment& f : event_.fragments) {
    const auto of_fragment = add_fragment(batch, {spill, event_.number}, f, event);
    if (!time) time = of_fragment;
  }
  event.reference_time = time.value_or(0);
  event.boards = batch.used_boards - event.first_board;
  batch.events[batch.used_events++] = event;
}

std::optional<std::uint32_t> file_batches::add_fragment(input_batch& batch, event_key key,
                                                        const crate_fragment& fragment,
                                                        event_entry& event) {
  const auto n = static_cast<std::uint32_t>(fragment.bytes.size());
  const auto piece = static_cast<piece_offset>(batch.used_bytes);
  std::memcpy(batch.bytes.data() + piece, fragment.bytes.data(), n);
  batch.used_bytes = round_up(batch.used_bytes + n, fragment_alignment);
  batch.pieces[batch.used_pieces] = piece;

  fragment_entry entry;
  entry.first_piece = batch.used_pieces++;
  entry.piece_bytes = static_cast<std::uint32_t>(round_up(std::max(n, 1U), 4));
  entry.bytes = n;
  entry.first_board = batch.used_boards;
  entry.crate = static_cast<std::uint8_t>(fragment.crate);
  const crate_readout& crate = crates().crates[fragment.crate];
  const auto boards = batch.boards.subspan(batch.used_boards, crate.boards);
  const fragment_index found =
      index_fragment({batch.bytes.data(), &batch.pieces[entry.first_piece], entry.piece_bytes, n},
                     crate, key, boards);
  if (found.problem) {
    entry.raw = 1;
    event.flags |= event_damaged;
  } else {
    entry.boards = found.boards;
    if (found.boards < crate.boards) event.flags |= event_incomplete;
    for (board_entry& b : boards.first(found.boards)) {
      b.event = batch.used_events;
      b.fragment = batch.used_fragments;
    }
    batch.used_boards += found.boards;
  }
  batch.fragments[batch.used_fragments++] = entry;
  return found.time;
}

} // namespace l3
