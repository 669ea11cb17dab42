// SPDX-License-Identifier: Apache-2.0
#include "bench/selection/select_batch.hpp"

#include <stdexcept>
#include <string>
#include <vector>

#include "selection/algorithms/keep_waveforms.hpp"
#include "tools/simulation/event_maker.hpp"
#include "tools/simulation/front_end.hpp"
#include "tools/simulation/simulation.hpp"
#include "transport/building/fragment_index.hpp"

namespace l3::bench {
namespace {

// Independent random streams.
constexpr std::uint64_t front_end_stream = 1;
constexpr std::uint64_t plan_stream = 2;
constexpr std::uint64_t event_stream = 3;

} // namespace

select_batch::select_batch(const detector& d, std::uint32_t events, std::uint32_t spill)
    : held_batch(d.crates(), events) {
  const front_end electronics(d, front_end_stream);
  event_maker maker(d);
  true_event truth;
  std::vector<std::byte> event(electronics.event_bytes());
  for (const planned_event& plan : plan_spill(events, random_source(plan_stream, spill, 0))) {
    const event_key key{spill, batch_.used_events + 1};
    random_source random(event_stream, key.spill, key.number);
    maker.make(plan.type, plan.on_spill, random, truth);
    electronics.digitize(truth, {key, plan.since_spill}, random, event);
    add(d.crates(), key, event);
  }
}

void select_batch::add(const readout& crates, event_key key, std::span<const std::byte> event) {
  event_entry entry;
  entry.spill = key.spill;
  entry.number = key.number;
  entry.first_fragment = batch_.used_fragments;
  entry.fragments = crates.size();
  entry.first_board = batch_.used_boards;
  for (std::uint32_t c = 0; c < crates.size(); ++c) {
    const std::size_t n = l2::fragment_bytes(crates.crates[c].boards);
    const auto place = static_cast<std::uint8_t>(c);
    enter_boards(crates.crates[c], key, add_fragment(batch_, place, event.first(n)), entry);
    event = event.subspan(n);
  }
  entry.boards = batch_.used_boards - entry.first_board;
  batch_.events[batch_.used_events++] = entry;
}

void select_batch::enter_boards(const crate_readout& crate, event_key key, fragment_entry& f,
                                event_entry& event) {
  const auto boards = batch_.boards.subspan(batch_.used_boards, crate.boards);
  const fragment_index found =
      index_fragment({batch_.bytes.data(), &batch_.pieces[f.first_piece], f.piece_bytes, f.bytes},
                     crate, key, boards);
  if (found.problem) throw std::logic_error("the simulated electronics made a malformed fragment");
  f.boards = found.boards;
  if (f.crate == 0) event.reference_time = found.time.value_or(0);
  batch_.used_boards += found.boards;
}

void suppress_all(selection_settings& s) {
  for (line_settings& line : s.lines) {
    line.prescale = 1;
    line.control = 0;
    line.payload = event_payload::suppressed;
  }
  s.sequence.emplace_back(std::string(keep_waveforms::name));
}

} // namespace l3::bench
