// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/stored_events.hpp"

#include <string>

#include "tools/command_error.hpp"
#include "tools/print.hpp"
#include "tools/verify/payload_tally.hpp"

namespace l3 {

stored_events::stored_events(const std::filesystem::path& folder, const char* label,
                             interrupt& signals)
    : in_(folder, [&signals] { return signals.check(), false; }), line_(label, 0, "MiB") {}

std::optional<packed_event_view> stored_events::next() {
  while (true) {
    while (const auto bytes = walk_.next()) {
      if (auto event = packed_event_view::parse(*bytes, block_.codec)) return event;
      ++lost_.events;
    }
    if (!walk_.complete()) ++lost_.places;
    if (!next_block()) return std::nullopt;
  }
}

/// Returns false at the end.
bool stored_events::next_block() {
  walk_ = event_walk({}, {});
  while (const auto block = in_.next()) {
    block_ = block->header;
    if (!in_.read_payload(*block, payload_)) {
      ++lost_.blocks;
      lost_.events += block_.events;
      continue;
    }
    line_.update((bytes_ += payload_.size()) >> 20);
    walk_ = event_walk(payload_, block_);
    return true;
  }
  return false;
}

unreadable_parts stored_events::left_out() const {
  unreadable_parts all = lost_;
  all.places += in_.damaged();
  all.torn_ends = in_.torn_ends();
  return all;
}

int tell(const unreadable_parts& lost, bool skip_damaged) {
  for (const torn_end& end : lost.torn_ends) print_error("{}\n", text_of(end));
  for (const std::string& text : payload_words(json_of(lost.limited, lost.lines)))
    print_error("left out: {}; not all their waveforms were kept\n", text);
  const char* const offer = skip_damaged ? "" : " (--skip-damaged accepts that)";
  if (lost.places + lost.blocks + lost.events > 0)
    print_error("damaged: {} places that are no block, {} blocks whose payload is not what was "
                "written, {} events in these or damaged themselves{}\n",
                lost.places, lost.blocks, lost.events, offer);
  const bool accepted = lost.none() || skip_damaged;
  return accepted && lost.limited.events() == 0 ? 0 : exit_failure;
}

} // namespace l3
