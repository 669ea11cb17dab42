// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/stored_events.hpp"

#include <string>

#include "tools/command_error.hpp"
#include "tools/print.hpp"
#include "tools/verify/payload_words.hpp"
#include "transport/store/block_copies.hpp"

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

/// False: there is none; then the walk is at its end.
bool stored_events::next_block() {
  walk_ = event_walk({}, {});
  while (const auto block = in_.next()) {
    block_ = block->header;
    const block_name name = name_of(block_);
    if (!in_.read_payload(*block, payload_)) {
      damaged_block& damaged = damaged_[name];
      ++damaged.copies;
      damaged.events = block_.events;
      continue;
    }
    line_.update((bytes_ += payload_.size()) >> 20);
    const bool is_empty = is_empty_block(block_);
    const auto [seen, is_new] = seen_.try_emplace(name, !is_empty);
    if (!is_new && (seen->second || is_empty)) {
      ++lost_.duplicated_blocks;
      lost_.duplicated += block_.events;
      continue;
    }
    seen->second = !is_empty;
    walk_ = event_walk(payload_, block_);
    return true;
  }
  return false;
}

unreadable_parts stored_events::left_out() const {
  unreadable_parts all = lost_;
  for (const auto& [name, damaged] : damaged_) {
    const auto seen = seen_.find(name);
    if (seen != seen_.end() && (seen->second || damaged.events == 0)) {
      all.damaged_copies += damaged.copies;
    } else {
      ++all.blocks;
      all.events += damaged.events;
    }
  }
  all.places += in_.damaged();
  all.torn_ends = in_.torn_ends();
  all.files = in_.file_faults();
  all.misnamed = in_.misnamed_files();
  return all;
}

int tell(const unreadable_parts& lost, bool skip_damaged) {
  for (const std::string& text : lost.misnamed) print_error("{}\n", text);
  for (const torn_end& end : lost.torn_ends) print_error("{}\n", text_of(end));
  if (lost.duplicated_blocks > 0)
    print_error("left out: {} events of {} blocks that stand here twice; they count once\n",
                lost.duplicated, lost.duplicated_blocks);
  if (lost.damaged_copies > 0)
    print_error("left out: {} damaged copies of blocks; each was read from another copy\n",
                lost.damaged_copies);
  for (const std::string& text : payload_words(json_of(lost.limited, lost.lines)))
    print_error("left out: {}; not all their waveforms were kept\n", text);
  const char* const offer = skip_damaged ? "" : " (--skip-damaged accepts that)";
  for (const std::string& text : lost.files) print_error("damaged: {}{}\n", text, offer);
  if (lost.places + lost.blocks + lost.events > 0)
    print_error("damaged: {} places that are no block, {} blocks whose payload is not what was "
                "written, {} events in these or damaged themselves{}\n",
                lost.places, lost.blocks, lost.events, offer);
  const bool accepted = lost.none() || skip_damaged;
  return accepted && lost.limited.events() == 0 ? 0 : exit_failure;
}

} // namespace l3
