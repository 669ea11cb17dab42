// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/file_batches.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "transport/building/fragment_index.hpp"
#include "transport/format/block.hpp"

namespace l3 {

namespace {

/// A fragment is contiguous and aligned like one received over TCP.
constexpr std::size_t fragment_alignment = 64;

} // namespace

batch_capacity batch_filler::capacity(std::uint32_t events) const {
  const std::size_t fragment = round_up(l2::max_fragment_bytes, fragment_alignment);
  const std::uint32_t fragments = events * crates_.size();
  return {events, fragments, fragments, events * crates_.boards(), fragments * fragment};
}

event_entry& batch_filler::add(input_batch& batch, event_key key,
                               std::span<const crate_fragment> fragments) const {
  event_entry event;
  event.spill = key.spill;
  event.number = key.number;
  event.first_fragment = batch.used_fragments;
  event.fragments = static_cast<std::uint32_t>(fragments.size());
  event.first_board = batch.used_boards;
  std::optional<std::uint32_t> time;
  for (const crate_fragment& f : fragments) {
    const auto of_fragment = add_fragment(batch, key, f);
    if (!time) time = of_fragment;
  }
  event.reference_time = time.value_or(0);
  event.boards = batch.used_boards - event.first_board;
  batch.events[batch.used_events] = event;
  return batch.events[batch.used_events++];
}

std::optional<std::uint32_t> batch_filler::add_fragment(input_batch& batch, event_key key,
                                                        const crate_fragment& fragment) const {
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
  const crate_readout& crate = crates_.crates[fragment.crate];
  const auto boards = batch.boards.subspan(batch.used_boards, crate.boards);
  const fragment_index found =
      index_fragment({batch.bytes.data(), &batch.pieces[entry.first_piece], entry.piece_bytes, n},
                     crate, key, boards);
  if (found.problem) {
    entry.raw = 1;
  } else {
    entry.boards = found.boards;
    batch.used_boards += found.boards;
  }
  batch.fragments[batch.used_fragments++] = entry;
  return found.time;
}

file_batches::file_batches(const std::filesystem::path& file)
    : file_(file), reader_(file), filler_(reader_.crates()) {
  if (reader_.damage()) throw std::runtime_error(file.string() + " " + fault_of(reader_));
}

bool file_batches::fill(input_batch& batch) {
  batch.clear();
  since_spill_.clear();
  while (batch.used_events < batch.events.size()) {
    const auto record = reader_.next();
    if (!record) break;
    if (record->header.type != record_type::event) continue;
    if (const auto wrong = parse_event(record->body, crates(), event_))
      throw std::runtime_error(file_.string() + " has an event record that contradicts itself: " +
                               std::string(name_of(*wrong)));
    std::ranges::sort(event_.fragments, {}, &crate_fragment::crate);
    filler_.add(batch, {record->header.spill, event_.number}, event_.fragments);
    since_spill_.push_back(event_.since_spill);
  }
  if (reader_.damage()) throw std::runtime_error(file_.string() + " " + fault_of(reader_));
  return batch.used_events != 0;
}

} // namespace l3
