// SPDX-License-Identifier: Apache-2.0
#include "transport/store/stored_sessions.hpp"

#include <algorithm>

#include "transport/store/block.hpp"

namespace l3 {
const stored_session* stored_sessions::find(std::uint64_t session) const {
  const auto found = sessions_.find(session);
  return found == sessions_.end() ? nullptr : &found->second;
}

void stored_sessions::add_number(const block_header& block, bool behind_damage) {
  stored_numbers& numbers = sessions_[block.session].numbers;
  if (behind_damage) {
    numbers.add_behind_damage(block.sequence);
  } else {
    numbers.add(block.sequence);
  }
}

void stored_sessions::add_events(const block_header& block) {
  auto& s = sessions_[block.session];
  s.run = block.run;
  s.node = block.node;
  s.events += block.events;
  s.bytes += events_bytes(block);
  s.repeated += block.repeated;
}

stored_session& stored_sessions::add(const block_header& block) {
  stored_session& s = sessions_[block.session];
  uncommitted_.try_emplace(block.session, s);
  add_number(block, false);
  ++s.blocks;
  add_events(block);
  return s;
}

void stored_sessions::take_back() {
  for (const auto& [session, before] : uncommitted_) {
    sessions_[session] = before;
    if (before.blocks == 0 && before.numbers.last() == 0) sessions_.erase(session);
  }
  uncommitted_.clear();
}

void stored_sessions::leave_out(const session_tallies& gone) {
  for (const auto& [session, blocks] : gone) {
    stored_session& s = sessions_[session];
    s.blocks -= blocks.blocks;
    s.events -= blocks.events;
    s.bytes -= blocks.bytes;
    s.repeated -= blocks.repeated;
    s.gone.blocks += blocks.blocks;
    s.gone.events += blocks.events;
    s.gone.bytes += blocks.bytes;
  }
}

void stored_sessions::take_up(const listed_blocks& back) {
  stored_session& s = sessions_[back.session];
  s.blocks += back.blocks.blocks;
  s.events += back.blocks.events;
  s.bytes += back.blocks.bytes;
  s.repeated += back.blocks.repeated;
  const auto settle = [](std::uint64_t& gone, std::uint64_t& found, std::uint64_t is_back) {
    const std::uint64_t lately = std::min(gone, is_back);
    gone -= lately;
    found += is_back - lately;
  };
  settle(s.gone.blocks, s.found.blocks, back.blocks.blocks);
  settle(s.gone.events, s.found.events, back.blocks.events);
  settle(s.gone.bytes, s.found.bytes, back.blocks.bytes);
}

} // namespace l3
